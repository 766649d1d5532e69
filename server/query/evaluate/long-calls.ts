import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value.ts';
import type { EvaluationContext, LongWork, WorkMeter } from './context.ts';

/**
 * Calls inside expressions that may work long: searches for paths, moves from many vertices, sub-plans. An expression is a
 * tree of closures that cannot stop half-way, so the operator that evaluates it does this instead: when the work of a turn is
 * done, the evaluation ends with `suspended`, the operator answers PAUSE, and evaluates the expression once more from its
 * beginning. Calls that are over give the value they had, the one that was stopped goes on. So an expression must give the
 * same calls each time, which deterministic ones do, and laziness (CASE, AND, ??) stays what it is.
 */

/** Thrown through an expression whose work goes on in the next turn; no error, and cheap, since it has no stack. */
export const suspended = Object.freeze({ reason: 'the expression goes on in the next turn' });

/** Work in one turn: edges looked at, 16 for each record or list that must be looked up (10 us when nothing is cached). */
export const unitsPerTurn = 2_048;
export const unitsPerLookup = 16;

/** Work of a call where nobody can pause: conditions of paths, values of conditions that an index answers, DEFAULT. */
const turnsInPlaceMax = 512;

interface LongCall {
  readonly site: object;
  readonly work: LongWork;
  isOver: boolean;
  value: Value;
}

/** The long calls of one evaluation, in the order in which they are met. */
export class LongCalls implements WorkMeter {
  readonly #calls: LongCall[] = [];
  #position = 0;
  #unitsLeft = unitsPerTurn;
  /** A call has gone on in this turn. */
  #hasGoneOn = false;

  /** The work of this turn is done. */
  get isExhausted(): boolean {
    return this.#unitsLeft <= 0;
  }

  newTurn(): void {
    this.#unitsLeft = unitsPerTurn;
    this.#hasGoneOn = false;
  }

  /** Before the expression is evaluated, for the first time or once more. */
  rewind(): void {
    this.#position = 0;
  }

  isSpent(units: number): boolean {
    this.#unitsLeft -= units;
    return this.#unitsLeft <= 0;
  }

  /** @throws suspended when the call is not over yet, and what it throws itself */
  value(site: object, begin: (meter: WorkMeter) => LongWork, context: EvaluationContext): Value {
    const at = this.#position;
    this.#position += 1;
    let call = this.#calls[at];
    if (call?.site !== site) {
      this.#abandonFrom(at);
      call = { site, work: begin(this), isOver: false, value: null };
      this.#calls.push(call);
    }
    if (call.isOver) return call.value;
    if (this.isExhausted) {
      if (this.#hasGoneOn) throw suspended;
      // What stands around the calls is done anew each time: it may not take from them all that a turn has.
      this.#unitsLeft = unitsPerTurn;
    }
    this.#hasGoneOn = true;
    // Expressions inside the work are none of the expression's own calls.
    context.longCalls = undefined;
    try {
      const step = call.work.next();
      if (step.done !== true) throw suspended;
      call.isOver = true;
      call.value = step.value;
      return step.value;
    } finally {
      context.longCalls = this;
    }
  }

  /** The expression is over, or is not wanted any more. */
  reset(): void {
    if (this.#calls.length > 0) this.#abandonFrom(0);
    this.#position = 0;
  }

  #abandonFrom(at: number): void {
    for (let number = at; number < this.#calls.length; number += 1) {
      const { isOver, work } = this.#calls[number] as LongCall;
      if (!isOver) work.return(null);
    }
    this.#calls.length = at;
  }
}

/**
 * The value of a call that may work long, now or after some turns.
 * @param site tells the calls of an expression apart
 * @param what as it reads in the error
 * @throws DatabaseError `Timeout`, and `TooLarge` where nobody can pause and the call is too long for one turn
 */
export function longValue(
  context: EvaluationContext,
  site: object,
  what: string,
  begin: (meter: WorkMeter) => LongWork,
): Value {
  const { longCalls } = context;
  if (longCalls !== undefined) return longCalls.value(site, begin, context);
  let unitsLeft = unitsPerTurn;
  const work = begin({
    isSpent(units) {
      unitsLeft -= units;
      return unitsLeft <= 0;
    },
  });
  try {
    for (let turn = 0; turn < turnsInPlaceMax; turn += 1) {
      unitsLeft = unitsPerTurn;
      const step = work.next();
      if (step.done === true) return step.value;
      checkTime(context, what);
    }
  } finally {
    work.return(null);
  }
  throw new DatabaseError(
    'TooLarge',
    `${what} takes more than ${turnsInPlaceMax * unitsPerTurn} steps, which it may not where the statement cannot pause; compute it in LET or in the projection`,
  );
}

function checkTime({ deadlineMs, runtime }: EvaluationContext, what: string): void {
  if (deadlineMs !== undefined && runtime.clock.monotonicMs() > deadlineMs)
    throw new DatabaseError('Timeout', `the statement ran out of time in ${what}`);
}
