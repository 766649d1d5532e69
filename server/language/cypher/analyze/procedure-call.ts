import type { Expression } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import type {
  Procedure,
  ProcedureColumn,
  ProcedureParameter,
} from '#query/procedures/procedure.ts';
import { serverProcedures } from '#query/procedures/registry.ts';
import { closestWord } from '../../suggestion.ts';
import type { ClauseOf, Expression as Expr, YieldItem } from '../ast.ts';
import { compileError } from '../failures.ts';
import type { Compiler, QueryColumn } from './compiler.ts';
import { userCall } from './call.ts';
import { holdsAggregate } from './expr-walk.ts';
import { type Binding, type BindingKind, type Scope, withBindings } from './scope.ts';
import { requireKind, type StaticKind } from './static-kind.ts';
import { conditionIn } from './sub-query.ts';

type Call = ClauseOf<'callProcedure'>;

interface Called {
  plan: LogicalPlan;
  readonly scope: Scope;
  readonly writes: boolean;
  /** What a call that is the whole query gives; undefined for a void one. */
  readonly columns: readonly QueryColumn[] | undefined;
}

const noColumns: readonly ProcedureColumn[] = [];

/** Whether the procedure gives no columns. */
export function isVoid(name: string): boolean {
  return serverProcedures.procedure(name)?.signature?.columns.length === 0;
}

/** A call with its arguments checked against the signature (cypher.md 10). */
export function compileProcedureCall(
  compiler: Compiler,
  clause: Call,
  row: { readonly plan: LogicalPlan; readonly scope: Scope },
  isAlone: boolean,
): Called {
  const ofSchema = functionCall(compiler, clause, row, isAlone);
  if (ofSchema !== undefined) return ofSchema;
  const procedure = procedureOf(compiler, clause);
  const columns = procedure.signature?.columns ?? noColumns;
  const args = argumentsOf(compiler, clause, procedure, row.scope, isAlone);
  const items = yieldsOf(compiler, clause, columns, isAlone);
  const bindings: (readonly [string, Binding])[] = [];
  const yields = items.map((item) => {
    const more = procedure.signature?.hasMoreColumns && { name: item.column, type: 'ANY' };
    const column = columns.find(({ name }) => name === item.column) ?? more;
    if (column === undefined)
      throw compiler.failure(
        'UndefinedVariable',
        item.at,
        `'${procedure.name}' gives no column '${item.column}'`,
      );
    if (row.scope.has(item.alias) || bindings.some(([name]) => name === item.alias))
      throw compiler.failure(
        'VariableAlreadyBound',
        item.at,
        `variable '${item.alias}' is already defined`,
      );
    const slot = compiler.newSlot();
    bindings.push([item.alias, { slot, kind: bindingKind(column) }]);
    return { name: column.name, slot };
  });
  const scope = withBindings(row.scope, bindings);
  const plan = planOf(compiler, clause, { procedure, args, yields }, row.plan, scope);
  return {
    plan,
    scope,
    writes: procedure.effects.length > 0,
    columns:
      columns.length === 0
        ? undefined
        : bindings.map(([name, { slot, kind }]) => ({ name, slot, kind })),
  };
}

/** `CALL library.name(...)`: a function of the schema, which gives one column `value` (cypher.md 10). */
function functionCall(
  compiler: Compiler,
  clause: Call,
  { plan, scope }: { readonly plan: LogicalPlan; readonly scope: Scope },
  isAlone: boolean,
): Called | undefined {
  const { name, at, args } = clause;
  if (serverProcedures.procedure(name) !== undefined) return undefined;
  if (args === undefined || clause.isOptional) return undefined;
  const value = userCall(compiler, { name, args, at }, (expr) => compiler.expression(expr, scope));
  if (value === undefined) return undefined;
  const [item] = yieldsOf(compiler, clause, [{ name: 'value', type: 'ANY' }], isAlone);
  if (item !== undefined && item.column !== 'value')
    throw compiler.failure(
      'UndefinedVariable',
      item.at,
      `'${name}' gives no column '${item.column}'`,
    );
  if (item !== undefined && scope.has(item.alias))
    throw compiler.failure(
      'VariableAlreadyBound',
      item.at,
      `variable '${item.alias}' is already defined`,
    );
  const slot = compiler.newSlot();
  const computed: LogicalPlan = { op: 'Project', input: plan, columns: [{ slot, value }] };
  const alias = item?.alias ?? 'value';
  const after =
    item === undefined ? scope : withBindings(scope, [[alias, { slot, kind: 'value' }]]);
  const isFiltered = clause.where !== undefined;
  return {
    plan: isFiltered
      ? { op: 'Filter', input: computed, predicate: conditionIn(compiler, clause.where, after) }
      : computed,
    scope: after,
    writes: false,
    columns: [{ name: alias, slot, kind: 'value' }],
  };
}

interface CallParts {
  readonly procedure: Procedure;
  readonly args: readonly Expression[];
  readonly yields: readonly { readonly name: string; readonly slot: number }[];
}

function planOf(
  compiler: Compiler,
  clause: Call,
  { procedure, args, yields }: CallParts,
  before: LogicalPlan,
  scope: Scope,
): LogicalPlan {
  const input: LogicalPlan = clause.isOptional ? { op: 'Argument' } : before;
  const call: LogicalPlan = {
    op: 'Call',
    input,
    procedure: procedure.name,
    arguments: args,
    yields,
    ...(procedure.effects.length > 0 && { effects: procedure.effects }),
  };
  const filtered: LogicalPlan =
    clause.where === undefined
      ? call
      : { op: 'Filter', input: call, predicate: conditionIn(compiler, clause.where, scope) };
  if (!clause.isOptional) return filtered;
  const slots = yields.map(({ slot }) => slot);
  return { op: 'Apply', outer: before, inner: filtered, mode: { kind: 'optional', slots } };
}

function procedureOf(compiler: Compiler, { name, at }: Call): Procedure {
  const found = serverProcedures.procedure(name);
  if (found !== undefined) return found;
  const names = serverProcedures.all().map((procedure) => procedure.name);
  throw compileError({
    text: compiler.text,
    at,
    type: 'ProcedureError',
    detail: 'ProcedureNotFound',
    problem: `there is no procedure '${name}'`,
    suggestion: closestWord(name, names),
  });
}

/** Given ones, then defaults; without parentheses parameters of the same names. */
function argumentsOf(
  compiler: Compiler,
  { name, args, at }: Call,
  { signature }: Procedure,
  scope: Scope,
  isAlone: boolean,
): readonly Expression[] {
  const parameters = signature?.parameters ?? [];
  if (args === undefined) {
    if (!isAlone)
      throw compiler.failure(
        'InvalidArgumentPassingMode',
        at,
        `'${name}' needs its arguments in parentheses inside a query`,
      );
    return parameters.map((parameter) =>
      parameter.default === undefined
        ? { op: 'Parameter', name: parameter.name }
        : { op: 'Constant', value: parameter.default },
    );
  }
  requireCount(compiler, name, at, parameters, args);
  return parameters.map((parameter, index) => {
    const given = args[index];
    if (given === undefined) return { op: 'Constant', value: parameter.default ?? null };
    requireArgument(compiler, given, parameter, scope);
    return compiler.expression(given, scope);
  });
}

function requireCount(
  compiler: Compiler,
  name: string,
  at: number,
  parameters: readonly ProcedureParameter[],
  args: readonly Expr[],
): void {
  const countMin = parameters.filter((parameter) => parameter.default === undefined).length;
  if (args.length < countMin || args.length > parameters.length)
    throw compiler.failure(
      'InvalidNumberOfArguments',
      at,
      `'${name}' takes ${countMin === parameters.length ? countMin : `${countMin} to ${parameters.length}`} arguments, not ${args.length}`,
    );
}

export interface WrittenCall {
  /** What it gives, under the name that the call gives it; undefined when it is not yielded. */
  readonly alias: string | undefined;
  readonly kind: BindingKind;
  readonly name: string;
}

/** Checks the call of a procedure that stands for clauses, as any other call. */
export function writtenCall(
  compiler: Compiler,
  clause: Call,
  scope: Scope,
  isAlone: boolean,
): WrittenCall {
  const procedure = procedureOf(compiler, clause);
  const columns = procedure.signature?.columns ?? noColumns;
  argumentsOf(compiler, { ...clause, args: clause.args ?? [] }, procedure, scope, isAlone);
  const [column] = columns;
  const [item] = yieldsOf(compiler, clause, columns, isAlone);
  if (item !== undefined && item.column !== column?.name)
    throw compiler.failure(
      'UndefinedVariable',
      item.at,
      `'${procedure.name}' gives no column '${item.column}'`,
    );
  if (item !== undefined && scope.has(item.alias))
    throw compiler.failure(
      'VariableAlreadyBound',
      item.at,
      `variable '${item.alias}' is already defined`,
    );
  const kind = column === undefined ? 'value' : bindingKind(column);
  return { alias: item?.alias, kind, name: column?.name ?? '' };
}

const allowedKinds: Readonly<Record<string, readonly StaticKind[]>> = {
  STRING: ['string'],
  BOOLEAN: ['boolean'],
  INTEGER: ['integer'],
  FLOAT: ['float', 'integer'],
  NUMBER: ['float', 'integer'],
  LIST: ['list'],
  MAP: ['map'],
  NODE: ['node'],
  RELATIONSHIP: ['relationship'],
  PATH: ['path'],
};

function requireArgument(
  compiler: Compiler,
  given: Expr,
  { name, type }: ProcedureColumn,
  scope: Scope,
): void {
  if (holdsAggregate(given))
    throw compiler.failure(
      'InvalidAggregation',
      given.at,
      'an aggregate cannot be an argument of a procedure',
    );
  const allowed = allowedKinds[type.replace(/\?$/, '')];
  if (allowed === undefined) return;
  requireKind(compiler, given, scope, allowed, `${type.toLowerCase()} for argument '${name}'`);
}

function yieldsOf(
  compiler: Compiler,
  { yields, at, name }: Call,
  columns: readonly ProcedureColumn[],
  isAlone: boolean,
): readonly YieldItem[] {
  const all = (): readonly YieldItem[] =>
    columns.map((column) => ({ column: column.name, alias: column.name, at, end: at }));
  if (yields === undefined) {
    if (isAlone || columns.length === 0) return all();
    throw compiler.failure(
      'UndefinedVariable',
      at,
      `a call of '${name}' inside of a query names by YIELD what it wants of: ${columns.map((column) => column.name).join(', ')}`,
    );
  }
  if (yields !== 'all') return yields;
  if (isAlone) return all();
  throw compiler.failure(
    'UnexpectedSyntax',
    at,
    `YIELD * of '${name}' stands only in a call of its own`,
  );
}

function bindingKind({ type }: ProcedureColumn): BindingKind {
  switch (type.replace(/\?$/, '')) {
    case 'NODE':
      return 'node';
    case 'RELATIONSHIP':
      return 'relationship';
    case 'PATH':
      return 'path';
    default:
      return 'value';
  }
}
