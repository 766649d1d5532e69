import { fullName } from '#catalog/definitions.ts';
import { didYouMean } from '#catalog/name-rules.ts';
import { DatabaseError } from '#core/errors.ts';
import { isMap, type Value } from '#core/value/value.ts';
import type { Expression as Computed } from '#query/algebra/expression.ts';
import { resolveScalar, unknownFunction } from '#query/evaluate/calls.ts';
import { currentRecordFunctions } from '#query/functions/graph/graph.ts';
import { guidedPathCall, userFunctionCall } from '#query/functions/user-function.ts';
import type { Expression, FunctionCall, Method } from '../../ast.ts';
import type { Analysis, Environment } from '../analysis.ts';
import { knownType } from './known-type.ts';
import { memberOf, wholeRow } from '../names.ts';

/** Functions and methods (sql-functions.md 0). Aggregates over groups are taken care of before this is asked. */

export function analyzeCall(analysis: Analysis, node: FunctionCall, env: Environment): Computed {
  const { functions } = analysis;
  const { name } = node;
  const lower = name.toLowerCase();
  if (lower === 'distinct')
    throw analysis.fault(
      node.at,
      "'distinct' is supported only as the whole SELECT projection (SELECT distinct(x) FROM ...)",
    );
  if (lower === 'expand')
    throw analysis.fault(
      node.at,
      'expand() must be the only projection, and nothing may follow it',
    );
  // What analyzers alone may call, functions of the schema for one: their call is made below, after their rights were seen to.
  const found = name.startsWith('#') ? undefined : functions.scalar(name);
  if (found === undefined || comesAfterLibraries(analysis, lower)) {
    if (functions.aggregate(name) !== undefined)
      throw analysis.fault(node.at, `aggregate function '${name}' is not allowed here`);
    return (
      userFunction(analysis, node, env) ??
      methodOfPath(analysis, node, env) ??
      unknown(analysis, node)
    );
  }
  const args = node.isStar
    ? [wholeRow(analysis, env.row, env.scope.level)]
    : node.arguments.map((argument) => analysis.expression(argument, env));
  warnOfEdgeTypes(analysis, name, node.arguments);
  const takesCurrent = currentRecordFunctions.has(found.name.toLowerCase());
  const all = takesCurrent ? [wholeRow(analysis, env.row, env.scope.level), ...args] : args;
  resolveScalar(functions, name, all.length);
  const heuristic = found.name === 'astar' ? heuristicOf(analysis, node.arguments[3]) : undefined;
  if (heuristic === undefined) return { op: 'Call', function: found.name, arguments: all };
  analysis.writeCount += 1;
  const called: Computed = { op: 'Constant', value: heuristic };
  return { op: 'Call', function: guidedPathCall, arguments: [called, ...all] };
}

/** Those of sql-functions.md 9. */
const statelessNamespaces: ReadonlySet<string> = new Set(
  'text math number date convert coll map agg util create node rel path'.split(' '),
);

/** A function of a library goes before a stateless one of the same name (sql-functions.md 0.2), `apoc.` always means the latter. */
function comesAfterLibraries({ catalog }: Analysis, name: string): boolean {
  const dot = name.indexOf('.');
  if (dot < 0 || !statelessNamespaces.has(name.slice(0, dot))) return false;
  return catalog.definitions.functionNamed(name) !== undefined;
}

/**
 * The function that `astar()` is to ask (sql-functions.md 4.1). Since it may read and write what it likes, its name must stand in
 * the statement.
 */
function heuristicOf(analysis: Analysis, options: Expression | undefined): string | undefined {
  const text = (key: string): string | undefined => {
    const value = entryOf(options, key);
    return typeof value === 'string' ? value : undefined;
  };
  if (text('heuristicFormula')?.toUpperCase() !== 'CUSTOM') return undefined;
  const name = text('customHeuristicFormula');
  if (name === undefined) return undefined;
  const defined = analysis.catalog.definitions.functionNamed(name);
  if (defined === undefined) throw unknownName(analysis, name);
  return fullName(defined);
}

/** What is written under a key of a map, when that is a literal. */
function entryOf(node: Expression | undefined, key: string): Value | undefined {
  if (node?.kind === 'literal') return isMap(node.value) ? node.value.get(key) : undefined;
  if (node?.kind !== 'map') return undefined;
  const value = node.entries.find((entry) => entry.key === key)?.value;
  return value?.kind === 'literal' ? value.value : undefined;
}

/** A function of the schema (sql.md 14.2). */
function userFunction(
  analysis: Analysis,
  node: FunctionCall,
  env: Environment,
): Computed | undefined {
  const defined = analysis.catalog.definitions.functionNamed(node.name);
  if (defined === undefined) return undefined;
  const { parameters } = defined;
  const count = node.isStar ? 1 : node.arguments.length;
  if (count !== parameters.length)
    throw new DatabaseError(
      'IllegalArgument',
      `function '${fullName(defined)}' requires ${parameters.length} arguments, got ${count}. Syntax: ${fullName(defined)}(${parameters.join(', ')})`,
    );
  const args = node.isStar
    ? [wholeRow(analysis, env.row, env.scope.level)]
    : node.arguments.map((argument) => analysis.expression(argument, env));
  // It may read and write what it likes, so nothing is moved past it.
  analysis.writeCount += 1;
  const name: Computed = { op: 'Constant', value: fullName(defined) };
  return { op: 'Call', function: userFunctionCall, arguments: [name, ...args] };
}

function unknown(analysis: Analysis, { name }: FunctionCall): never {
  if (analysis.functions.suggest(name) !== undefined)
    throw unknownFunction(analysis.functions, name);
  throw unknownName(analysis, name);
}

function unknownName(analysis: Analysis, name: string): DatabaseError {
  const help = didYouMean(name, analysis.catalog.definitions.functionNames());
  const hint = help === undefined ? {} : { help };
  return new DatabaseError('CommandExecution', `Unknown function name '${name}'`, hint);
}

/** `date.asString()` where `date` is a property: not a function of the namespace, but a method of that name exists. */
function methodOfPath(
  analysis: Analysis,
  node: FunctionCall,
  env: Environment,
): Computed | undefined {
  const dot = node.name.lastIndexOf('.');
  if (dot < 0 || node.isStar) return undefined;
  const method = node.name.slice(dot + 1);
  if (analysis.functions.scalar(`.${method}`) === undefined) return undefined;
  const [first = '', ...rest] = node.name.slice(0, dot).split('.');
  const base: Expression = {
    kind: 'name',
    name: first,
    isQuoted: false,
    at: node.at,
    end: node.at + first.length,
  };
  const receiver = rest.reduce(memberOf, analysis.expression(base, env));
  return methodCall(analysis, receiver, method, node.arguments, env);
}

export function analyzeMethod(analysis: Analysis, node: Method, env: Environment): Computed {
  if (analysis.functions.scalar(`.${node.name}`) === undefined) refuseBareLibrary(analysis, node);
  const receiver = analysis.expression(node.of, env);
  return methodCall(analysis, receiver, node.name, node.arguments, env, node.of);
}

/** `lib.f(1)` without back-ticks is a method of a property `lib`; where a library has that name, the function is meant. */
function refuseBareLibrary(analysis: Analysis, { of, name }: Method): void {
  if (of.kind !== 'name') return;
  const known = analysis.catalog.definitions.functionNames();
  if (!known.some((own) => own.startsWith(`${of.name}.`))) return;
  const meant = `${of.name}.${name}`;
  const help = known.includes(meant)
    ? `functions of libraries are called with back-ticks: \`${meant}\`(...)`
    : didYouMean(meant, known);
  const hint = help === undefined ? {} : { help };
  throw new DatabaseError('CommandExecution', `Unknown function name '${meant}'`, hint);
}

function methodCall(
  analysis: Analysis,
  receiver: Computed,
  name: string,
  args: readonly Expression[],
  env: Environment,
  node?: Expression,
): Computed {
  const found = resolveScalar(analysis.functions, `.${name}`, args.length + 1);
  warnOfEdgeTypes(analysis, name, args);
  if (found.name === '.type' || found.name === '.javaType')
    return typeCall(analysis, found.name, receiver, { node, env });
  return {
    op: 'Call',
    function: found.name,
    arguments: [receiver, ...args.map((argument) => analysis.expression(argument, env))],
  };
}

/** `.type()` of what more is known of than its value shows: by the text, a declaration, or the record that holds it (`type-of.ts`). */
function typeCall(
  analysis: Analysis,
  name: string,
  receiver: Computed,
  { node, env }: { readonly node: Expression | undefined; readonly env: Environment },
): Computed {
  const isCount = node?.kind === 'call' && node.name.toLowerCase() === 'count';
  const known = isCount ? long : knownType(analysis, receiver, env);
  return known === undefined
    ? { op: 'Call', function: name, arguments: [receiver] }
    : { op: 'Call', function: `#${name}`, arguments: [receiver, known] };
}

/** Functions and methods whose arguments are names of edge types. */
const movesAlong: ReadonlySet<string> = new Set(['out', 'in', 'both', 'oute', 'ine', 'bothe']);

function warnOfEdgeTypes(analysis: Analysis, name: string, args: readonly Expression[]): void {
  if (args.length === 0 || !movesAlong.has(name.toLowerCase())) return;
  for (const argument of args) {
    if (argument.kind !== 'literal' || typeof argument.value !== 'string') continue;
    const type = analysis.catalog.typeNamed(argument.value);
    if (type?.kind !== 'edge') analysis.warnOfEdgeType(argument.value, argument.at);
  }
}

const long: Computed = { op: 'Constant', value: 'LONG' };
