import { DatabaseError } from '#core/errors.ts';
import { bucketOf, type BucketId, formatRid, positionOf, type Rid } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { StorageSnapshot } from '#storage/engine.ts';

const checksPerSlice = 2048;

/**
 * The vertices that edges of one chunk name. Nobody keeps them from being deleted while the chunk is made, so they are looked
 * up again when it is committed, unless nothing else was committed in the meantime.
 */
export class BulkEnds {
  #columns: Float64Array[] = [];
  /** First position of the chunk in each bucket. */
  readonly #chunkStart = new Map<BucketId, number>();
  /** Number of the array with the vertex that `requireAll` has missed. */
  failedColumn = -1;

  get columnCount(): number {
    return this.#columns.length;
  }

  /** Keeps the array. */
  add(ends: Float64Array): void {
    this.#columns.push(ends);
  }

  noteStart(bucket: BucketId, position: number): void {
    if (!this.#chunkStart.has(bucket)) this.#chunkStart.set(bucket, position);
  }

  /** @throws DatabaseError `RecordNotFound` when one is gone */
  async requireAll(latest: StorageSnapshot, timers: Pick<Timers, 'yield'>): Promise<void> {
    const seen = new Set<number>();
    let untilYield = checksPerSlice;
    for (const [number, column] of this.#columns.entries()) {
      this.failedColumn = number;
      for (const rid of column as ArrayLike<number> as readonly Rid[]) {
        if (seen.has(rid)) continue;
        seen.add(rid);
        if (this.#isInChunk(rid)) continue;
        if (latest.record(rid) === undefined) throw missingVertex(formatRid(rid));
        if (--untilYield > 0) continue;
        untilYield = checksPerSlice;
        await timers.yield();
      }
    }
  }

  /**
   * Moves what came behind the first arrays to a chunk of its own.
   * @param next where that begins in the buckets that were in use before
   */
  split(columnCount: number, next: ReadonlyMap<BucketId, number>): BulkEnds {
    const rest = new BulkEnds();
    rest.#columns = this.#columns.splice(columnCount);
    for (const [bucket, start] of this.#chunkStart)
      rest.#chunkStart.set(bucket, next.get(bucket) ?? start);
    return rest;
  }

  #isInChunk(rid: Rid): boolean {
    return positionOf(rid) >= (this.#chunkStart.get(bucketOf(rid)) ?? Infinity);
  }
}

export function missingVertex(name: string): DatabaseError {
  return new DatabaseError('RecordNotFound', `vertex '${name}' of an edge was not found`);
}
