import type { IndexId, LogIndex, Rid } from '#core/value/rid.ts';

// One slot, of 32 bytes or 64, so that a lookup touches one line of the processor's cache:
//
//   0  f64 record id    8  f64 since    16  u32 index * 256 + length of the key, 0: empty    20  key

const keyStart = 20;
/** Keys of one number: twice as many of them fit. */
const shortSlotBytes = 32;
/** Keys of a few numbers or a short text; longer ones are looked up in LMDB each time. */
const longSlotBytes = 64;
const slotCountMin = 1024;
/** Index ids that fit beside the length. */
const indexLimit = 2 ** 24;

/**
 * Entries of unique indexes that were looked up, by key: a lookup here costs a tenth of one in LMDB. It grows with use up to a
 * budget, of which two thirds are for short keys. An entry holds for snapshots from `since` on; who takes a key out of an index
 * takes it out here, so nothing here is ever wrong for the newest state.
 */
export class UniqueEntryCache {
  readonly #short: EntryTable;
  readonly #long: EntryTable;

  constructor(budgetBytes: number) {
    this.#short = new EntryTable(shortSlotBytes, (budgetBytes * 2) / 3);
    this.#long = new EntryTable(longSlotBytes, budgetBytes / 3);
  }

  get bytes(): number {
    return this.#short.bytes + this.#long.bytes;
  }

  /** The record that the key leads to in a snapshot at `at`; undefined when that is not known here. */
  get(index: IndexId, key: Uint8Array, length: number, at: LogIndex): Rid | undefined {
    return this.#table(length).get(index, key, length, at);
  }

  /** @param since the index has not changed after that */
  put(index: IndexId, key: Uint8Array, rid: Rid, since: LogIndex): void {
    this.#table(key.length).put(index, key, rid, since);
  }

  remove(index: IndexId, key: Uint8Array): void {
    this.#table(key.length).remove(index, key);
  }

  clear(): void {
    this.#short.clear();
    this.#long.clear();
  }

  #table(keyLength: number): EntryTable {
    return keyLength <= shortSlotBytes - keyStart ? this.#short : this.#long;
  }
}

/** Places of a key: neighbours, in one or two lines of the processor's cache. With two, one key in six finds none. */
const placeCount = 4;

/** A key has some places; of what does not fit, any one goes. */
class EntryTable {
  readonly #slotBytes: number;
  readonly #slotCountMax: number;
  #bytes = new Uint8Array(0);
  #words = new Uint32Array(0);
  #numbers = new Float64Array(0);
  #slotCount = 0;
  #used = 0;
  /** Whose turn it is to go. */
  #turn = 0;

  constructor(slotBytes: number, budgetBytes: number) {
    this.#slotBytes = slotBytes;
    this.#slotCountMax = 2 ** Math.floor(Math.log2(Math.max(1, budgetBytes / slotBytes)));
  }

  get bytes(): number {
    return this.#bytes.length;
  }

  get(index: IndexId, key: Uint8Array, length: number, at: LogIndex): Rid | undefined {
    const slot = this.#find(index, key, length);
    if (slot < 0) return undefined;
    const number = slot * (this.#slotBytes / 8);
    return (this.#numbers[number + 1] as number) <= at ? (this.#numbers[number] as Rid) : undefined;
  }

  put(index: IndexId, key: Uint8Array, rid: Rid, since: LogIndex): void {
    if (!this.#takes(index, key.length) || this.#slotCountMax < slotCountMin) return;
    if (this.#used * 2 > this.#slotCount && this.#slotCount < this.#slotCountMax) this.#grow();
    else if (this.#slotCount === 0) this.#resize(slotCountMin);
    const slot = this.#place(index, key);
    const slotBytes = this.#slotBytes;
    const number = slot * (slotBytes / 8);
    const word = slot * (slotBytes / 4) + 4;
    if (this.#words[word] === 0) this.#used += 1;
    this.#numbers[number] = rid;
    this.#numbers[number + 1] = since;
    this.#words[word] = index * 256 + key.length;
    const start = slot * slotBytes + keyStart;
    for (let i = 0; i < key.length; i += 1) this.#bytes[start + i] = key[i] as number;
  }

  remove(index: IndexId, key: Uint8Array): void {
    const slot = this.#find(index, key, key.length);
    if (slot < 0) return;
    this.#words[slot * (this.#slotBytes / 4) + 4] = 0;
    this.#used -= 1;
  }

  clear(): void {
    this.#resize(0);
  }

  #takes(index: IndexId, length: number): boolean {
    return length > 0 && length <= this.#slotBytes - keyStart && index < indexLimit;
  }

  #find(index: IndexId, key: Uint8Array, length: number): number {
    if (this.#used === 0 || !this.#takes(index, length)) return -1;
    const first = hashOf(index, key, length) & (this.#slotCount - 1);
    for (let place = 0; place < placeCount; place += 1)
      if (this.#holds(first ^ place, index, key, length)) return first ^ place;
    return -1;
  }

  #holds(slot: number, index: IndexId, key: Uint8Array, length: number): boolean {
    const slotBytes = this.#slotBytes;
    if (this.#words[slot * (slotBytes / 4) + 4] !== index * 256 + length) return false;
    const bytes = this.#bytes;
    const start = slot * slotBytes + keyStart;
    // Keys of one index differ at their ends.
    for (let i = length - 1; i >= 0; i -= 1) if (bytes[start + i] !== key[i]) return false;
    return true;
  }

  /** Where the key is or goes: its own slot, an empty one, or that of another key. */
  #place(index: IndexId, key: Uint8Array): number {
    const known = this.#find(index, key, key.length);
    if (known >= 0) return known;
    const words = this.#slotBytes / 4;
    const first = hashOf(index, key, key.length) & (this.#slotCount - 1);
    for (let place = 0; place < placeCount; place += 1)
      if (this.#words[(first ^ place) * words + 4] === 0) return first ^ place;
    this.#turn += 1;
    return first ^ (this.#turn & (placeCount - 1));
  }

  #grow(): void {
    const { length } = this.#bytes;
    const slotBytes = this.#slotBytes;
    const old = { bytes: this.#bytes, words: this.#words, numbers: this.#numbers };
    this.#resize(Math.max(slotCountMin, this.#slotCount * 2));
    for (let start = 0; start < length; start += slotBytes) {
      const head = old.words[start / 4 + 4] as number;
      if (head === 0) continue;
      const size = head & 0xff;
      const key = old.bytes.subarray(start + keyStart, start + keyStart + size);
      const index = (head >>> 8) as IndexId;
      this.put(index, key, old.numbers[start / 8] as Rid, old.numbers[start / 8 + 1] as LogIndex);
    }
  }

  #resize(slotCount: number): void {
    const buffer = new ArrayBuffer(slotCount * this.#slotBytes);
    this.#bytes = new Uint8Array(buffer);
    this.#words = new Uint32Array(buffer);
    this.#numbers = new Float64Array(buffer);
    this.#slotCount = slotCount;
    this.#used = 0;
  }
}

/** FNV-1a over the key, then mixed, since only its low bits are used. */
function hashOf(index: IndexId, key: Uint8Array, length: number): number {
  let hash = 0x811c9dc5 ^ index;
  for (let i = 0; i < length; i += 1) hash = Math.imul(hash ^ (key[i] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
