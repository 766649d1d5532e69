import type { Rid } from '#core/value/rid.ts';
import { compareBytes, putRid } from '../format/entry-chunk.ts';
import { ridSize } from '../format/sub-databases.ts';
import { type ChangeSource, prefixBytes, prefixOf } from '../read/change-merge.ts';

/** Entries of a block: the number of one fits beside 39 bits of its components into a number that sorts. */
export const blockEntriesMax = 16_384;
/** The bits that are left out of the 42 of `prefixOf`. */
const leftOut = 8;

/** From `low` to before `high`. */
export interface ComponentRange {
  readonly low: Uint8Array;
  readonly high: Uint8Array;
}

/** Some entries of an index in chunks that came or went, in the order in which they did. */
export class EntryBlock {
  count = 0;
  #bytes: Uint8Array<ArrayBuffer>;
  #ends: Uint32Array<ArrayBuffer>;
  #signs: Uint8Array<ArrayBuffer>;
  #used = 0;
  #order: Uint16Array | undefined;

  /** @param capacity entries for which there is room at first, of some sixteen bytes each */
  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity * 16);
    this.#ends = new Uint32Array(capacity);
    this.#signs = new Uint8Array(capacity);
  }

  get isFull(): boolean {
    return this.count === blockEntriesMax;
  }

  /** Of components. */
  get usedBytes(): number {
    return this.#used;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  add(key: Uint8Array, rid: Rid, isAddition: boolean): void {
    const { length } = key;
    const start = this.#used;
    this.#take(length + ridSize, isAddition);
    const bytes = this.#bytes;
    bytes[start] = key[0] as number;
    let at = 1;
    // The group ends with its zero byte, and the record id comes between it and the tail.
    for (; at < length; at += 1) {
      const byte = key[at] as number;
      bytes[start + at] = byte;
      if (byte === 0) break;
    }
    at += 1;
    if (at > length) throw new Error('a key of an index in chunks has no zero byte');
    putRid(bytes, start + at, rid);
    for (; at < length; at += 1) bytes[start + ridSize + at] = key[at] as number;
  }

  addComponents(components: Uint8Array, isAddition: boolean): void {
    const start = this.#used;
    this.#take(components.length, isAddition);
    this.#bytes.set(components, start);
  }

  /** Adds an entry of another block. */
  addOf(other: EntryBlock, place: number): void {
    const from = other.startAt(place);
    const size = other.endAt(place) - from;
    const start = this.#used;
    this.#take(size, other.isAdditionAt(place));
    const [bytes, otherBytes] = [this.#bytes, other.#bytes];
    for (let i = 0; i < size; i += 1) bytes[start + i] = otherBytes[from + i] as number;
  }

  #take(size: number, isAddition: boolean): void {
    const at = this.count;
    if (at === this.#ends.length) this.#growEntries();
    const end = this.#used + size;
    if (end > this.#bytes.length) {
      const length = Math.max(end, 2 * this.#bytes.length);
      this.#bytes = new Uint8Array(this.#bytes.buffer.transfer(length));
    }
    this.#ends[at] = end;
    this.#signs[at] = isAddition ? 1 : 0;
    this.#used = end;
    this.count = at + 1;
  }

  #growEntries(): void {
    const capacity = Math.min(blockEntriesMax, 4 * this.#ends.length);
    this.#ends = new Uint32Array(this.#ends.buffer.transfer(4 * capacity));
    this.#signs = new Uint8Array(this.#signs.buffer.transfer(capacity));
  }

  startAt(place: number): number {
    return place === 0 ? 0 : (this.#ends[place - 1] as number);
  }

  endAt(place: number): number {
    return this.#ends[place] as number;
  }

  isAdditionAt(place: number): boolean {
    return this.#signs[place] === 1;
  }

  /** All places in the order of components, of equal ones the newest first. */
  get order(): Uint16Array {
    return this.sort();
  }

  /** Cost: a millisecond, once for the entries so far. */
  sort(): Uint16Array {
    if (this.#order?.length !== this.count) this.#order = this.#sorted();
    return this.#order;
  }

  /** Those of a range, in that order. A block that still grows is not sorted for a few. */
  placesIn(range: ComponentRange): Uint16Array {
    if (this.#order?.length === this.count) return this.#orderIn(range);
    const [low, high] = [prefixOfBound(range.low), prefixOfBound(range.high)];
    const found: number[] = [];
    for (let place = 0; place < this.count; place += 1) {
      const prefix = prefixOf(this.#bytes, this.startAt(place));
      if (prefix < low || prefix > high) continue;
      if (this.#compareWith(place, range.low) >= 0 && this.#compareWith(place, range.high) < 0)
        found.push(place);
    }
    if (found.length > this.count / 8) return this.#orderIn(range);
    return Uint16Array.from(found.sort(this.#compare));
  }

  #orderIn({ low, high }: ComponentRange): Uint16Array {
    return this.order.subarray(this.#lowerBound(low), this.#lowerBound(high));
  }

  /**
   * The numbers are sorted by the machine's own means, and what has one prefix is looked at again. Most often that is a term whose
   * records came in their order.
   */
  #sorted(): Uint16Array {
    const { count } = this;
    const numbers = new Float64Array(count);
    for (let at = 0; at < count; at += 1) {
      const prefix = Math.floor(prefixOf(this.#bytes, this.startAt(at)) / leftOut);
      numbers[at] = prefix * blockEntriesMax + at;
    }
    numbers.sort();
    const order = new Uint16Array(count);
    for (let at = 0; at < count; at += 1) order[at] = (numbers[at] as number) % blockEntriesMax;
    for (let from = 0; from < count; ) {
      const prefix = Math.floor((numbers[from] as number) / blockEntriesMax);
      const limit = (prefix + 1) * blockEntriesMax;
      let to = from + 1;
      let isInOrder = true;
      for (; to < count && (numbers[to] as number) < limit; to += 1)
        isInOrder &&= this.#compare(order[to - 1] as number, order[to] as number) < 0;
      if (!isInOrder) order.subarray(from, to).sort(this.#compare);
      from = to;
    }
    return order;
  }

  readonly #compare = (a: number, b: number): number => {
    const bytes = this.#bytes;
    const endA = this.endAt(a);
    const endB = this.endAt(b);
    let atA = this.startAt(a);
    let atB = this.startAt(b);
    for (; atA < endA && atB < endB; atA += 1, atB += 1) {
      const difference = (bytes[atA] as number) - (bytes[atB] as number);
      if (difference !== 0) return difference;
    }
    return endA - atA - (endB - atB) || b - a;
  };

  #compareWith(place: number, components: Uint8Array): number {
    const [start, end] = [this.startAt(place), this.endAt(place)];
    return compareBytes(this.#bytes, start, end, components, 0, components.length);
  }

  /** The first place of the order whose components are not before these. */
  #lowerBound(components: Uint8Array): number {
    const { order } = this;
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#compareWith(order[middle] as number, components) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Components from a bound on have no lower prefix, those before it no higher one. */
function prefixOfBound(bound: Uint8Array): number {
  const padded = new Uint8Array(prefixBytes + 1);
  padded.set(bound.subarray(0, padded.length));
  return prefixOf(padded, 0);
}

/** The entries of a block that a reader sees. */
export class BlockChanges implements ChangeSource {
  readonly #block: EntryBlock;
  readonly #places: Uint16Array;
  readonly #visible: number;
  #at = 0;
  start = 0;
  end = 0;
  isAddition = false;
  prefix = 0;

  /** @param visible of the block's entries, those that came first; the others are not there yet */
  constructor(block: EntryBlock, visible: number, range: ComponentRange | undefined) {
    this.#block = block;
    this.#places = range === undefined ? block.order : block.placesIn(range);
    this.#visible = visible;
    this.#look();
  }

  /** The memory of the block moves when it grows. */
  get bytes(): Uint8Array | undefined {
    return this.#at < this.#places.length ? this.#block.bytes : undefined;
  }

  step(): void {
    this.#at += 1;
    this.#look();
  }

  #look(): void {
    const places = this.#places;
    while (this.#at < places.length && (places[this.#at] as number) >= this.#visible) this.#at += 1;
    if (this.#at >= places.length) return;
    const place = places[this.#at] as number;
    const block = this.#block;
    this.start = block.startAt(place);
    this.end = block.endAt(place);
    this.isAddition = block.isAdditionAt(place);
    this.prefix = prefixOf(block.bytes, this.start);
  }
}
