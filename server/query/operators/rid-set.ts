import { bucketOf, makeRid, positionMax, type BucketId, type Rid } from '#core/rid.ts';

/** Positions per page; one page is 4 KB. */
const pageBits = 32_768;
const wordsPerPage = pageBits / 32;

/**
 * A set of record ids as bitmaps per bucket, in pages so that a few far positions stay cheap. Adding costs a few nanoseconds
 * where a `Set` of such large numbers costs a hundred, because each of them would be a heap object.
 */
export class RidSet {
  readonly #buckets = new Map<number, (Uint32Array | undefined)[]>();
  #bucket = -1;
  #pages: (Uint32Array | undefined)[] = [];
  #size = 0;
  #pageCount = 0;

  get size(): number {
    return this.#size;
  }

  /** What the set holds in memory, about. */
  get bytes(): number {
    return this.#pageCount * wordsPerPage * 4 + this.#buckets.size * 64;
  }

  /** @returns true when the id was not in the set */
  add(rid: Rid): boolean {
    const bucket = Math.floor(rid / positionMax);
    const position = rid - bucket * positionMax;
    if (bucket !== this.#bucket) this.#enter(bucket);
    const pageNumber = Math.floor(position / pageBits);
    let page = this.#pages[pageNumber];
    if (page === undefined) {
      page = new Uint32Array(wordsPerPage);
      this.#pages[pageNumber] = page;
      this.#pageCount += 1;
    }
    const offset = position % pageBits;
    const word = offset >>> 5;
    const bit = 1 << (offset & 31);
    const before = page[word] as number;
    if ((before & bit) !== 0) return false;
    page[word] = before | bit;
    this.#size += 1;
    return true;
  }

  has(rid: Rid): boolean {
    const pages = this.#buckets.get(bucketOf(rid));
    const position = rid % positionMax;
    const page = pages?.[Math.floor(position / pageBits)];
    if (page === undefined) return false;
    const offset = position % pageBits;
    return ((page[offset >>> 5] as number) & (1 << (offset & 31))) !== 0;
  }

  clear(): void {
    this.#buckets.clear();
    this.#bucket = -1;
    this.#pages = [];
    this.#size = 0;
    this.#pageCount = 0;
  }

  /** The ids of one bucket in ascending order. */
  ridsOf(bucket: BucketId): Float64Array {
    const pages = this.#buckets.get(bucket);
    if (pages === undefined) return new Float64Array(0);
    let count = 0;
    pages.forEach((page) => {
      count += page === undefined ? 0 : bitCount(page);
    });
    const rids = new Float64Array(count);
    count = 0;
    pages.forEach((page, pageNumber) => {
      if (page) count = appendPage(rids, count, page, makeRid(bucket, pageNumber * pageBits));
    });
    return rids;
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
