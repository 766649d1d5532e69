import type { Rid } from '#core/value/rid.ts';
import { spareMemory, takeNumbers } from '../hold/spare-memory.ts';

const smallestCapacity = 256;
/** 16 bytes an entry: 2 MiB per place of a pattern at most. */
const capacityMax = 131_072;

/**
 * Numbers remembered by record id, of which some may be forgotten: a direct-mapped cache that grows with use up to a bound.
 * What it forgets is computed again.
 */
export class CountCache {
  #keys = new Float64Array(smallestCapacity).fill(-1);
  #counts = new Float64Array(smallestCapacity);
  #collisions = 0;
  /** Where the last `sumOf` stopped. */
  reached = 0;

  /** @returns -1 when it is not known */
  get(rid: Rid): number {
    const at = this.#placeOf(rid);
    return this.#keys[at] === rid ? (this.#counts[at] as number) : -1;
  }

  /** Adds up what is known of `ids` from `from` on, up to the first of which nothing is, or `to`; that place is left in `reached`. */
  sumOf(ids: Float64Array, from: number, to: number): number {
    const keys = this.#keys;
    const counts = this.#counts;
    const mask = keys.length - 1;
    let sum = 0;
    let at = from;
    for (; at < to; at += 1) {
      const id = ids[at] as number;
      const place = placeOf(id, mask);
      if (keys[place] !== id) break;
      sum += counts[place] as number;
    }
    this.reached = at;
    return sum;
  }

  set(rid: Rid, count: number): void {
    const at = this.#placeOf(rid);
    if (this.#keys[at] !== -1 && this.#keys[at] !== rid) {
      this.#collisions += 1;
      if (this.#collisions * 2 > this.#keys.length && this.#keys.length < capacityMax) {
        this.#grow();
        this.set(rid, count);
        return;
      }
    }
    this.#keys[at] = rid;
    this.#counts[at] = count;
  }

  /** Forgets everything and gives its memory to others. */
  clear(): void {
    this.#collisions = 0;
    if (this.#keys.length === smallestCapacity) {
      this.#keys.fill(-1);
      return;
    }
    spareMemory.giveBack(this.#keys.buffer);
    spareMemory.giveBack(this.#counts.buffer);
    this.#keys = new Float64Array(smallestCapacity).fill(-1);
    this.#counts = new Float64Array(smallestCapacity);
  }

  #placeOf(rid: Rid): number {
    return placeOf(rid, this.#keys.length - 1);
  }

  #grow(): void {
    const keys = this.#keys;
    const counts = this.#counts;
    this.#keys = takeNumbers(keys.length * 4).fill(-1);
    this.#counts = takeNumbers(keys.length * 4);
    this.#collisions = 0;
    for (let at = 0; at < keys.length; at += 1) {
      const key = keys[at] as Rid;
      if (key === -1) continue;
      const place = this.#placeOf(key);
      this.#keys[place] = key;
      this.#counts[place] = counts[at] as number;
    }
    spareMemory.giveBack(keys.buffer);
    spareMemory.giveBack(counts.buffer);
  }
}

/** The low 32 bits of a record id are the low bits of its position. */
function placeOf(id: number, mask: number): number {
  return (Math.imul(id >>> 0, 0x9e3779b1) >>> 8) & mask;
}
