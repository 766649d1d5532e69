import type { Value } from '#core/value/value.ts';
import { type Warning, warningsMax } from '#core/warnings.ts';
import { positionOfName } from '#language/name-place.ts';
import { errorPositionAt } from '#language/text-cursor.ts';
import { constantOperations } from '#query/algebra/constant-operations.ts';
import type { Expression, Slot } from '#query/algebra/expression.ts';
import type { LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import { conjunctsOf, walkExpression } from '#query/algebra/walk.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { CompiledStatement } from './compiled-statement.ts';

/*
 * What an answer warns of (house decision 80). What text and plan show is found once, when the statement is compiled; an
 * execution only asks whether its parameters are given.
 */

/** Fewer records are read in less time than most indexes cost their writers. */
const scannedRecordsMin = 1_000;

/** Of the text and of the plan that was chosen for the state that `view` shows: gathered while its filters are shown. */
export class WarningsFound {
  readonly #program: QueryProgram;
  readonly #view: ReadView;
  readonly #found: Warning[];

  constructor(program: QueryProgram, view: ReadView) {
    this.#program = program;
    this.#view = view;
    this.#found = [...(program.warnings ?? [])];
  }

  look(filter: Filter): void {
    const found = this.#found;
    if (found.length >= warningsMax) return;
    const scan = scanBelow(filter);
    if (scan === undefined) return;
    const warning = fullScan(filter.predicate, scan, this.#program, this.#view);
    if (warning !== undefined && !isTold(warning, found)) found.push(warning);
  }

  /** Undefined for none. */
  all(): readonly Warning[] | undefined {
    return this.#found.length === 0 ? undefined : this.#found;
  }
}

/** Two sub-queries that scan for the same condition are one slip: the text shows the same place for both. */
function isTold({ code, message }: Warning, found: readonly Warning[]): boolean {
  return found.some((other) => other.code === code && other.message === message);
}

/** With those of this execution; undefined for none. Cost: one lookup for each parameter in the text. */
export function warningsOf(
  compiled: CompiledStatement,
  parameters: ReadonlyMap<string, Value>,
): readonly Warning[] | undefined {
  const { readNames } = compiled;
  for (let at = 0; at < readNames.length; at += 1)
    if (!parameters.has(readNames[at] as string)) return withUnbound(compiled, parameters);
  return compiled.warnings;
}

function withUnbound(
  { program, warnings }: CompiledStatement,
  parameters: ReadonlyMap<string, Value>,
): readonly Warning[] {
  const all = [...(warnings ?? [])];
  for (const [name, offset] of program.readParameters ?? []) {
    if (parameters.has(name) || all.length >= warningsMax) continue;
    all.push(unbound(name, offset, program));
  }
  return all;
}

function unbound(name: string, offset: number, { source }: QueryProgram): Warning {
  const shown = /^\d+$/u.test(name) ? `positional parameter ${name}` : `parameter ':${name}'`;
  const message = `${shown} is not given, so it is null`;
  if (source === undefined) return { code: 'UnboundParameter', message };
  return { code: 'UnboundParameter', message, position: errorPositionAt(source.text, offset) };
}

type TypeScan = Extract<LogicalPlan, { op: 'TypeScan' }>;
type Filter = Extract<LogicalPlan, { op: 'Filter' }>;

function scanBelow(filter: Filter): TypeScan | undefined {
  let { input } = filter;
  while (input.op === 'Filter') ({ input } = input);
  return input.op === 'TypeScan' && input.passedOver === undefined ? input : undefined;
}

/** A property is compared with what no record decides, and no index over it was there to be used. */
function fullScan(
  predicate: Expression,
  scan: TypeScan,
  { source }: QueryProgram,
  view: ReadView,
): Warning | undefined {
  let property: string | undefined;
  for (const conjunct of conjunctsOf(predicate)) {
    property = comparedProperty(conjunct, scan.as);
    if (property !== undefined) break;
  }
  const [type] = scan.types;
  if (property === undefined || type === undefined) return undefined;
  let count = 0;
  for (const id of scan.types)
    for (const bucket of view.catalog.typeWithId(id).buckets) count += view.recordCount(bucket);
  if (count < scannedRecordsMin) return undefined;
  const position = source && positionOfName(property, source);
  const name = view.catalog.typeWithId(type).name;
  return {
    code: 'FullScan',
    message: `all ${count} records of type '${name}' are read, since no index on '${property}' serves this condition`,
    ...(position && { position }),
  };
}

/** The property that an index could serve in this condition. */
function comparedProperty(condition: Expression, record: Slot): string | undefined {
  switch (condition.op) {
    case 'Compare': {
      const { left, right, operator } = condition;
      if (operator === '<>') return undefined;
      if (isConstant(right)) return propertyOf(left, record);
      return isConstant(left) ? propertyOf(right, record) : undefined;
    }
    case 'Between':
      return propertyOf(condition.operand, record);
    case 'In':
      return isConstant(condition.list) ? propertyOf(condition.element, record) : undefined;
    default:
      return undefined;
  }
}

function propertyOf(expression: Expression, record: Slot): string | undefined {
  if (expression.op !== 'Property' || expression.of.op !== 'Slot') return undefined;
  return expression.of.slot === record ? expression.name : undefined;
}

function isConstant(expression: Expression): boolean {
  let isOne = true;
  walkExpression(expression, ({ op }) => {
    if (!constantOperations.has(op)) isOne = false;
  });
  return isOne;
}
