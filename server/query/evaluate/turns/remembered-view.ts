import type { Catalog } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, IndexId, LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { AdjacencyList, Direction, StorageSnapshot } from '#storage/engine.ts';
import type { ListWindow } from '#storage/read/list-memory.ts';
import type {
  CreatedRecords,
  IndexReader,
  ReadView,
  RecordCursor,
} from '#transaction/read/read-view.ts';

/** What was read between two calls of an expression. */
interface Reads {
  readonly records: Map<Rid, StoredRecord | undefined>;
  /** Lists and degrees of vertices, by what is asked. */
  readonly moves: Map<string, AdjacencyList | number>;
}

/**
 * What an expression reads while it may have to be evaluated once more (`long-calls.ts`): between the same two calls the same
 * record reads the same each time, whatever a call that comes later has written meanwhile. Otherwise an expression would take
 * another branch when it is evaluated again, and leave a call that has written already.
 *
 * Cost: a look into a map per read; memory as the records that were read, until the evaluation is over. Records that are read
 * through it afterwards are read as always.
 */
export class RememberedView implements ReadView {
  readonly #inner: ReadView;
  /** By the number of calls before them; made for the first read. */
  #reads: (Reads | undefined)[] | undefined = undefined;
  #isOver = false;
  readonly #callCount: () => number;

  /** @param callCount calls that the evaluation has met so far */
  constructor(inner: ReadView, callCount: () => number) {
    this.#inner = inner;
    this.#callCount = callCount;
  }

  /** Nothing was read yet: it may serve another evaluation on the same view. */
  isUnusedOn(inner: ReadView): boolean {
    return this.#reads === undefined && !this.#isOver && this.#inner === inner;
  }

  /** The evaluation is over. */
  forget(): void {
    this.#isOver = true;
    this.#reads = undefined;
  }

  record(rid: Rid): StoredRecord | undefined {
    const records = this.#known()?.records;
    if (records === undefined) return this.#inner.record(rid);
    const known = records.get(rid);
    if (known !== undefined || records.has(rid)) return known;
    const record = this.#inner.record(rid);
    records.set(rid, record);
    return record;
  }

  adjacency(
    vertex: Rid,
    direction: Direction,
    edgeType: TypeId,
    passing?: ListWindow,
  ): AdjacencyList {
    const moves = this.#known()?.moves;
    if (moves === undefined) return this.#inner.adjacency(vertex, direction, edgeType, passing);
    const key = `${direction} ${edgeType} ${vertex}`;
    const known = moves.get(key);
    if (known !== undefined) return known as AdjacencyList;
    const list = this.#inner.adjacency(vertex, direction, edgeType);
    moves.set(key, list);
    return list;
  }

  degree(vertex: Rid, direction: Direction, edgeType: TypeId): number {
    const moves = this.#known()?.moves;
    if (moves === undefined) return this.#inner.degree(vertex, direction, edgeType);
    const key = `degree ${direction} ${edgeType} ${vertex}`;
    const known = moves.get(key);
    if (known !== undefined) return known as number;
    const degree = this.#inner.degree(vertex, direction, edgeType);
    moves.set(key, degree);
    return degree;
  }

  #known(): Reads | undefined {
    if (this.#isOver) return undefined;
    this.#reads ??= [];
    const at = this.#callCount();
    let known = this.#reads[at];
    if (known === undefined) {
      known = { records: new Map(), moves: new Map() };
      this.#reads[at] = known;
    }
    return known;
  }

  // --- as they are

  get catalog(): Catalog {
    return this.#inner.catalog;
  }

  get snapshot(): StorageSnapshot {
    return this.#inner.snapshot;
  }

  get snapshotIndex(): LogIndex {
    return this.#inner.snapshotIndex;
  }

  scan(bucket: BucketId, order: 'ascending' | 'descending', fromPosition?: number): RecordCursor {
    return this.#inner.scan(bucket, order, fromPosition);
  }

  scanStored(bucket: BucketId): RecordCursor {
    return this.#inner.scanStored(bucket);
  }

  get created(): CreatedRecords | undefined {
    return this.#inner.created;
  }

  isChanged(bucket: BucketId): boolean {
    return this.#inner.isChanged(bucket);
  }

  hasChangedRows(bucket: BucketId): boolean {
    return this.#inner.hasChangedRows(bucket);
  }

  recordCount(bucket: BucketId): number {
    return this.#inner.recordCount(bucket);
  }

  requireRead(bucket: BucketId): void {
    this.#inner.requireRead?.(bucket);
  }

  index(id: IndexId): IndexReader {
    return this.#inner.index(id);
  }

  /** The view belongs to the statement. */
  [Symbol.dispose](): void {}
}
