import type { Value } from '#core/value/value.ts';
import type { EvaluationContext, LongWork, WorkMeter } from '../evaluate/context.ts';
import { canPause, longValue, pausingValue } from '../evaluate/turns/long-calls.ts';
import { timed } from '../evaluate/turns/done-work.ts';
import { isLarge, largeText } from '../evaluate/turns/large.ts';
import type {
  Accumulator,
  AggregateFunction,
  ScalarFunction,
} from '../evaluate/function-definition.ts';

/** Any number of arguments. */
export const ANY_NUMBER = Number.POSITIVE_INFINITY;

/** `[least, most]` number of arguments; a method does not count its receiver here. */
export type ArgumentCount = readonly [min: number, max: number];

type Evaluate = ScalarFunction['evaluate'];

/** A function whose result depends on its arguments (and the snapshot) alone. `syntax` starts with the canonical name. */
export function scalar(syntax: string, count: ArgumentCount, evaluate: Evaluate): ScalarFunction {
  return {
    name: nameIn(syntax),
    arity: { min: count[0], max: count[1] },
    isDeterministic: true,
    syntax,
    evaluate,
  };
}

/** A function whose call may work for seconds, step by step. */
export function longScalar(
  syntax: string,
  count: ArgumentCount,
  begin: (args: readonly Value[], context: EvaluationContext, meter: WorkMeter) => LongWork,
): ScalarFunction {
  const what = `${nameIn(syntax)}()`;
  return {
    ...scalar(syntax, count, (args, context) =>
      longValue(context, begin, what, (meter) => begin(args, context, meter)),
    ),
    mayTakeLong: true,
    worksInTurns: true,
  };
}

/**
 * A function with a way to do the same in turns. It is taken for large arguments, among the first two, where the statement can
 * pause; elsewhere `evaluate` does all at once.
 */
export function inTurns(
  definition: ScalarFunction,
  begin: (args: readonly Value[], context: EvaluationContext, meter: WorkMeter) => LongWork,
): ScalarFunction {
  const { evaluate } = definition;
  return {
    ...definition,
    worksInTurns: true,
    evaluate(args, context) {
      const isShort = !isLarge(args[0]) && (args.length < 2 || !isLarge(args[1]));
      if (isShort || args[0] === null) return evaluate(args, context);
      if (!canPause(context)) return timed(context.runtime.clock, () => evaluate(args, context));
      return pausingValue(context, begin, (meter) => begin(args, context, meter));
    },
  };
}

/** As `nullSafe` and `inTurns` together, with one call less. */
export function nullSafeInTurns(
  syntax: string,
  count: ArgumentCount,
  evaluate: Evaluate,
  begin: (args: readonly Value[], context: EvaluationContext, meter: WorkMeter) => LongWork,
): ScalarFunction {
  const definition = scalar(syntax, count, (args, context) => {
    const first = args[0];
    if (first === null || first === undefined) return null;
    // Nearly always a short text, perhaps with another one.
    const isShort = typeof first === 'string' ? first.length < largeText : !isLarge(first);
    if (isShort && args.length < 2) return evaluate(args, context);
    const second = args[1];
    const isShortToo = typeof second === 'string' ? second.length < largeText : !isLarge(second);
    if (isShort && isShortToo) return evaluate(args, context);
    if (!canPause(context)) return timed(context.runtime.clock, () => evaluate(args, context));
    return pausingValue(context, begin, (meter) => begin(args, context, meter));
  });
  return { ...definition, worksInTurns: true };
}

/** As `nullSafeInTurns`, for a method. */
export function methodInTurns(
  syntax: string,
  count: ArgumentCount,
  evaluate: Evaluate,
  begin: (args: readonly Value[], context: EvaluationContext, meter: WorkMeter) => LongWork,
): ScalarFunction {
  return receiver(nullSafeInTurns(syntax, count, evaluate, begin));
}

/** A function that may answer differently each time: random numbers, the clock, the current record. */
export function volatileScalar(
  syntax: string,
  count: ArgumentCount,
  evaluate: Evaluate,
): ScalarFunction {
  return { ...scalar(syntax, count, evaluate), isDeterministic: false };
}

/** `null` for a null first argument, whatever the others are; most namespaced functions and methods are such. */
export function nullSafe(syntax: string, count: ArgumentCount, evaluate: Evaluate): ScalarFunction {
  return scalar(syntax, count, (args, context) =>
    args[0] === null || args[0] === undefined ? null : evaluate(args, context),
  );
}

/**
 * A method: registered under `.name`, with its receiver as the first argument; null receivers give null without a call.
 * `syntax` is written as the user writes it, `left(n)`.
 */
export function method(syntax: string, count: ArgumentCount, evaluate: Evaluate): ScalarFunction {
  return receiver(nullSafe(syntax, count, evaluate));
}

/** A method that has its own answer for null. */
export function methodOnNull(
  syntax: string,
  count: ArgumentCount,
  evaluate: Evaluate,
): ScalarFunction {
  return receiver(scalar(syntax, count, evaluate));
}

function receiver(definition: ScalarFunction): ScalarFunction {
  const { min, max } = definition.arity;
  return { ...definition, name: `.${definition.name}`, arity: { min: min + 1, max: max + 1 } };
}

/** The same function or aggregate under another name. */
export function alias<Definition extends { readonly name: string; readonly syntax: string }>(
  name: string,
  definition: Definition,
): Definition {
  const syntax = name + definition.syntax.slice(definition.syntax.indexOf('('));
  return { ...definition, name, syntax };
}

export function aggregate(
  syntax: string,
  count: ArgumentCount,
  create: () => Accumulator,
): AggregateFunction {
  return { name: nameIn(syntax), arity: { min: count[0], max: count[1] }, syntax, create };
}

function nameIn(syntax: string): string {
  return syntax.slice(0, syntax.indexOf('('));
}
