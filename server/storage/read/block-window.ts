import type { Block } from '../format/block.ts';
import { Slab } from '../checkpoint/image-memory.ts';

/** Below the size from which the system maps memory anew for each request. */
const bytesPerSlab = 64 * 1024;

/**
 * Memory of one scan for the blocks that it reads past the cache. Each block takes the place of the one before, unless a
 * record was made of that: fresh memory for each block (60 MB for a million small records) would call for a full garbage
 * collection again and again, which stops everything for some 10 ms.
 */
export class BlockWindow {
  #slab: Slab | undefined;
  #block: Block | undefined;

  /** The memory that the last `take` took from. */
  get slab(): Slab {
    return this.#slab as Slab;
  }

  /** Where `length` bytes for the next block start in `slab`. The block before is not to be used any more. */
  take(length: number): number {
    const before = this.#block;
    if (before !== undefined && !before.isKept) this.#slab?.takeBack(before.base);
    this.#block = undefined;
    const start = this.#slab?.take(length) ?? -1;
    if (start >= 0) return start;
    this.#slab = new Slab(Math.max(bytesPerSlab, length));
    return this.#slab.take(length);
  }

  /** Tells which block lies where `take` said. */
  hold(block: Block): Block {
    this.#block = block;
    return block;
  }
}
