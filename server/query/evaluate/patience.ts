import type { EvaluationContext } from './context.ts';
import { LongCalls, type ReplayedPlace, suspended } from './long-calls.ts';

/** A context in which an operator evaluates. */
export type PatientPlace = ReplayedPlace & Pick<EvaluationContext, 'mayBeSuspended'>;

/**
 * For operators that evaluate row by row without a thought of pauses, as nearly all rows need none: `begin()`, evaluate, `end()`. An
 * expression that meets a value of megabytes throws `suspended` (`pausingValue`). The operator asks `isSuspension`, and from
 * then on, for the rest of the execution, evaluates through `attempt`, which does long calls in turns.
 */
export class Patience {
  #calls: LongCalls | undefined;

  /** An evaluation of this execution was suspended: `attempt` is to be used. */
  get isNeeded(): boolean {
    return this.#calls !== undefined;
  }

  /** What the evaluation threw. @returns true when it is to be done with `attempt`; other errors are the caller's to throw */
  isSuspension(error: unknown, place: PatientPlace): boolean {
    place.mayBeSuspended = false;
    if (error !== suspended) return false;
    this.#calls = new LongCalls();
    return true;
  }

  /**
   * Evaluates; what is long about it goes on in the next turn.
   * @returns false when the operator is to pause and attempt the same job again
   */
  attempt(place: PatientPlace, job: () => void): boolean {
    const calls = this.#calls ?? new LongCalls();
    this.#calls = calls;
    if (calls.isExhausted && !calls.isUnderway) {
      calls.newTurn();
      return false;
    }
    return calls.attempt(place, job);
  }

  /** To be called when the operator opens and closes. */
  reset(): void {
    this.#calls?.reset();
    this.#calls = undefined;
  }
}
