import { fullName } from '#catalog/definitions.ts';
import { didYouMean } from '#catalog/name-rules.ts';
import { DatabaseError } from '#core/errors.ts';
import { isMap, type Value } from '#core/value.ts';
import type { Expression as Computed } from '#query/algebra/expression.ts';
import { resolveScalar, unknownFunction } from '#query/evaluate/calls.ts';
import { currentRecordFunctions } from '#query/functions/graph.ts';
import { guidedPathCall, userFunctionCall } from '#query/functions/user-function.ts';
import type { Expression, FunctionCall, Method } from '../ast.ts';
import { type Analysis, type Environment, nullConstant } from './analysis.ts';
import { memberOf, wholeRow } from './names.ts';

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
  if (found === undefined) {
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
  const takesCurrent = currentRecordFunctions.has(found.name.toLowerCase());
  const all = takesCurrent ? [wholeRow(analysis, env.row, env.scope.level), ...args] : args;
  resolveScalar(functions, name, all.length);
  const heuristic = found.name === 'astar' ? heuristicOf(analysis, node.arguments[3]) : undefined;
  if (heuristic === undefined) return { op: 'Call', function: found.name, arguments: all };
  analysis.writeCount += 1;
  const called: Computed = { op: 'Constant', value: heuristic };
  return { op: 'Call', function: guidedPathCall, arguments: [called, ...all] };
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
  const told = widthOf(node.of, analysis.text);
  return methodCall(analysis, receiver, node.name, node.arguments, env, told);
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
  told?: string,
): Computed {
  const found = resolveScalar(analysis.functions, `.${name}`, args.length + 1);
  if (found.name === '.type' || found.name === '.javaType')
    return typeCall(found.name, receiver, told);
  return {
    op: 'Call',
    function: found.name,
    arguments: [receiver, ...args.map((argument) => analysis.expression(argument, env))],
  };
}

/** `.type()` of what is known to be of a certain width, or of a property, whose declaration tells (`type-of.ts`). */
function typeCall(name: string, receiver: Computed, told: string | undefined): Computed {
  if (told === undefined && receiver.op !== 'Property')
    return { op: 'Call', function: name, arguments: [receiver] };
  const holder: Computed = receiver.op === 'Property' ? receiver.of : nullConstant;
  const property: Computed = {
    op: 'Constant',
    value: receiver.op === 'Property' ? receiver.name : null,
  };
  const width: Computed = { op: 'Constant', value: told ?? null };
  return { op: 'Call', function: `#${name}`, arguments: [receiver, width, holder, property] };
}

const conversions: ReadonlyMap<string, string> = new Map([
  ['aslong', 'LONG'],
  ['asshort', 'SHORT'],
  ['asbyte', 'BYTE'],
]);

/** The integer type that an expression has if its value is an integer of 32 bits, as far as the text tells (sql.md 2.2, 3.4). */
function widthOf(node: Expression, text: string): string | undefined {
  switch (node.kind) {
    case 'literal':
      return typeof node.value === 'number' && /[lL]$/.test(text.slice(node.at, node.end))
        ? 'LONG'
        : undefined;
    case 'paren':
      return widthOf(node.inner, text);
    case 'unary':
      return widthOf(node.operand, text) === 'LONG' ? 'LONG' : undefined;
    case 'chain':
      // Shifts and operators on bits work on 64 bits (5.3); the others widen to their widest operand.
      if (node.signs.some((sign) => !'+-*/%'.includes(sign))) return 'LONG';
      return node.operands.some((operand) => widthOf(operand, text) === 'LONG')
        ? 'LONG'
        : undefined;
    case 'call':
      return node.name.toLowerCase() === 'count' ? 'LONG' : undefined;
    case 'method':
      return conversions.get(node.name.toLowerCase()) ?? convertedTo(node);
    default:
      return undefined;
  }
}

function convertedTo({ name, arguments: [type] }: Method): string | undefined {
  if (name.toLowerCase() !== 'convert' || type?.kind !== 'literal') return undefined;
  return String(type.value).toUpperCase();
}
