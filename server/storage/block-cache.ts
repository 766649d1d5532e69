import type { BucketId, LogIndex } from '#core/rid.ts';
import { Block } from './block.ts';
import { ImageMemory, type Slab, slabBytes } from './image-memory.ts';
import { PagedTable } from './paged-table.ts';

/** The newest image of a block, and from which LSN on it has been the newest. */
export interface CachedBlock {
  block: Block;
  readonly since: LogIndex;
  /** Read again since it was loaded: survives one round of giving up memory. */
  used: boolean;
}

/**
 * A power of two. With 1,024, random reads over 5,000 blocks brought in a block for every fifth record, 70 MB of fresh memory a
 * second and a full garbage collection every 250 ms; a set that fits comes in a little later.
 */
const recentCount = 256;

/** Used images that are moved at a time: half as much as is given up. */
const movedBytesMax = slabBytes / 2;

function noSpareBytes(): number {
  return 0;
}

interface SlabEntries {
  readonly slab: Slab;
  readonly entries: CachedBlock[];
}

/**
 * Newest block images by bucket and number, within a budget of bytes and what others leave of theirs. Memory is given up slab by slab, oldest first;
 * images in it that were used again move to a new slab. An image that was read only once, by a scan, does not stay.
 */
export class BlockCache {
  readonly #ownBytes: number;
  readonly #spareBytes: () => number;
  readonly #memory = new ImageMemory();
  readonly #buckets: (PagedTable<CachedBlock> | undefined)[] = [];
  /** Oldest first. */
  #slabs: SlabEntries[] = [];
  #bytes = 0;
  /** Blocks that were asked for lately, each in its place by number. */
  readonly #recent = new Float64Array(recentCount).fill(-1);

  /** @param spareBytes what the budgets of others leave at the moment; blocks take it until it is asked for (`trim`) */
  constructor(budgetBytes: number, spareBytes: () => number = noSpareBytes) {
    this.#ownBytes = budgetBytes;
    this.#spareBytes = spareBytes;
  }

  get #budgetBytes(): number {
    return this.#ownBytes + this.#spareBytes();
  }

  /** Memory for an image that will be put into the cache. */
  get memory(): ImageMemory {
    return this.#memory;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The next image drives others out. */
  get isFull(): boolean {
    return this.#bytes + slabBytes > this.#budgetBytes;
  }

  get(bucket: BucketId, number: number): CachedBlock | undefined {
    return this.#buckets[bucket]?.get(number);
  }

  /**
   * Whether a block that was asked for and is not here should come in. A full cache lets in what is asked for twice within some
   * hundred others: random reads over more than it holds would otherwise drive out everything, block by block, and each
   * block for the sake of one record.
   */
  admits(bucket: BucketId, number: number): boolean {
    if (!this.isFull) return true;
    const key = bucket * 2 ** 32 + number;
    const place = (number ^ (bucket * 7919)) & (recentCount - 1);
    if (this.#recent[place] === key) return true;
    this.#recent[place] = key;
    return false;
  }

  /** Takes over an image that lies in `slab`. */
  put(block: Block, slab: Slab, since: LogIndex): void {
    const entry: CachedBlock = { block, since, used: false };
    this.#table(block.bucket).set(block.number, entry);
    this.#file(slab, entry);
    this.trim();
  }

  /** Gives up what is above the budget. */
  trim(): void {
    if (this.#bytes > this.#budgetBytes) this.#giveUp();
  }

  remove(bucket: BucketId, number: number): void {
    this.#buckets[bucket]?.set(number, undefined);
  }

  removeBucket(bucket: BucketId): void {
    this.#buckets[bucket] = undefined;
  }

  #table(bucket: BucketId): PagedTable<CachedBlock> {
    const known = this.#buckets[bucket];
    if (known !== undefined) return known;
    while (this.#buckets.length <= bucket) this.#buckets.push(undefined);
    const table = new PagedTable<CachedBlock>();
    this.#buckets[bucket] = table;
    return table;
  }

  #file(slab: Slab, entry: CachedBlock): void {
    const last = this.#slabs.at(-1);
    if (last?.slab === slab) {
      last.entries.push(entry);
      return;
    }
    this.#slabs.push({ slab, entries: [entry] });
    this.#bytes += slab.bytes.length;
  }

  #giveUp(): void {
    // Where everything is used, moving all of it to give up a little would cost more than it saves.
    let movable = movedBytesMax;
    // Each slab is looked at once at most; what is moved lands in slabs behind them.
    for (let left = this.#slabs.length - 1; left > 0 && this.#bytes > this.#budgetBytes; left--) {
      const oldest = this.#slabs.shift() as SlabEntries;
      this.#bytes -= oldest.slab.bytes.length;
      for (const entry of oldest.entries) movable -= this.#keepOrDrop(entry, movable);
    }
  }

  /** @returns bytes that were moved, at most about `movable` */
  #keepOrDrop(entry: CachedBlock, movable: number): number {
    const { block } = entry;
    if (this.get(block.bucket, block.number) !== entry) return 0;
    if (!entry.used || movable <= 0) {
      this.remove(block.bucket, block.number);
      return 0;
    }
    entry.used = false;
    const length = block.usedBytes;
    const start = this.#memory.take(length);
    const { slab } = this.#memory;
    block.bytes.copy(slab.bytes, start, block.base, block.base + length);
    entry.block = new Block(slab, start, block.bucket, block.number, block.slotCount);
    this.#file(slab, entry);
    return length;
  }
}
