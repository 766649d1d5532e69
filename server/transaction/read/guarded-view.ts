import type { Catalog } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, IndexId, LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { AdjacencyList, Direction, StorageSnapshot } from '#storage/engine.ts';
import type { ListWindow } from '#storage/read/list-memory.ts';
import { checkedReader, withScan } from './checked-cursor.ts';
import { holdingBucket } from './holding-bucket.ts';
import type { CreatedRecords, IndexReader, ReadView, RecordCursor } from './read-view.ts';

/** What somebody may read. */
export interface ReadRights {
  canRead(typeName: string): boolean;
  /** @throws DatabaseError `Forbidden` when it may not be read */
  requireRead(typeName: string): void;
}

/**
 * What a statement of somebody reads who may not read every type (security.md 4.3): wherever it comes upon a record, by a link,
 * a record id, a step or a name, the type is asked for, and what may not be read ends the statement. Blocks of types that may
 * not be read are never read as such.
 */
export class GuardedView implements ReadView {
  readonly #inner: ReadView;
  readonly #rights: ReadRights;
  readonly #allowed = new Set<BucketId>();

  constructor(inner: ReadView, rights: ReadRights) {
    this.#inner = inner;
    this.#rights = rights;
  }

  /** As guarded as this one, over another view of the same records. */
  over(viewOf: (inner: ReadView) => ReadView): GuardedView {
    return new GuardedView(viewOf(this.#inner), this.#rights);
  }

  get catalog(): Catalog {
    return this.#inner.catalog;
  }

  get snapshot(): StorageSnapshot {
    return this.#inner.snapshot;
  }

  get snapshotIndex(): LogIndex {
    return this.#inner.snapshotIndex;
  }

  record(rid: Rid): StoredRecord | undefined {
    this.#requireRecord(rid);
    return this.#inner.record(rid);
  }

  scan(bucket: BucketId, order: 'ascending' | 'descending', fromPosition?: number): RecordCursor {
    this.#require(bucket);
    return this.#inner.scan(bucket, order, fromPosition);
  }

  scanStored(bucket: BucketId): RecordCursor {
    this.#require(bucket);
    return this.#inner.scanStored(bucket);
  }

  get created(): CreatedRecords | undefined {
    return withScan(this.#inner.created, (created, buckets) => {
      for (const bucket of buckets) this.#require(bucket);
      return created.scan(buckets);
    });
  }

  isChanged(bucket: BucketId): boolean {
    return !this.#mayRead(bucket) || this.#inner.isChanged(bucket);
  }

  hasChangedRows(bucket: BucketId): boolean {
    return !this.#mayRead(bucket) || this.#inner.hasChangedRows(bucket);
  }

  /** Mostly compares sizes; what tells the number asks `requireRead`. */
  recordCount(bucket: BucketId): number {
    return this.#inner.recordCount(bucket);
  }

  requireRead(bucket: BucketId): void {
    this.#require(bucket);
  }

  adjacency(
    vertex: Rid,
    direction: Direction,
    edgeType: TypeId,
    passing?: ListWindow,
  ): AdjacencyList {
    const list = this.#inner.adjacency(vertex, direction, edgeType, passing);
    if (list.count > 0) this.#requireStep(vertex, edgeType);
    return list;
  }

  degree(vertex: Rid, direction: Direction, edgeType: TypeId): number {
    const degree = this.#inner.degree(vertex, direction, edgeType);
    if (degree > 0) this.#requireStep(vertex, edgeType);
    return degree;
  }

  index(id: IndexId): IndexReader {
    const reader = this.#inner.index(id);
    const isShown = (rid: Rid): true => {
      this.#requireRecord(rid);
      return true;
    };
    return checkedReader(reader, isShown, (key) => {
      const rid = reader.recordWith(key);
      if (rid !== undefined && rid >= 0) this.#requireRecord(rid);
      return rid;
    });
  }

  [Symbol.dispose](): void {
    this.#inner[Symbol.dispose]();
  }

  /** Who lies at the other end is told by the edge itself; reading it is another matter. */
  #requireStep(vertex: Rid, edgeType: TypeId): void {
    this.#requireRecord(vertex);
    this.#rights.requireRead(this.#inner.catalog.typeWithId(edgeType).name);
  }

  #requireRecord(rid: Rid): void {
    this.#require(holdingBucket(this.#inner, rid));
  }

  #require(bucket: BucketId): void {
    if (this.#mayRead(bucket)) return;
    const type = this.#inner.catalog.bucketWithId(bucket)?.type;
    if (type !== undefined) this.#rights.requireRead(this.#inner.catalog.typeWithId(type).name);
  }

  #mayRead(bucket: BucketId): boolean {
    if (this.#allowed.has(bucket)) return true;
    const type = this.#inner.catalog.bucketWithId(bucket)?.type;
    // Records of no type are none.
    if (type === undefined) return true;
    if (!this.#rights.canRead(this.#inner.catalog.typeWithId(type).name)) return false;
    this.#allowed.add(bucket);
    return true;
  }
}
