import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { BucketId, IndexId, LogIndex } from '#core/rid.ts';
import type { Timers } from '#core/runtime.ts';
import { BlockBuilder } from './block-builder.ts';
import type { BulkWriter } from './bulk-writer.ts';
import { LmdbBulkWriter } from './lmdb-bulk-writer.ts';
import { CommitBuilder, type CommitContext, operationsPerSlice } from './commit-builder.ts';
import { decodeApplied, decodeBucketState, decodeIndexEntries } from './counters.ts';
import { DeletionJobs } from './deletion-jobs.ts';
import { environmentFileName } from './environment-file.ts';
import type {
  AppliedPosition,
  IndexDeriver,
  IndexEntry,
  LogEntry,
  StorageEngine,
  StorageSnapshot,
} from './engine.ts';
import { LargeCellReader, RetiredCells } from './large-cells.ts';
import { LmdbSnapshot, type SnapshotSource } from './lmdb-snapshot.ts';
import { PinnedReader, ValueWindow } from './pinned-reader.ts';
import { RowEncoder } from './row.ts';
import type { TypeLabels } from './row-record.ts';
import { ShapeRegistry } from './shape.ts';
import { StateReader } from './state-reader.ts';
import { metaKey, openSubDatabases, type SubDatabases } from './sub-databases.ts';
import { carryOut, putSealed, writeBatch } from './write-batch.ts';
import { ImageMemory } from './image-memory.ts';

// One database over LMDB, first stage of storage.md 5.7: a change is durable when LMDB's commit of the changed images is.
// One LMDB transaction is in flight at a time; what arrives meanwhile is the next group. After each commit a new reader is
// pinned before anybody is told, so that a snapshot shows a change exactly from when its `apply` resolves.
//
// Start reading at `#commitGroup`. Reads: lmdb-snapshot.ts, state-reader.ts. What a commit consists of: commit-builder.ts.

const formatVersion = 1;
/** Units of work per LMDB transaction. */
const groupSizeMax = 512;

export interface LmdbEngineOptions {
  /** Made when it does not exist. */
  readonly directory: string;
  readonly labels: TypeLabels;
  readonly deriver: IndexDeriver;
  readonly timers: Pick<Timers, 'yield'>;
  /** For block images and adjacency together; default 64 MiB. */
  readonly cacheBytes?: number;
  /** `server.httpTxSnapshotMax`: distinct states held at a time; default 512. */
  readonly snapshotMax?: number;
  /** Address space to begin with (limits.md 3); grows by itself. Default 1 GiB. */
  readonly mapSizeBytes?: number;
}

interface Unit {
  /** Adds the unit's changes; may give up the event loop. */
  readonly prepare: (commit: CommitBuilder) => void | Promise<void>;
  /** A bulk load is a commit by itself: it looks at durable state only. */
  readonly company: 'shared' | 'alone';
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** @throws DatabaseError `CorruptedRecord` when the files are damaged or of an unknown format */
export function openLmdbEngine(options: LmdbEngineOptions): LmdbEngine {
  mkdirSync(options.directory, { recursive: true });
  const subs = openSubDatabases({
    directory: options.directory,
    mapSizeBytes: options.mapSizeBytes ?? 2 ** 30,
  });
  return new LmdbEngine(options, subs);
}

export class LmdbEngine implements StorageEngine {
  readonly shapes = new ShapeRegistry();
  readonly rows = new RowEncoder(this.shapes);
  readonly labels: TypeLabels;
  readonly #options: LmdbEngineOptions;
  readonly #subs: SubDatabases;
  readonly #window = new ValueWindow();
  readonly #state: StateReader;
  readonly #retired = new RetiredCells(16 * 1024 * 1024);
  readonly #jobs = new DeletionJobs();
  readonly #context: CommitContext;
  readonly #source: SnapshotSource;
  /** Readers of older states that snapshots hold. */
  readonly #held = new Set<PinnedReader>();
  #newest: PinnedReader;
  #applied: AppliedPosition = { index: 0 as LogIndex, term: 0, txId: 0 };
  #schema: Uint8Array | undefined;
  readonly #queue: Unit[] = [];
  #work: Promise<void> | undefined;
  #deletions: Promise<void> | undefined;
  #isClosing = false;
  #failure: DatabaseError | undefined;

  constructor(options: LmdbEngineOptions, subs: SubDatabases) {
    this.#options = options;
    this.labels = options.labels;
    this.#subs = subs;
    const cacheBytes = options.cacheBytes ?? 64 * 1024 * 1024;
    this.#state = new StateReader({
      blockCacheBytes: cacheBytes * 0.6,
      adjacencyCacheBytes: cacheBytes * 0.4,
    });
    this.#context = {
      state: this.#state,
      shapes: this.shapes,
      rows: this.rows,
      labels: options.labels,
      deriver: options.deriver,
      retired: this.#retired,
      spareBuilders: [],
      makeBlockBuilder: () => new BlockBuilder(),
      jobs: this.#jobs,
      memory: new ImageMemory(),
    };
    this.#source = { shapes: this.shapes, labels: this.labels, state: this.#state };
    this.#newest = this.#openReader(0 as LogIndex);
    this.#requireFormat();
    this.#load();
    if (!this.#jobs.isEmpty) this.#startDeletions();
  }

  // --- opening

  #requireFormat(): void {
    const stored = this.#newest.meta('format');
    if (stored === undefined) {
      const key = metaKey('format');
      const body = Buffer.from(JSON.stringify({ storage: formatVersion }));
      const write = putSealed(this.#subs.meta, key, key.bytes, this.#context.memory, body);
      this.#subs.root.transactionSync(() => carryOut(write));
      this.#replaceReader(0 as LogIndex);
      return;
    }
    const { storage } = JSON.parse(Buffer.from(stored).toString('latin1')) as { storage: number };
    if (storage === formatVersion) return;
    throw new DatabaseError(
      'CorruptedRecord',
      `the database in '${this.#options.directory}' has storage format ${storage}; this version reads ${formatVersion}`,
    );
  }

  #load(): void {
    const applied = this.#newest.meta('applied');
    if (applied !== undefined) {
      this.#applied = decodeApplied(applied);
      this.#replaceReader(this.#applied.index);
    }
    const reader = this.#newest;
    const since = 0 as LogIndex;
    for (const name of reader.metaNames('bucket/')) {
      const state = decodeBucketState(reader.meta(name) as Uint8Array);
      this.#state.setBucket(Number(name.slice(7)) as BucketId, state, since, since);
    }
    for (const name of reader.metaNames('index/')) {
      const count = decodeIndexEntries(reader.meta(name) as Uint8Array);
      this.#state.setEntryCount(Number(name.slice(6)) as IndexId, count, since, since);
    }
    for (const name of reader.metaNames('shapes/')) {
      const id = Number(name.slice(7));
      this.shapes.define(id, reader.meta(name) as Uint8Array);
      this.shapes.saved(id);
    }
    this.#schema = reader.meta('schema');
    if (this.#schema !== undefined) this.#options.deriver.schemaChanged(this.#schema);
    this.#jobs.load(reader);
  }

  // --- reading

  snapshot(): StorageSnapshot {
    if (this.#isClosing) throw new DatabaseError('DatabaseClosed', 'the database is closed');
    const reader = this.#newest;
    const heldMax = this.#options.snapshotMax ?? 512;
    if (this.#held.size >= heldMax && !reader.isHeld) {
      throw new DatabaseError(
        'Busy',
        `${heldMax} states of the database are in use, the limit 'server.httpTxSnapshotMax'; try again later`,
      );
    }
    return new LmdbSnapshot(reader, this.#source, this.#released);
  }

  readonly #released = (reader: PinnedReader): void => {
    if (reader !== this.#newest && !reader.isHeld) this.#held.delete(reader);
  };

  applied(): AppliedPosition {
    return this.#applied;
  }

  sizeBytes(): number {
    return statSync(join(this.#options.directory, environmentFileName)).size;
  }

  // --- writing

  apply(entries: readonly LogEntry[]): Promise<void> {
    const isLarge = entries.some((entry) => entry.operations.length > operationsPerSlice);
    if (isLarge) return this.#enqueue((commit) => this.#applyInSlices(commit, entries));
    return this.#enqueue((commit) => {
      for (const entry of entries) if (this.#isNew(commit, entry)) commit.apply(entry);
    });
  }

  async #applyInSlices(commit: CommitBuilder, entries: readonly LogEntry[]): Promise<void> {
    for (const entry of entries) {
      if (this.#isNew(commit, entry)) await commit.applyInSlices(entry, this.#options.timers);
    }
  }

  /** Replay after a crash gives entries again that were applied. */
  #isNew(commit: CommitBuilder, entry: LogEntry): boolean {
    return entry.position.index > (commit.position?.index ?? this.#applied.index);
  }

  addEntries(index: IndexId, isUnique: boolean, entries: readonly IndexEntry[]): Promise<void> {
    const target = { id: index, isUnique, isBuilding: true };
    return this.#enqueue((commit) => {
      for (const { key, rid } of entries) commit.entries.add(target, key, rid);
      commit.entries.endEntry();
    });
  }

  bulk(): BulkWriter {
    return new LmdbBulkWriter({
      context: this.#context,
      timers: this.#options.timers,
      slotCountOf: (bucket) => {
        const state = this.#state.bucket(this.#newest, bucket);
        return state?.isSized === true ? state.slotCount : undefined;
      },
      enqueue: (prepare) => this.#enqueue(prepare, 'alone'),
    });
  }

  #enqueue(prepare: Unit['prepare'], company: Unit['company'] = 'shared'): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#isClosing) {
      return Promise.reject(new DatabaseError('DatabaseClosed', 'the database is closed'));
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ prepare, company, resolve, reject });
      this.#work ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    // What else is asked for in the same breath rides along.
    await Promise.resolve();
    while (this.#queue.length > 0) await this.#commitGroup();
    this.#work = undefined;
  }

  async #commitGroup(): Promise<void> {
    const group = this.#queue.splice(0, groupLength(this.#queue));
    try {
      const commit = await this.#prepare(group);
      const writes = commit.finish();
      if (writes.length > 0) {
        await writeBatch(this.#subs, writes, commit.chunkRuns);
        this.#publish(commit);
      }
      for (const unit of group) unit.resolve();
      if (commit.deletions.length > 0) this.#startDeletions();
    } catch (error) {
      this.#fail(error, group);
    }
  }

  /** Builds the group's commit. A unit that meets damaged data fails alone: it is taken out and the rest is built again. */
  async #prepare(group: Unit[]): Promise<CommitBuilder> {
    for (;;) {
      const commit = new CommitBuilder(this.#newest, this.#context);
      const refused = await prepareAll(group, commit);
      if (refused === undefined) return commit;
      group.splice(group.indexOf(refused.unit), 1);
      refused.unit.reject(refused.error);
      if (this.#schema !== undefined) this.#options.deriver.schemaChanged(this.#schema);
    }
  }

  #publish(commit: CommitBuilder): void {
    if (commit.position !== undefined) this.#applied = commit.position;
    if (commit.schema !== undefined) this.#schema = commit.schema;
    const { index } = this.#applied;
    commit.publish(index, this.#heldIndex());
    this.#replaceReader(index);
  }

  /** The newest state that a snapshot holds; -1 when none is held. */
  #heldIndex(): LogIndex {
    let index = -1;
    if (this.#newest.isHeld) return this.#newest.index;
    for (const reader of this.#held) index = Math.max(index, reader.index);
    return index as LogIndex;
  }

  #replaceReader(index: LogIndex): void {
    const old = this.#newest;
    this.#newest = this.#openReader(index);
    if (old.isHeld) this.#held.add(old);
    old.retire();
  }

  #openReader(index: LogIndex): PinnedReader {
    const reader = new PinnedReader(this.#subs, index, this.#window);
    const newest = () => this.#newest;
    reader.largeCells = new LargeCellReader({ reader, newest, retired: this.#retired });
    return reader;
  }

  /** After a failed write nobody knows what the files hold; what was applied before is durable. */
  #fail(error: unknown, group: readonly Unit[]): void {
    const reason = error instanceof Error ? error.message : String(error);
    const failure = new DatabaseError(
      'Internal',
      `storage failed and is read-only now: ${reason}`,
      {
        cause: error,
      },
    );
    this.#failure = failure;
    for (const unit of group) unit.reject(failure);
    for (const unit of this.#queue.splice(0)) unit.reject(failure);
  }

  #startDeletions(): void {
    this.#deletions ??= this.#runDeletions().finally(() => {
      this.#deletions = undefined;
    });
  }

  async #runDeletions(): Promise<void> {
    while (!this.#jobs.isEmpty && !this.#isClosing && this.#failure === undefined) {
      await this.#enqueue((commit) => {
        commit.addWrites(this.#jobs.slice(commit.reader));
      });
      await this.#options.timers.yield();
    }
  }

  // --- the whole

  async copyTo(directory: string): Promise<void> {
    mkdirSync(directory, { recursive: true });
    await this.#subs.root.backup(directory, true);
  }

  /** Resolves when nothing is under way, background deletions included. */
  async settled(): Promise<void> {
    while (this.#work !== undefined || this.#deletions !== undefined) {
      await this.#work;
      await this.#deletions;
    }
  }

  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    await this.#deletions;
    await this.#work;
    for (const reader of this.#held) reader.close();
    this.#newest.close();
    await this.#subs.root.close();
  }
}

function groupLength(queue: readonly Unit[]): number {
  if (queue[0]?.company === 'alone') return 1;
  const alone = queue.findIndex((unit) => unit.company === 'alone');
  return Math.min(alone < 0 ? queue.length : alone, groupSizeMax);
}

/** A refusal (damage found by a checksum, a limit) concerns its unit; whatever else happens leaves the state in doubt. */
async function prepareAll(
  group: readonly Unit[],
  commit: CommitBuilder,
): Promise<{ readonly unit: Unit; readonly error: DatabaseError } | undefined> {
  for (const unit of group) {
    try {
      const pending = unit.prepare(commit);
      if (pending !== undefined) await pending;
    } catch (error) {
      if (error instanceof DatabaseError) return { unit, error };
      throw error;
    }
  }
  return undefined;
}
