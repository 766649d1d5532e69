import type { Entry, EntryKind, Index } from '#raft/vocabulary.ts';

/*
 * Entries on their way to another thread: one buffer for all of them, which changes hands without a copy. A buffer for each entry
 * would cost more than everything else that is done with a small one.
 *
 * Per entry, little-endian and unaligned: u32 length, u8 kind, f64 term, data.
 */

export interface PackedEntries {
  readonly first: Index;
  readonly count: number;
  readonly buffer: ArrayBuffer;
}

const headBytes = 13;
const kinds: readonly EntryKind[] = ['normal', 'conf', 'noop'];

/** @param entries with indexes that follow each other */
export function packEntries(entries: readonly Entry[]): PackedEntries {
  let length = 0;
  for (const { data } of entries) length += headBytes + data.length;
  const bytes = Buffer.from(new ArrayBuffer(length));
  let at = 0;
  for (const { term, kind, data } of entries) {
    bytes.writeUInt32LE(data.length, at);
    bytes.writeUInt8(kinds.indexOf(kind), at + 4);
    bytes.writeDoubleLE(term, at + 5);
    bytes.set(data, at + headBytes);
    at += headBytes + data.length;
  }
  const buffer = bytes.buffer as ArrayBuffer;
  return { first: entries[0]?.index ?? 0, count: entries.length, buffer };
}

/** Their data are views of the one buffer. */
export function unpackEntries(packed: PackedEntries): Entry[] {
  return new EntryReader(packed).take(packed.count);
}

/** Unpacks a few at a time: tens of thousands of small ones may have come together. */
export class EntryReader {
  readonly #packed: PackedEntries;
  readonly #bytes: Buffer;
  #at = 0;
  #taken = 0;

  constructor(packed: PackedEntries) {
    this.#packed = packed;
    this.#bytes = Buffer.from(packed.buffer);
  }

  get isDone(): boolean {
    return this.#taken === this.#packed.count;
  }

  take(countMax: number): Entry[] {
    const { first, count } = this.#packed;
    const bytes = this.#bytes;
    const entries: Entry[] = [];
    const end = Math.min(count, this.#taken + countMax);
    for (let i = this.#taken; i < end; i++) {
      const start = this.#at + headBytes;
      const after = start + bytes.readUInt32LE(this.#at);
      const kind = kinds[bytes.readUInt8(this.#at + 4)] ?? 'normal';
      const term = bytes.readDoubleLE(this.#at + 5);
      entries.push({ index: first + i, term, kind, data: bytes.subarray(start, after) });
      this.#at = after;
    }
    this.#taken = end;
    return entries;
  }
}

/** What is to become entries; their places are given later. */
export function packDatas(datas: readonly Uint8Array[]): PackedEntries {
  return packEntries(datas.map((data) => ({ index: 0, term: 0, kind: 'normal', data })));
}
