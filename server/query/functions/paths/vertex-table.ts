import type { Rid } from '#core/value/rid.ts';

const capacityMin = 64;
const hashFactor = 0x9e3779b1;

/**
 * Numbers the vertices that a search meets, in the order in which it meets them; what is known of a vertex stands in arrays by
 * its number. All of it is in typed arrays: a search may remember millions, which as objects would keep the garbage collector
 * busy for a tenth of a second at a time.
 */
export class VertexTable {
  #rids = new Float64Array(capacityMin);
  /** Open addressing: the number of the vertex and one; 0 for a free place. Twice as many places as numbers. */
  #places = new Int32Array(capacityMin * 2);
  #shift = 32 - Math.log2(capacityMin * 2);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Numbers that fit before everything is moved. */
  get capacity(): number {
    return this.#rids.length;
  }

  ridOf(number: number): Rid {
    return this.#rids[number] as Rid;
  }

  /** The vertex's number; -1 when it has none. */
  numberOf(rid: Rid): number {
    return (this.#places[this.#placeOf(rid)] as number) - 1;
  }

  /** The vertex's number, which is the size before when it is new. */
  add(rid: Rid): number {
    const place = this.#placeOf(rid);
    const known = this.#places[place] as number;
    if (known !== 0) return known - 1;
    const number = this.#size;
    this.#rids[number] = rid;
    this.#places[place] = number + 1;
    this.#size += 1;
    if (this.#size === this.#rids.length) this.#grow();
    return number;
  }

  /** Forgets all of them and keeps the arrays. Cost: that of filling 8 bytes for each number that fits. */
  clear(): void {
    this.#places.fill(0);
    this.#size = 0;
  }

  #placeOf(rid: Rid): number {
    const places = this.#places;
    const mask = places.length - 1;
    // The low 32 bits of a record id are the low bits of its position.
    let place = Math.imul(rid >>> 0, hashFactor) >>> this.#shift;
    for (;;) {
      const number = places[place] as number;
      if (number === 0 || this.#rids[number - 1] === rid) return place;
      place = (place + 1) & mask;
    }
  }

  #grow(): void {
    const count = this.#size;
    this.#rids = grownFloats(this.#rids, count * 2);
    this.#places = new Int32Array(count * 4);
    this.#shift -= 1;
    for (let number = 0; number < count; number += 1)
      this.#places[this.#placeOf(this.#rids[number] as Rid)] = number + 1;
  }
}

/** The same numbers in a longer array. */
export function grownFloats(numbers: Float64Array, length: number): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(length);
  grown.set(numbers);
  return grown;
}

/** The same numbers in a longer array. */
export function grownIntegers(numbers: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(length);
  grown.set(numbers);
  return grown;
}
