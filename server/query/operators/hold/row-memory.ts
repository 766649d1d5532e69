import { madeBytes } from '#core/value/made-bytes.ts';
import type { Value } from '#core/value/value.ts';
import { approximateBytes } from '../../evaluate/turns/held-bytes.ts';
import type { ExecutionContext } from '../operator.ts';

/** A row that has made more is computed column by column, with what it holds accounted. */
export const unweighedBytesMax = 4 * 1024 * 1024;
/** What the columns of a row may make in one turn: some milliseconds. */
const bytesPerTurn = 4 * 1024 * 1024;

/**
 * What the columns of one row hold, for projections: a few thousand columns may each make a copy of a large value. Values that were
 * not made for the row, as those of parameters, cost nothing. Give it back (`release`) when the row is done with.
 */
export class RowMemory {
  #context: ExecutionContext | undefined;
  #bytes = 0;
  #turnStart = 0;
  /** Made before the column at hand. */
  #columnStart: number | undefined;

  /** Something is accounted. */
  get isHeld(): boolean {
    return this.#bytes > 0;
  }

  newTurn(): void {
    this.#turnStart = madeBytes.total;
  }

  /** A column is about to be computed, perhaps once more. */
  beginColumn(): void {
    this.#columnStart ??= madeBytes.total;
    // The columns before it are accounted.
    madeBytes.rowStart = madeBytes.total;
  }

  /**
   * A column is over.
   * @returns true when the rest of the row is to be computed in the next turn
   * @throws DatabaseError `TooLarge` when the statement holds too much
   */
  endColumn(value: Value, context: ExecutionContext): boolean {
    const { total } = madeBytes;
    const isNew = this.#columnStart !== undefined && total > this.#columnStart;
    this.#columnStart = undefined;
    if (!isNew) return false;
    const bytes = approximateBytes(value);
    context.memory.reserve(bytes);
    this.#context = context;
    this.#bytes += bytes;
    return total - this.#turnStart > bytesPerTurn;
  }

  /** The row has been handed on, or is not wanted any more. */
  release(): void {
    this.#columnStart = undefined;
    if (this.#bytes === 0) return;
    this.#context?.memory.release(this.#bytes);
    this.#context = undefined;
    this.#bytes = 0;
  }
}
