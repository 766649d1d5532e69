import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { IndexDeriver } from '../engine.ts';
import { type BucketState, newBucket } from '../format/counters.ts';
import type { HashHalves } from '../format/row-hash.ts';

/** What is kept per bucket, under change by one commit. */
export interface PendingBucket {
  next: number;
  live: number;
  readonly hash: HashHalves;
  slotCount: number;
  isSized: boolean;
  /** By type, the buckets that also count a row of it here (`IndexDeriver.windowsOn`). */
  windows: ReadonlyMap<TypeId, BucketId> | undefined;
}

/** Begins with what is stored; undefined: with a new bucket. */
export function pendingBucketOf(
  stored: BucketState | undefined,
  windows: PendingBucket['windows'],
): PendingBucket {
  const { hashLow, hashHigh, ...state } = stored ?? newBucket;
  return { ...state, windows, hash: { low: hashLow, high: hashHigh } };
}

/** What is to be stored. */
export function bucketStateOf(bucket: PendingBucket): BucketState {
  const { next, live, slotCount, isSized, hash } = bucket;
  return { next, live, slotCount, isSized, hashLow: hash.low, hashHigh: hash.high };
}

/** A row of a bucket with rows of several types came, went or changed its type: its windows count it, too. */
export function countSeen(
  { windows }: PendingBucket,
  before: TypeId | undefined,
  after: TypeId | undefined,
  pending: (window: BucketId) => PendingBucket,
): void {
  if (before === after) return;
  const left = before === undefined ? undefined : windows?.get(before);
  const entered = after === undefined ? undefined : windows?.get(after);
  if (left !== undefined) pending(left).live -= 1;
  if (entered !== undefined) pending(entered).live += 1;
}

/** The schema has changed: buckets that are under change already may have windows by now. */
export function learnWindows(
  buckets: ReadonlyMap<BucketId, PendingBucket | undefined>,
  deriver: Pick<IndexDeriver, 'windowsOn'>,
): void {
  for (const [id, bucket] of buckets)
    if (bucket !== undefined) bucket.windows = deriver.windowsOn?.(id);
}
