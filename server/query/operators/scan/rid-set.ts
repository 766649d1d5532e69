import { makeRid, positionMax, type BucketId, type Rid } from '#core/value/rid.ts';

/** Positions per page of a bitmap; one page is 4 KB. */
const pageBits = 32_768;
const wordsPerPage = pageBits / 32;
const bytesPerPage = wordsPerPage * 4;

const smallestCapacity = 64;
/** A table that is full is followed by one of so many times its capacity ... */
const growth = 4;
/** ... and tables up to this capacity are kept when the set is cleared. */
const keptCapacityMax = 4096;
/** Below this many ids a hash table is always smaller and faster than bitmaps. */
const bitmapSizeMin = 2048;

/** Open addressing; the capacity is a power of two and at least twice the number of ids. */
class Table {
  readonly ids: Float64Array;
  /** A place is taken when its stamp is the current one. */
  readonly stamps: Uint32Array;
  readonly shift: number;
  stamp = 1;

  constructor(capacity: number) {
    this.ids = new Float64Array(capacity);
    this.stamps = new Uint32Array(capacity);
    this.shift = 32 - Math.log2(capacity);
  }

  clear(): void {
    if (this.stamp === 0xffff_ffff) {
      this.stamps.fill(0);
      this.stamp = 0;
    }
    this.stamp += 1;
  }
}

/**
 * A set of record ids: a small hash table at first, bitmaps per bucket when the ids stand close together. A `Set` of such large
 * numbers would make each of them a heap object and cost ten times more. Clearing a set costs nothing, so one set can serve many
 * short executions: each begins in the smallest table, which stays in the processor's cache however large the set once was.
 */
export class RidSet {
  /** By capacity, ascending; the ids are in the one at `#level`. */
  readonly #tables: Table[];
  #level = 0;
  #table: Table;
  /** Has taken over from the table. */
  #bitmaps: Bitmaps | undefined;
  #size = 0;

  /** @param capacity of the first table, a power of two: half as many ids need no second one */
  constructor(capacity = smallestCapacity) {
    this.#table = new Table(capacity);
    this.#tables = [this.#table];
  }

  get size(): number {
    return this.#size;
  }

  /** What the set holds in memory, about. */
  get bytes(): number {
    return this.#table.ids.length * 12 + (this.#bitmaps?.bytes ?? 0);
  }

  /** @returns true when the id was not in the set */
  add(rid: Rid): boolean {
    if (this.#bitmaps !== undefined) return this.#addToBitmaps(this.#bitmaps, rid);
    const { ids, stamps, stamp, shift } = this.#table;
    const mask = ids.length - 1;
    // The low 32 bits of a record id are the low bits of its position.
    let at = Math.imul(rid >>> 0, 0x9e3779b1) >>> shift;
    while (stamps[at] === stamp) {
      if (ids[at] === rid) return false;
      at = (at + 1) & mask;
    }
    ids[at] = rid;
    stamps[at] = stamp;
    this.#size += 1;
    if (this.#size * 2 > ids.length) this.#grow();
    return true;
  }

  clear(): void {
    this.#size = 0;
    this.#bitmaps = undefined;
    for (let level = 0; level <= this.#level; level += 1) (this.#tables[level] as Table).clear();
    while ((this.#tables.at(-1) as Table).ids.length > keptCapacityMax) this.#tables.pop();
    this.#level = 0;
    this.#table = this.#tables[0] as Table;
  }

  /** The ids of one bucket in ascending order. */
  ridsOf(bucket: BucketId): Float64Array {
    if (this.#bitmaps !== undefined) return this.#bitmaps.ridsOf(bucket);
    const low = makeRid(bucket, 0);
    const high = makeRid(bucket + 1, 0);
    const { ids, stamps, stamp } = this.#table;
    const rids = ids.filter((rid, at) => stamps[at] === stamp && rid >= low && rid < high);
    return rids.sort();
  }

  #addToBitmaps(bitmaps: Bitmaps, rid: Rid): boolean {
    const isNew = bitmaps.add(rid);
    if (isNew) this.#size += 1;
    return isNew;
  }

  #grow(): void {
    if (this.#size >= bitmapSizeMin && this.#becomesBitmaps()) return;
    const { ids, stamps, stamp } = this.#table;
    this.#level += 1;
    this.#table = this.#tables[this.#level] ?? new Table(ids.length * growth);
    this.#tables[this.#level] = this.#table;
    this.#size = 0;
    for (let at = 0; at < ids.length; at += 1) if (stamps[at] === stamp) this.add(ids[at] as Rid);
  }

  /** Bitmaps take over when they need no more memory than the next table would. */
  #becomesBitmaps(): boolean {
    const bitmaps = new Bitmaps();
    const { ids, stamps, stamp } = this.#table;
    const bytesMax = ids.byteLength * growth;
    for (let at = 0; at < ids.length; at += 1) {
      if (stamps[at] === stamp) bitmaps.add(ids[at] as Rid);
      if (bitmaps.bytes > bytesMax) return false;
    }
    this.#bitmaps = bitmaps;
    return true;
  }
}

/** Bitmaps per bucket, in pages so that a few far positions stay cheap. */
class Bitmaps {
  readonly #buckets = new Map<number, (Uint32Array | undefined)[]>();
  #bucket = -1;
  #pages: (Uint32Array | undefined)[] = [];
  #pageCount = 0;

  get bytes(): number {
    return this.#pageCount * bytesPerPage;
  }

  add(rid: Rid): boolean {
    const bucket = Math.floor(rid / positionMax);
    const position = rid - bucket * positionMax;
    if (bucket !== this.#bucket) this.#enter(bucket);
    const pageNumber = Math.floor(position / pageBits);
    const page = this.#pages[pageNumber] ?? this.#addPage(pageNumber);
    const offset = position % pageBits;
    const word = offset >>> 5;
    const bit = 1 << (offset & 31);
    const before = page[word] as number;
    if ((before & bit) !== 0) return false;
    page[word] = before | bit;
    return true;
  }

  ridsOf(bucket: BucketId): Float64Array {
    const pages = this.#buckets.get(bucket);
    if (pages === undefined) return new Float64Array(0);
    // The keys of a sparse array; its length would be walked hole by hole.
    const pageNumbers = Object.keys(pages).map(Number);
    let count = 0;
    for (const pageNumber of pageNumbers) count += bitCount(pages[pageNumber] as Uint32Array);
    const rids = new Float64Array(count);
    count = 0;
    for (const pageNumber of pageNumbers) {
      const base = makeRid(bucket, pageNumber * pageBits);
      count = appendPage(rids, count, pages[pageNumber] as Uint32Array, base);
    }
    return rids;
  }

  #addPage(pageNumber: number): Uint32Array {
    const page = new Uint32Array(wordsPerPage);
    this.#pages[pageNumber] = page;
    this.#pageCount += 1;
    return page;
  }

  #enter(bucket: number): void {
    let pages = this.#buckets.get(bucket);
    if (pages === undefined) {
      pages = [];
      this.#buckets.set(bucket, pages);
    }
    this.#bucket = bucket;
    this.#pages = pages;
  }
}

function bitCount(page: Uint32Array): number {
  let count = 0;
  for (let word = 0; word < wordsPerPage; word += 1) {
    let bits = page[word] as number;
    for (; bits !== 0; bits &= bits - 1) count += 1;
  }
  return count;
}

function appendPage(rids: Float64Array, from: number, page: Uint32Array, base: Rid): number {
  let count = from;
  for (let word = 0; word < wordsPerPage; word += 1) {
    let bits = page[word] as number;
    while (bits !== 0) {
      const lowest = bits & -bits;
      rids[count] = base + word * 32 + (31 - Math.clz32(lowest));
      count += 1;
      bits ^= lowest;
    }
  }
  return count;
}
