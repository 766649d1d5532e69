import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import {
  type BucketId,
  bucketOf,
  type IndexId,
  type LogIndex,
  type Rid,
  type TypeId,
} from '#core/value/rid.ts';
import { ownRecordCount, withTypesOf } from '#catalog/change/window.ts';
import { CatalogValue } from '#catalog/catalog-value.ts';
import { assert } from '#core/assert.ts';
import type { IndexKeys } from '#index/ordered/index-keys.ts';
import type { IndexMemory, SearchMemory } from '#index/search-memory.ts';
import { imageOf } from '#storage/format/bytes.ts';
import type {
  AdjacencyList,
  Direction,
  EntryCursor,
  StorageEngine,
  StorageSnapshot,
} from '#storage/engine.ts';
import { noLargeCells, RowRecord } from '#storage/format/row-record.ts';
import type { ListWindow } from '#storage/read/list-memory.ts';
import { vetoed } from '../trigger/trigger-runner.ts';
import { CreatedInOverlay } from './created-records.ts';
import { bucketUnder, holdingBucketOf, isShared, seenThrough } from './holding-bucket.ts';
import { type ChangeLog, IndexOverlay, type PendingEntry } from './index-overlay.ts';
import { type IndexHost, IndexView } from './index-view.ts';
import type { Overlay, OverlayEntry } from '../write/overlay.ts';
import type { CreatedRecords, IndexReader, ReadView, RecordCursor } from './read-view.ts';
import { RecordScan, type ScanOverlay, unchanged } from './record-scan.ts';
import type { UniqueClaims } from '../write/unique-claims.ts';

/** A committed state with its schema. */
export interface PinnedState {
  readonly snapshot: StorageSnapshot;
  readonly catalog: Catalog;
}

/** What views of one database share. */
export interface ViewServices {
  readonly engine: Pick<StorageEngine, 'shapes' | 'labels'>;
  /** The keys of an index; made once per definition. */
  readonly keysOf: (index: IndexDefinition) => IndexKeys;
  /** What searches keep. */
  readonly searchMemory: SearchMemory;
}

/**
 * The reading half of a transaction: a snapshot with the transaction's own writes over it. Without writes every call goes
 * straight to the snapshot.
 */
export class StatementView implements ReadView, IndexHost, ChangeLog {
  catalog: Catalog;
  snapshot: StorageSnapshot;
  /** The unique keys of the transaction's own records, once it writes. */
  claims: UniqueClaims | undefined;
  readonly #engine: ViewServices['engine'];
  readonly #keysOf: (index: IndexDefinition) => IndexKeys;
  readonly #searchMemory: SearchMemory;
  readonly #overlay: Overlay;
  // Made when needed: a point query makes a view for one read.
  #firstIndex: IndexView | undefined;
  #indexes: Map<IndexId, IndexView> | undefined;
  #indexOverlays: Map<IndexId, IndexOverlay> | undefined;
  #openCursors: Set<EntryCursor> | undefined;
  #created: CreatedRecords | undefined;
  /** Remembered as long as nothing more was written. */
  #hiddenEntries: Map<IndexId, { logLength: number; count: number }> | undefined;
  /** What was read last: a statement that changes a record reads it to find it, to compute with it and to check the change. */
  #lastStored: StoredRecord | undefined;
  /** Remembered as `#hiddenEntries`. */
  #sharedDeltas: { logLength: number; deltas: ReadonlyMap<BucketId, number> } | undefined;
  #isClosed = false;

  constructor(services: ViewServices, state: PinnedState, overlay: Overlay) {
    this.#engine = services.engine;
    this.#keysOf = services.keysOf;
    this.#searchMemory = services.searchMemory;
    this.#overlay = overlay;
    this.catalog = state.catalog;
    this.snapshot = state.snapshot;
  }

  /** Moves to another committed state; cursors of the old one end. What it knows of this one it keeps while nothing changed. */
  moveTo(state: PinnedState): void {
    this.#closeCursors();
    if (state.snapshot.index === this.snapshot.index && state.catalog === this.catalog) {
      state.snapshot[Symbol.dispose]();
      return;
    }
    this.snapshot[Symbol.dispose]();
    this.snapshot = state.snapshot;
    this.#lastStored = undefined;
    if (this.catalog !== state.catalog) {
      this.catalog = state.catalog;
      this.#indexOverlays = undefined;
    }
    this.#firstIndex = undefined;
    this.#indexes = undefined;
    this.#hiddenEntries = undefined;
    this.#sharedDeltas = undefined;
  }

  /** The same state by a schema with the types that another one has; cursors go on. @returns whether there are more */
  adoptTypes(latest: PinnedState): boolean {
    latest.snapshot[Symbol.dispose]();
    const { catalog } = this;
    assert(
      catalog instanceof CatalogValue && latest.catalog instanceof CatalogValue,
      'a schema is a value',
    );
    const adopted = withTypesOf(catalog, latest.catalog);
    if (adopted === catalog) return false;
    this.catalog = adopted;
    this.#created = undefined;
    this.#forgetIndexes();
    return true;
  }

  /** The overlay was set back to an earlier state: what was derived from it is wrong. */
  forgetWrites(): void {
    this.#closeCursors();
    this.#forgetIndexes();
  }

  #forgetIndexes(): void {
    this.#firstIndex = undefined;
    this.#indexes = undefined;
    this.#indexOverlays = undefined;
    this.#hiddenEntries = undefined;
    this.#sharedDeltas = undefined;
  }

  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#lastStored = undefined;
    this.#closeCursors();
    this.snapshot[Symbol.dispose]();
  }

  get snapshotIndex(): LogIndex {
    return this.snapshot.index;
  }

  record(rid: Rid): StoredRecord | undefined {
    if (!this.#overlay.isEmpty) {
      const entry = this.#overlay.entry(rid);
      if (entry !== undefined) return this.recordOfEntry(entry);
    }
    return this.storedRecord(rid);
  }

  /** The record as it is in the snapshot. A record id of a client may name anything. */
  storedRecord(rid: Rid): StoredRecord | undefined {
    if (this.#lastStored?.rid === rid) return this.#lastStored;
    if (this.catalog.bucketWithId(bucketOf(rid)) === undefined) return undefined;
    const record = this.snapshot.record(rid);
    this.#lastStored = record;
    return record;
  }

  /** The changed record; undefined when deleted. */
  recordOfEntry(entry: OverlayEntry): StoredRecord | undefined {
    if (entry.isDeleted) return undefined;
    if (entry.record !== undefined) return entry.record;
    const image = imageOf(entry.row);
    const shape = this.#engine.shapes.shape(image.view.getUint16(4, true));
    const { labels } = this.#engine;
    return new RowRecord(entry.rid, shape, image, 0, labels, noLargeCells);
  }

  scan(bucket: BucketId, order: 'ascending' | 'descending', fromPosition?: number): RecordCursor {
    const shared = isShared(this.catalog, bucket);
    const under = bucketUnder(this.catalog, bucket);
    const range = { bucket: under, order, from: fromPosition };
    const overlay: ScanOverlay | undefined = this.#overlay.isChanged(under)
      ? {
          created: this.#overlay.createdByPosition(under),
          recordOf: (entry) => this.recordOfEntry(entry),
          changed: (rid) => this.#changedRecord(rid),
        }
      : undefined;
    const scan = new RecordScan(this.snapshot, overlay, range);
    return shared ? seenThrough(scan, bucket, this.catalog) : scan;
  }

  scanStored(bucket: BucketId): RecordCursor {
    const shared = isShared(this.catalog, bucket);
    const under = bucketUnder(this.catalog, bucket);
    const range = { bucket: under, order: 'ascending', from: undefined } as const;
    const overlay: ScanOverlay | undefined = this.#overlay.hasChangedRows(under)
      ? {
          created: [],
          recordOf: (entry) => this.recordOfEntry(entry),
          changed: (rid) => this.#changedRecord(rid),
        }
      : undefined;
    const scan = new RecordScan(this.snapshot, overlay, range);
    return shared ? seenThrough(scan, bucket, this.catalog, vetoed) : scan;
  }

  /** What became of a stored record. */
  #changedRecord(rid: Rid): StoredRecord | undefined | typeof unchanged {
    const entry = this.#overlay.entry(rid);
    if (entry === undefined) return unchanged;
    return entry.isNew ? undefined : this.recordOfEntry(entry);
  }

  get created(): CreatedRecords | undefined {
    if (this.#overlay.createdCount === 0) return undefined;
    this.#created ??= new CreatedInOverlay(this.#overlay, this);
    return this.#created;
  }

  /** Whether a record with this id, if there is one, is a vertex. */
  isVertex(rid: Rid): boolean {
    const bucket = bucketOf(rid);
    // Rows of several types in one bucket are vertices.
    if (this.catalog.windowsOn(bucket) !== undefined) return true;
    const type = this.catalog.bucketWithId(bucket)?.type;
    return type !== undefined && this.catalog.typeWithId(type).kind === 'vertex';
  }

  isChanged(bucket: BucketId): boolean {
    return this.#overlay.isChanged(bucketUnder(this.catalog, bucket));
  }

  hasChangedRows(bucket: BucketId): boolean {
    return this.#overlay.hasChangedRows(bucketUnder(this.catalog, bucket));
  }

  recordCount(bucket: BucketId): number {
    if (!isShared(this.catalog, bucket))
      return this.snapshot.recordCount(bucket) + this.#overlay.countDelta(bucket);
    const under = bucketUnder(this.catalog, bucket);
    const stored = (id: BucketId): number => this.snapshot.recordCount(id);
    const count = under === bucket ? ownRecordCount(this.catalog, bucket, stored) : stored(bucket);
    return count + this.#sharedDelta(under, bucket);
  }

  /** How many records of a bucket or window on `under` the transaction made more. Cost: looks at each changed record, once. */
  #sharedDelta(under: BucketId, bucket: BucketId): number {
    if (!this.#overlay.isChanged(under)) return 0;
    if (this.#sharedDeltas?.logLength !== this.log.length) {
      const deltas = new Map<BucketId, number>();
      const count = (id: BucketId, more: number): unknown =>
        deltas.set(id, (deltas.get(id) ?? 0) + more);
      this.#overlay.entries.forEach((entry) => {
        const place = bucketOf(entry.rid);
        if (!entry.isNew) count(holdingBucketOf(this.catalog, place, entry.storedType), -1);
        if (!entry.isDeleted) count(holdingBucketOf(this.catalog, place, entry.type), 1);
      });
      this.#sharedDeltas = { logLength: this.log.length, deltas };
    }
    return this.#sharedDeltas.deltas.get(bucket) ?? 0;
  }

  adjacency(
    vertex: Rid,
    direction: Direction,
    edgeType: TypeId,
    passing?: ListWindow,
  ): AdjacencyList {
    if (direction === 'in' && !this.catalog.typeWithId(edgeType).bidirectional) return noEdges;
    return this.allEdges(vertex, direction, edgeType, passing);
  }

  degree(vertex: Rid, direction: Direction, edgeType: TypeId): number {
    if (direction === 'in' && !this.catalog.typeWithId(edgeType).bidirectional) return 0;
    const delta = this.#overlay.edgeDelta(vertex, direction, edgeType);
    return this.snapshot.degree(vertex, direction, edgeType) + (delta?.degreeDelta ?? 0);
  }

  /** As `adjacency`, and also the incoming edges of unidirectional types, which a deletion must find. */
  allEdges(
    vertex: Rid,
    direction: Direction,
    edgeType: TypeId,
    passing?: ListWindow,
  ): AdjacencyList {
    const stored = this.snapshot.adjacency(vertex, direction, edgeType, passing);
    if (this.#overlay.isEmpty) return stored;
    const delta = this.#overlay.edgeDelta(vertex, direction, edgeType);
    return delta === undefined ? stored : delta.mergedWith(stored);
  }

  index(id: IndexId): IndexReader {
    if (this.#firstIndex?.id === id) return this.#firstIndex;
    const known = this.#indexes?.get(id);
    if (known !== undefined) return known;
    const view = new IndexView(this, this.#keysOf(this.catalog.indexWithId(id)));
    if (this.#firstIndex === undefined) {
      this.#firstIndex = view;
      return view;
    }
    this.#indexes ??= new Map();
    this.#indexes.set(id, view);
    return view;
  }

  pendingEntries(keys: IndexKeys): readonly PendingEntry[] {
    if (this.#overlay.isEmpty) return noEntries;
    const { id, type } = keys.definition;
    this.#indexOverlays ??= new Map();
    let overlay = this.#indexOverlays.get(id);
    if (overlay === undefined) {
      overlay = new IndexOverlay(keys, new Set(this.catalog.withSubtypes(type)));
      this.#indexOverlays.set(id, overlay);
    }
    return overlay.entries(this);
  }

  // --- for the readers of this room

  get log(): readonly Rid[] {
    return this.#overlay.log;
  }

  placeOf(rid: Rid): Rid {
    return this.created?.placeOf(rid) ?? rid;
  }

  typeOf(rid: Rid): TypeId | undefined {
    return this.#overlay.entry(rid)?.type;
  }

  recordOf(rid: Rid): StoredRecord | undefined {
    const entry = this.#overlay.entry(rid);
    return entry === undefined ? undefined : this.recordOfEntry(entry);
  }

  claimHolder(index: IndexDefinition, key: Uint8Array): Rid | undefined {
    return this.claims?.holderOf(index, key);
  }

  get hasChanges(): boolean {
    return !this.#overlay.isEmpty;
  }

  get hasClaims(): boolean {
    return this.claims !== undefined && this.claims.size > 0;
  }

  memoryOf(index: IndexId): IndexMemory {
    return this.#searchMemory.of(index);
  }

  isHidden(rid: Rid): boolean {
    return this.#overlay.entries.has(rid);
  }

  opened(cursor: EntryCursor): void {
    this.#openCursors ??= new Set();
    this.#openCursors.add(cursor);
  }

  ended(cursor: EntryCursor): void {
    this.#openCursors?.delete(cursor);
    cursor.close();
  }

  hiddenEntryCount(keys: IndexKeys): number {
    if (this.#overlay.isEmpty) return 0;
    const known = this.#hiddenEntries?.get(keys.definition.id);
    if (known?.logLength === this.log.length) return known.count;
    const types = new Set(this.catalog.withSubtypes(keys.definition.type));
    let count = 0;
    this.#overlay.entries.forEach((entry) => {
      if (entry.isNew || !types.has(entry.storedType)) return;
      const stored = this.snapshot.record(entry.rid);
      if (stored !== undefined) count += keys.keysOf(stored).length;
    });
    this.#hiddenEntries ??= new Map();
    this.#hiddenEntries.set(keys.definition.id, { logLength: this.log.length, count });
    return count;
  }

  #closeCursors(): void {
    if (this.#openCursors === undefined) return;
    for (const cursor of this.#openCursors) cursor.close();
    this.#openCursors = undefined;
  }
}

const noEntries: readonly PendingEntry[] = [];

const noEdges: AdjacencyList = {
  count: 0,
  edges: new Float64Array(0),
  vertices: new Float64Array(0),
};
