import type { Catalog } from '#catalog/catalog.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import { DatabaseError } from '#core/errors.ts';
import { doneInPlace, inTurns, type PausingWork, type Replay, toEnd } from '#core/pausing-work.ts';
import { manyProperties } from '#core/value/many-properties.ts';
import type { RecordKind, StoredRecord } from '#core/value/record.ts';
import type { BucketId, IndexId, LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { AdjacencyList, Direction, StorageSnapshot } from '#storage/engine.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { type EdgeClaim, EdgeClaims } from './write/edge-claims.ts';
import { whenSettled } from './commit/unknown-outcome.ts';
import { captureWriteSet } from './commit/capture.ts';
import type { WriteSet } from './commit/guards.ts';
import { DroppedDocuments, droppedDocuments } from './write/dropped-documents.ts';
import { Overlay } from './write/overlay.ts';
import type { CreatedRecords, IndexReader, RecordCursor } from './read/read-view.ts';
import type { ValueWidths } from './write/changed-record.ts';
import type { PropertyPatch } from './write/property-patch.ts';
import { OverlayReceipt } from './commit/receipt.ts';
import { after, mayHaveOneWayEdges, type OneWaySearch } from './write/one-way-edges.ts';
import { bucketsUnder } from './read/holding-bucket.ts';
import { RecordWriter } from './write/record-writer.ts';
import { RecordedWrites } from './write/recorded-writes.ts';
import { openSavepoint } from './write/savepoint.ts';
import { StatementView } from './read/statement-view.ts';
import { type Place, TriggeredWrites } from './trigger/triggered-writes.ts';
import type { TransactionServices } from './transaction-services.ts';
import type { CommitReceipt, Isolation, Savepoint, Transaction } from './transaction.ts';

/**
 * A transaction: reads go to its `StatementView`, writes to its `RecordWriter`, both over one `Overlay`; commit captures the
 * overlay and hands it to the `Committer`. It pins no state before it is used, and holds nothing after its end.
 */
export class TransactionValue implements Transaction {
  readonly isolation: Isolation;
  replay: Replay | undefined = undefined;
  defersKeys = false;
  readonly #services: TransactionServices;
  readonly #overlay = new Overlay();
  #view: StatementView | undefined;
  #writes: RecordedWrites | undefined;
  #triggeredWrites: TriggeredWrites | undefined;
  readonly #mayWriteViews: boolean;
  #isEnded = false;
  #flushCount = 0;
  #discardCount = 0;
  /** Somebody has watched since the first write. */
  #isRecording = false;
  readonly #dropped = new DroppedDocuments();
  readonly #attached: RowOperation[] = [];
  readonly #heldLocks: (() => void)[] = [];
  readonly #edgeClaims: EdgeClaim[] = [];
  /** Under which it began to write. */
  #leadership: number | undefined;

  /** @param mayWriteViews true for the refresh of materialized views */
  constructor(services: TransactionServices, isolation: Isolation, mayWriteViews = false) {
    this.#services = services;
    this.isolation = isolation;
    this.#mayWriteViews = mayWriteViews;
  }

  get hasWrites(): boolean {
    return !this.#overlay.isEmpty;
  }

  get changeCount(): number {
    return this.#overlay.log.length;
  }

  changedBuckets(): Iterable<BucketId> {
    return this.#overlay.changedBuckets();
  }

  get heldBytes(): number {
    return this.#overlay.heldBytes;
  }

  beginStatement(): void {
    if (this.#writes !== undefined) this.#requireLeadership();
    if (this.#view === undefined) this.#open();
    else if (this.isolation === 'READ_COMMITTED') this.#view.moveTo(this.#services.pin());
  }

  rest(): void {
    if (this.isolation !== 'READ_COMMITTED' || this.#writes !== undefined) return;
    this.#view?.[Symbol.dispose]();
    this.#view = undefined;
  }

  // --- reads

  get catalog(): Catalog {
    return this.#read().catalog;
  }

  get snapshot(): StorageSnapshot {
    return this.#read().snapshot;
  }

  get snapshotIndex(): LogIndex {
    return this.#read().snapshotIndex;
  }

  record(rid: Rid): StoredRecord | undefined {
    return this.#read().record(rid);
  }

  scan(bucket: BucketId, order: 'ascending' | 'descending', fromPosition?: number): RecordCursor {
    return this.#read().scan(bucket, order, fromPosition);
  }

  scanStored(bucket: BucketId): RecordCursor {
    return this.#read().scanStored(bucket);
  }

  get created(): CreatedRecords | undefined {
    return this.#read().created;
  }

  isChanged(bucket: BucketId): boolean {
    return this.#read().isChanged(bucket);
  }

  hasChangedRows(bucket: BucketId): boolean {
    return this.#read().hasChangedRows(bucket);
  }

  recordCount(bucket: BucketId): number {
    return this.#read().recordCount(bucket);
  }

  adjacency(vertex: Rid, direction: Direction, edgeType: TypeId): AdjacencyList {
    return this.#read().adjacency(vertex, direction, edgeType);
  }

  degree(vertex: Rid, direction: Direction, edgeType: TypeId): number {
    return this.#read().degree(vertex, direction, edgeType);
  }

  index(id: IndexId): IndexReader {
    return this.#read().index(id);
  }

  // --- writes

  insertDocument(type: TypeId, properties: ValueMap, bucket?: BucketId): StoredRecord {
    return this.#insert(type, 'document', properties, { bucket, ends: undefined });
  }

  insertVertex(type: TypeId, properties: ValueMap, bucket?: BucketId): StoredRecord {
    return this.#insert(type, 'vertex', properties, { bucket, ends: undefined });
  }

  insertEdge(
    type: TypeId,
    from: Rid,
    to: Rid,
    properties: ValueMap,
    bucket?: BucketId,
  ): StoredRecord {
    return this.#insert(type, 'edge', properties, { bucket, ends: { from, to } });
  }

  insertOneWayEdge(type: TypeId, from: Rid, to: Rid, properties: ValueMap): StoredRecord {
    const ends = { from, to, isOneWay: true };
    return this.#insert(type, 'edge', properties, { bucket: undefined, ends });
  }

  claimEdge(type: TypeId, from: Rid, to: Rid): void {
    const { snapshotIndex } = this.#read();
    this.#edgeClaims.push({ key: EdgeClaims.keyOf(type, from, to), snapshotIndex });
  }

  #insert(type: TypeId, kind: RecordKind, properties: ValueMap, place: Place): StoredRecord {
    const hooks = this.#read().catalog.definitions.hooks(type);
    if (hooks !== undefined)
      return this.#done(() => this.#triggered().insert(hooks, { type, kind, properties }, place));
    const writes = this.#write();
    return this.replay !== undefined && properties.size >= manyProperties
      ? this.replay.result(this, () => writes.insertInSteps(type, kind, properties, place))
      : writes.insert(type, kind, properties, place);
  }

  update(rid: Rid, properties: ValueMap): StoredRecord {
    if (this.#read().catalog.definitions.isHooked)
      return this.#done(() => this.#triggered().update(rid, properties));
    const writes = this.#updater();
    return this.replay !== undefined && properties.size >= manyProperties
      ? this.replay.result(this, () => writes.updateInSteps(rid, properties))
      : writes.update(rid, properties);
  }

  patch(
    record: StoredRecord,
    patch: PropertyPatch,
    values: readonly Value[],
    widths?: ValueWidths,
  ): StoredRecord | undefined {
    if (this.#read().catalog.definitions.isHooked) return undefined;
    const { writer, recorded } = this.#write();
    // What is watched is kept for its watchers, and must hold no block.
    return recorded === undefined ? writer.patch(record, patch, values, widths) : undefined;
  }

  #updater(): RecordedWrites {
    const writes = this.#write();
    writes.writer.claims.defers = this.defersKeys;
    return writes;
  }

  setType(rid: Rid, type: TypeId): StoredRecord {
    return this.#read().catalog.definitions.isHooked
      ? this.#done(() => this.#triggered().retype(rid, type))
      : this.#updater().setType(rid, type);
  }

  adoptTypes(): void {
    if (this.#view?.adoptTypes(this.#services.pin()) === true) this.#writes?.writer.adoptSchema();
  }

  settleKeys(countMax?: number): boolean {
    return this.#writes === undefined || this.#writes.writer.settleKeys(countMax);
  }

  settleFreeKeys(): boolean {
    return this.#writes === undefined || this.#writes.writer.settleFreeKeys();
  }

  delete(rid: Rid): boolean {
    const search = this.#oneWaySearch(rid);
    if (this.#read().catalog.definitions.isHooked)
      return this.#done(() => this.#watchedDelete(rid, search));
    // Most records go alone.
    if (!this.#read().isVertex(rid)) return toEnd(this.#write().delete(rid));
    return this.#inTurns(search, () => this.#write().delete(rid));
  }

  /** Where nobody can pause it is done at once. */
  #inTurns<T>(search: OneWaySearch, work: () => PausingWork<T>): T {
    if (this.replay === undefined) return toEnd(work());
    return this.replay.result(this, () => (search === undefined ? work() : after(search, work)));
  }

  /** Nobody waits where nobody can pause: then edges are read in one go when they are needed. */
  #oneWaySearch(rid: Rid): OneWaySearch {
    const isDue = this.replay !== undefined && mayHaveOneWayEdges(this.#read().catalog);
    return isDue ? this.#write().writer.connected.oneWaySearch(rid) : undefined;
  }

  *#watchedDelete(rid: Rid, search: OneWaySearch): PausingWork<boolean> {
    if (search !== undefined) yield* search;
    const current = this.#read().record(rid);
    return current !== undefined && (yield* this.#triggered().delete(current));
  }

  moveVertex(
    rid: Rid,
    to: { readonly type: TypeId; readonly bucket: BucketId | undefined },
    properties: ValueMap,
  ): StoredRecord {
    const current = this.#read().record(rid);
    const search = this.#oneWaySearch(rid);
    const move = (left: ValueMap) => this.#write().move(this.#read().record(rid), rid, to, left);
    if (this.#read().catalog.definitions.isHooked) {
      const draft = { type: to.type, properties, search };
      return this.#done(() => this.#watchedMove(current, draft, move));
    }
    return this.#inTurns(search, () => move(properties));
  }

  *#watchedMove(
    current: StoredRecord | undefined,
    to: { readonly type: TypeId; readonly properties: ValueMap; readonly search: OneWaySearch },
    move: (properties: ValueMap) => PausingWork<StoredRecord>,
  ): PausingWork<StoredRecord> {
    if (to.search !== undefined) yield* to.search;
    if (current === undefined) return yield* move(to.properties);
    return yield* this.#triggered().move(current, to, move);
  }

  restore(
    rid: Rid,
    type: TypeId,
    properties: ValueMap,
    ends: { readonly from: Rid; readonly to: Rid } | undefined,
  ): StoredRecord {
    const restore = (left: ValueMap): StoredRecord => this.#write().restore(rid, type, left, ends);
    const hooks = this.#read().catalog.definitions.hooks(type);
    return hooks === undefined
      ? restore(properties)
      : this.#done(() =>
          this.#triggered().restore(hooks, { rid, type, properties, ends }, restore),
        );
  }

  async alter(change: SchemaChange, pause?: () => Promise<void>): Promise<readonly ValueMap[]> {
    this.#requireOpen();
    const dropped = this.hasWrites ? droppedDocuments(change, this) : [];
    const rows = await this.#services.alter(change, pause);
    // The statements after it see the new schema and the state it was committed with, REPEATABLE_READ ones too: an older
    // state has neither the entries of a new index nor the buckets of a new type. Versions of records read before stay
    // guarded as they were read.
    if (this.#view !== undefined && !this.#isEnded) {
      this.#view.moveTo(this.#services.pin());
      const written = { overlay: this.#overlay, claims: this.#writes?.writer.claims };
      await this.#dropped.forget(dropped, written, this.#services.timers);
      if (!this.#isEnded) this.#writes?.writer.adoptSchema();
    }
    return rows;
  }

  async lock(buckets: readonly BucketId[]): Promise<void> {
    this.#requireOpen();
    const under = bucketsUnder(this.#view?.catalog, buckets);
    const release = await this.#services.locks.acquire(this, under);
    if (this.#isEnded) release();
    else this.#heldLocks.push(release);
  }

  savepoint(): Savepoint {
    return openSavepoint(this.#overlay, {
      requireOpen: () => this.#requireOpen(),
      recorded: () => this.#writes?.recorded,
      discardCount: () => this.#discardCount,
      discard: () => this.discard(),
      forgetWrites: () => this.#view?.forgetWrites(),
    });
  }

  attach(name: string, value: Uint8Array): void {
    this.#attached.push({ op: 'meta', name, value });
  }

  // --- end

  commit(): Promise<CommitReceipt> {
    return this.#store().then(
      (receipt) => {
        this.rollback();
        return receipt;
      },
      (error: unknown) => {
        this.rollback();
        throw error;
      },
    );
  }

  async flush(): Promise<void> {
    const { hasWrites } = this;
    await this.#store();
    if (hasWrites) this.#flushCount += 1;
    this.discard();
    // The rest of the statement builds on what it has stored.
    if (!this.#isEnded) this.#view?.moveTo(this.#services.pin());
  }

  get hasFlushed(): boolean {
    return this.#flushCount > 0;
  }

  discard(): void {
    this.#discardCount += 1;
    this.#overlay.clear();
    this.#edgeClaims.length = 0;
    this.#isRecording ||= this.#writes?.recorded !== undefined;
    this.#writes = undefined;
    if (this.#view === undefined) return;
    this.#view.claims = undefined;
    this.#view.forgetWrites();
  }

  /** Commits what was written so far. Every commit comes by here, so it is written without `await`, which costs a microsecond each. */
  #store(): Promise<CommitReceipt> {
    try {
      this.#requireOpen();
      const view = this.#read();
      if (this.#writes === undefined || this.#overlay.isEmpty)
        return Promise.resolve({ index: view.snapshotIndex, changes: [] });
      this.settleKeys();
      const captured = this.#captured(this.#writes.writer);
      return captured instanceof Promise
        ? captured.then((writeSet) => this.#storeCaptured(writeSet, view))
        : this.#storeCaptured(captured, view);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #storeCaptured(writeSet: WriteSet, view: StatementView): Promise<CommitReceipt> {
    if (writeSet.operations.length === 0) {
      const receipt = { index: view.snapshotIndex, changes: [] };
      this.#announce(receipt);
      return Promise.resolve(receipt);
    }
    return this.#services.locks.isEmpty
      ? this.#handOver(writeSet, view)
      : this.#handOverUnlocked(writeSet, view);
  }

  /** Once nobody else has locked what is written to. */
  async #handOverUnlocked(writeSet: WriteSet, view: StatementView): Promise<CommitReceipt> {
    const { locks } = this.#services;
    const hasWaited = await locks.free(this, this.#overlay.changedBuckets());
    try {
      return await this.#handOver(writeSet, view);
    } catch (error) {
      // The owner of the lock that was in the way is done: whoever tries again may do so at once.
      if (hasWaited && error instanceof DatabaseError && error.code === 'ConcurrentModification')
        throw new DatabaseError(error.code, error.message, { blockedBy: Promise.resolve() });
      throw error;
    }
  }

  #handOver(writeSet: WriteSet, view: StatementView): Promise<CommitReceipt> {
    const { catalog, types, guards, bytes } = writeSet;
    const { committer, locks, edgeClaims } = this.#services;
    const heldBack = () => locks.heldBy(this, this.#overlay.changedBuckets());
    const operations =
      this.#attached.length === 0
        ? writeSet.operations
        : [...writeSet.operations, ...this.#attached];
    const leadership = this.#leadership;
    const settleClaims =
      this.#edgeClaims.length > 0 ? edgeClaims.take(this.#edgeClaims.splice(0)) : undefined;
    return committer
      .commit({ catalog, types, guards, operations, bytes, leadership, heldBack })
      .then(
        (index) => {
          const receipt = new OverlayReceipt(index, this.#overlay, view);
          try {
            this.#announce(receipt);
          } finally {
            settleClaims?.(index);
          }
          return receipt;
        },
        (error: unknown) => {
          if (settleClaims !== undefined) whenSettled(error, settleClaims);
          throw error;
        },
      );
  }

  /** A promise only where others get a turn in between. */
  #captured(writer: RecordWriter): WriteSet | Promise<WriteSet> {
    const steps = captureWriteSet(this.#overlay, writer, {
      catalog: writer.madeUnder,
      shapes: this.#services.engine.shapes,
      positions: this.#services.positions,
    });
    return 'guards' in steps ? steps : inTurns(steps, this.#services.timers);
  }

  rollback(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#view?.[Symbol.dispose]();
    for (const release of this.#heldLocks) release();
  }

  [Symbol.dispose](): void {
    this.rollback();
  }

  /** A write that sets off triggers: over as many turns as they take, where whoever writes can pause. */
  #done<T>(begin: () => PausingWork<T>): T {
    const { replay } = this;
    if (replay !== undefined) return replay.result(this, begin);
    return doneInPlace(begin(), this.#services.clock, 'a write with its triggers');
  }

  #triggered(): TriggeredWrites {
    this.#requireOpen();
    this.#triggeredWrites ??= new TriggeredWrites({
      transaction: this,
      view: () => this.#read(),
      writes: {
        insert: (type, kind, properties, place) =>
          this.#write().insert(type, kind, properties, place),
        update: (rid, properties) => this.#updater().update(rid, properties),
        setType: (rid, type, properties) => this.#updater().setType(rid, type, properties),
        delete: (rid) => this.#write().delete(rid),
        withDefaults: (type, properties) => this.#write().writer.withDefaults(type, properties),
        oneWayEdgesInto: (vertex) => this.#write().writer.connected.oneWayEdgesInto(vertex),
      },
      run: this.#services.runTrigger,
      formats: this.#services.formats,
      mayWriteViews: this.#mayWriteViews,
    });
    return this.#triggeredWrites;
  }

  #announce(receipt: CommitReceipt): void {
    this.#services.committed?.(this.#overlay.changedBuckets(), this.#overlay.log);
    const { changes } = this.#services;
    if (!changes?.isWatched) return;
    // Who began to watch in between learns what each record has become.
    changes.committed(
      this.#dropped.without(this.#writes?.recorded ?? receipt.changes),
      receipt.index,
    );
  }

  #requireOpen(): void {
    if (this.#isEnded) {
      throw new DatabaseError('TransactionFailed', 'the transaction has ended');
    }
  }

  /** Numbers, positions and keys that it was given are void under another leadership, and may be somebody else's by now. */
  #requireLeadership(): void {
    if (this.#services.leadership?.() === this.#leadership) return;
    throw new DatabaseError(
      'ConcurrentModification',
      'another server has led the cluster meanwhile; nothing was committed, run the transaction again',
    );
  }

  #open(): StatementView {
    this.#requireOpen();
    const state = this.#services.pin(this.isolation === 'REPEATABLE_READ');
    this.#view = new StatementView(this.#services, state, this.#overlay);
    return this.#view;
  }

  #read(): StatementView {
    return this.#view ?? this.#open();
  }

  #write(): RecordedWrites {
    this.#requireOpen();
    if (this.#writes === undefined) {
      this.#leadership = this.#services.leadership?.();
      const { formats, evaluateDefault } = this.#services;
      const options = { formats: formats(), evaluateDefault };
      const writer = new RecordWriter(this.#services, this.#read(), this.#overlay, options);
      this.#read().claims = writer.claims;
      this.#isRecording ||= this.#services.changes?.isWatched === true;
      this.#writes = new RecordedWrites(writer, this.#overlay, this.#isRecording ? [] : undefined);
    }
    return this.#writes;
  }
}
