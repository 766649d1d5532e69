import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { Expression } from '../algebra/expression.ts';
import type { EvaluationContext } from './context.ts';
import { partsUnwatched } from './collections.ts';
import type { CompileEnvironment, Evaluator } from './evaluator.ts';
import { isLarge, largeText } from './turns/large.ts';
import { rememberedValue } from './turns/long-calls.ts';
import type { FunctionRegistry, ScalarFunction } from './function-definition.ts';
import { requireTurn } from './turns/value-size.ts';

/**
 * The scalar function a call names, with the number of arguments checked. Analyzers use it too, so that a wrong call is
 * refused before execution.
 * @throws DatabaseError `CommandExecution` `Unknown function name '<f>'`, `IllegalArgument` for a wrong number of arguments
 */
export function resolveScalar(
  functions: FunctionRegistry,
  name: string,
  argumentCount: number,
): ScalarFunction {
  const found = functions.scalar(name);
  if (found === undefined) throw unknownFunction(functions, name);
  const { min, max } = found.arity;
  if (argumentCount < min || argumentCount > max)
    throw new DatabaseError('IllegalArgument', arityMessage(found, argumentCount));
  return found;
}

/** `Unknown function name '<f>'`, or `Unknown method name: <m>`, with the closest known name as a hint. */
export function unknownFunction(functions: FunctionRegistry, name: string): DatabaseError {
  const message = name.startsWith('.')
    ? `Unknown method name: ${name.slice(1)}`
    : `Unknown function name '${name}'`;
  const suggestion = functions.suggest(name);
  return new DatabaseError(
    'CommandExecution',
    message,
    suggestion === undefined ? {} : { help: `did you mean '${asWritten(name, suggestion)}'?` },
  );
}

/** Of a method for a method the bare name: the dot is there already. */
function asWritten(name: string, suggestion: string): string {
  return name.startsWith('.') && suggestion.startsWith('.') ? suggestion.slice(1) : suggestion;
}

function arityMessage(definition: ScalarFunction, argumentCount: number): string {
  const isMethod = definition.name.startsWith('.');
  const receiver = isMethod || definition.takesRecord === true ? 1 : 0;
  const min = definition.arity.min - receiver;
  const max = definition.arity.max - receiver;
  const count =
    max === min ? String(min) : Number.isFinite(max) ? `${min} to ${max}` : `at least ${min}`;
  const what = isMethod ? `method '${definition.name.slice(1)}'` : `function '${definition.name}'`;
  const noun = count === '1' ? 'argument' : 'arguments';
  return `${what} requires ${count} ${noun}, got ${argumentCount - receiver}. Syntax: ${definition.syntax}`;
}

export function compileCall(
  expression: Extract<Expression, { op: 'Call' }>,
  args: readonly Evaluator[],
  env: CompileEnvironment,
): Evaluator {
  const definition = resolveScalar(env.functions, expression.function, args.length);
  if (!definition.isDeterministic && definition.mayTakeLong !== true)
    return compileVolatile(definition, args);
  const [first, second] = args;
  if (args.length === 0) return (context) => definition.evaluate([], context);
  const remembers = definition.worksInTurns !== true;
  // Apart, since every test counts where the function is quick.
  if (first && args.length === 1 && !remembers)
    return (context) => definition.evaluate([first(context)], context);
  if (first && second && args.length === 2 && !remembers)
    return (context) => definition.evaluate([first(context), second(context)], context);
  if (first && args.length === 1)
    return (context) => {
      const values = [first(context)];
      return isLargeArgument(values[0])
        ? rememberedCall(definition, values, context)
        : definition.evaluate(values, context);
    };
  if (first && second && args.length === 2)
    return (context) => {
      const values = [first(context), second(context)];
      return isLargeArgument(values[0]) || isLargeArgument(values[1])
        ? rememberedCall(definition, values, context)
        : definition.evaluate(values, context);
    };
  const areMany = args.length > partsUnwatched;
  return (context) => {
    const values: Value[] = new Array(args.length);
    for (let i = 0; i < args.length; i++) {
      values[i] = (args[i] as Evaluator)(context);
      if (areMany) requireTurn(context);
    }
    return remembers && values.some(isLarge)
      ? rememberedCall(definition, values, context)
      : definition.evaluate(values, context);
  };
}

/** `isLarge`, small enough to be part of the code around it: nearly all arguments are numbers and short texts. */
function isLargeArgument(value: Value | undefined): boolean {
  if (typeof value === 'string') return value.length >= largeText;
  return typeof value === 'object' && isLarge(value);
}

function rememberedCall(
  definition: ScalarFunction,
  args: readonly Value[],
  context: EvaluationContext,
): Value {
  return rememberedValue(context, definition, () => definition.evaluate(args, context));
}

/** What it gives is remembered while the expression around it is evaluated once more (`long-calls.ts`). */
function compileVolatile(definition: ScalarFunction, args: readonly Evaluator[]): Evaluator {
  return (context) => {
    const values: Value[] = new Array(args.length);
    for (let i = 0; i < args.length; i++) values[i] = (args[i] as Evaluator)(context);
    const { longCalls } = context;
    return longCalls === undefined
      ? definition.evaluate(values, context)
      : longCalls.once(definition, () => definition.evaluate(values, context));
  };
}
