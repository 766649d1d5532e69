import type { Slot } from '../../algebra/expression.ts';
import type { Frame } from '../../evaluate/context.ts';
import { approximateBytes } from '../../evaluate/turns/held-bytes.ts';
import type { Value } from '#core/value/value.ts';
import { Link } from '#core/value/record.ts';
import { ridOf } from '../record-identity.ts';

/** Rows of one chunk, a power of two. */
const rowsPerChunk = 4096;
const chunkShift = 12;

/**
 * Rows kept outside the frame: the values of some slots, row after row, in arrays of some thousand rows. One array for all would
 * be copied each time it grows, which takes 10 ms for a million values.
 */
export class RowStore {
  readonly #slots: readonly Slot[];
  #chunks: Value[][] = [];
  #rowCount = 0;

  /** Of these slots only the identity of the record is kept; it comes back as a link. */
  readonly #isIdentity: readonly boolean[];

  constructor(slots: readonly Slot[], identities: ReadonlySet<Slot> = new Set()) {
    this.#slots = slots;
    this.#isIdentity = slots.map((slot) => identities.has(slot));
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  /** Copies the row that stands in the frame. @returns bytes that keeping it costs, about */
  append(frame: Frame): number {
    const slots = this.#slots;
    const values = this.#openChunk();
    let bytes = 16;
    for (let at = 0; at < slots.length; at += 1) {
      // A slot that was never written reads as undefined; it stays what it was.
      const given = frame[slots[at] as Slot] as Value;
      const value = this.#isIdentity[at] ? identityOf(given) : given;
      values.push(value);
      bytes += 8 + (typeof value === 'number' ? 0 : approximateBytes(value ?? null));
    }
    this.#rowCount += 1;
    return bytes;
  }

  /** Puts a kept row back into the frame. */
  restore(row: number, frame: Frame): void {
    const slots = this.#slots;
    const values = this.#chunks[row >>> chunkShift] as Value[];
    const from = (row & (rowsPerChunk - 1)) * slots.length;
    for (let at = 0; at < slots.length; at += 1)
      frame[slots[at] as Slot] = values[from + at] as Value;
  }

  /** Replaces a kept row by the one in the frame. */
  replace(row: number, frame: Frame): void {
    const slots = this.#slots;
    const values = this.#chunks[row >>> chunkShift] as Value[];
    const from = (row & (rowsPerChunk - 1)) * slots.length;
    for (let at = 0; at < slots.length; at += 1)
      values[from + at] = frame[slots[at] as Slot] as Value;
  }

  /** Applies `change` to every value of the rows from `fromRow` on. */
  mapValues(fromRow: number, change: (value: Value) => Value): void {
    const width = this.#slots.length;
    for (let row = fromRow; row < this.#rowCount; row += 1) {
      const values = this.#chunks[row >>> chunkShift] as Value[];
      const from = (row & (rowsPerChunk - 1)) * width;
      for (let at = from; at < from + width; at += 1) values[at] = change(values[at] as Value);
    }
  }

  clear(): void {
    this.#chunks = [];
    this.#rowCount = 0;
  }

  /** The chunk into which the next row goes. */
  #openChunk(): Value[] {
    if ((this.#rowCount & (rowsPerChunk - 1)) === 0) this.#chunks.push([]);
    return this.#chunks[this.#rowCount >>> chunkShift] as Value[];
  }
}

/** A link instead of a record: it holds no block of the database in memory. */
function identityOf(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  const rid = ridOf(value);
  return rid === undefined || rid < 0 ? value : new Link(rid);
}
