import { isTurnOver } from '#core/turn-end.ts';
import { madeBytes } from '#core/value/made-bytes.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';

/**
 * Rows or steps that an operator may work through before it answers PAUSE, whether or not it gave rows meanwhile. Chosen so
 * that what happens between two pauses, in all operators above as well, stays below the executor's slice even when each
 * row costs ten microseconds, as a step to a vertex does whose list is in no cache.
 */
export const rowsPerTurn = 256;

/** Bytes of large values that may be made meanwhile: to read them takes some milliseconds. */
const bytesPerTurn = 4 * 1024 * 1024;

/**
 * Rows of a write, or rows that are held, between two looks at whether the turn is over: each takes a microsecond and more, and makes
 * kilobytes that the collector may mark meanwhile.
 */
export const rowsPerLook = 16;

/**
 * Counts the work of an operator that makes rows: scans, searches, steps. Operators that only pass rows on need no count of
 * their own, since a pause passes through them.
 */
export class WorkShare {
  readonly #size: number;
  readonly #perLook: number;
  /** Up to the next look at the turn, and behind it. */
  #left = 0;
  #behind = 0;
  #madeMax = madeBytes.total + bytesPerTurn;
  #unitsMax = doneWork.units + unitsAtOnce;

  /**
   * @param size less where a row costs more than others do
   * @param perLook units after which it is looked whether the turn is over; by default it is not
   */
  constructor(size = rowsPerTurn, perLook = Number.POSITIVE_INFINITY) {
    // The last unit is the pause itself.
    this.#size = Math.max(2, size);
    this.#perLook = perLook;
    this.#begin(this.#size);
  }

  /** One unit of work. @returns true when it is time to pause; counting then starts anew */
  isSpent(): boolean {
    madeBytes.rowStart = madeBytes.total;
    this.#left -= 1;
    if (this.#left > 0 && madeBytes.total < this.#madeMax && doneWork.units < this.#unitsMax)
      return false;
    if (this.#left === 0 && this.#behind > 0 && !isTurnOver()) {
      this.#begin(this.#behind);
      return false;
    }
    this.#madeMax = madeBytes.total + bytesPerTurn;
    this.#unitsMax = doneWork.units + unitsAtOnce;
    this.#begin(this.#size);
    return true;
  }

  /**
   * The operator was opened: what it did before does not count, so that a statement that writes a row or two does it in one turn, in
   * which nobody else writes. Who opens it for each of many rows counts these.
   */
  open(): void {
    this.#begin(this.#size);
  }

  #begin(units: number): void {
    this.#left = Math.min(units, this.#perLook);
    this.#behind = units - this.#left;
  }

  /** Units that may be done before it is time to pause. */
  get left(): number {
    return this.#left - 1;
  }

  /** Counts units that were done at once, at most `left`. */
  spend(count: number): void {
    this.#left -= count;
  }
}
