import type { ValueKey } from '#core/value/equality.ts';

/**
 * Keys of values (`core/value/equality.ts`), each with a number: 0, 1, 2 in the order in which they came. Cost: one search for a key
 * whether it was there or not. Many numbers stand in a table of their own, five times as fast as `Map`, which boxes them.
 */
export class ValueTable {
  readonly #places = new Map<ValueKey, number>();
  #numbers: NumberTable | undefined;
  #size = 0;
  readonly #expectedSize: number;

  /** @param expectedSize about as many keys will come: tables that grow are filled anew, which takes long for many */
  constructor(expectedSize = 0) {
    this.#expectedSize = expectedSize;
  }

  /** How many keys there are. */
  get size(): number {
    return this.#size;
  }

  /** The number of a key, which is the former size when it is new. */
  add(key: ValueKey): number {
    if (this.#numbers !== undefined && isPlainNumber(key)) {
      const place = this.#numbers.add(key, this.#size);
      if (place === this.#size) this.#size += 1;
      return place;
    }
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const place = this.#size;
    this.#places.set(key, place);
    this.#size += 1;
    if (this.#size === fewKeys) this.#moveNumbers();
    return place;
  }

  /** The number of a key; -1 when it is not there. */
  find(key: ValueKey): number {
    if (this.#numbers !== undefined && isPlainNumber(key)) return this.#numbers.find(key);
    return this.#places.get(key) ?? -1;
  }

  #moveNumbers(): void {
    const numbers = new NumberTable(Math.max(fewKeys * 2, this.#expectedSize));
    for (const [key, place] of this.#places) {
      if (!isPlainNumber(key)) continue;
      numbers.add(key, place);
      this.#places.delete(key);
    }
    this.#numbers = numbers;
  }
}

/** Below this a `Map` is as fast, and smaller. */
const fewKeys = 256;

/** NaN, which is equal to itself as a key, stays in the map. */
function isPlainNumber(key: ValueKey): key is number {
  return typeof key === 'number' && !Number.isNaN(key);
}

const float = new Float64Array(1);
const halves = new Uint32Array(float.buffer);

/** Both halves of the double, mixed as MurmurHash3 does at its end. */
function hashOf(key: number): number {
  float[0] = key;
  let hash = Math.imul(
    (halves[1] as number) ^ Math.imul(halves[0] as number, 0x9e3779b1),
    0x85ebca6b,
  );
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

/** Open addressing with linear probing, at most half full. */
class NumberTable {
  #keys: Float64Array;
  /** One more than the number of the key; 0 where there is none. */
  #places: Int32Array;
  #count = 0;

  /** @param keyCount fit without growing */
  constructor(keyCount: number) {
    const length = 2 ** Math.ceil(Math.log2(keyCount * 2));
    this.#keys = new Float64Array(length);
    this.#places = new Int32Array(length);
  }

  /** @returns the number of the key, `place` when it is new */
  add(key: number, place: number): number {
    const at = this.#slotOf(key);
    const known = this.#places[at] as number;
    if (known !== 0) return known - 1;
    this.#keys[at] = key;
    this.#places[at] = place + 1;
    this.#count += 1;
    if (this.#count * 2 > this.#places.length) this.#grow();
    return place;
  }

  find(key: number): number {
    return (this.#places[this.#slotOf(key)] as number) - 1;
  }

  #slotOf(key: number): number {
    const keys = this.#keys;
    const places = this.#places;
    const mask = places.length - 1;
    let at = hashOf(key) & mask;
    while (places[at] !== 0 && keys[at] !== key) at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const keys = this.#keys;
    const places = this.#places;
    this.#keys = new Float64Array(keys.length * 4);
    this.#places = new Int32Array(keys.length * 4);
    for (let from = 0; from < keys.length; from += 1) {
      if (places[from] === 0) continue;
      const at = this.#slotOf(keys[from] as number);
      this.#keys[at] = keys[from] as number;
      this.#places[at] = places[from] as number;
    }
  }
}
