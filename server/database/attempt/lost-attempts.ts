import type { BucketId } from '#core/value/rid.ts';

/** Attempts that are lost before the next one locks what it changes. */
const lossesMax = 2;

/**
 * What a statement of several turns has lost to commits of others between its turns. Where they keep coming, one that deletes
 * a vertex with thousands of edges would never end. So after some losses it locks (LOCK, `#transaction/commit/bucket-locks.ts`) the
 * buckets that it changes: the commits of others wait until it is over, and their statements are executed again where need be.
 */
export class LostAttempts {
  #count = 0;
  #buckets: readonly BucketId[] = [];
  #tookMs = 0;

  /** @param buckets that the attempt changed */
  add(buckets: Iterable<BucketId>, tookMs: number): void {
    this.#count += 1;
    this.#buckets = [...buckets];
    this.#tookMs = tookMs;
  }

  /**
   * What to lock before the next attempt.
   * @param waitMsMax how long others wait for a lock: one that takes as long goes without
   */
  toLock(waitMsMax: number): readonly BucketId[] | undefined {
    const isDue = this.#count >= lossesMax && this.#tookMs * 2 < waitMsMax;
    return isDue && this.#buckets.length > 0 ? this.#buckets : undefined;
  }
}
