import type { BucketId } from '#core/value/rid.ts';
import type { Slab } from '../checkpoint/image-memory.ts';
import type { Block } from '../format/block.ts';
import type { BlockBuilder } from './block-builder.ts';

/** A block under change by one commit. */
export interface PendingBlock {
  readonly bucket: BucketId;
  readonly number: number;
  readonly builder: BlockBuilder;
}

/** One whose image is made: no later operation of the commit comes to it. */
export interface FinishedBlock {
  readonly bucket: BucketId;
  readonly number: number;
  /** Undefined: no rows are left in it. */
  readonly image: { readonly block: Block; readonly slab: Slab } | undefined;
}
