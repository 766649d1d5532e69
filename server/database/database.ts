import { DatabaseError } from '#core/errors.ts';
import type { Effect } from '#core/effects.ts';
import type { Principal } from '#core/principal.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { serverMaxSnapshotAge } from '#config/server-settings.ts';
import {
  asyncCloseTimeout,
  asyncBackPressure,
  asyncOperationsQueueSize,
  asyncQueueTimeout,
  asyncTxBatchSize,
  asyncWorkerThreads,
} from '#config/settings.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { DatabaseState } from '#transaction/database-state.ts';
import type { Isolation } from '#transaction/transaction.ts';
import { AsyncQueue } from './session/async-queue.ts';
import { BulkLoader, type BulkLoadOptions } from './bulk/bulk-loader.ts';
import { timedCommit } from './catalogue/counters.ts';
import { type DatabaseSettings, settingsDocumentName } from './catalogue/database-settings.ts';
import { FollowedEntries } from './catalogue/following.ts';
import type { ReplicatedLog } from './catalogue/replication.ts';
import { readReplayKeys, recordCountOf } from './catalogue/stored-state.ts';
import { endedError } from './catalogue/database-end.ts';
import type { DatabaseEnd, OpenDatabase } from './catalogue/databases.ts';
import { requireWritable } from './catalogue/writable.ts';
import type { ChangeQueue } from './events.ts';
import type { InsertOptions, InsertStream } from './inserts/insert-port.ts';
import { TransactionStream } from './inserts/transaction-stream.ts';
import { placeOf } from './statement/place-of.ts';
import { queuedOptions, runQueued } from './session/queued-statements.ts';
import type { ReplayKeys } from './session/replay-keys.ts';
import type { RecordedRequest } from './session/recorded-request.ts';
import type { DatabaseStorage, ResultStream, RunOptions, Statement } from './session.ts';
import { StatementPipeline } from './statement/pipeline.ts';
import type { DatabaseStatements } from './statement/database-statements.ts';
import type { DatabaseSurroundings } from './surroundings.ts';
import type { DatabaseThreads } from './threads/database-threads.ts';

const insertOnly: ReadonlySet<Effect> = new Set<Effect>(['insert']);

/** One open database: its storage, transactions, statements, sessions and settings. */
export class Database implements OpenDatabase {
  readonly name: string;
  readonly pipeline: StatementPipeline;
  readonly state: DatabaseState;
  readonly engine: StorageEngine;
  readonly queue: AsyncQueue;
  readonly changes: ChangeQueue;
  readonly #own: DatabaseSettings;
  readonly #surroundings: DatabaseSurroundings;
  readonly #statements: DatabaseStatements;
  readonly #replayKeys: ReplayKeys;
  readonly #replicated: ReplicatedLog | undefined;
  readonly #threads: DatabaseThreads | undefined;
  #settingChanges: Promise<unknown> = Promise.resolve();
  #end: DatabaseEnd | undefined;
  #whenClosed: () => void = () => {};

  constructor(
    name: string,
    options: {
      readonly surroundings: DatabaseSurroundings;
      readonly own: DatabaseSettings;
      readonly engine: StorageEngine;
      readonly state: DatabaseState;
      readonly statements: DatabaseStatements;
      readonly changes: ChangeQueue;
      readonly replicated?: ReplicatedLog | undefined;
      readonly threads?: DatabaseThreads | undefined;
    },
  ) {
    const { surroundings, own, state } = options;
    this.name = name;
    this.changes = options.changes;
    this.state = state;
    this.engine = options.engine;
    this.#own = own;
    this.#surroundings = surroundings;
    this.#statements = options.statements;
    this.#statements.changeSetting = (key, text) => this.changeSetting(key, text);
    const { runtime, log, sessions, authorizer, active, memory, counters } = surroundings;
    const { settings } = surroundings;
    this.#replayKeys = readReplayKeys(options.engine, { settings, clock: runtime.clock });
    this.#replicated = options.replicated;
    this.#threads = options.threads;
    const { views, globals } = options.statements;
    this.#replicated?.opened(
      new FollowedEntries({
        databaseName: name,
        state,
        own,
        replayKeys: this.#replayKeys,
        views,
        globals,
        log,
      }),
    );
    this.pipeline = new StatementPipeline({
      databaseName: name,
      compiler: options.statements.compiler,
      transactions: state,
      sessions,
      authorizer,
      active,
      memory,
      store: surroundings.store,
      counters,
      replayKeys: this.#replayKeys,
      requireWritable: () => this.#requireWritable(),
      globals: options.statements.globals,
      log,
      operate: (call) => surroundings.operations.run(this, call),
      requireOpen: () => this.#requireOpen(),
      limits: () => own.limits,
      snapshotAgeMsMax: () => own.values.get(serverMaxSnapshotAge) * 1000,
      threads: options.threads,
      runtime,
    });
    this.queue = new AsyncQueue({
      capacity: () => own.values.get(asyncOperationsQueueSize),
      waitMsMax: () => own.values.get(asyncQueueTimeout),
      batchSize: () => own.values.get(asyncTxBatchSize),
      workerCountMax: () => own.values.get(asyncWorkerThreads),
      backPressure: () => own.values.get(asyncBackPressure),
      execute: (queued) =>
        runQueued(queued, this, { views: options.statements.views, ...surroundings }),
      runtime,
      log,
    });
  }

  get settings(): SettingsReader {
    return this.#own.values;
  }

  formats(): TemporalFormats {
    return this.#own.limits.formats;
  }

  async setSetting(key: string, text: string): Promise<void> {
    await this.changeSetting(key, text);
  }

  /** As `setSetting`. @returns texts of the value before and now */
  changeSetting(
    key: string,
    text: string,
  ): Promise<{ readonly previous: string; readonly current: string }> {
    // One after the other: each writes all of them.
    const change = this.#settingChanges.then(async () => {
      this.#requireWritable();
      const document = this.#own.encodedWith(key, text);
      const previous = this.#own.textOf(key);
      await this.state.writeMeta(new Map([[settingsDocumentName, document]]));
      return { previous, current: this.#own.set(key, text).current };
    });
    this.#settingChanges = change.catch(() => {});
    return change;
  }

  recorded(replayKey: string): RecordedRequest | undefined {
    return this.#replayKeys.recorded(replayKey);
  }

  committedUnder(replayKey: string): LogIndex | undefined {
    return this.#replayKeys.committedUnder(replayKey);
  }

  async run(statement: Statement, options: RunOptions): Promise<ResultStream> {
    return this.runNow(statement, options);
  }

  runNow(statement: Statement, options: RunOptions): ResultStream | Promise<ResultStream> {
    this.#requireOpen();
    const begin = (startedMs: number) =>
      this.#afterViews(statement, options) ?? this.pipeline.runNow(statement, options, startedMs);
    return this.#surroundings.meter.measured(this.name, statement, options, begin);
  }

  placeOf(statement: Statement): 'any' | 'leader' {
    this.#requireOpen();
    return placeOf(statement, this.#statements);
  }

  /** Undefined when it reads no view that is behind. */
  #afterViews(statement: Statement, options: RunOptions): Promise<ResultStream> | undefined {
    const { views } = this.#statements;
    if (!views.isPending) return undefined;
    const named = views.pendingIn(statement.text);
    if (named.length === 0 || !this.#statements.reads(statement, named)) return undefined;
    return this.#runCaughtUp(statement, options, named);
  }

  /** After the materialized views that it reads show what was committed before it. */
  async #runCaughtUp(
    statement: Statement,
    options: RunOptions,
    views: readonly string[],
  ): Promise<ResultStream> {
    await this.#statements.views.caughtUp(views);
    this.#requireOpen();
    return this.pipeline.runNow(statement, options);
  }

  async runLater(statement: Statement, options: RunOptions): Promise<void> {
    this.#requireOpen();
    this.#surroundings.languages.frontend(statement.language);
    await this.queue.add({ statement, options: queuedOptions(options) });
  }

  bulkLoader(options: BulkLoadOptions = {}): BulkLoader {
    this.#requireOpen();
    this.#requireWritable();
    const { authorizer, counters, runtime } = this.#surroundings;
    const { principal } = options;
    return new BulkLoader({
      ...options,
      state: this.state,
      engine: this.engine,
      runtime,
      formats: this.formats(),
      changes: this.changes,
      replayKeys: this.#replayKeys,
      onCommit: (buckets) => {
        counters.writeTx += 1;
        this.#statements.views.committed(buckets, undefined);
      },
      defaults: (source) => this.#statements.evaluator.default(source),
      requireOpen: () => this.#requireOpen(),
      authorize: (type) => {
        if (principal === undefined) return;
        authorizer.require(principal, this.name, { effects: insertOnly, types: [type] });
      },
    });
  }

  insertStream(options: InsertOptions): InsertStream {
    this.#requireOpen();
    this.#requireWritable();
    const { authorizer, memory, counters, runtime } = this.#surroundings;
    return new TransactionStream({
      ...options,
      databaseName: this.name,
      authorizer,
      memory,
      counters,
      runtime,
      formats: () => this.formats(),
      begin: (isolation) => this.state.begin(isolation),
      requireOpen: () => this.#requireOpen(),
      limits: () => this.#own.limits,
    });
  }

  begin(principal: Principal, isolation: Isolation): string {
    this.#requireOpen();
    return this.#surroundings.sessions.begin(principal, {
      database: this.name,
      isolation,
      open: () => this.state.begin(isolation),
    });
  }

  async commit(principal: Principal, sessionId: string): Promise<LogIndex> {
    const { sessions, counters, runtime } = this.#surroundings;
    const lease = await sessions.acquire(principal, this.name, sessionId);
    const transaction = lease.take();
    if (transaction === undefined) {
      using view = this.state.view();
      return view.snapshotIndex;
    }
    try {
      const { index } = await timedCommit(transaction, counters, runtime.clock);
      return index;
    } catch (error) {
      transaction.rollback();
      counters.txRollbacks += 1;
      if (error instanceof DatabaseError && error.code === 'ConcurrentModification') {
        counters.concurrentModificationExceptions += 1;
      }
      throw error;
    }
  }

  async rollback(principal: Principal, sessionId: string): Promise<void> {
    const { sessions, counters } = this.#surroundings;
    const lease = await sessions.acquire(principal, this.name, sessionId);
    counters.txRollbacks += 1;
    lease.end();
  }

  hasSession(principal: Principal, sessionId: string): boolean {
    return this.#surroundings.sessions.has(principal, this.name, sessionId);
  }

  async close(why: DatabaseEnd): Promise<void> {
    const { sessions, active, progress, log } = this.#surroundings;
    try {
      if (why === 'stopped') await this.queue.close(this.#own.values.get(asyncCloseTimeout));
      this.#end = why;
      const left = why === 'stopped' ? undefined : this.queue.close(0);
      sessions.endOfDatabase(this.name);
      active.endOfDatabase(this.name, endedError(this.name, why));
      progress.cancelOf(this.name, endedError(this.name, why).message);
      this.changes.close();
      await left;
      await this.#settingChanges;
      await this.#statements.views.close();
      await this.state.close();
      await this.#replicated?.closing();
      await this.#threads?.close();
      await this.engine.close();
    } catch (error) {
      log.error('database did not close cleanly', { database: this.name, reason: String(error) });
    }
    this.#whenClosed();
  }

  storage(): DatabaseStorage {
    const { engine, state, name } = this;
    return {
      database: name,
      mapBytes: engine.sizeBytes(),
      flushCount: engine.flushCount(),
      logBytes: engine.logBytes(),
      recordCount: () => recordCountOf(state),
    };
  }

  onClosed(listener: () => void): void {
    this.#whenClosed = listener;
  }

  #requireOpen(): void {
    if (this.#end !== undefined) throw endedError(this.name, this.#end);
    this.#replicated?.requireSound();
  }

  /** `server.defaultDatabaseMode` (http-api.md 21.3). */
  #requireWritable(): void {
    const isAlone = this.#surroundings.replication !== undefined && this.#replicated === undefined;
    requireWritable(this.name, this.#own.values, isAlone);
  }
}
