import { Float, type Value } from '#core/value/value.ts';
import type { CompareRows } from './sorted-runs.ts';

/** Rows of one chunk, a power of two. */
const rowsPerChunk = 4096;
const chunkShift = 12;

/**
 * The sort keys of kept rows, row after row. As long as the first keys are plain numbers they stand in a typed array as well,
 * which compares without touching a value; most sorts are decided by it.
 */
export class SortKeys {
  readonly #descending: readonly boolean[];
  readonly #compare: (a: Value, b: Value) => number;
  /** In chunks of some thousand rows, for the reason of `RowStore`. */
  readonly #chunks: Value[][] = [];
  /** First keys as numbers; undefined once one of them was something else. */
  #numbers: Float64Array | undefined = new Float64Array(1024);

  constructor(descending: readonly boolean[], compare: (a: Value, b: Value) => number) {
    this.#descending = descending;
    this.#compare = compare;
  }

  /** Puts one key of a row; keys of a row come in order. */
  set(row: number, at: number, key: Value): void {
    const chunk = row >>> chunkShift;
    if (chunk === this.#chunks.length) this.#chunks.push([]);
    const place = (row & (rowsPerChunk - 1)) * this.#descending.length + at;
    (this.#chunks[chunk] as Value[])[place] = key;
    if (at === 0 && this.#numbers !== undefined) this.#setNumber(this.#numbers, row, key);
  }

  /** Moves the keys of a row to another place. */
  copy(from: number, to: number): void {
    const width = this.#descending.length;
    for (let at = 0; at < width; at += 1) this.set(to, at, this.#key(from, at));
  }

  /** The order of two rows by all keys. */
  readonly compareRows: CompareRows = (a, b) => {
    const numbers = this.#numbers;
    if (numbers !== undefined) {
      const left = numbers[a] as number;
      const right = numbers[b] as number;
      if (left < right) return this.#descending[0] ? 1 : -1;
      if (left > right) return this.#descending[0] ? -1 : 1;
      if (this.#descending.length === 1 && left === right) return 0;
    }
    return this.#compareValues(a, b);
  };

  #compareValues(a: number, b: number): number {
    const width = this.#descending.length;
    for (let at = 0; at < width; at += 1) {
      const order = this.#compare(this.#key(a, at), this.#key(b, at));
      if (order !== 0) return this.#descending[at] ? -order : order;
    }
    return 0;
  }

  first(row: number): Value {
    return this.#key(row, 0);
  }

  #key(row: number, at: number): Value {
    const chunk = this.#chunks[row >>> chunkShift] as Value[];
    return chunk[(row & (rowsPerChunk - 1)) * this.#descending.length + at] as Value;
  }

  #setNumber(numbers: Float64Array, row: number, key: Value): void {
    const number = typeof key === 'number' ? key : key instanceof Float ? key.number : undefined;
    if (number === undefined) {
      this.#numbers = undefined;
      return;
    }
    if (row < numbers.length) {
      numbers[row] = number;
      return;
    }
    const larger = new Float64Array(Math.max(row + 1, numbers.length * 2));
    larger.set(numbers);
    larger[row] = number;
    this.#numbers = larger;
  }
}
