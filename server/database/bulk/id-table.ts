import { DatabaseError } from '#core/errors.ts';
import { type Rid, noRid } from '#core/rid.ts';
import { allocateBytes, type Bytes } from '#storage/bytes.ts';

/** Where the hash of a key begins; `nextHash` takes one byte after the other. */
export const firstHash = 0x811c9dc5 | 0;

/** FNV-1a. */
export function nextHash(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}

export function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = firstHash;
  for (let at = start; at < end; at += 1) hash = nextHash(hash, bytes[at] as number);
  return hash;
}

/**
 * The temporary ids of an import and the records they stand for, in the order they came. Keys are bytes of UTF-8, so that the
 * ids of a million edges are looked up without making a string for any of them: open addressing over typed arrays, some 16
 * bytes and the id per entry.
 */
export class IdTable {
  readonly #seed: number;
  #slots = new Int32Array(2048);
  #hashes = new Int32Array(1024);
  /** Of entry n: bytes from `#ends[n - 1]` to `#ends[n]`. */
  #ends = new Uint32Array(1024);
  #rids = new Float64Array(1024);
  #bytes: Bytes = allocateBytes(16 * 1024);
  #count = 0;

  /** @param seed makes collisions unforeseeable */
  constructor(seed: number) {
    this.#seed = seed | 0;
  }

  get count(): number {
    return this.#count;
  }

  /** @returns the number of the new entry, -1 when the key is there already */
  add(bytes: Uint8Array, start: number, end: number, hash: number): number {
    if (this.#count * 2 >= this.#slots.length) this.#grow();
    const mixed = this.#mixed(hash);
    let slot = mixed & (this.#slots.length - 1);
    for (
      let found = this.#slots[slot] as number;
      found !== 0;
      found = this.#slots[slot] as number
    ) {
      if (this.#is(found - 1, mixed, bytes, start, end)) return -1;
      slot = (slot + 1) & (this.#slots.length - 1);
    }
    const entry = this.#count;
    this.#keep(bytes, start, end);
    this.#slots[slot] = entry + 1;
    this.#hashes[entry] = mixed;
    this.#rids[entry] = noRid;
    this.#count = entry + 1;
    return entry;
  }

  /** @returns the number of the entry, -1 when there is none */
  find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const mixed = this.#mixed(hash);
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = mixed & mask;
    for (let found = slots[slot] as number; found !== 0; found = slots[slot] as number) {
      if (this.#is(found - 1, mixed, bytes, start, end)) return found - 1;
      slot = (slot + 1) & mask;
    }
    return -1;
  }

  setRid(entry: number, rid: Rid): void {
    this.#rids[entry] = rid;
  }

  ridOf(entry: number): Rid {
    return this.#rids[entry] as Rid;
  }

  textOf(entry: number): string {
    return this.#bytes.utf8Slice(this.#startOf(entry), this.#ends[entry] as number);
  }

  #startOf(entry: number): number {
    return entry === 0 ? 0 : (this.#ends[entry - 1] as number);
  }

  #mixed(hash: number): number {
    const h = Math.imul(hash ^ this.#seed, 0x9e3779b1 | 0);
    return h ^ (h >>> 15);
  }

  #is(entry: number, mixed: number, bytes: Uint8Array, start: number, end: number): boolean {
    if (this.#hashes[entry] !== mixed) return false;
    const from = this.#startOf(entry);
    if ((this.#ends[entry] as number) - from !== end - start) return false;
    const own = this.#bytes;
    for (let at = start, other = from; at < end; at += 1, other += 1) {
      if (bytes[at] !== own[other]) return false;
    }
    return true;
  }

  #keep(bytes: Uint8Array, start: number, end: number): void {
    const from = this.#startOf(this.#count);
    const to = from + end - start;
    if (to > this.#bytes.length) {
      if (to >= 2 ** 32) {
        throw new DatabaseError('TooLarge', 'the temporary ids of one import exceed 4 GiB');
      }
      const grown = allocateBytes(Math.min(2 ** 32, Math.max(to, this.#bytes.length * 2)));
      grown.set(this.#bytes.subarray(0, from));
      this.#bytes = grown;
    }
    for (let at = start, into = from; at < end; at += 1, into += 1) {
      this.#bytes[into] = bytes[at] as number;
    }
    this.#ends[this.#count] = to;
  }

  #grow(): void {
    const capacity = this.#slots.length;
    this.#hashes = widened(this.#hashes, new Int32Array(capacity));
    this.#ends = widened(this.#ends, new Uint32Array(capacity));
    this.#rids = widened(this.#rids, new Float64Array(capacity));
    const slots = new Int32Array(capacity * 2);
    const mask = slots.length - 1;
    for (let entry = 0; entry < this.#count; entry += 1) {
      let slot = (this.#hashes[entry] as number) & mask;
      while (slots[slot] !== 0) slot = (slot + 1) & mask;
      slots[slot] = entry + 1;
    }
    this.#slots = slots;
  }
}

function widened<T extends { set(from: T): void }>(old: T, wide: T): T {
  wide.set(old);
  return wide;
}
