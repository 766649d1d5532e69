import type { BucketId, LogIndex } from '#core/value/rid.ts';
import { Block } from '../format/block.ts';
import { ImageMemory, type Slab, slabBytes } from '../checkpoint/image-memory.ts';
import { PagedTable } from '../bulk/paged-table.ts';

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

interface SlabBlocks {
  readonly slab: Slab;
  readonly blocks: Block[];
}

/**
 * Newest block images by bucket and number, within a budget of bytes and what others leave of theirs. Memory is given up slab by slab, oldest first;
 * images in it that were used again move to a new slab. An image that was read only once, by a scan, does not stay.
 */
export class BlockCache {
  readonly #ownBytes: number;
  readonly #spareBytes: () => number;
  readonly #memory = new ImageMemory();
  readonly #buckets: (PagedTable<Block> | undefined)[] = [];
  /** Oldest first. */
  #slabs: SlabBlocks[] = [];
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

  /** The newest image; `since` says of which state. */
  get(bucket: BucketId, number: number): Block | undefined {
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
    block.since = since;
    this.#table(block.bucket).set(block.number, block);
    this.#file(slab, block);
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

  #table(bucket: BucketId): PagedTable<Block> {
    const known = this.#buckets[bucket];
    if (known !== undefined) return known;
    while (this.#buckets.length <= bucket) this.#buckets.push(undefined);
    const table = new PagedTable<Block>();
    this.#buckets[bucket] = table;
    return table;
  }

  #file(slab: Slab, block: Block): void {
    const last = this.#slabs.at(-1);
    if (last?.slab === slab) {
      last.blocks.push(block);
      return;
    }
    this.#slabs.push({ slab, blocks: [block] });
    this.#bytes += slab.bytes.length;
  }

  #giveUp(): void {
    // Where everything is used, moving all of it to give up a little would cost more than it saves.
    let movable = movedBytesMax;
    // Each slab is looked at once at most; what is moved lands in slabs behind them.
    for (let left = this.#slabs.length - 1; left > 0 && this.#bytes > this.#budgetBytes; left--) {
      const oldest = this.#slabs.shift() as SlabBlocks;
      this.#bytes -= oldest.slab.bytes.length;
      for (const block of oldest.blocks) movable -= this.#keepOrDrop(block, movable);
    }
  }

  /** @returns bytes that were moved, at most about `movable` */
  #keepOrDrop(block: Block, movable: number): number {
    if (this.get(block.bucket, block.number) !== block) return 0;
    if (!block.isUsed || movable <= 0) {
      this.remove(block.bucket, block.number);
      return 0;
    }
    const length = block.usedBytes;
    const start = this.#memory.take(length);
    const { slab } = this.#memory;
    block.bytes.copy(slab.bytes, start, block.base, block.base + length);
    const moved = new Block(slab, start, block.bucket, block.number, block.slotCount);
    moved.since = block.since;
    this.#table(block.bucket).set(block.number, moved);
    this.#file(slab, moved);
    return length;
  }
}
