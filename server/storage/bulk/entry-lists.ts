import type { Rid } from '#core/value/rid.ts';
import { compareBytes } from '../format/entry-chunk.ts';

/*
 * A list lies in slices of slabs, each twice as long as the one before it. An entry of it is
 *
 *   varint distance of the record id to the one before, and one; or 0, and the record id as a varint
 *   varint tail size, tail
 *
 * A place is the number of a slab and a byte in it as one number.
 */

const slabBits = 16;
const slabSize = 1 << slabBits;
const slabsMax = 2 ** 15;
const sliceBytesMin = 16;
const sliceBytesMax = 4096;
/** What an entry takes beside its tail when its distance is short, as most are, and at most. */
const besideTail = 4;
const besideTailMax = 11;
const shortDistanceMax = 2 ** 14 - 2;

/** Where a list is read. */
export class ListPlace {
  slice = 0;
  isLast = true;
  /** Of the entry that was read: its record id, and where its tail lies in `bytes`. */
  rid = 0 as Rid;
  bytes: Uint8Array = new Uint8Array(0);
  tailStart = 0;
  tailEnd = 0;
  /** How far the slice goes. */
  end = 0;

  copy(): ListPlace {
    return Object.assign(new ListPlace(), this);
  }
}

/** Many lists that grow side by side, of record ids with some bytes each (tails). Cost: five bytes for a posting. */
export class EntryLists {
  count = 0;
  /** Where lists begin to count distances: most have an entry near the first of all. */
  #origin: Rid | undefined;
  readonly #slabs: Uint8Array[] = [];
  #slabUsed = slabSize;
  /** Of each slice: where it starts, where its entries end when it is not the last of its list, and the one behind it. */
  #sliceCount = 0;
  #sliceStarts = new Uint32Array(1024);
  #sliceEnds = new Uint32Array(1024);
  #nextSlices = new Uint32Array(1024);
  /** Of each list: its slices, where its next entry goes and how far it may reach; of its last one the record id and the tail size. */
  #firstSlices = new Uint32Array(1024);
  #lastSlices = new Uint32Array(1024);
  #ends = new Uint32Array(1024);
  #limits = new Uint32Array(1024);
  #lastRids = new Float64Array(1024);
  #tailSizes = new Uint16Array(1024);

  get isFull(): boolean {
    return this.#slabs.length >= slabsMax;
  }

  get byteLength(): number {
    const columns = 3 * this.#sliceStarts.byteLength + 6.5 * this.#ends.byteLength;
    return this.#slabs.length * slabSize + columns;
  }

  /** A list without entries: the next one, or one whose entries are given up. */
  begin(list: number): void {
    if (list === this.#ends.length) this.#growLists();
    if (list === this.count) this.count += 1;
    this.#ends[list] = 0;
    this.#limits[list] = 0;
  }

  /**
   * Puts an entry with the tail `bytes[start, end)` at the end of a list.
   * @returns false when it would belong before the last one, by record id and tail
   */
  put(list: number, rid: Rid, bytes: Uint8Array, start: number, end: number): boolean {
    this.#origin ??= rid;
    const limit = this.#limits[list] as number;
    const distance = rid - (limit === 0 ? this.#origin : (this.#lastRids[list] as number));
    const isBehind =
      limit === 0 || distance > 0 || this.#isBehind(list, distance, bytes, start, end);
    const size = end - start;
    const isShort = distance >= 0 && distance <= shortDistanceMax;
    const needed = size + (isShort ? besideTail : besideTailMax);
    let place = this.#ends[list] as number;
    if (place + needed > limit) place = this.#placeFor(list, needed);
    const slab = this.#slabs[place >>> slabBits] as Uint8Array;
    const from = place & (slabSize - 1);
    let at = putVarint(slab, from, distance < 0 ? 0 : distance + 1);
    if (distance < 0) at = putVarint(slab, at, rid);
    at = putVarint(slab, at, size);
    for (let i = start; i < end; i += 1) slab[at++] = bytes[i] as number;
    this.#ends[list] = place + at - from;
    this.#lastRids[list] = rid;
    this.#tailSizes[list] = size;
    return isBehind;
  }

  #isBehind(
    list: number,
    distance: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): boolean {
    if (distance < 0) return false;
    const last = (this.#ends[list] as number) - 1;
    const lastEnd = (last & (slabSize - 1)) + 1;
    const lastStart = lastEnd - (this.#tailSizes[list] as number);
    const slab = this.#slabs[last >>> slabBits] as Uint8Array;
    return compareBytes(slab, lastStart, lastEnd, bytes, start, end) <= 0;
  }

  /** Begins a slice for the list. @returns where its next entry goes */
  #placeFor(list: number, needed: number): number {
    const slice = this.#sliceCount++;
    if (slice === this.#sliceStarts.length) this.#growSlices();
    const limit = this.#limits[list] as number;
    let size = sliceBytesMin;
    if (limit === 0) this.#firstSlices[list] = slice;
    else {
      const last = this.#lastSlices[list] as number;
      size = Math.min(sliceBytesMax, 2 * (limit - (this.#sliceStarts[last] as number)));
      this.#sliceEnds[last] = this.#ends[list] as number;
      this.#nextSlices[last] = slice;
    }
    size = Math.max(size, needed);
    if (this.#slabUsed + size > slabSize) {
      this.#slabs.push(new Uint8Array(slabSize));
      this.#slabUsed = 0;
    }
    const start = (this.#slabs.length - 1) * slabSize + this.#slabUsed;
    this.#slabUsed += size;
    this.#sliceStarts[slice] = start;
    this.#lastSlices[list] = slice;
    this.#limits[list] = start + size;
    return start;
  }

  /** To before the first entry of a list. */
  enter(list: number, place: ListPlace): void {
    place.rid = this.#origin as Rid;
    this.#openSlice(list, this.#firstSlices[list] as number, place);
  }

  #openSlice(list: number, slice: number, place: ListPlace): void {
    const start = this.#sliceStarts[slice] as number;
    place.slice = slice;
    place.isLast = slice === this.#lastSlices[list];
    const end = (place.isLast ? this.#ends[list] : this.#sliceEnds[slice]) as number;
    place.bytes = this.#slabs[start >>> slabBits] as Uint8Array;
    place.tailEnd = start & (slabSize - 1);
    place.end = place.tailEnd + end - start;
  }

  /** Reads the next entry of a list. @returns false when there is none */
  next(list: number, place: ListPlace): boolean {
    if (place.tailEnd === place.end) {
      if (place.isLast) return false;
      this.#openSlice(list, this.#nextSlices[place.slice] as number, place);
    }
    const head = readVarint(place);
    place.rid = (head > 0 ? place.rid + head - 1 : readVarint(place)) as Rid;
    const size = readVarint(place);
    place.tailStart = place.tailEnd;
    place.tailEnd += size;
    return true;
  }

  #growLists(): void {
    this.#firstSlices = grown(this.#firstSlices);
    this.#lastSlices = grown(this.#lastSlices);
    this.#ends = grown(this.#ends);
    this.#limits = grown(this.#limits);
    const [rids, sizes] = [this.#lastRids, this.#tailSizes];
    this.#lastRids = new Float64Array(rids.buffer.transfer(2 * rids.byteLength));
    this.#tailSizes = new Uint16Array(sizes.buffer.transfer(2 * sizes.byteLength));
  }

  #growSlices(): void {
    this.#sliceStarts = grown(this.#sliceStarts);
    this.#sliceEnds = grown(this.#sliceEnds);
    this.#nextSlices = grown(this.#nextSlices);
  }
}

function grown(column: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  return new Uint32Array(column.buffer.transfer(2 * column.byteLength));
}

function putVarint(bytes: Uint8Array, from: number, value: number): number {
  let at = from;
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 0x80;
  bytes[at++] = rest;
  return at;
}

/** Reads on from where the tail ended. */
function readVarint(place: ListPlace): number {
  const { bytes } = place;
  let byte = bytes[place.tailEnd++] as number;
  if (byte < 0x80) return byte;
  let value = byte & 0x7f;
  for (let factor = 128; ; factor *= 128) {
    byte = bytes[place.tailEnd++] as number;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return value;
  }
}
