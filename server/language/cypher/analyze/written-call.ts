import type { Expression } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import type { ClauseOf, Expression as Expr, LabelExpression, NodePattern, Query } from '../ast.ts';
import { notSupported } from '../failures.ts';
import type { Compiler, CompiledQuery } from './compiler.ts';
import type { Scope } from './scope.ts';
import { withBindings } from './scope.ts';

/**
 * Procedures that stand for clauses (cypher.md 10): `merge.node` and `merge.relationship` are MERGE, `do.when` is one of two queries.
 * What is written out in the call decides about types and effects before anything runs, so it must be written out.
 */

type Call = ClauseOf<'callProcedure'>;

/** No text can name variables like these. */
export const foundVariable = '\0found';
const parametersVariable = '\0parameters';

export function bareName({ name }: Call): string {
  return name.toLowerCase().replace(/^apoc\./, '');
}

export function isMergeCall(clause: Call): boolean {
  return mergeNames.has(bareName(clause));
}

const mergeNames: ReadonlySet<string> = new Set(['merge.node', 'merge.relationship']);

/** The MERGE that the call stands for, whose node or relationship is in `foundVariable`; undefined for other procedures. */
export function mergeOf(clause: Call): ClauseOf<'merge'> | undefined {
  switch (bareName(clause)) {
    case 'merge.node':
      return mergeNode(clause);
    case 'merge.relationship':
      return mergeRelationship(clause);
    default:
      return undefined;
  }
}

function mergeNode({ args = [], at, end }: Call): ClauseOf<'merge'> {
  const [labels, match, create] = args;
  const first: NodePattern = {
    variable: foundVariable,
    labels: labelsIn(labels, 'merge.node', { at, end }),
    properties: written(match, 'merge.node'),
    where: undefined,
    at,
    end,
  };
  return mergeClause({ first, steps: [] }, create, { at, end });
}

function mergeRelationship({ args = [], at, end }: Call): ClauseOf<'merge'> {
  const [from, type, match, create, to] = args;
  const span = { at, end };
  const node = (value: Expr | undefined): NodePattern => {
    if (value?.kind !== 'variable')
      throw notSupported('merge.relationship between nodes that are no variables');
    return {
      variable: value.name,
      labels: undefined,
      properties: undefined,
      where: undefined,
      ...span,
    };
  };
  const relationship = {
    variable: foundVariable,
    types: labelsIn(type, 'merge.relationship', span),
    properties: written(match, 'merge.relationship'),
    where: undefined,
    direction: 'out',
    repetition: undefined,
    hasBothArrows: false,
    ...span,
  } as const;
  const steps = [{ relationship, node: node(to), group: undefined }];
  return mergeClause({ first: node(from), steps }, create, span);
}

function mergeClause(
  path: Pick<ClauseOf<'merge'>['path'], 'first' | 'steps'>,
  create: Expr | undefined,
  span: { readonly at: number; readonly end: number },
): ClauseOf<'merge'> {
  const isNothing = create === undefined || (create.kind === 'literal' && create.value === null);
  return {
    kind: 'merge',
    path: {
      variable: undefined,
      selector: undefined,
      mayReturn: false,
      mode: undefined,
      ...path,
      ...span,
    },
    onCreate: isNothing ? [] : [{ kind: 'merge', variable: foundVariable, value: create, ...span }],
    onMatch: [],
    ...span,
  };
}

function labelsIn(
  value: Expr | undefined,
  what: string,
  span: { readonly at: number; readonly end: number },
): LabelExpression | undefined {
  const given = value?.kind === 'literal' ? value.value : undefined;
  const names = Array.isArray(given) ? given : [given];
  if (!names.every((name) => typeof name === 'string' && name !== ''))
    throw notSupported(`${what} with labels that are not written out`);
  const operands = names.map(
    (name): LabelExpression => ({ kind: 'label', name: String(name), ...span }),
  );
  return operands.length > 1 ? { kind: 'and', operands, ...span } : operands[0];
}

function written(value: Expr | undefined, what: string): Expr | undefined {
  if (value === undefined || value.kind === 'map' || value.kind === 'literal') return value;
  throw notSupported(`${what} with properties that are not written out`);
}

/** `do.when(condition, query, other, parameters)`: both queries are written out. */
export function compileWhen(
  compiler: Compiler,
  clause: Call,
  row: { readonly plan: LogicalPlan; readonly scope: Scope },
): { readonly plan: LogicalPlan; readonly value: number; readonly writes: boolean } {
  const { args = [], queries = [], at, end } = clause;
  const [condition, , , given] = args;
  if (condition === undefined || queries.length === 0)
    throw notSupported('do.when with queries that are not written out');
  const [isTrue, values] = [compiler.newSlot(), compiler.newSlot()];
  const nothing: Expr = { kind: 'literal', value: null, at, end };
  const columns = [
    {
      slot: isTrue,
      value: compiler.expression({ kind: 'and', operands: [condition], at, end }, row.scope),
    },
    { slot: values, value: compiler.expression(given ?? nothing, row.scope) },
  ];
  const scope = withBindings(new Map(), [[parametersVariable, { slot: values, kind: 'value' }]]);
  const compiled = queries.map((query) =>
    query === undefined
      ? undefined
      : compiler.query(withParameters(query, { at, end }) as Query, new Map(), scope, true),
  );
  const holds: Expression = {
    op: 'Coalesce',
    operands: [
      { op: 'Slot', slot: isTrue },
      { op: 'Constant', value: false },
    ],
  };
  const inputs = compiled.flatMap((query, number) =>
    query === undefined
      ? []
      : [branch(compiler, query, number === 0 ? holds : { op: 'Not', operand: holds })],
  );
  const value = compiler.newSlot();
  const writes = compiled.some((query) => query?.writes === true);
  const inner: LogicalPlan = { op: 'Union', inputs, as: [value] };
  const outer: LogicalPlan = { op: 'Project', input: row.plan, columns };
  const plan: LogicalPlan = {
    op: 'Apply',
    outer,
    inner,
    mode: { kind: 'cross' },
    ...(writes && { isPerRow: true }),
  };
  return { plan, value, writes };
}

/** Rows of the query as maps, where the condition holds. */
function branch(
  compiler: Compiler,
  { plan, columns, writes }: CompiledQuery,
  predicate: Expression,
): { readonly plan: LogicalPlan; readonly slots: readonly number[] } {
  const slot = compiler.newSlot();
  const entries = (columns ?? []).map(({ name, slot: of }) => ({
    key: name,
    value: { op: 'Slot', slot: of } as const,
  }));
  const inner: LogicalPlan = columns === undefined ? { op: 'Drain', input: plan } : plan;
  const applied: LogicalPlan = {
    op: 'Apply',
    outer: { op: 'Filter', input: { op: 'Argument' }, predicate },
    inner,
    mode: { kind: 'cross' },
    ...(writes && { isPerRow: true }),
  };
  const value: Expression = { op: 'Map', entries };
  return { plan: { op: 'Project', input: applied, columns: [{ slot, value }] }, slots: [slot] };
}

/** The tree with its parameters as properties of a variable; places in it are those of the call, in whose text it stands. */
function withParameters(
  part: unknown,
  span: { readonly at: number; readonly end: number },
): unknown {
  if (Array.isArray(part)) return part.map((item) => withParameters(item, span));
  if (typeof part !== 'object' || part === null) return part;
  const node = part as Readonly<Record<string, unknown>>;
  if (node['kind'] === 'literal') return { ...node, ...span };
  if (node['kind'] === 'parameter') {
    const of: Expr = { kind: 'variable', name: parametersVariable, ...span };
    return { kind: 'property', of, name: String(node['name']), ...span };
  }
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) copy[key] = withParameters(value, span);
  return 'at' in node ? { ...copy, ...span } : copy;
}
