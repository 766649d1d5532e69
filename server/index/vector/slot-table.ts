import type { Rid } from '#core/value/rid.ts';

const [empty, removed] = [-1, -2];
const placesMin = 256;
/** Records written one after the other stand beside each other in the table, so many at a time: a line of a processor's cache. */
const runBits = 4;
const runMask = (1 << runBits) - 1;

/**
 * The slot of a record. Only slots are kept, in a hash table with open addressing; ids are compared where they stand, by slot. 8 to 16
 * bytes a record, where a `Map` takes 80 and ten times as long to ask for many.
 */
export class SlotTable {
  #slots = new Int32Array(placesMin).fill(empty);
  /** Places that are not empty. */
  #used = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** @param rids ids by slot. @returns -1: there is none */
  get(rid: Rid, rids: Float64Array): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let place = placeOf(rid) & mask; ; place = (place + 1) & mask) {
      const slot = slots[place] as number;
      if (slot === empty) return -1;
      if (slot >= 0 && rids[slot] === rid) return slot;
    }
  }

  /** Of a record that has no slot yet, whose id stands in `rids` already. */
  add(rid: Rid, slot: number, rids: Float64Array): void {
    if (2 * (this.#used + 1) > this.#slots.length) this.#remake(rids);
    if (this.#put(rid, slot)) this.#used += 1;
    this.#size += 1;
  }

  /** While its id still stands in `rids`. */
  delete(rid: Rid, rids: Float64Array): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let place = placeOf(rid) & mask; ; place = (place + 1) & mask) {
      const slot = slots[place] as number;
      if (slot === empty) return;
      if (slot < 0 || rids[slot] !== rid) continue;
      slots[place] = removed;
      this.#size -= 1;
      return;
    }
  }

  clear(): void {
    this.#slots = new Int32Array(placesMin).fill(empty);
    this.#used = 0;
    this.#size = 0;
  }

  /** @returns whether the place was empty */
  #put(rid: Rid, slot: number): boolean {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let place = placeOf(rid) & mask;
    while ((slots[place] as number) >= 0) place = (place + 1) & mask;
    const wasEmpty = slots[place] === empty;
    slots[place] = slot;
    return wasEmpty;
  }

  /** Without what was removed, in a table of twice the size when it is still full. */
  #remake(rids: Float64Array): void {
    const old = this.#slots;
    const isFull = 3 * (this.#size + 1) > old.length;
    this.#slots = new Int32Array(isFull ? old.length * 2 : old.length).fill(empty);
    for (let i = 0; i < old.length; i += 1) {
      const slot = old[i] as number;
      if (slot >= 0) this.#put(rids[slot] as Rid, slot);
    }
    this.#used = this.#size;
  }
}

function placeOf(rid: Rid): number {
  const low = rid >>> 0;
  const high = (rid / 2 ** 32) >>> 0;
  let hash = Math.imul((low >>> runBits) ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  hash ^= hash >>> 15;
  return ((hash << runBits) | (low & runMask)) >>> 0;
}
