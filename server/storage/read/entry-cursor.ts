import type { IndexId, Rid } from '#core/value/rid.ts';
import type { EntryCursor } from '../engine.ts';
import { keyText } from '../checkpoint/overlay-store.ts';
import type { PinnedReader } from './pinned-reader.ts';
import {
  IxKey,
  indexPrefixSize,
  noValue,
  readRidBytes,
  removedEntry,
  removedEntrySize,
  ridSize,
} from '../format/sub-databases.ts';
import type { Write } from '../checkpoint/write-batch.ts';

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
 * may rest across turns of the event loop. Entries that are not in LMDB yet are merged in chunk by chunk. Keys of non-unique
 * entries end with their RID, which is split off.
 */
export class LmdbEntryCursor implements EntryCursor {
  readonly #reader: PinnedReader;
  readonly #isAscending: boolean;
  readonly #low: IxKey;
  readonly #high: IxKey;
  /** Keys of the chunk, one behind the other, and where each ends. */
  #keys: Uint8Array = new Uint8Array();
  #ends: number[] = [];
  #values: number[] = [];
  #at = -1;
  #chunk = firstChunk;
  /** Up to which key LMDB was read; undefined before the first chunk. */
  #resume: IxKey | undefined;
  #isLast = false;

  constructor(reader: PinnedReader, range: EntryRange) {
    this.#reader = reader;
    this.#isAscending = range.order === 'ascending';
    this.#low = ixKey(range.index, range.low);
    this.#high = ixKey(range.index, range.high);
  }

  next(): boolean {
    this.#at += 1;
    if (this.#at < this.#ends.length) return true;
    while (!this.#isLast) {
      this.#read();
      this.#at = 0;
      if (this.#ends.length > 0) return true;
    }
    this.#at = this.#ends.length;
    return false;
  }

  get key(): Uint8Array {
    const end = this.#ends[this.#at] as number;
    const ridBytes = (this.#values[this.#at] as number) < 0 ? ridSize : 0;
    return this.#keys.subarray(startOf(this.#ends, this.#at) + indexPrefixSize, end - ridBytes);
  }

  /** The key with all that follows it; for indexes in chunks. */
  get components(): Uint8Array {
    const start = startOf(this.#ends, this.#at) + indexPrefixSize;
    return this.#keys.subarray(start, this.#ends[this.#at]);
  }

  /** Of an index in chunks: the entry is gone from its chunk. */
  get isRemoved(): boolean {
    return this.#values[this.#at] === removedEntry;
  }

  get rid(): Rid {
    const value = this.#values[this.#at] as number;
    if (value >= 0) return value as Rid;
    return readRidBytes(this.#keys, (this.#ends[this.#at] as number) - ridSize);
  }

  close(): void {
    this.#isLast = true;
    this.#ends = [];
    this.#values = [];
    this.#at = 0;
  }

  #read(): void {
    const reader = this.#reader;
    const { sink, ix } = reader.subs;
    if (!reader.isOpen) throw reader.endedError();
    const resume = this.#resume;
    const ends: number[] = [];
    const values: number[] = [];
    sink.length = 0;
    const isAscending = this.#isAscending;
    const entries = ix.getRange({
      start: resume ?? (isAscending ? this.#low : this.#high),
      end: isAscending ? this.#high : this.#low,
      // Going down, the range begins at its exclusive end.
      exclusiveStart: resume !== undefined || !isAscending,
      inclusiveEnd: !isAscending,
      reverse: !isAscending,
      limit: this.#chunk,
      transaction: reader.options.transaction,
    });
    for (const entry of entries) {
      ends.push(entry.key);
      values.push(entry.value);
    }
    this.#keys = new Uint8Array(sink.bytes.subarray(0, sink.length));
    this.#ends = ends;
    this.#values = values;
    this.#isLast = ends.length < this.#chunk;
    this.#chunk = Math.min(this.#chunk * 4, largestChunk);
    if (!this.#isLast) this.#resume = this.#keyAt(ends.length - 1);
    if (reader.hasPending(ix)) this.#mergePending(resume);
  }

  #keyAt(at: number): IxKey {
    const key = this.#keys.subarray(startOf(this.#ends, at) + indexPrefixSize, this.#ends[at]);
    return ixKey(this.#low.index, key);
  }

  /** @param from up to which key the chunk before went */
  #mergePending(from: IxKey | undefined): void {
    const { window, subs } = this.#reader;
    const text = (key: IxKey) => keyText(key, window.scratch);
    // The next text after one is the one with a zero byte more.
    const [low, high] = this.#isAscending
      ? [
          from === undefined ? text(this.#low) : `${text(from)}\0`,
          this.#isLast ? text(this.#high) : `${text(this.#resume as IxKey)}\0`,
        ]
      : [
          this.#isLast ? text(this.#low) : text(this.#resume as IxKey),
          from === undefined ? text(this.#high) : text(from),
        ];
    const pending = this.#reader.pendingBetween(subs.ix, low, high);
    if (pending.length === 0) return;
    this.#take(mergeEntries(this.#stored(), pending, this.#isAscending));
  }

  #stored(): StoredEntry[] {
    const keys = Buffer.from(this.#keys.buffer, this.#keys.byteOffset, this.#keys.length);
    return this.#ends.map((end, i) => ({
      text: keys.toString('latin1', startOf(this.#ends, i), end),
      value: this.#values[i] as number,
    }));
  }

  #take(entries: readonly StoredEntry[]): void {
    const whole = entries.map((entry) => entry.text).join('');
    this.#keys = Buffer.from(whole, 'latin1');
    let end = 0;
    this.#ends = entries.map((entry) => {
      end += entry.text.length;
      return end;
    });
    this.#values = entries.map((entry) => entry.value);
  }
}

interface StoredEntry {
  readonly text: string;
  readonly value: number;
}

/** Both lists are in order of texts; `stored` the other way round when descending. */
function mergeEntries(
  stored: readonly StoredEntry[],
  pending: readonly { readonly text: string; readonly write: Write }[],
  isAscending: boolean,
): StoredEntry[] {
  const changes = isAscending ? pending : [...pending].reverse();
  const merged: StoredEntry[] = [];
  let next = 0;
  const takePending = () => {
    const { text, write } = changes[next++] as (typeof changes)[number];
    if (write.slab !== undefined) merged.push({ text, value: entryValue(write) });
  };
  for (const entry of stored) {
    while (next < changes.length) {
      const { text } = changes[next] as (typeof changes)[number];
      if (isAscending ? text >= entry.text : text <= entry.text) break;
      takePending();
    }
    if (changes[next]?.text === entry.text) takePending();
    else merged.push(entry);
  }
  while (next < changes.length) takePending();
  return merged;
}

/** As ranges of LMDB give it. */
function entryValue({ slab, start, size }: Write): number {
  if (slab !== undefined && size === ridSize) return readRidBytes(slab.bytes, start);
  return size === removedEntrySize ? removedEntry : noValue;
}

function startOf(ends: readonly number[], at: number): number {
  return at === 0 ? 0 : (ends[at - 1] as number);
}

function ixKey(index: IndexId, components: Uint8Array): IxKey {
  const key = new IxKey();
  key.index = index;
  key.components = components;
  return key;
}
