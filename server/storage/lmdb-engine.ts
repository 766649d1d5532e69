import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import { inTurns, toEnd } from '#core/pausing-work.ts';
import type { IndexId, LogIndex } from '#core/value/rid.ts';
import { BlockBuilder } from './commit/block-builder.ts';
import type { BulkWriter } from './bulk/writer.ts';
import { EntryRun } from './bulk/entry-runs.ts';
import type { SortedEntries } from './bulk/gathered-entries.ts';
import { Checkpointer } from './checkpoint/checkpointer.ts';
import { CommitBuilder, operationsPerSlice } from './commit/builder.ts';
import { entryOf, groupLength, prepareAll, recordsOf, type Unit } from './commit/group.ts';
import type { CommitContext } from './commit/context.ts';
import { CommitLog } from './log/commit-log.ts';
import { type AppliedPosition, decodeApplied } from './format/counters.ts';
import { DeletionJobs } from './commit/deletion-jobs.ts';
import { DeletionRuns } from './commit/deletion-runs.ts';
import { EdgeRunMerges } from './commit/edge-run-merges.ts';
import { EntryFolds } from './commit/entry-folds.ts';
import { type BuildWatch, IndexBuilds } from './commit/index-builds.ts';
import type { IndexTarget } from './index-target.ts';
import type { IndexEntry, LogEntry, StorageEngine, StorageSnapshot } from './engine.ts';
import { environmentFileName } from './environment/file.ts';
import { EnvironmentRenewal } from './environment/renewal.ts';
import { EnvironmentUse } from './environment/use.ts';
import { ImageMemory } from './checkpoint/image-memory.ts';
import { RetiredCells } from './read/large-cells.ts';
import { LmdbBulkWriter } from './bulk/lmdb-writer.ts';
import { LmdbSnapshot, type SnapshotSource } from './read/snapshot.ts';
import { ValueWindow } from './read/pinned-reader.ts';
import { loadStates } from './read/load-states.ts';
import { ReaderBook } from './read/reader-book.ts';
import { RowEncoder } from './format/row.ts';
import type { TypeLabels } from './format/row-record.ts';
import { RowScratch } from './commit/row-scratch.ts';
import {
  decodeFormat,
  type FormatFeature,
  formatEntryName,
  FormatInUse,
} from './format/features.ts';
import { ShapeRegistry } from './format/shape.ts';
import { StateReader } from './read/state-reader.ts';
import { diskIsFull, failureOf, hasSpace, isClosed, isDiskFull } from './storage-failure.ts';
import { type LmdbEngineOptions, openOptions, readersMax } from './lmdb-options.ts';
import { openSubDatabases, type SubDatabases } from './format/sub-databases.ts';
import { carryOut, requireSpaceFor, type Write, writeBatch } from './checkpoint/write-batch.ts';
import { writeMetaEntry } from './commit/pending-meta.ts';

// One database over LMDB. A change is durable when its record is in the commit log (storage.md 5): it then stands in the
// overlay, where readers find it, until the next checkpoint carries it to LMDB. Bulk loads, index builds and large entries
// go to LMDB at once and are durable with its commit, as every change is under `durability: 'commit'` (the first stage of
// storage.md 5.7). A new reader is made before anybody is told, so a snapshot shows a change exactly from when its `apply`
// resolves. Start reading at `#commitGroup`; README.md has the order of the rest.

/** @throws DatabaseError `CorruptedRecord` when the files are damaged or of an unknown format */
export function openLmdbEngine(options: LmdbEngineOptions): LmdbEngine {
  mkdirSync(options.directory, { recursive: true });
  const use = new EnvironmentUse(options.directory);
  let subs: SubDatabases | undefined;
  try {
    subs = openSubDatabases(openOptions(options));
    return new LmdbEngine(options, subs, use);
  } catch (error) {
    use.close(false);
    subs?.root.close().catch(() => {});
    throw error;
  }
}

export class LmdbEngine implements StorageEngine {
  readonly shapes = new ShapeRegistry();
  readonly rows: RowEncoder;
  readonly labels: TypeLabels;
  readonly #options: LmdbEngineOptions;
  readonly #subs: SubDatabases;
  readonly #use: EnvironmentUse;
  readonly #state: StateReader;
  readonly #retired = new RetiredCells(16 * 1024 * 1024);
  readonly #jobs = new DeletionJobs();
  readonly #folds: EntryFolds;
  readonly #merges: EdgeRunMerges;
  readonly #builds = new IndexBuilds((index) =>
    this.#state.entryCount(this.#readers.newest, index),
  );
  readonly #context: CommitContext;
  readonly #source: SnapshotSource;
  readonly #readers: ReaderBook;
  readonly #log: CommitLog;
  readonly #checkpointer: Checkpointer;
  readonly #renewal: EnvironmentRenewal;
  #applied: AppliedPosition = { index: 0 as LogIndex, term: 0, txId: 0 };
  #schema: Uint8Array | undefined;
  #lmdbCommits = 0;
  readonly #queue: Unit[] = [];
  #work: Promise<void> | undefined;
  readonly #deletions: DeletionRuns;
  #isClosing = false;
  readonly #copies = new Set<Promise<void>>();
  #failure: DatabaseError | undefined;
  /** The failure was a full disk, after which the next change tries again. */
  #mayMend = false;
  #mending: Promise<void> | undefined;

  constructor(options: LmdbEngineOptions, subs: SubDatabases, use: EnvironmentUse) {
    this.#options = options;
    this.#use = use;
    this.rows = new RowEncoder(this.shapes, options.recordBytesMax);
    this.labels = options.labels;
    this.#subs = subs;
    const cacheBytes = options.cacheBytes ?? 64 * 1024 * 1024;
    this.#state = new StateReader({
      blockCacheBytes: cacheBytes * 0.48,
      adjacencyCacheBytes: cacheBytes * 0.33,
      entryCacheBytes: (cacheBytes * 3) / 16,
    });
    this.#context = {
      state: this.#state,
      format: new FormatInUse(),
      shapes: this.shapes,
      rows: this.rows,
      labels: options.labels,
      deriver: options.deriver,
      retired: this.#retired,
      spareBuilders: [],
      makeBlockBuilder: () => new BlockBuilder(),
      scratch: new RowScratch(),
      jobs: this.#jobs,
      builds: this.#builds,
      memory: new ImageMemory(),
    };
    this.#source = { shapes: this.shapes, labels: this.labels, state: this.#state };
    const window = new ValueWindow();
    this.#readers = new ReaderBook(
      { subs, window, retired: this.#retired, readersMax: readersMax(options) },
      0 as LogIndex,
    );
    this.#requireFormat();
    this.#load();
    // Before the replay, whose deletions are numbered behind those that are left over.
    this.#jobs.load(this.#readers.newest);
    this.#log = new CommitLog(options.directory, this.#applied.index, {
      clock: options.clock,
      flushSeconds: options.flushSeconds,
    });
    this.#replay();
    const beside = {
      timers: options.timers,
      commit: (prepare: Unit['prepare']) => this.#enqueue(prepare, 'alone'),
      mayRun: () => !this.#isClosing && this.#failure === undefined,
    };
    this.#deletions = new DeletionRuns({ ...beside, jobs: this.#jobs });
    this.#folds = new EntryFolds({
      ...beside,
      besideChunks: this.#state.besideChunks,
      countBeside: (index) => this.#readers.countBeside(index),
      countMin: options.foldedMin,
      entryCount: (index) => this.#state.entryCount(this.#readers.newest, index),
      appliedIndex: () => this.#applied.index,
    });
    this.#checkpointer = new Checkpointer({
      subs,
      readers: this.#readers,
      folds: this.#folds,
      timers: options.timers,
      clock: options.clock,
      appliedIndex: () => this.#applied.index,
      written: (index) => {
        this.#lmdbCommits += 1;
        this.#use.changed();
        this.#log.checkpointed(index);
      },
      failed: (error) => this.#fail(error, []),
    });
    this.#renewal = new EnvironmentRenewal({
      ...{ timers: options.timers, subs, readers: this.#readers, isIdle: this.#isIdle },
      open: () => openSubDatabases(openOptions(options)),
      failed: (error) => this.#fail(error, []),
    });
    const edgeRuns = () => this.#readers.newest.edgeRuns;
    this.#merges = new EdgeRunMerges({ ...beside, edgeRuns, renewal: this.#renewal });
    use.opened(options.timers);
    if (!this.#readers.layer.isEmpty) this.#checkpointer.changed();
    this.#deletions.check();
    this.#merges.check();
  }

  // --- opening

  #requireFormat(): void {
    const stored = this.#readers.newest.meta(formatEntryName);
    if (stored === undefined) this.#writeFormat([]);
    else this.#context.format.announced(decodeFormat(stored, this.#options.directory));
  }

  #writeFormat(features: Iterable<FormatFeature>): void {
    writeMetaEntry(this.#subs, formatEntryName, this.#context.format.entryWith(features));
    this.#readers.rebase(this.#applied.index);
  }

  /** An older build refuses what it would misread: it must find the feature in LMDB before the log has what uses it. */
  async #announce(features: Iterable<FormatFeature>): Promise<void> {
    await this.#checkpointer.all();
    if (this.#failure !== undefined) throw this.#failure;
    this.#writeFormat(features);
    this.#context.format.announced({ storage: 0, features: [...features] });
  }

  #load(): void {
    const applied = this.#readers.newest.meta('applied');
    if (applied !== undefined) {
      this.#applied = decodeApplied(applied);
      this.#readers.rebase(this.#applied.index);
    }
    const reader = this.#readers.newest;
    loadStates(reader, this.#state, this.shapes);
    this.#schema = reader.meta('schema');
    if (this.#schema !== undefined) this.#options.deriver.schemaChanged(this.#schema);
  }

  /** Brings the entries of the log that no checkpoint carried over into LMDB, before anybody reads. */
  #replay(): void {
    const records = this.#log.recover();
    if (records.length === 0) return;
    const commit = new CommitBuilder(this.#readers.newest, this.#context);
    for (const record of records) commit.apply(entryOf(record));
    const writes = commit.finish();
    const all = [...writes, ...toEnd(commit.entries.segmentWrites())];
    try {
      requireSpaceFor(this.#subs, all);
      this.#subs.root.transactionSync(() => {
        for (const write of all) carryOut(write);
      });
    } catch (error) {
      this.#showOnly(commit, writes, error);
      return;
    }
    this.#publish(commit);
    this.#readers.rebase(this.#applied.index);
    this.#log.checkpointed(this.#applied.index);
  }

  /** A full disk keeps nobody from reading: what the log holds stands in the overlay until there is space. */
  #showOnly(commit: CommitBuilder, writes: readonly Write[], error: unknown): void {
    const { directory } = this.#options;
    if (!isDiskFull(error, directory)) throw failureOf(error, directory, environmentFileName);
    const { index } = commit.position ?? this.#applied;
    this.#readers.fill(writes, commit.entries.pending, index);
    this.#publish(commit);
    this.#readers.advance(this.#applied.index);
  }

  // --- reading

  snapshot(isKept = false): StorageSnapshot {
    if (this.#isClosing) throw isClosed();
    const readers = this.#readers;
    if (!readers.hasRoom)
      throw new DatabaseError(
        'Busy',
        `${readersMax(this.#options)} snapshots of the database may be open, the limit 'storage.maxReaders'; try again later`,
      );
    if (!isKept) return new LmdbSnapshot(readers.newest, this.#source, readers.released);
    const keptMax = this.#options.snapshotMax ?? 512;
    if (!readers.keep(keptMax)) {
      throw new DatabaseError(
        'Busy',
        `${keptMax} states of the database are in use, the limit 'server.httpTxSnapshotMax'; try again later`,
      );
    }
    return new LmdbSnapshot(readers.newest, this.#source, readers.letGo);
  }

  applied(): AppliedPosition {
    return this.#applied;
  }

  sizeBytes(): number {
    return statSync(join(this.#options.directory, environmentFileName)).size;
  }

  flushCount(): number {
    return this.#log.writeCount + 2 * this.#lmdbCommits;
  }

  logBytes(): number {
    return this.#log.writtenBytes;
  }

  // --- writing

  apply(entries: readonly LogEntry[], isAlone = false): Promise<void> {
    const { durability = 'log' } = this.#options;
    const records = recordsOf(entries, durability, this.#context, () => this.snapshot());
    // One long text may have a million terms.
    const isLarge =
      records === 'alone' || entries.some((entry) => entry.operations.length > operationsPerSlice);
    const isOnly = records === 'alone' && entries.length === 1;
    const prepare = isLarge
      ? (commit: CommitBuilder) => this.#applyInSlices(commit, entries, isOnly)
      : (commit: CommitBuilder) => {
          for (const entry of entries) if (this.#isNew(commit, entry)) commit.apply(entry);
        };
    return this.#enqueue(prepare, records, isAlone);
  }

  async #applyInSlices(
    commit: CommitBuilder,
    entries: readonly LogEntry[],
    isOnly: boolean,
  ): Promise<void> {
    const { timers } = this.#options;
    for (const entry of entries) {
      if (this.#isNew(commit, entry)) await commit.applyInSlices(entry, timers, isOnly);
    }
  }

  /** Replay after a crash gives entries again that were applied. */
  #isNew(commit: CommitBuilder, entry: LogEntry): boolean {
    return entry.position.index > (commit.position?.index ?? this.#applied.index);
  }

  addEntries(target: IndexTarget, entries: readonly IndexEntry[]): Promise<void> {
    const prepare = (commit: CommitBuilder) => {
      for (const { key, rid } of entries) commit.entries.add(target, key, rid);
      commit.entries.endEntry();
    };
    return this.#enqueue(prepare, 'alone');
  }

  addNewEntries(entries: SortedEntries): Promise<void> {
    const { timers } = this.#options;
    const prepare = (commit: CommitBuilder) =>
      entries instanceof EntryRun
        ? commit.entries.addRun(entries)
        : commit.entries.addGrouped([entries], timers);
    return this.#enqueue(prepare, 'alone');
  }

  compactEntries(index: IndexId): Promise<boolean> {
    return this.#folds.compact(index);
  }

  mergeEdgeRuns(): Promise<void> {
    return this.#merges.merge();
  }

  watchBuild(index: IndexId): BuildWatch {
    return this.#builds.watch(index);
  }

  bulk(): BulkWriter {
    return new LmdbBulkWriter({
      context: this.#context,
      timers: this.#options.timers,
      slotCountOf: (bucket) => {
        const state = this.#state.bucket(this.#readers.newest, bucket);
        return state?.isSized === true ? state.slotCount : undefined;
      },
      enqueue: (prepare) => this.#enqueue(prepare, 'alone'),
    });
  }

  #enqueue(prepare: Unit['prepare'], records: Unit['records'], isAlone = false): Promise<void> {
    if (this.#isClosing) return Promise.reject(isClosed());
    if (this.#failure !== undefined)
      return this.#mended(this.#failure).then(() => this.#enqueue(prepare, records, isAlone));
    return new Promise((resolve, reject) => {
      this.#queue.push({ prepare, records, isAlone, resolve, reject });
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
      if (typeof group[0]?.records === 'object') await this.#commitToLog(group);
      else await this.#commitToLmdb(group);
    } catch (error) {
      this.#fail(error, group);
    }
  }

  async #commitToLog(group: Unit[]): Promise<void> {
    if (this.#checkpointer.isBehind) await this.#checkpointer.all();
    let commit = await this.#prepare(group);
    if (commit.meta.newFeatures.size > 0) {
      await this.#announce(commit.meta.newFeatures);
      commit = await this.#prepare(group);
    }
    const records = group
      .flatMap((unit) => (typeof unit.records === 'object' ? unit.records : []))
      .filter(({ index }) => index > this.#applied.index);
    if (records.length > 0) {
      if (!this.#isLogAbove && !this.#log.hasRoomFor(CommitLog.sizeOf(records)))
        await this.#checkpointer.all();
      // Only deletions look at what is stored, and may meet damage: not once the log has the entry.
      const early = commit.deletions.length > 0 ? commit.finish() : undefined;
      // A checkpoint keeps the disk busy for milliseconds, so nothing waits for it in place then.
      const isAlone = group.length === 1 && group[0]?.isAlone === true;
      const written = this.#isLogAbove
        ? undefined
        : this.#log.append(records, isAlone, this.#checkpointer.isRunning);
      // The images are made while the disk writes.
      const writes = early ?? commit.finish();
      if (written !== undefined) await written;
      const { index } = commit.position ?? this.#applied;
      this.#readers.fill(writes, commit.entries.pending, index);
      this.#publish(commit);
      this.#readers.advance(this.#applied.index);
      this.#checkpointer.changed();
    }
    this.#resolve(group, commit);
  }

  async #commitToLmdb(group: Unit[]): Promise<void> {
    await this.#checkpointer.all();
    if (this.#failure !== undefined) throw this.#failure;
    const commit = await this.#prepare(group);
    const { entries, packed } = commit;
    const segments = await inTurns(entries.segmentWrites(), this.#options.timers);
    const writes = (await inTurns(commit.finishing(), this.#options.timers)).concat(segments);
    if (writes.length > 0 || packed.chunkRuns.length > 0) {
      await writeBatch(this.#subs, writes, this.#options.timers, packed);
      this.#lmdbCommits += 1;
      this.#use.changed();
      await this.#publishInTurns(commit);
      this.#readers.rebase(this.#applied.index);
      this.#log.checkpointed(this.#applied.index);
      if (!this.#isLogAbove) this.#log.marker(this.#applied.index);
      this.#renewal.wrote(writes, packed);
    }
    this.#resolve(group, commit);
    this.#merges.check();
  }

  #resolve(group: readonly Unit[], commit: CommitBuilder): void {
    for (const unit of group) unit.resolve();
    if (commit.deletions.length > 0) this.#deletions.check();
    if (commit.entries.chunked.size > 0) this.#folds.check();
  }

  /** Builds the group's commit. A unit that meets damaged data fails alone: it is taken out and the rest is built again. */
  async #prepare(group: Unit[]): Promise<CommitBuilder> {
    for (;;) {
      const reader = this.#readers.newest;
      const commit = new CommitBuilder(reader, this.#context);
      // A checkpoint may end meanwhile and would close the reader.
      reader.hold();
      try {
        const refused = await prepareAll(group, commit);
        if (refused === undefined) return commit;
        group.splice(group.indexOf(refused.unit), 1);
        refused.unit.reject(refused.error);
        if (this.#schema !== undefined) this.#options.deriver.schemaChanged(this.#schema);
      } finally {
        reader.drop();
        this.#readers.released(reader);
      }
    }
  }

  /** Makes the caches show a commit that is durable; a reader for it follows. */
  #publish(commit: CommitBuilder): void {
    this.#take(commit);
    toEnd(commit.publishing(this.#readers.held));
  }

  /** As `#publish` for a commit that may be large. */
  async #publishInTurns(commit: CommitBuilder): Promise<void> {
    const told = commit.publishing(this.#readers.heldOrNewest);
    for (const _ of told) await this.#options.timers.yield();
    this.#take(commit);
  }

  #take({ position, schema }: CommitBuilder): void {
    if (position !== undefined) this.#applied = position;
    if (schema !== undefined) this.#schema = schema;
  }

  /**
   * After a failed write nobody knows what the files hold; what was applied before is durable. Only what did not fit on the disk
   * can be taken back, which the next change does (`#mended`).
   */
  #fail(error: unknown, group: readonly Unit[]): void {
    const { directory } = this.#options;
    const failure = this.#failure ?? failureOf(error, directory, environmentFileName);
    if (this.#failure === undefined) this.#mayMend = isDiskFull(error, directory);
    this.#failure = failure;
    for (const unit of group) unit.reject(failure);
    const refusal = this.#mayMend ? diskIsFull(failure, directory) : failure;
    for (const unit of this.#queue.splice(0)) unit.reject(refusal);
    // What was read from the failed changes is not there.
    if (group.length > 0 && this.#schema !== undefined)
      this.#options.deriver.schemaChanged(this.#schema);
  }

  /** Resolves when writing goes on; at most one try at a time, of one checkpoint. @throws what keeps it from that */
  #mended(failure: DatabaseError): Promise<void> {
    if (!this.#mayMend) return Promise.reject(failure);
    this.#mending ??= this.#mend(failure).finally(() => {
      this.#mending = undefined;
    });
    return this.#mending;
  }

  async #mend(failure: DatabaseError): Promise<void> {
    const { directory } = this.#options;
    const isMended =
      hasSpace(directory) &&
      (await this.#log.mend().then(
        () => this.#checkpointer.mend(),
        () => false,
      ));
    if (!isMended) throw diskIsFull(failure, directory);
    this.#failure = undefined;
    this.#jobs.load(this.#readers.newest);
    this.#deletions.check();
  }

  // --- the whole

  readonly #isIdle = (but?: 'merges'): boolean => {
    if (this.#work !== undefined || this.#failure !== undefined) return false;
    const isAtRest = this.#deletions.running === undefined && this.#copies.size === 0;
    const isQuiet = this.#folds.isQuiet && (but === 'merges' || this.#merges.isQuiet);
    return isAtRest && isQuiet && !this.#checkpointer.isRunning;
  };

  get directory(): string {
    return this.#options.directory;
  }

  get #isLogAbove(): boolean {
    return this.#options.durability === 'above';
  }

  async copyTo(directory: string): Promise<void> {
    mkdirSync(directory, { recursive: true });
    const copy = this.#copy(directory);
    // Known before its first wait, so that closing waits for all of it.
    this.#copies.add(copy);
    try {
      await copy;
    } finally {
      this.#copies.delete(copy);
    }
  }

  async #copy(directory: string): Promise<void> {
    await this.checkpoint();
    if (this.#isClosing) throw isClosed();
    await this.#subs.root.backup(directory, true);
  }

  async checkpoint(): Promise<void> {
    await this.#checkpointer.all();
    if (this.#failure !== undefined) throw this.#failure;
  }

  checkpointMs(): number {
    return this.#checkpointer.expectedMs;
  }

  /** Resolves when nothing is under way, background deletions and checkpoints included. */
  async settled(): Promise<void> {
    while (this.#work !== undefined || this.#deletions.running !== undefined) {
      await this.#work;
      await this.#deletions.running;
      await this.#folds.settled();
      await this.#merges.settled();
    }
    if (this.#failure === undefined) await this.#checkpointer.all();
  }

  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#folds.stop();
    this.#merges.stop();
    this.#renewal.stop();
    await this.#mending?.catch(() => {});
    await this.settled();
    // After a failure `settled` leaves a checkpoint running; it would pin a state of the closed environment.
    await this.#checkpointer.stop();
    // The environment must not be closed under the thread that reads it.
    await Promise.allSettled(this.#copies);
    this.#readers.close();
    await this.#log.close();
    await this.#subs.root.close();
    this.#use.close(this.#failure === undefined);
  }
}
