import { DatabaseError } from '#core/errors.ts';
import type { IndexId, Rid } from '#core/rid.ts';
import type { EntryCursor } from './engine.ts';
import type { PinnedReader } from './pinned-reader.ts';
import { IxKey, indexPrefixSize, readRidBytes, ridSize } from './sub-databases.ts';

/** The first read takes a few entries, because most lookups want no more; then up to this many per call. */
const firstChunk = 8;
const largestChunk = 256;

export interface EntryRange {
  readonly index: IndexId;
  /** Inclusive. */
  readonly low: Uint8Array;
  /** Exclusive. */
  readonly high: Uint8Array;
  readonly order: 'ascending' | 'descending';
}

/**
 * Entries of an index in key order. Reads a chunk at a time from its reader and holds nothing of LMDB in between, so it
 * may rest across turns of the event loop. Keys of non-unique entries end with their RID, which is split off.
 */
export class LmdbEntryCursor implements EntryCursor {
  readonly #reader: PinnedReader;
  readonly #range: EntryRange;
  readonly #low: IxKey;
  readonly #high: IxKey;
  /** Keys of the chunk, one behind the other, and where each ends. */
  #keys: Uint8Array = new Uint8Array();
  readonly #ends: number[] = [];
  readonly #values: number[] = [];
  #at = -1;
  #chunk = firstChunk;
  #isLast = false;

  constructor(reader: PinnedReader, range: EntryRange) {
    this.#reader = reader;
    this.#range = range;
    this.#low = ixKey(range.index, range.low);
    this.#high = ixKey(range.index, range.high);
  }

  next(): boolean {
    this.#at += 1;
    if (this.#at < this.#ends.length) return true;
    if (this.#isLast) {
      this.#at = this.#ends.length;
      return false;
    }
    this.#read();
    this.#at = 0;
    return this.#ends.length > 0;
  }

  get key(): Uint8Array {
    const end = this.#ends[this.#at] as number;
    const ridBytes = (this.#values[this.#at] as number) < 0 ? ridSize : 0;
    return this.#keys.subarray(this.#start() + indexPrefixSize, end - ridBytes);
  }

  get rid(): Rid {
    const value = this.#values[this.#at] as number;
    if (value >= 0) return value as Rid;
    return readRidBytes(this.#keys, (this.#ends[this.#at] as number) - ridSize);
  }

  close(): void {
    this.#isLast = true;
    this.#ends.length = 0;
    this.#values.length = 0;
    this.#at = 0;
  }

  #start(): number {
    return this.#at === 0 ? 0 : (this.#ends[this.#at - 1] as number);
  }

  #read(): void {
    const { sink, ix } = this.#reader.subs;
    if (!this.#reader.isOpen) {
      throw new DatabaseError('Internal', 'an index cursor was used after its snapshot was closed');
    }
    const resume = this.#lastKey();
    this.#ends.length = 0;
    this.#values.length = 0;
    sink.length = 0;
    const isAscending = this.#range.order === 'ascending';
    const entries = ix.getRange({
      start: resume ?? (isAscending ? this.#low : this.#high),
      end: isAscending ? this.#high : this.#low,
      // Going down, the range begins at its exclusive end.
      exclusiveStart: resume !== undefined || !isAscending,
      inclusiveEnd: !isAscending,
      reverse: !isAscending,
      limit: this.#chunk,
      transaction: this.#reader.options.transaction,
    });
    for (const entry of entries) {
      this.#ends.push(entry.key);
      this.#values.push(entry.value);
    }
    this.#keys = new Uint8Array(sink.bytes.subarray(0, sink.length));
    this.#isLast = this.#ends.length < this.#chunk;
    this.#chunk = Math.min(this.#chunk * 4, largestChunk);
  }

  /** Where the next chunk goes on; undefined at the beginning. */
  #lastKey(): IxKey | undefined {
    if (this.#ends.length === 0) return undefined;
    const last = this.#ends.length - 1;
    const start = last === 0 ? 0 : (this.#ends[last - 1] as number);
    const key = this.#keys.subarray(start + indexPrefixSize, this.#ends[last] as number);
    return ixKey(this.#range.index, key);
  }
}

function ixKey(index: IndexId, components: Uint8Array): IxKey {
  const key = new IxKey();
  key.index = index;
  key.components = components;
  return key;
}
