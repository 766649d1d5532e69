import { type BucketId, bucketOf, makeRid, type Rid } from '#core/value/rid.ts';
import { PositionTable } from './position-table.ts';

/**
 * A map by record id that keeps one table per bucket, keyed by position. Positions are small integers to the engine, record
 * ids are not: lookups cost a third of those in a plain `Map`, which counts when a statement changes 100,000 records.
 */
export class RidMap<V> {
  /** Undefined as long as all keys are of one bucket, which most transactions keep to. */
  #buckets: Map<BucketId, PositionTable<V>> | undefined;
  /** The table used last; most calls in a row are for one bucket. */
  #lastBucket: BucketId | undefined;
  #last: PositionTable<V> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(rid: Rid): V | undefined {
    if (this.#size === 0) return undefined;
    const bucket = bucketOf(rid);
    return this.#table(bucket)?.get(rid - makeRid(bucket, 0));
  }

  has(rid: Rid): boolean {
    return this.get(rid) !== undefined;
  }

  /** @returns whether the key is new */
  set(rid: Rid, value: V): boolean {
    const bucket = bucketOf(rid);
    let table = this.#table(bucket);
    if (table === undefined) {
      table = new PositionTable();
      this.#addTable(bucket, table);
    }
    const before = table.size;
    table.set(rid - makeRid(bucket, 0), value);
    const added = table.size - before;
    this.#size += added;
    return added > 0;
  }

  delete(rid: Rid): void {
    const bucket = bucketOf(rid);
    if (this.#table(bucket)?.delete(rid - makeRid(bucket, 0))) this.#size -= 1;
  }

  /** Takes out all keys of a bucket. Cost: none per key. */
  deleteBucket(bucket: BucketId): void {
    const table = this.#table(bucket);
    if (table === undefined) return;
    this.#size -= table.size;
    this.#lastBucket = undefined;
    this.#last = undefined;
    this.#buckets?.delete(bucket);
  }

  clear(): void {
    this.#buckets = undefined;
    this.#lastBucket = undefined;
    this.#last = undefined;
    this.#size = 0;
  }

  /** All values in the order of their keys, up to 512 at a time. The map must not change meanwhile. */
  *inOrder(): Generator<readonly V[], void, undefined> {
    const tables = [...this.#tables()].sort(([a], [b]) => a - b);
    for (const [, table] of tables) yield* table.inOrder();
  }

  /** Calls `visit` with every value; in no order. */
  forEach(visit: (value: V) => void): void {
    if (this.#buckets === undefined) this.#last?.forEach(visit);
    else for (const table of this.#buckets.values()) table.forEach(visit);
  }

  #table(bucket: BucketId): PositionTable<V> | undefined {
    if (bucket === this.#lastBucket) return this.#last;
    if (this.#buckets === undefined) return undefined;
    this.#lastBucket = bucket;
    this.#last = this.#buckets.get(bucket);
    return this.#last;
  }

  /** @param bucket has none yet */
  #addTable(bucket: BucketId, table: PositionTable<V>): void {
    if (this.#buckets === undefined && this.#last !== undefined)
      this.#buckets = new Map([[this.#lastBucket as BucketId, this.#last]]);
    this.#buckets?.set(bucket, table);
    this.#lastBucket = bucket;
    this.#last = table;
  }

  #tables(): Iterable<[BucketId, PositionTable<V>]> {
    if (this.#buckets !== undefined) return this.#buckets;
    return this.#last === undefined ? [] : [[this.#lastBucket as BucketId, this.#last]];
  }
}
