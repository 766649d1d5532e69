import type { BucketId } from '#core/value/rid.ts';
import { type BlockKey, blockKey } from '../format/sub-databases.ts';
import type { PendingBlock } from './pending-block.ts';

/** The blocks under change by a commit. The rows of an entry mostly come block by block, so the last one is at hand. */
export class OpenBlocks {
  readonly #blocks = new Map<BlockKey, PendingBlock>();
  #last: PendingBlock | undefined;

  get size(): number {
    return this.#blocks.size;
  }

  get(bucket: BucketId, number: number): PendingBlock | undefined {
    const last = this.#last;
    if (last !== undefined && last.number === number && last.bucket === bucket) return last;
    const found = this.#blocks.get(blockKey(bucket, number));
    this.#last = found;
    return found;
  }

  /** In place of what was there. */
  set(block: PendingBlock): void {
    this.#blocks.set(blockKey(block.bucket, block.number), block);
    this.#last = block;
  }

  /** Those of one bucket; they are open no more. */
  takeBucket(bucket: BucketId): readonly PendingBlock[] {
    const taken = [...this.#blocks.values()].filter((block) => block.bucket === bucket);
    for (const { number } of taken) this.#blocks.delete(blockKey(bucket, number));
    this.#last = undefined;
    return taken;
  }

  /** As `takeBucket`, all. */
  takeAll(): readonly PendingBlock[] {
    const taken = [...this.#blocks.values()];
    this.#blocks.clear();
    this.#last = undefined;
    return taken;
  }
}
