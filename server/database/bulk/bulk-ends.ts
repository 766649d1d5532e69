import { DatabaseError } from '#core/errors.ts';
import { bucketOf, type BucketId, formatRid, positionOf, type Rid } from '#core/rid.ts';
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
    for (const column of this.#columns) {
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

  clear(): void {
    this.#columns = [];
    this.#chunkStart.clear();
  }

  #isInChunk(rid: Rid): boolean {
    return positionOf(rid) >= (this.#chunkStart.get(bucketOf(rid)) ?? Infinity);
  }
}

export function missingVertex(name: string): DatabaseError {
  return new DatabaseError('RecordNotFound', `vertex '${name}' of an edge was not found`);
}
