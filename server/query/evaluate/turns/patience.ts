import type { EvaluationContext } from '../context.ts';
import { LongCalls, type ReplayedPlace, suspended } from './long-calls.ts';

/** A context in which an operator evaluates. */
export type PatientPlace = ReplayedPlace & Pick<EvaluationContext, 'mayBeSuspended'>;

/**
 * For operators that evaluate row by row without a thought of pauses, as nearly all rows need none: `begin()`, evaluate, `end()`. An
 * expression that meets a value of megabytes throws `suspended` (`pausingValue`). The operator asks `isSuspension`, and from
 * then on, for the rest of the execution, evaluates through `attempt`, which does long calls in turns, until an evaluation needs none.
 */
export class Patience {
  #calls: LongCalls | undefined;
  #isNeeded = false;

  /** `attempt` is to be used: an evaluation was suspended, and none since was over at once. */
  get isNeeded(): boolean {
    return this.#isNeeded;
  }

  /** What the evaluation threw. @returns true when it is to be done with `attempt`; other errors are the caller's to throw */
  isSuspension(error: unknown, place: PatientPlace): boolean {
    place.mayBeSuspended = false;
    if (error !== suspended) return false;
    this.#calls ??= new LongCalls();
    this.#isNeeded = true;
    return true;
  }

  /** As `attempt`, without a thought of pauses until one is needed. */
  evaluate(place: PatientPlace, job: () => void): boolean {
    if (this.#isNeeded) return this.attempt(place, job);
    place.mayBeSuspended = true;
    try {
      job();
    } catch (error) {
      if (!this.isSuspension(error, place)) throw error;
      return this.attempt(place, job);
    }
    place.mayBeSuspended = false;
    return true;
  }

  /**
   * Evaluates; what is long about it goes on in the next turn.
   * @returns false when the operator is to pause and attempt the same job again
   */
  attempt(place: PatientPlace, job: () => void): boolean {
    const calls = this.#calls ?? new LongCalls();
    this.#calls = calls;
    const isBegun = calls.isUnderway;
    if (calls.isExhausted && !isBegun) {
      calls.newTurn();
      this.#isNeeded = true;
      return false;
    }
    const isOver = this.#attempt(calls, place, job);
    this.#isNeeded = !isOver || isBegun || calls.isExhausted;
    return isOver;
  }

  /** What stands inside of a call in turns can pause no more: `suspended` would end the call itself. */
  #attempt(calls: LongCalls, place: PatientPlace, job: () => void): boolean {
    const mayBeSuspended = place.mayBeSuspended === true;
    place.mayBeSuspended = false;
    try {
      return calls.attempt(place, job);
    } finally {
      place.mayBeSuspended = mayBeSuspended;
    }
  }

  /** To be called when the operator opens and closes. */
  reset(): void {
    this.#calls?.reset();
    this.#isNeeded = false;
  }
}
