import { type BucketState, newBucket } from '../format/counters.ts';
import type { HashHalves } from '../format/row-hash.ts';

/** What is kept per bucket, under change by one commit. */
export interface PendingBucket {
  next: number;
  live: number;
  readonly hash: HashHalves;
  slotCount: number;
  isSized: boolean;
}

/** Begins with what is stored; undefined: with a new bucket. */
export function pendingBucketOf(stored: BucketState | undefined): PendingBucket {
  const { hashLow, hashHigh, ...state } = stored ?? newBucket;
  return { ...state, hash: { low: hashLow, high: hashHigh } };
}

/** What is to be stored. */
export function bucketStateOf(bucket: PendingBucket): BucketState {
  const { next, live, slotCount, isSized, hash } = bucket;
  return { next, live, slotCount, isSized, hashLow: hash.low, hashHigh: hash.high };
}
