import type { BucketId, IndexId, LogIndex } from '#core/value/rid.ts';
import type { IndexState } from '../format/counters.ts';
import type { CommitContext } from './context.ts';
import type { EntryBuilder } from './entry-builder.ts';
import type { ListBuilder } from './list-builder.ts';
import type { FinishedBlock } from './pending-block.ts';
import type { HeldStates } from '../read/versioned.ts';
import { bucketStateOf, type PendingBucket } from './pending-bucket.ts';
import type { PendingMeta } from './pending-meta.ts';

/** What a commit has changed. */
export interface DurableCommit {
  readonly meta: PendingMeta;
  /** Defined by it. */
  readonly shapes: readonly number[];
  /** Undefined: dropped. */
  readonly buckets: ReadonlyMap<BucketId, PendingBucket | undefined>;
  readonly finished: ReadonlyMap<number, FinishedBlock>;
  readonly lists: ListBuilder;
  readonly entries: EntryBuilder;
  /** Undefined: dropped. */
  readonly indexStates: ReadonlyMap<IndexId, IndexState | undefined>;
  readonly dropsIndexes: boolean;
}

/** Blocks told to the cache between two pauses: half a millisecond, and more where it gives up others for them. */
const blocksPerPause = 256;
const noEntries: IndexState = { entries: 0 };

/**
 * Makes the caches show a durable commit, with pauses, between which everybody reads the state before. Buckets, indexes and types of
 * lists are marked as changed first, in one turn: what is read of that state from then on stays out of the caches, so nothing replaces
 * what was told to them.
 *
 * @param held as in `Versioned.replacedBy`; with pauses, also the state before: whoever takes a snapshot in one holds it
 */
export function* toldCaches(
  { state, shapes }: Pick<CommitContext, 'state' | 'shapes'>,
  commit: DurableCommit,
  index: LogIndex,
  held: HeldStates,
): Generator<undefined, void, undefined> {
  commit.meta.publish();
  for (const id of commit.shapes) shapes.saved(id);
  for (const [id, bucket] of commit.buckets) {
    if (bucket === undefined) state.blocks.removeBucket(id);
    state.setBucket(id, bucket && bucketStateOf(bucket), index, held);
  }
  commit.lists.markChanged(state, index);
  for (const [id, after] of commit.indexStates)
    state.setIndexState(id, after ?? noEntries, index, held);
  if (commit.dropsIndexes) state.uniqueEntries.clear();
  commit.entries.publish(state.uniqueEntries);
  let untilPause = blocksPerPause;
  for (const { bucket, number, image } of commit.finished.values()) {
    if (image === undefined) state.blocks.remove(bucket, number);
    else state.blocks.put(image.block, image.slab, index);
    untilPause -= 1;
    if (untilPause > 0) continue;
    untilPause = blocksPerPause;
    yield;
  }
  yield* commit.lists.publishing(state);
}
