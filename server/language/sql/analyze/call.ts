import { fullName } from '#catalog/definitions.ts';
import { didYouMean } from '#catalog/name-rules.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Expression as Computed } from '#query/algebra/expression.ts';
import { resolveScalar, unknownFunction } from '#query/evaluate/calls.ts';
import { currentRecordFunctions } from '#query/functions/graph.ts';
import { userFunctionCall } from '#query/functions/user-function.ts';
import type { Expression, FunctionCall, Method } from '../ast.ts';
import type { Analysis, Environment } from './analysis.ts';
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
  // The call of a function of the schema is made below, after its rights were seen to.
  const found =
    name.toLowerCase() === userFunctionCall.toLowerCase() ? undefined : functions.scalar(name);
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
  return { op: 'Call', function: found.name, arguments: all };
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
  const help = didYouMean(name, analysis.catalog.definitions.functionNames());
  const hint = help === undefined ? {} : { help };
  throw new DatabaseError('CommandExecution', `Unknown function name '${name}'`, hint);
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
  const receiver = analysis.expression(node.of, env);
  return methodCall(analysis, receiver, node.name, node.arguments, env);
}

function methodCall(
  analysis: Analysis,
  receiver: Computed,
  name: string,
  args: readonly Expression[],
  env: Environment,
): Computed {
  const found = resolveScalar(analysis.functions, `.${name}`, args.length + 1);
  return {
    op: 'Call',
    function: found.name,
    arguments: [receiver, ...args.map((argument) => analysis.expression(argument, env))],
  };
}
