import type { ValueKey } from '#core/value/equality.ts';

/**
 * Keys of values (`core/value/equality.ts`), each with a number: 0, 1, 2 in the order in which they came. Cost: one search for a key
 * whether it was there or not. Many numbers stand in tables of their own, five times as fast as `Map`, which boxes them.
 *
 * Many keys stand in parts. A table is filled anew at one go when it grows, which took 60 ms at 262,144 keys; a part grows alone.
 */
export class ValueTable {
  #places = new Map<ValueKey, number>();
  /** Of `keysPerMap` keys and more that are no numbers. */
  #parts: MapParts | undefined;
  #numbers: NumberParts | undefined;
  #size = 0;

  /** How many keys there are. */
  get size(): number {
    return this.#size;
  }

  /** The number of a key, which is the former size when it is new. */
  add(key: ValueKey): number {
    const place = this.#size;
    if (this.#numbers !== undefined && isPlainNumber(key)) {
      const known = this.#numbers.add(key, place);
      if (known === place) this.#size += 1;
      return known;
    }
    const map = this.#parts === undefined ? this.#places : this.#parts.mapFor(key);
    const known = map.get(key);
    if (known !== undefined) return known;
    map.set(key, place);
    this.#size += 1;
    if (this.#numbers === undefined && this.#size === fewKeys) this.#moveNumbers();
    if (this.#parts === undefined && this.#places.size === keysPerMap) this.#moveToParts();
    return place;
  }

  /** The number of a key; -1 when it is not there. */
  find(key: ValueKey): number {
    if (this.#numbers !== undefined && isPlainNumber(key)) return this.#numbers.find(key);
    const map = this.#parts === undefined ? this.#places : this.#parts.mapFor(key);
    return map.get(key) ?? -1;
  }

  #moveNumbers(): void {
    const numbers = new NumberParts();
    for (const [key, place] of this.#places) {
      if (!isPlainNumber(key)) continue;
      numbers.add(key, place);
      this.#places.delete(key);
    }
    this.#numbers = numbers;
  }

  #moveToParts(): void {
    const parts = new MapParts();
    for (const [key, place] of this.#places) parts.mapFor(key).set(key, place);
    this.#places = noPlaces;
    this.#parts = parts;
  }
}

/** Below this a `Map` is as fast, and smaller. */
const fewKeys = 256;
/** The most that are put into a grown table at one go: a millisecond. */
const keysPerMap = 32_768;
const numbersAtOnce = 16_384;
/** Powers of two. */
const mapCount = 32;
const numberPartCount = 16;

const noPlaces = new Map<ValueKey, number>();

/** NaN, which is equal to itself as a key, stays in the map. */
function isPlainNumber(key: ValueKey): key is number {
  return typeof key === 'number' && !Number.isNaN(key);
}

/** Maps of as many keys each, told by samples of it. Where these are the same for very many keys, further maps are searched. */
class MapParts {
  readonly #maps: Map<ValueKey, number>[] = [];
  /** Those that are full, by part. */
  readonly #full: Map<ValueKey, number>[][] = [];

  constructor() {
    for (let part = 0; part < mapCount; part += 1) this.#maps.push(new Map());
  }

  /** The map that has the key, or the one that is to take it in. */
  mapFor(key: ValueKey): Map<ValueKey, number> {
    const part = partOf(key);
    const map = this.#maps[part] as Map<ValueKey, number>;
    return map.size < keysPerMap && this.#full.length === 0 ? map : this.#searched(key, part);
  }

  #searched(key: ValueKey, part: number): Map<ValueKey, number> {
    const map = this.#maps[part] as Map<ValueKey, number>;
    if (map.has(key)) return map;
    const found = this.#full[part]?.find((full) => full.has(key));
    if (found !== undefined) return found;
    if (map.size < keysPerMap) return map;
    this.#full[part] ??= [];
    this.#full[part].push(map);
    const added = new Map<ValueKey, number>();
    this.#maps[part] = added;
    return added;
  }
}

function partOf(key: ValueKey): number {
  if (typeof key === 'string') return sampleOf(key);
  return typeof key === 'bigint' ? Number(BigInt.asUintN(8, key)) & (mapCount - 1) : 0;
}

/** Texts differ at their end, in their middle or in their length, more often than not. */
function sampleOf(text: string): number {
  const { length } = text;
  let hash = length;
  hash = mixed(hash, text.charCodeAt(length - 1));
  hash = mixed(hash, text.charCodeAt(length - 2));
  hash = mixed(hash, text.charCodeAt(length - 3));
  hash = mixed(hash, text.charCodeAt(length >> 1));
  return (hash ^ (hash >>> 15)) & (mapCount - 1);
}

/** A step of FNV-1a. Behind the end of a text stands nothing, which is 0 here. */
function mixed(hash: number, unit: number): number {
  return Math.imul(hash ^ unit, 0x01000193);
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

/** One table, and as many as `numberPartCount` when it is full. */
class NumberParts {
  #one: NumberTable | undefined = new NumberTable(fewKeys * 2);
  #tables: readonly NumberTable[] = [];

  /** @returns the number of the key, `place` when it is new */
  add(key: number, place: number): number {
    const hash = hashOf(key);
    const known = this.#tableOf(hash).add(key, hash, place);
    if (this.#one?.count === numbersAtOnce) this.#split(this.#one);
    return known;
  }

  find(key: number): number {
    const hash = hashOf(key);
    return this.#tableOf(hash).find(key, hash);
  }

  /** The lowest bits of the hash tell the place in the table. */
  #tableOf(hash: number): NumberTable {
    return this.#one ?? (this.#tables[(hash >>> 24) & (numberPartCount - 1)] as NumberTable);
  }

  #split(one: NumberTable): void {
    const tables: NumberTable[] = [];
    for (let part = 0; part < numberPartCount; part += 1)
      tables.push(new NumberTable((3 * numbersAtOnce) / (2 * numberPartCount)));
    this.#tables = tables;
    this.#one = undefined;
    one.moveInto((hash) => this.#tableOf(hash));
  }
}

/** Open addressing with linear probing, at most half full. */
class NumberTable {
  #keys: Float64Array;
  /** One more than the number of the key; 0 where there is none. */
  #places: Int32Array;
  count = 0;

  /** @param keyCount fit without growing */
  constructor(keyCount: number) {
    const length = 2 ** Math.ceil(Math.log2(keyCount * 2));
    this.#keys = new Float64Array(length);
    this.#places = new Int32Array(length);
  }

  /** @returns the number of the key, `place` when it is new */
  add(key: number, hash: number, place: number): number {
    const at = this.#slotOf(key, hash);
    const known = this.#places[at] as number;
    if (known !== 0) return known - 1;
    this.#keys[at] = key;
    this.#places[at] = place + 1;
    this.count += 1;
    if (this.count * 2 > this.#places.length) this.#grow();
    return place;
  }

  find(key: number, hash: number): number {
    return (this.#places[this.#slotOf(key, hash)] as number) - 1;
  }

  moveInto(tableOf: (hash: number) => NumberTable): void {
    const places = this.#places;
    for (let at = 0; at < places.length; at += 1) {
      const place = places[at] as number;
      if (place === 0) continue;
      const key = this.#keys[at] as number;
      const hash = hashOf(key);
      tableOf(hash).#put(key, hash, place);
    }
  }

  /** A key that is not there, which fits. */
  #put(key: number, hash: number, place: number): void {
    const places = this.#places;
    const mask = places.length - 1;
    let at = hash & mask;
    while (places[at] !== 0) at = (at + 1) & mask;
    this.#keys[at] = key;
    places[at] = place;
    this.count += 1;
  }

  #slotOf(key: number, hash: number): number {
    const keys = this.#keys;
    const places = this.#places;
    const mask = places.length - 1;
    let at = hash & mask;
    while (places[at] !== 0 && keys[at] !== key) at = (at + 1) & mask;
    return at;
  }

  #grow(): void {
    const before = this.#places;
    const keys = this.#keys;
    this.#keys = new Float64Array(keys.length * 4);
    this.#places = new Int32Array(keys.length * 4);
    this.count = 0;
    for (let from = 0; from < keys.length; from += 1) {
      const place = before[from] as number;
      if (place === 0) continue;
      const key = keys[from] as number;
      this.#put(key, hashOf(key), place);
    }
  }
}
