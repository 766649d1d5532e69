import type { Catalog, PropertyDefinition, TypeDefinition } from '#catalog/catalog.ts';
import { placedType } from '#catalog/change/window.ts';
import { DatabaseError } from '#core/errors.ts';
import { Link } from '#core/value/record.ts';
import {
  type BucketId,
  formatRid,
  type LogIndex,
  makeRid,
  noRid,
  type Rid,
} from '#core/value/rid.ts';
import type { Principal } from '#core/principal.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { StorageEngine, StorageSnapshot } from '#storage/engine.ts';
import { BucketSelector } from '#transaction/write/bucket-selector.ts';
import type { DatabaseState } from '#transaction/database-state.ts';
import type { DefaultEvaluator } from '#transaction/transaction.ts';
import { viewIsWritten } from '#transaction/trigger/triggered-writes.ts';
import type { ChangeQueue } from '../events.ts';
import type { OfferedKey, ReplayKeys } from '../session/replay-keys.ts';
import type { CommittedRequest } from '../session/recorded-request.ts';
import { type BatchRows, batchRows, type RowSurroundings, type Table } from './batch-rows.ts';
import type { EdgeBatch, RecordBatch, TemporaryId } from './bulk-batch.ts';
import { BulkChanges } from './bulk-changes.ts';
import { missingVertex } from './ends/bulk-ends.ts';
import { BulkKeys } from './bulk-keys.ts';
import { isWorthRetrying } from './commit-retry.ts';
import { GatheredChunks } from './gathered-chunks.ts';
import { takeOneWayEdges } from './ends/one-way-type.ts';
import { TriggeredLoad, type VetoedRows } from './triggered-load.ts';

/** How a bulk load commits; each commit is one chunk. */
export interface BulkLoadOptions {
  /** Needs the right to insert into every type it loads; absent: may load everything. */
  readonly principal?: Principal;
  /** Memory of one chunk; default 64 MiB. */
  readonly chunkBytesMax?: number;
  /** Further attempts of a commit that met a conflict, and the pause before each. */
  readonly commitRetries?: number;
  readonly commitRetryDelayMs?: number;
  /** False: edges are entered at their source only. */
  readonly isBidirectional?: boolean;
}

export interface BulkLoaderOptions extends BulkLoadOptions {
  readonly state: DatabaseState;
  readonly engine: StorageEngine;
  readonly runtime: Runtime;
  readonly formats: TemporalFormats;
  readonly defaults: DefaultEvaluator;
  /** Told of each chunk. */
  readonly changes?: ChangeQueue;
  /** For commits that remember their request. */
  readonly replayKeys?: ReplayKeys;
  /** Told of each chunk, with the buckets of its types. */
  readonly onCommit?: (buckets: readonly BucketId[]) => void;
  /** @throws DatabaseError when the database was closed or dropped */
  readonly requireOpen?: () => void;
  /** @throws DatabaseError `Forbidden` when records of the type may not be inserted */
  readonly authorize?: (type: string) => void;
}

export interface BulkReport {
  readonly recordCount: number;
  readonly edgeCount: number;
  /** Of the last chunk; 0 when there was none. */
  readonly index: LogIndex;
}

const defaultChunkBytes = 64 * 1024 * 1024;
const sliceMs = 3;

/**
 * Loads many new records: vertices and documents, then the edges between them (architecture.md 5 C). Rows are converted,
 * checked and laid into whole blocks at once, past the overlay of transactions; a chunk of them is one durable commit, or
 * several share one. An edge and its entries at both ends are in one chunk, and its vertices in the same or an earlier one, so a
 * load that is interrupted, or one of whose chunks cannot be committed, leaves a prefix of whole chunks and no edge without its
 * ends.
 *
 * A change of the types in use while a chunk is made ends the load with `ConcurrentModification`. After any error, nothing
 * more may be added.
 */
export class BulkLoader {
  readonly #options: BulkLoaderOptions;
  /** Nothing comes behind the next commit: its edges need not wait for others. */
  isLast = false;
  readonly #buckets = new BucketSelector();
  readonly #rids = new Map<TemporaryId, Rid>();
  /** Stored vertices that edges named by their record id. */
  readonly #stored = new Set<Rid>();
  /** Names of types that the caller was allowed to insert into; asked again at each commit, since a load may take hours. */
  readonly #authorized = new Set<string>();
  #catalog: Catalog;
  #surroundings: RowSurroundings;
  #chunks: GatheredChunks;
  #recordCount = 0;
  #edgeCount = 0;
  /** The newest commit when the load began, then of its last chunk. */
  #baseIndex: LogIndex;
  #index = 0 as LogIndex;
  /** Under which the chunk's positions are taken. */
  #leadership: number | undefined;
  /** False as soon as somebody else was seen to commit. */
  #isAlone = true;
  #failedRow = -1;
  #failedRid = noRid;
  #savedChunkCount = 0;
  #turnStartMs: number;
  /** Takes the rows while the schema has triggers on CREATE. */
  readonly #triggered: TriggeredLoad;

  constructor(options: BulkLoaderOptions) {
    this.#options = options;
    const { state, runtime } = options;
    using view = state.view();
    this.#baseIndex = view.snapshotIndex;
    this.#catalog = state.catalog;
    this.#surroundings = this.#surroundingsFor(this.#catalog);
    this.#chunks = this.#nextChunks();
    this.#turnStartMs = runtime.clock.monotonicMs();
    this.#triggered = new TriggeredLoad(
      () => state.begin('READ_COMMITTED'),
      () => this.#pause(),
    );
  }

  /** Rows that triggers have kept from being written. */
  get vetoed(): VetoedRows {
    return this.#triggered.vetoed;
  }

  /** Row of the batch that the last error is about, -1 for none. */
  get failedRow(): number {
    return this.#triggered.row < 0 ? this.#failedRow : this.#triggered.row;
  }

  /** Record that the last error of `commit` is about. */
  get failedRid(): Rid {
    return this.#failedRid;
  }

  /** Of the last commit; 0 when there was none. */
  get index(): LogIndex {
    return this.#index;
  }

  /** Ended chunks that a commit which failed has made durable: those before the one that could not be committed. */
  get savedChunkCount(): number {
    return this.#savedChunkCount;
  }

  /** Of one entry of the log in a cluster; undefined: no limit. */
  get entryBytesMax(): number | undefined {
    return this.#options.state.entryBytesMax;
  }

  /** Memory of the chunk so far. */
  get pendingBytes(): number {
    return this.#chunks.writer.pendingBytes + this.#triggered.pendingBytes;
  }

  typeNamed(name: string): TypeDefinition | undefined {
    this.#refresh();
    return this.#catalog.typeNamed(name);
  }

  propertyOf(type: TypeDefinition, name: string): PropertyDefinition | undefined {
    return this.#catalog.property(type.id, name);
  }

  /** @throws DatabaseError `Forbidden` when records of the type may not be inserted */
  authorize(type: TypeDefinition): void {
    this.#options.authorize?.(type.name);
    this.#authorized.add(type.name);
  }

  hasUniqueKeys(type: string): boolean {
    const found = this.#catalog.typeNamed(type);
    return found !== undefined && this.#chunks.keys.rulesOf(found.id).uniqueIndexes.length > 0;
  }

  /** Whether a stored vertex has this id; edges may then name it. */
  isVertex(rid: Rid): boolean {
    if (this.#stored.has(rid)) return true;
    using view = this.#options.state.view();
    if (view.record(rid)?.kind !== 'vertex') return false;
    this.#stored.add(rid);
    return true;
  }

  /** Adds documents or vertices; batches of some thousand rows keep the event loop free. */
  async addRecords(batch: RecordBatch): Promise<void> {
    await this.#makeRoom();
    const type = this.#type(batch.type);
    if (type.kind === 'edge') throw wrongKind(type, 'records');
    if (this.#hasTriggers) return this.#addWithTriggers(type, batch);
    const rows = this.#rows(type, batch);
    const place = this.#place(type, batch.rowCount);
    const { keys, writer } = this.#chunks;
    const rules = keys.rulesOf(type.id);
    const { rids, ids } = batch;
    let at = 0;
    try {
      for (; at < batch.rowCount; at += 1) {
        rows.select(at);
        const { bucket, position } = place(rows);
        const rid = makeRid(bucket, position);
        if (rules.isKeyed) keys.claim(rules, rid, keySource(rows, rid, rid));
        if (rows.shape === undefined) {
          writer.addRow(type.id, bucket, position, rows.properties());
        } else writer.addColumns(rows.shape, bucket, position, rows.columnValues());
        if (rids !== undefined) rids[at] = rid;
        if (ids !== undefined) this.#name(ids[at] as TemporaryId, rid);
      }
    } catch (error) {
      this.#failedRow = at;
      throw error;
    }
    this.#recordCount += batch.rowCount;
  }

  /** Adds edges between vertices that were added before, or are stored. */
  async addEdges(batch: EdgeBatch): Promise<void> {
    await this.#makeRoom();
    const type = this.#type(batch.type);
    if (type.kind !== 'edge') throw wrongKind(type, 'edges');
    const isOneWay = batch.isOneWay === true || this.#options.isBidirectional === false;
    // An edge of a UNIDIRECTIONAL type is listed at its target, too, where reads hide it: who deletes the target must find it.
    const both = !type.bidirectional || !isOneWay;
    if (!both) await takeOneWayEdges(this.#options.state, type.name);
    if (this.#hasTriggers) {
      const ends = {
        from: this.#rowsOf(batch.from, batch),
        to: this.#rowsOf(batch.to, batch),
        both,
      };
      const { vetoed } = this.#triggered;
      const before = vetoed.edges;
      await this.#triggered.addEdges(type, batch, ends, (at, rid) => {
        if (batch.rids !== undefined) batch.rids[at] = rid;
      });
      this.#edgeCount += batch.rowCount - (vetoed.edges - before);
      return;
    }
    await this.#requireSides(type, both);
    const rows = this.#rows(type, batch);
    const { keys, writer } = this.#chunks;
    const rules = keys.rulesOf(type.id);
    const from = this.#endsOf(batch.from, batch.rowCount);
    const to = this.#endsOf(batch.to, batch.rowCount);
    this.#edgeCount += batch.rowCount;
    if (rows.shape !== undefined && !rules.isKeyed && !isPartitioned(type) && !batch.rids) {
      const place = this.#reserve(type, batch.rowCount);
      const count = batch.rowCount;
      const ends = { from, to, both };
      const { values } = rows;
      writer.addEdgeRows(rows.shape, { type: type.id, ...place, count, ...ends, values });
      return;
    }
    const { rids } = batch;
    const place = this.#place(type, batch.rowCount);
    let at = 0;
    try {
      for (; at < batch.rowCount; at += 1) {
        rows.select(at);
        const { bucket, position } = place(rows);
        const source = from[at] as Rid;
        const target = to[at] as Rid;
        const rid = makeRid(bucket, position);
        if (rules.isKeyed) keys.claim(rules, rid, keySource(rows, source, target));
        const edge = { type: type.id, bucket, position, from: source, to: target, both };
        if (rows.shape === undefined) writer.addEdge(edge, rows.properties());
        else writer.addEdgeColumns(rows.shape, edge, rows.columnValues());
        if (rids !== undefined) rids[at] = rid;
      }
    } catch (error) {
      this.#failedRow = at;
      throw error;
    }
  }

  /**
   * What was added behind the chunk before is a chunk; it may share its commit with those that follow.
   * @returns false when it must be committed before anything else is added, so that the others are judged by what it leaves
   */
  endChunk(): boolean {
    const { keys } = this.#chunks;
    if (this.#hasTriggers || this.#triggered.pendingBytes > 0 || !keys.isEmpty) return false;
    if (this.#options.state.catalog !== this.#catalog) return false;
    this.#chunks.endChunk();
    return true;
  }

  /** Forgets what came behind the ended chunks. Nothing may be added until they are committed. */
  cancelChunk(): void {
    this.#chunks.cutBehind(this.#chunks.endedCount);
  }

  /** As `commit`, of the ended chunks only: what came behind them stays. */
  async commitEnded(): Promise<LogIndex> {
    const chunks = this.#chunks;
    if (chunks.endedCount === 0 || !chunks.hasOpenChunk) return this.commit();
    this.#requireAllowed();
    const rest = await chunks.split();
    await this.#commitRows([]);
    this.#chunks = rest;
    return this.#index;
  }

  /**
   * Ends the chunk: everything added so far is durable and visible then.
   * @param request to be remembered by this commit, also when there is nothing else to commit
   * @throws DatabaseError `DuplicatedKey`, `RecordNotFound` for a vertex that is gone, `ConcurrentModification`
   */
  async commit(request?: CommittedRequest): Promise<LogIndex> {
    this.#requireAllowed();
    const { replayKeys } = this.#options;
    const offered = request && replayKeys?.offer(request.replayKey, request);
    await this.#commitChunk(offered?.values ?? []);
    offered?.committed(this.#index);
    return this.#index;
  }

  #requireAllowed(): void {
    const { requireOpen, authorize } = this.#options;
    requireOpen?.();
    for (const type of this.#authorized) authorize?.(type);
  }

  async #commitChunk(values: OfferedKey['values']): Promise<void> {
    const hasRows = this.#chunks.writer.pendingBytes > 0;
    // The request is remembered with the last of both: what is committed after it may fail, or meet a crash.
    const ofTriggers = await this.#triggered.commit(hasRows ? [] : values);
    if (ofTriggers !== undefined) this.#index = ofTriggers;
    else if (!hasRows && values.length > 0) {
      const meta = new Map(values.map(({ name, value }) => [name, value]));
      this.#index = await this.#options.state.writeMeta(meta);
    }
    if (hasRows) await this.#commitRows(values);
  }

  /** Commits what was gathered. When a chunk of it cannot be committed, those before it are, as if they shared nothing. */
  async #commitRows(values: OfferedKey['values']): Promise<void> {
    this.#savedChunkCount = 0;
    try {
      await this.#writeRows(values);
    } catch (error) {
      this.#failedRid = this.#chunks.takenRid;
      const chunkCount = this.#chunks.cutRefused();
      if (chunkCount === 0) throw error;
      // Why one of them cannot be committed either comes before this error.
      await this.#commitRows([]);
      this.#savedChunkCount = chunkCount;
      throw error;
    }
    this.#baseIndex = this.#index;
    this.#chunks = this.#nextChunks();
    this.#turnStartMs = this.#options.runtime.clock.monotonicMs();
  }

  async #writeRows(values: OfferedKey['values']): Promise<void> {
    const { state, runtime, commitRetries = 0, commitRetryDelayMs = 0 } = this.#options;
    const { writer, changes } = this.#chunks;
    writer.isFollowed = !this.isLast;
    for (let attempt = 0; ; attempt += 1) {
      this.#options.requireOpen?.();
      try {
        this.#index = await state.commitBulk(
          writer,
          (latest, catalog) => this.#verify(latest, catalog),
          values,
          this.#leadership,
        );
        break;
      } catch (error) {
        if (attempt >= commitRetries || !isWorthRetrying(error, writer)) throw error;
        await runtime.timers.sleep(commitRetryDelayMs);
      }
    }
    changes.committed(() => state.view());
    this.#options.onCommit?.(this.#chunks.buckets());
  }

  /** Gives up what was not committed. To be called after an error, and when a load is left before its end. */
  close(): void {
    this.#triggered.close();
  }

  /** Edges that wait for those of later commits go into the lists of their vertices. */
  settle(): Promise<void> {
    return this.#options.engine.mergeEdgeRuns();
  }

  /** Commits what is left. */
  async finish(): Promise<BulkReport> {
    this.isLast = true;
    await this.commit();
    await this.settle();
    return { recordCount: this.#recordCount, edgeCount: this.#edgeCount, index: this.#index };
  }

  async #makeRoom(): Promise<void> {
    const { chunkBytesMax = defaultChunkBytes, state } = this.#options;
    const bytesMax = Math.min(chunkBytesMax, (state.entryBytesMax ?? Infinity) / 2);
    if (this.pendingBytes >= bytesMax) await this.commit();
    else await this.#pause();
    this.#refresh();
  }

  async #pause(): Promise<void> {
    const { runtime } = this.#options;
    if (runtime.clock.monotonicMs() - this.#turnStartMs < sliceMs) return;
    await runtime.timers.yield();
    this.#options.requireOpen?.();
    this.#turnStartMs = runtime.clock.monotonicMs();
  }

  /** Any triggers on CREATE: a chunk is one transaction or one set of blocks, never both. */
  get #hasTriggers(): boolean {
    return this.#catalog.definitions.hasCreateTriggers;
  }

  async #addWithTriggers(type: TypeDefinition, batch: RecordBatch): Promise<void> {
    const { rids, ids, rowCount } = batch;
    const { vetoed } = this.#triggered;
    const before = vetoed.records;
    await this.#triggered.addRecords(type, batch, (at, rid) => {
      if (rids !== undefined) rids[at] = rid;
      if (ids !== undefined && rid !== noRid) this.#name(ids[at] as TemporaryId, rid);
    });
    this.#recordCount += rowCount - (vetoed.records - before);
  }

  /** Record ids of ends; they are looked at when the edges are written. */
  #rowsOf(ends: EdgeBatch['from'], { rowCount }: EdgeBatch): Float64Array {
    return ends instanceof Float64Array ? ends.subarray(0, rowCount) : this.#resolved(ends);
  }

  /** A chunk lays the list of a vertex in one piece, from edges of a type that have both of their sides or only one. */
  async #requireSides({ id }: TypeDefinition, both: boolean): Promise<void> {
    if (this.#chunks.hasBothSides.get(id) === !both) {
      await this.commit();
      this.#refresh();
    }
    this.#chunks.hasBothSides.set(id, both);
  }

  /** A new chunk sees the newest schema. */
  #refresh(): void {
    const { catalog } = this.#options.state;
    if (catalog === this.#catalog || this.pendingBytes > 0) return;
    this.#catalog = catalog;
    this.#surroundings = this.#surroundingsFor(catalog);
    this.#chunks = this.#nextChunks();
  }

  #surroundingsFor(catalog: Catalog): RowSurroundings {
    const { formats, defaults, engine, state } = this.#options;
    const { nameLengthMax } = state;
    return { catalog, formats, shapes: engine.shapes, defaults, nameLengthMax };
  }

  #nextChunks(): GatheredChunks {
    const { engine, changes, formats, runtime } = this.#options;
    this.#leadership = this.#options.state.leadership();
    return new GatheredChunks({
      writer: engine.bulk(),
      changes: new BulkChanges(changes),
      makeKeys: () => new BulkKeys(this.#catalog, formats, runtime.random.uint32()),
    });
  }

  async #verify(latest: StorageSnapshot, now: Catalog): Promise<void> {
    if (latest.index !== this.#baseIndex) this.#isAlone = false;
    const { timers } = this.#options.runtime;
    const isAlone = this.#isAlone;
    await this.#chunks.verify({ latest, before: this.#catalog, now, isAlone, timers });
  }

  #type(name: string): TypeDefinition {
    const type = this.#catalog.typeNamed(name);
    if (type === undefined) {
      throw new DatabaseError('Schema', `Type with name '${name}' was not found`);
    }
    const view = this.#catalog.definitions.hooks(type.id)?.view;
    if (view !== undefined) throw viewIsWritten(view.name);
    this.#chunks.types.add(type);
    return type;
  }

  #rows(type: TypeDefinition, batch: Table): BatchRows {
    try {
      return batchRows(type, batch, this.#surroundings);
    } catch (error) {
      this.#failedRow = this.#firstRefused(type, batch);
      throw error;
    }
  }

  /** Columns are converted as a whole, so the row that was refused is found by trying one after the other. */
  #firstRefused(type: TypeDefinition, { columns, values, rowCount }: Table): number {
    const width = columns.length;
    for (let at = 0; at < rowCount; at += 1) {
      const row = values.slice(at * width, (at + 1) * width);
      try {
        batchRows(type, { columns, values: row, rowCount: 1 }, this.#surroundings).select(0);
      } catch {
        return at;
      }
    }
    return -1;
  }

  /** Gives the rows of a batch their places, one after the other. */
  #place(
    type: TypeDefinition,
    rowCount: number,
  ): (rows: BatchRows) => { readonly bucket: BucketId; readonly position: number } {
    if (isPartitioned(type)) {
      const { positions } = this.#options.state;
      const placed = placedType(this.#catalog, type);
      return (rows) => {
        const bucket = this.#buckets.select(placed, rows.properties());
        const position = positions.reserve(bucket, 1);
        this.#chunks.ends.noteStart(bucket, position);
        this.#chunks.changes.note(bucket, position, 1);
        return { bucket, position };
      };
    }
    const place = this.#reserve(type, rowCount);
    place.position -= 1;
    return () => {
      place.position += 1;
      return place;
    };
  }

  /** Consecutive places. The batches of a load go to the buckets in turn, instead of its rows: whole blocks are filled. */
  #reserve(type: TypeDefinition, rowCount: number): { bucket: BucketId; position: number } {
    const bucket = this.#buckets.select(placedType(this.#catalog, type), noProperties);
    const position = this.#options.state.positions.reserve(bucket, rowCount);
    this.#chunks.ends.noteStart(bucket, position);
    this.#chunks.changes.note(bucket, position, rowCount);
    return { bucket, position };
  }

  #name(id: TemporaryId, rid: Rid): void {
    if (this.#rids.has(id)) {
      throw new DatabaseError('IllegalArgument', `two records of the load have the id '${id}'`);
    }
    this.#rids.set(id, rid);
  }

  #endsOf(ends: EdgeBatch['from'], rowCount: number): Float64Array {
    const rids = ends instanceof Float64Array ? ends.slice(0, rowCount) : this.#resolved(ends);
    this.#chunks.ends.add(rids);
    return rids;
  }

  #resolved(ends: readonly (TemporaryId | Link)[]): Float64Array {
    const rids = new Float64Array(ends.length);
    for (let at = 0; at < ends.length; at += 1) {
      this.#failedRow = at;
      rids[at] = this.#end(ends[at] as TemporaryId | Link);
    }
    this.#failedRow = -1;
    return rids;
  }

  #end(end: TemporaryId | Link): Rid {
    if (end instanceof Link) {
      if (!this.isVertex(end.rid)) throw missingVertex(formatRid(end.rid));
      return end.rid;
    }
    const rid = this.#rids.get(end);
    if (rid === undefined) throw missingVertex(String(end));
    return rid;
  }
}

const noProperties = new Map();

function isPartitioned(type: TypeDefinition): boolean {
  return type.bucketStrategy.startsWith('partitioned');
}

function keySource(rows: BatchRows, from: Rid, to: Rid) {
  return { get: (name: string) => rows.get(name), out: from, in: to };
}

function wrongKind(type: TypeDefinition, what: string): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `'${type.name}' is a ${type.kind} type, ${what} of it cannot be loaded so`,
  );
}
