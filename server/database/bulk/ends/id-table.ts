import type { Rid } from '#core/value/rid.ts';
import { EntryMemory } from '../entry-memory.ts';

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

/** Slots that an addition moves after the table has grown; a power of two, twice what it takes to be through in time. */
const slotsPerAddition = 8;

/**
 * Records by keys of bytes, in the order they came: the temporary ids of an import (UTF-8, so that the ids of a million edges
 * are looked up without making a string for any of them), the unique keys of a chunk. What a lookup needs lies together: one place
 * of an open hash table and one entry, so it costs two or three misses of the processor's cache.
 */
export class IdTable {
  readonly #seed: number;
  /** Pairs of a hash and the entry's place plus one, 0 for none. */
  #slots = new Int32Array(2 * 2048);
  /** The slots before the table grew, as they were, until all of them are in `#slots`: at once, a million take 0.2 s. */
  #oldSlots: Int32Array | undefined;
  /** Old slots below are in `#slots`. */
  #moved = 0;
  readonly #entries = new EntryMemory();
  #count = 0;
  /** Entries that have no slot. */
  #appendedCount = 0;

  /** @param seed makes collisions unforeseeable */
  constructor(seed: number) {
    this.#seed = seed | 0;
  }

  get count(): number {
    return this.#count + this.#appendedCount;
  }

  /** One past the last entry, for walking with `after`. */
  get end(): number {
    return this.#entries.end;
  }

  /** @returns the place of the new entry, -1 when the key is there already */
  add(bytes: Uint8Array, start: number, end: number, hash: number): number {
    if (this.#count * 4 >= this.#slots.length) this.#grow();
    const mixed = this.#mixed(hash);
    if (this.#oldSlots !== undefined) {
      if (this.#search(this.#oldSlots, mixed, bytes, start, end) >= 0) return -1;
      this.#move(this.#oldSlots);
    }
    const slots = this.#slots;
    const mask = slots.length - 1;
    let slot = (mixed << 1) & mask;
    for (let found = slots[slot + 1] as number; found !== 0; found = slots[slot + 1] as number) {
      if (slots[slot] === mixed && this.#entries.isKey(found - 1, bytes, start, end)) return -1;
      slot = (slot + 2) & mask;
    }
    const entry = this.#entries.add(bytes, start, end);
    slots[slot] = mixed;
    slots[slot + 1] = entry + 1;
    this.#count += 1;
    return entry;
  }

  /** Keeps a key that the caller finds by itself: `find` does not. @returns the place of the entry */
  append(bytes: Uint8Array, start: number, end: number): number {
    this.#appendedCount += 1;
    return this.#entries.add(bytes, start, end);
  }

  /** @returns the place of the entry, -1 when there is none */
  find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const mixed = this.#mixed(hash);
    const found = this.#search(this.#slots, mixed, bytes, start, end);
    if (found >= 0 || this.#oldSlots === undefined) return found;
    return this.#search(this.#oldSlots, mixed, bytes, start, end);
  }

  #search(slots: Int32Array, mixed: number, bytes: Uint8Array, start: number, end: number): number {
    const mask = slots.length - 1;
    let slot = (mixed << 1) & mask;
    for (let found = slots[slot + 1] as number; found !== 0; found = slots[slot + 1] as number) {
      if (slots[slot] === mixed && this.#entries.isKey(found - 1, bytes, start, end))
        return found - 1;
      slot = (slot + 2) & mask;
    }
    return -1;
  }

  setRid(entry: number, rid: Rid): void {
    this.#entries.setRid(entry, rid);
  }

  ridOf(entry: number): Rid {
    return this.#entries.ridOf(entry);
  }

  textOf(entry: number): string {
    return this.#entries.textOf(entry);
  }

  /** The key of the entry; valid until the next `add`. */
  keyOf(entry: number): Uint8Array {
    return this.#entries.keyOf(entry);
  }

  /** The entry that came next. */
  after(entry: number): number {
    return this.#entries.after(entry);
  }

  /** The entry at a place that was the end once. */
  entryAt(place: number): number {
    return this.#entries.entryAt(place);
  }

  #mixed(hash: number): number {
    const h = Math.imul(hash ^ this.#seed, 0x9e3779b1 | 0);
    return h ^ (h >>> 15);
  }

  #grow(): void {
    this.#oldSlots = this.#slots;
    this.#moved = 0;
    this.#slots = new Int32Array(this.#oldSlots.length * 2);
  }

  /** Some slots at each addition; all are moved after a quarter of the additions that fill the new ones. */
  #move(old: Int32Array): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    const end = this.#moved + 2 * slotsPerAddition;
    for (let from = this.#moved; from < end; from += 2) {
      if (old[from + 1] === 0) continue;
      let slot = ((old[from] as number) << 1) & mask;
      while (slots[slot + 1] !== 0) slot = (slot + 2) & mask;
      slots[slot] = old[from] as number;
      slots[slot + 1] = old[from + 1] as number;
    }
    this.#moved = end;
    if (end === old.length) this.#oldSlots = undefined;
  }
}
