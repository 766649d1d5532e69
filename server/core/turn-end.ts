/*
 * When the turn of the event loop is over in which work is done now. Work in steps counts what it does, since that costs nothing and is the
 * same on each machine; the clock ends what takes longer than it counts: the collector marks while somebody allocates, up to five
 * milliseconds for each 64 KiB, and code that is not compiled yet takes ten times as long.
 */

/** Who gives turns. */
export interface Turn {
  /** Cost: a look at the clock. */
  isOver(): boolean;
}

/** Of the work that is done now, which runs without an interruption. */
let current: Turn | undefined;

/**
 * What is done from now on is to end with this turn, up to `leaveTurn`.
 * @param turn undefined for what cannot pause: its steps are counted, and must be the same on each machine
 * @returns the turn around it
 */
export function enterTurn(turn: Turn | undefined): Turn | undefined {
  const outer = current;
  current = turn;
  return outer;
}

/** @param outer what `enterTurn` gave */
export function leaveTurn(outer: Turn | undefined): void {
  current = outer;
}

/** Does a step of work in a turn, or what cannot pause. @throws what the step throws */
export function withinTurn<T>(turn: Turn | undefined, step: () => T): T {
  const outer = enterTurn(turn);
  try {
    return step();
  } finally {
    leaveTurn(outer);
  }
}

/** Whether the step that is done now is to come to an end. False where nobody gives turns. */
export function isTurnOver(): boolean {
  return current?.isOver() ?? false;
}

/** Looks at next to nothing, between two looks at the clock. */
const looksPerClock = 64;

/** Counts looks at things, and says when it is time to pause. */
export class LookShare {
  readonly #most: number;
  #perPause: number;
  /** Before the next look at the clock, and after it. */
  #left = 0;
  #behind = 0;

  /** @param first looks before the first pause, twice as many before each that follows, `most` at last: code becomes quick meanwhile */
  constructor({ first, most }: { readonly first: number; readonly most: number }) {
    this.#most = most;
    this.#perPause = first;
    this.#begin(first);
  }

  /** @returns true when it is time to pause; counting then starts anew */
  isSpent(looks: number): boolean {
    this.#left -= looks;
    if (this.#left > 0) return false;
    const left = this.#behind + this.#left;
    if (left > 0 && !isTurnOver()) {
      this.#begin(left);
      return false;
    }
    this.#perPause = Math.min(this.#most, this.#perPause * 2);
    this.#begin(this.#perPause);
    return true;
  }

  #begin(looks: number): void {
    this.#left = Math.min(looks, looksPerClock);
    this.#behind = looks - this.#left;
  }
}
