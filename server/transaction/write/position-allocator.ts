import { DatabaseError } from '#core/errors.ts';
import {
  type BucketId,
  bucketOf,
  makeRid,
  positionMax,
  positionOf,
  type Rid,
} from '#core/value/rid.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';

/** Positions that one durable lease covers. */
export const leaseLength = 512;

interface BucketPositions {
  /** The next position to give. */
  next: number;
  /** Positions below are certainly not given again after a crash. */
  leasedTo: number;
}

/**
 * Gives record positions, in order and never twice while the process lives, rolled back or not; no position that a committed record
 * ever had is given again (ha.md 5.3: gaps allowed, reuse never). The high-water mark lives in memory; commits carry it forward in
 * leases (`positions` operations). After a crash positions beyond the last lease, which only transactions without a commit can
 * have been given, are free: nothing that is stored can name them, and making each BEGIN wait for the disk would buy nothing.
 */
export class PositionAllocator {
  readonly #buckets = new Map<BucketId, BucketPositions>();
  readonly #firstFree: (bucket: BucketId) => number;

  /** @param firstFree one past the highest position that storage knows to be taken or leased in a bucket */
  constructor(firstFree: (bucket: BucketId) => number) {
    this.#firstFree = firstFree;
  }

  /** @throws DatabaseError `SchemaLimit` when the bucket has given all of its 2^37 positions */
  take(bucket: BucketId): Rid {
    return makeRid(bucket, this.reserve(bucket, 1));
  }

  /**
   * The first of `count` positions in a row, a multiple of `multiple` (so that a bulk load can fill whole blocks).
   * @throws DatabaseError `SchemaLimit` as `take`
   */
  reserve(bucket: BucketId, count: number, multiple = 1): number {
    const positions = this.#positions(bucket);
    const first = Math.ceil(positions.next / multiple) * multiple;
    if (first + count > positionMax) {
      throw new DatabaseError('SchemaLimit', `bucket ${bucket} has no positions left`);
    }
    positions.next = first + count;
    return first;
  }

  /**
   * The lease a commit with new records in `bucket` must carry; undefined when the present one lasts a while.
   * Cost: an operation per 256 inserts.
   */
  renewLease(bucket: BucketId): RowOperation | undefined {
    const positions = this.#positions(bucket);
    if (positions.next + leaseLength / 2 <= positions.leasedTo) return undefined;
    positions.leasedTo = Math.min(positions.next + leaseLength, positionMax);
    return { op: 'positions', bucket, next: positions.leasedTo };
  }

  /** Whether the position was ever given, or may have been given before a restart. */
  wasGiven(rid: Rid): boolean {
    return positionOf(rid) < this.#positions(bucketOf(rid)).next;
  }

  /** Begins with what storage knows now: positions of an earlier leadership may be somebody else's. */
  forgetAll(): void {
    this.#buckets.clear();
  }

  /** Forgets a dropped bucket. */
  drop(bucket: BucketId): void {
    this.#buckets.delete(bucket);
  }

  #positions(bucket: BucketId): BucketPositions {
    let positions = this.#buckets.get(bucket);
    if (positions === undefined) {
      const next = this.#firstFree(bucket);
      positions = { next, leasedTo: next };
      this.#buckets.set(bucket, positions);
    }
    return positions;
  }
}
