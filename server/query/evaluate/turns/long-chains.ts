import type { EvaluationContext } from '../context.ts';
import { goneThrough, type LoopBody } from './list-turns.ts';
import { canPause, pausingValue } from './long-calls.ts';

/**
 * Chains of very many operands (AND, OR, XOR, `+`, CASE) in turns where the statement can pause. The first ones are done at once: most
 * chains are settled by them, and then cost what short ones do.
 */
const operandsAtOnce = 256;
/** Shorter chains are done at once. */
const longChain = 1_024;

export function isLongChain(operands: { readonly length: number }): boolean {
  return operands.length > longChain;
}

export interface Chain<T, S> {
  readonly operands: readonly T[];
  /** What may be long about an operand. */
  readonly body: LoopBody;
  /** What the chain is worth up to an operand. It does nothing but evaluate: it is done anew after a pause. */
  readonly step: (state: S, operand: T, context: EvaluationContext) => S;
  /** The operands behind it are not evaluated. */
  readonly isSettled: (state: S) => boolean;
}

/** @returns what goes through the operands, from the state before the first to that behind the last one */
export function compileLongChain<T, S>({
  operands,
  body,
  step,
  isSettled,
}: Chain<T, S>): (context: EvaluationContext, first: S) => S {
  const first = operands.slice(0, operandsAtOnce);
  const rest = operands.slice(operandsAtOnce);
  const through = (some: readonly T[], from: S, context: EvaluationContext): S => {
    let state = from;
    for (let at = 0; at < some.length && !isSettled(state); at += 1)
      state = step(state, some[at] as T, context);
    return state;
  };
  return (context, start) => {
    const begun = through(first, start, context);
    if (isSettled(begun)) return begun;
    if (!canPause(context)) return through(rest, begun, context);
    return pausingValue(context, rest, function* (meter) {
      let state = begun;
      yield* goneThrough(rest, { context, meter, body }, (operand) => {
        state = step(state, operand, context);
        return !isSettled(state);
      });
      return state;
    });
  };
}
