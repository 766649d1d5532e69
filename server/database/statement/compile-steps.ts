import { DatabaseError } from '#core/errors.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import { enterTurn, leaveTurn, type Turn, withinTurn } from '#core/turn-end.ts';

/**
 * The way from a text to its operators, in steps between which others may run: each takes time in proportion to the text,
 * some 100 ms for a megabyte of dense conditions.
 */
export type CompileSteps<T> = PausingWork<T>;

/** All steps at once. @throws what they throw */
export function completed<T>(steps: CompileSteps<T>): T {
  const outer = enterTurn(undefined);
  try {
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  } catch (error) {
    throw refusalOfOverflow(error);
  } finally {
    leaveTurn(outer);
  }
}

/**
 * Steps with a pause after each but the last.
 * @param turn a step ends when it is over
 * @throws what they and `pause` throw
 */
export async function completedWithPauses<T>(
  steps: CompileSteps<T>,
  pause: () => Promise<void>,
  turn: Turn,
): Promise<T> {
  const next = () => steps.next();
  try {
    for (;;) {
      const { done, value } = withinTurn(turn, next);
      if (done) return value;
      await pause();
    }
  } catch (error) {
    throw refusalOfOverflow(error);
  }
}

/**
 * What recursion over a statement means when the call stack ends: expressions are bounded by a setting, but patterns of a
 * thousand steps or thousands of LETs nest in the plan as well.
 */
export function refusalOfOverflow(error: unknown): unknown {
  if (!(error instanceof RangeError) || !error.message.includes('call stack')) return error;
  return new DatabaseError(
    'TooLarge',
    'the statement has too many parts that build on each other (steps of a pattern, LET, sub-queries); see service.sql.maxExpressionDepth',
    { cause: error },
  );
}
