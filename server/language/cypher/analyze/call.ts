import type { Expression } from '#query/algebra/expression.ts';
import { fullName } from '#catalog/definitions.ts';
import { documentedFunctions, functionRegistry } from '#query/functions/registry.ts';
import { userFunctionCall } from '#query/functions/user-function.ts';
import type { Expression as Expr, ExpressionOf as ExprOf } from '../ast.ts';
import type { Compiler } from './compiler.ts';
import { compileCsvCall } from './load-csv.ts';
import { compilePatternPredicate } from './sub-query.ts';
import type { Scope } from './scope.ts';
import { requireKind, type StaticKind } from './static-kind.ts';

/** Function calls (cypher.md 9). */

const aggregates: ReadonlySet<string> = new Set([
  'count',
  'sum',
  'avg',
  'min',
  'max',
  'collect',
  'stdev',
  'stdevp',
  'percentilecont',
  'percentiledisc',
]);

export function isAggregate(expr: Expr): boolean {
  return (
    expr.kind === 'countAll' || (expr.kind === 'call' && aggregates.has(expr.name.toLowerCase()))
  );
}

/** @throws `InvalidNumberOfArguments` unless the aggregate has the value, and the percentile that it may ask for */
export function requireAggregated(compiler: Compiler, expr: ExprOf<'call'>): void {
  const count = /^percentile/i.test(expr.name) ? 2 : 1;
  requireCount(compiler, expr, { min: count, max: count });
}

function requireCount(
  compiler: Compiler,
  { name, args, at }: ExprOf<'call'>,
  arity: { readonly min: number; readonly max: number },
): void {
  if (takes(arity, args.length)) return;
  const { min, max } = arity;
  const wanted = max === min ? min : max === Infinity ? `${min} or more` : `${min} to ${max}`;
  throw compiler.failure(
    'InvalidNumberOfArguments',
    at,
    `'${name}' takes ${wanted} arguments, not ${args.length}`,
  );
}

/** Functions whose first argument must be of a kind, where that is known: for the message. */
const argumentKinds: Readonly<Record<string, readonly [readonly StaticKind[], string]>> = {
  labels: [['node'], 'a node'],
  type: [['relationship'], 'a relationship'],
  length: [['path'], 'a path'],
  nodes: [['path'], 'a path'],
  relationships: [['path'], 'a path'],
  size: [['list', 'string'], 'a list or string'],
  startnode: [['relationship'], 'a relationship'],
  endnode: [['relationship'], 'a relationship'],
  keys: [['node', 'relationship', 'map'], 'a node, relationship or map'],
  properties: [['node', 'relationship', 'map'], 'a node, relationship or map'],
};

export function compileCall(
  compiler: Compiler,
  expr: ExprOf<'call'>,
  scope: Scope,
  value: (expr: Expr) => Expression,
): Expression {
  const name = expr.name.toLowerCase();
  if (aggregates.has(name))
    throw compiler.failure(
      'InvalidAggregation',
      expr.at,
      `the aggregate '${expr.name}' stands only in WITH and RETURN`,
    );
  if (expr.isDistinct)
    throw compiler.failure(
      'UnexpectedSyntax',
      expr.at,
      `DISTINCT stands in aggregates only, not in '${expr.name}'`,
    );
  const [first] = expr.args;
  const kinds = argumentKinds[name];
  const registered = registeredName(name);
  const found = registered === undefined ? undefined : functionRegistry.scalar(registered);
  const isCountRight = found === undefined || takes(found.arity, expr.args.length);
  if (kinds !== undefined && first !== undefined && isCountRight)
    requireKind(compiler, first, scope, kinds[0], kinds[1]);
  const special =
    specialCall(compiler, expr, scope, value) ?? compileCsvCall(name, expr.args, scope);
  if (special !== undefined) return special;
  if (found === undefined || registered === undefined)
    return userCall(compiler, expr, value) ?? unknownFunction(compiler, expr);
  requireCount(compiler, expr, found.arity);
  return {
    op: 'Call',
    function: registered,
    arguments: withoutWords(name, expr.args, scope).map(value),
  };
}

function takes(
  { min, max }: { readonly min: number; readonly max: number },
  count: number,
): boolean {
  return count >= min && count <= max;
}

/** A function of the schema, by `library.name` (cypher.md 9.8). */
export function userCall(
  compiler: Compiler,
  { name, args, at }: Pick<ExprOf<'call'>, 'name' | 'args' | 'at'>,
  value: (expr: Expr) => Expression,
): Expression | undefined {
  const defined = compiler.catalog.definitions.functionNamed(name);
  if (defined === undefined) return undefined;
  const { parameters } = defined;
  if (args.length !== parameters.length)
    throw compiler.failure(
      'InvalidNumberOfArguments',
      at,
      `'${name}' takes ${parameters.length} arguments, not ${args.length}`,
    );
  const called: Expression = { op: 'Constant', value: fullName(defined) };
  return { op: 'Call', function: userFunctionCall, arguments: [called, ...args.map(value)] };
}

function unknownFunction(compiler: Compiler, expr: ExprOf<'call'>): never {
  const known = [
    ...documentedFunctions('cypher').flatMap(({ name, kind }) =>
      kind === 'aggregate' ? [] : name,
    ),
    ...compiler.catalog.definitions.functionNames(),
    ...aggregates,
  ];
  throw compiler.unknown('UnknownFunction', expr, `there is no function '${expr.name}'`, known);
}

/** Arguments that are words: `vector(list, 3, FLOAT32)`, `normalize(text, NFKC)`. */
const wordArguments: ReadonlyMap<string, number> = new Map([
  ['vector', 2],
  ['normalize', 1],
  ['isnormalized', 1],
]);

function withoutWords(name: string, args: readonly Expr[], scope: Scope): readonly Expr[] {
  const place = wordArguments.get(name) ?? -1;
  const word = args[place];
  if (word?.kind !== 'variable' || scope.has(word.name)) return args;
  const { at, end } = word;
  return args.map((arg) => (arg === word ? { kind: 'literal', value: word.name, at, end } : arg));
}

/** Those of openCypher first, then functions that mean the same everywhere. */
function registeredName(name: string): string | undefined {
  // `sql.f` and `apoc.f` are other spellings of what is not Cypher's own, and is (cypher.md 9.8, 9.9).
  if (name.startsWith('sql.')) {
    const bare = name.slice('sql.'.length);
    return functionRegistry.scalar(bare) === undefined ? undefined : bare;
  }
  const own = `#cypher.${name}`;
  if (functionRegistry.scalar(own) !== undefined) return own;
  return functionRegistry.scalar(name) === undefined ? undefined : name;
}

/** Calls that are operations of the algebra. */
function specialCall(
  compiler: Compiler,
  expr: ExprOf<'call'>,
  scope: Scope,
  value: (expr: Expr) => Expression,
): Expression | undefined {
  const name = expr.name.toLowerCase();
  const [first] = expr.args;
  if (name === 'coalesce' && first !== undefined)
    return { op: 'Coalesce', operands: expr.args.map(value) };
  if (name === 'exists' && expr.args.length === 1 && first !== undefined) {
    if (first.kind === 'pattern') return compilePatternPredicate(compiler, first, scope);
    return { op: 'Not', operand: { op: 'IsNull', operand: value(first) } };
  }
  return undefined;
}
