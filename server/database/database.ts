import { haGroupCommitOfferTimeout } from '#config/cluster-settings.ts';
import { assert } from '#core/assert.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Effect } from '#core/effects.ts';
import type { Log } from '#core/log.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Settings, SettingsReader } from '#config/effective-settings.ts';
import { serverEventBusQueueSize, serverMaxSnapshotAge } from '#config/server-settings.ts';
import {
  asyncCloseTimeout,
  asyncBackPressure,
  asyncOperationsQueueSize,
  asyncQueueTimeout,
  asyncTxBatchSize,
  asyncWorkerThreads,
  maxNameLength,
  sqlPlanCacheSize,
  truncateBatchSize,
  typeDefaultBuckets,
} from '#config/settings.ts';
import type { LanguageRegistry } from '#language/registry.ts';
import type { StorageEngine } from '#storage/engine.ts';
import { type DatabaseState, openDatabaseState } from '#transaction/database-state.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Isolation } from '#transaction/transaction.ts';
import { WatchedView } from '#transaction/read/watched-view.ts';
import { TypeLabelBook } from '#transaction/write/type-label-book.ts';
import type { ActiveStatements } from './bounds/active-statements.ts';
import { AsyncQueue } from './session/async-queue.ts';
import type { ScriptEngine } from '#platform/script/engine.ts';
import { BodyRunner } from './script/body-runner.ts';
import { BulkLoader, type BulkLoadOptions } from './bulk/bulk-loader.ts';
import type { CompiledStatement } from './statement/compiled-statement.ts';
import { type Counters, OwnCounters, plainCounts, timedCommit } from './catalogue/counters.ts';
import { type DatabaseSettings, settingsDocumentName } from './catalogue/database-settings.ts';
import { FollowedEntries } from './catalogue/following.ts';
import type { ReplicatedLog, Replication } from './catalogue/replication.ts';
import { readReplayKeys, readSettings, recordCountOf } from './catalogue/stored-state.ts';
import { endedError } from './catalogue/database-end.ts';
import type { DatabaseEnd, OpenDatabase } from './catalogue/databases.ts';
import { requireWritable } from './catalogue/writable.ts';
import { ChangeQueue } from './events.ts';
import type { KeyValueStore } from './key-value/key-value-store.ts';
import { GlobalVariables } from './script/global-variables.ts';
import type { InsertOptions, InsertStream } from './inserts/insert-port.ts';
import { TransactionStream } from './inserts/transaction-stream.ts';
import type { ServerMemory } from './bounds/memory-accounts.ts';
import { newMaintainer, openEngine } from './catalogue/open-engine.ts';
import type { StatementOperations } from './operations/operated-database.ts';
import { shownUsers, type UserChanges } from './operations/change-user.ts';
import { requireFilesOf } from './operations/csv-file.ts';
import { maintain } from './operations/maintenance.ts';
import type { MaintenanceRoom } from './operations/task.ts';
import { planMaker } from './statement/plan-maker.ts';
import { placeOf } from './statement/place-of.ts';
import type { ProgressRegistry } from './progress/progress-registry.ts';
import { queuedOptions, runQueued } from './session/queued-statements.ts';
import { type SchemaFacts, schemaRows } from './catalogue/schema-source.ts';
import type { ReplayKeys } from './session/replay-keys.ts';
import type { RecordedRequest } from './session/recorded-request.ts';
import type { DatabaseStorage, ResultStream, RunOptions, Statement } from './session.ts';
import type { TransactionSessions } from './session/sessions.ts';
import { ScriptBodies } from './script/bodies.ts';
import { StatementCompiler } from './statement/compiler.ts';
import { StatementContext, type StatementSurroundings } from './statement/context.ts';
import type { StatementMeter } from './statement/meter.ts';
import { StatementPipeline } from './statement/pipeline.ts';
import { TextEvaluator } from './statement/text-evaluator.ts';
import { MaterializedViews } from './views/materialized-views.ts';
import { storedRefreshTime } from './views/view-refresh.ts';

/** What all databases of a server share. */
export interface DatabaseSurroundings {
  readonly settings: Settings;
  /** Its `yield` is fair among statements. */
  readonly runtime: Runtime;
  readonly log: Log;
  readonly authorizer: Authorizer;
  readonly languages: LanguageRegistry;
  readonly serverVersion: string;
  readonly memory: ServerMemory;
  readonly sessions: TransactionSessions;
  readonly active: ActiveStatements;
  readonly progress: ProgressRegistry;
  readonly counters: Counters;
  readonly operations: StatementOperations;
  readonly meter: StatementMeter;
  readonly scripts: ScriptEngine;
  readonly store: KeyValueStore;
  /** Of the server; absent: there are none. */
  readonly users?: UserChanges | undefined;
  /** The cluster; absent: this server alone writes its databases. */
  readonly replication?: Replication | undefined;
}

/** Opens the database in `path`. @throws DatabaseError `CorruptedRecord`, with nothing left open */
export async function openDatabase(
  name: string,
  path: string,
  given: DatabaseSurroundings,
): Promise<Database> {
  const surroundings = { ...given, counters: new OwnCounters(given.counters) };
  const { settings, runtime, log } = surroundings;
  const labels = new TypeLabelBook();
  const { timers, clock } = runtime;
  const { flushSeconds } = surroundings.counters;
  const maintainer = newMaintainer(settings);
  const isLogAbove = given.replication?.isMember(name) === true;
  const around = { settings, timers, clock, flushSeconds, isLogAbove };
  const engine = openEngine(path, around, labels.labels, maintainer);
  try {
    const own = readSettings(engine, settings, log);
    const replicated = given.replication?.join(name, engine);
    const statements = new Statements(name, path, { surroundings, own, engine });
    const changes = new ChangeQueue({
      databaseName: name,
      sizeMax: () => settings.get(serverEventBusQueueSize),
      runtime,
      log,
    });
    const state = await openDatabaseState({
      changes,
      searchMemory: maintainer.searchMemory,
      engine,
      ...(replicated && { replicator: replicated.replicator }),
      labels,
      runtime,
      formats: () => own.limits.formats,
      evaluateDefault: (source) => statements.evaluator.default(source),
      checkDefault: (source) => statements.evaluator.checkDefault(source),
      runTrigger: (trigger, subject, transaction) =>
        statements.bodies.fire(trigger, subject, transaction, transaction),
      committed: (buckets, records) => statements.views.committed(buckets, records),
      schemaChanged: () => statements.views.schemaChanged(),
      defaultBucketCount: () => own.values.get(typeDefaultBuckets),
      nameLengthMax: () => own.values.get(maxNameLength),
      commitLockTimeoutMs: () => own.limits.conflictWaitMs,
      offerTimeoutMs: () => own.values.get(haGroupCommitOfferTimeout),
    });
    statements.state = state;
    if (replicated === undefined) statements.views.start();
    const parts = { surroundings, own, engine, state, statements, changes, replicated };
    return new Database(name, parts);
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** How statements of one database are compiled and what they see beside records; transactions evaluate defaults with it. */
class Statements {
  readonly compiler: StatementCompiler;
  readonly evaluator: TextEvaluator;
  readonly bodies: BodyRunner;
  readonly views: MaterializedViews;
  readonly globals = new GlobalVariables();
  /** Set once, before the first statement. */
  state: DatabaseState | undefined;
  /** Persists a setting of the database; set like `state`. */
  changeSetting: ((key: string, text: string) => Promise<unknown>) | undefined;

  constructor(
    name: string,
    path: string,
    options: {
      readonly surroundings: DatabaseSurroundings;
      readonly own: DatabaseSettings;
      readonly engine: StorageEngine;
    },
  ) {
    const { surroundings, own, engine } = options;
    const { runtime, serverVersion, languages, counters } = surroundings;
    const facts: SchemaFacts = {
      databaseName: name,
      path,
      sizeBytes: () => engine.sizeBytes(),
      formats: () => own.limits.formats,
      settings: () => own.values.report('database'),
      counters: () => plainCounts(counters),
      now: () => runtime.clock.now(),
      propertyNames: () => engine.shapes.propertyNames(),
      viewRows: (catalog) => this.views.rows(catalog),
    };
    const ofStatements: StatementSurroundings = {
      runtime,
      databaseName: name,
      serverVersion,
      defaults: (source) => this.evaluator.default(source),
      schemaSource: (view, kind, object) => schemaRows(view, facts, { kind, name: object }),
      evaluateCondition: (text, current, view) => this.evaluator.condition(text, current, view),
      globals: this.globals,
      watched: (view) =>
        new WatchedView(view, (...read) => this.bodies.fireInPlace(...read), runtime.clock),
      callFunction: (called, args, place) => this.bodies.call(called, args, place),
      maintain: (work, order) => maintain(work, order, this.#room(name, options)),
      openRows: (order, asker) => {
        const { operations, authorizer } = surroundings;
        const requireFiles = () => requireFilesOf(asker, authorizer, name);
        return operations.rowFile({ ...order, requireFiles });
      },
      users: (asker) => shownUsers(asker, surroundings.users),
    };
    this.compiler = new StatementCompiler({
      languages,
      planner: planMaker,
      limits: () => own.limits,
      countMax: () => own.values.get(sqlPlanCacheSize),
      makeContext: (slotCount) => new StatementContext(slotCount, ofStatements, own.limits),
    });
    this.views = new MaterializedViews({
      databaseName: name,
      compile: (text, view) => this.#compiledQuery(text, view),
      compileSourced: (text, view, ofChangedOnly) =>
        this.compiler.compiledSourced(text, view, ofChangedOnly),
      begin: () => this.#opened().beginRefresh(),
      view: () => this.view(),
      catalog: () => this.#opened().catalog,
      lastRefreshTime: (view) => storedRefreshTime(engine, view),
      limits: () => own.limits,
      memory: surroundings.memory,
      runtime,
      log: surroundings.log,
    });
    this.bodies = new BodyRunner({
      compile: (body, view) => this.compiler.compiledBody(body, view),
      limits: () => own.limits,
      memory: surroundings.memory,
      runtime,
      globals: this.globals,
      scripts: new ScriptBodies(surroundings.scripts, name),
    });
    this.evaluator = new TextEvaluator({
      compiler: this.compiler,
      limits: () => own.limits,
      view: () => this.view(),
    });
  }

  view(): ReadView {
    assert(this.state !== undefined, 'the database is open before its first statement');
    return this.state.view();
  }

  /** Whether the statement reads one of these types; of a script, whether it may. */
  reads(statement: Statement, types: readonly string[]): boolean {
    using view = this.view();
    try {
      const compiled = this.compiler.compiled(statement, view);
      if (compiled.kind !== 'statement') return compiled.kind !== 'operation';
      return compiled.accesses.some(
        (access) =>
          access.effects.has('read') && access.types?.some((name) => types.includes(name)),
      );
    } catch {
      // It will be refused.
      return false;
    }
  }

  #compiledQuery(text: string, view: ReadView): CompiledStatement {
    const compiled = this.compiler.compiled({ language: 'sql', text, parameters: new Map() }, view);
    assert(compiled.kind === 'statement', 'the query of a view is no script');
    return compiled;
  }

  #opened(): DatabaseState {
    assert(this.state !== undefined, 'the database is open before its first statement');
    return this.state;
  }

  #room(
    databaseName: string,
    options: {
      readonly surroundings: DatabaseSurroundings;
      readonly own: DatabaseSettings;
      readonly engine: StorageEngine;
    },
  ): MaintenanceRoom {
    const { surroundings, own, engine } = options;
    const { state, changeSetting } = this;
    assert(state !== undefined, 'the database is open before its first statement');
    assert(changeSetting !== undefined, 'the database is open before its first statement');
    return {
      databaseName,
      state,
      engine,
      runtime: surroundings.runtime,
      progress: surroundings.progress,
      users: surroundings.users,
      views: this.views,
      settings: { get: (spec) => own.values.get(spec), change: changeSetting },
      truncateBatchSize: () => own.values.get(truncateBatchSize),
    };
  }
}

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
  readonly #statements: Statements;
  readonly #replayKeys: ReplayKeys;
  readonly #replicated: ReplicatedLog | undefined;
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
      readonly statements: Statements;
      readonly changes: ChangeQueue;
      readonly replicated?: ReplicatedLog | undefined;
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
