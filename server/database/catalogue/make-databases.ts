import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import { maskSecrets } from '#core/text/masked-text.ts';
import type { Authorizer } from '#core/principal.ts';
import type { Clock, Runtime } from '#core/runtime.ts';
import type { Settings } from '#config/effective-settings.ts';
import {
  serverDatabaseLoadAtStartup,
  serverHttpTxExpireTimeout,
  serverHttpTxLockTimeout,
  serverHttpTxSessionMax,
  serverMaxDatabases,
  serverMaxSnapshotAge,
  serverSlowStatement,
} from '#config/server-settings.ts';
import { redisTransientMaxBytes } from '#config/redis-settings.ts';
import {
  maxNameLength,
  polyglotCommandMaxMemory,
  serverMaxContainerMemory,
  serverQueryMaxMemory,
} from '#config/settings.ts';
import type { LanguageRegistry } from '#language/registry.ts';
import { ScriptEngine } from '#platform/script/engine.ts';
import { requireSoundEnvironment } from '#storage/environment/use.ts';
import type { OpenEnvironment } from '#storage/format/sub-databases.ts';
import { ActiveStatements } from '../bounds/active-statements.ts';
import { type Counters, newCounters } from './counters.ts';
import type { Database } from '../database.ts';
import { openDatabase } from '../open-database.ts';
import type { DatabaseSurroundings } from '../surroundings.ts';
import { DatabaseDirectory } from './database-directory.ts';
import { Databases, type DatabasesLog } from './databases.ts';
import { FairTurns } from '../bounds/fair-turns.ts';
import { type ContainerMemory, ServerMemory } from '../bounds/memory-accounts.ts';
import { initializeEngine } from './open-engine.ts';
import type { Replication } from './replication.ts';
import { idSequence, ProgressRegistry } from '../progress/progress-registry.ts';
import type { UserChanges } from '../operations/change-user.ts';
import type { OperatedDatabase } from '../operations/operated-database.ts';
import { type OperationPaths, ServerOperations } from '../operations/server-operations.ts';
import type { DatabaseCounters, DatabaseHandle } from '../session.ts';
import { TransactionSessions } from '../session/sessions.ts';
import { KeyValueStore } from '../key-value/key-value-store.ts';
import { type SlowStatementReport, StatementMeter } from '../statement/meter.ts';
import { makeThreads, readThreadCount, threadMemory } from '../threads/make-threads.ts';
import type { ReaderThreads } from '../threads/reader-threads.ts';

export interface ServerDatabasesOptions {
  /** Holds one directory per database; made when it is missing. */
  readonly directory: string;
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly log: Log;
  readonly authorizer: Authorizer;
  readonly languages: LanguageRegistry;
  readonly serverVersion: string;
  /** Old space of the process, bytes: half of it is what all statements may hold, unless a setting says otherwise. */
  readonly heapBytesMax: number;
  /** Of the process, where it has a limit. */
  readonly container?: ContainerMemory | undefined;
  /** Those that this process may use; absent: one. */
  readonly processorCount?: number;
  /** The program of a reader thread; absent: there are none. */
  readonly readerScript?: URL | undefined;
  /** Where backups and exports go; below `directory` when absent. */
  readonly paths?: OperationPaths;
  /** Ids of transaction sessions; in a cluster they tell who owns them. */
  readonly newSessionId?: (() => string) | undefined;
  /** Absent: this server decides alone which databases there are. */
  readonly throughLog?: (() => DatabasesLog | undefined) | undefined;
  /** Told who backed up, restored, exported or imported what. */
  readonly audit?: (message: string, database: string) => void;
  /** The users that statements may change. */
  readonly users?: UserChanges | undefined;
  /** Told of a database that cannot be opened. */
  readonly unopenable?: (reason: string, database: string) => void;
  /** The cluster that writes the databases; asked when the first of them is opened. */
  readonly replication?: (() => Replication | undefined) | undefined;
  /** What stands in the place of LMDB; absent: nothing does. */
  readonly openEnvironment?: OpenEnvironment | undefined;
}

/** The databases of one server and what they share. */
export interface ServerDatabases {
  readonly databases: Databases;
  readonly active: ActiveStatements;
  readonly progress: ProgressRegistry;
  readonly meter: StatementMeter;
  readonly operations: ServerOperations;
  readonly threads: ReaderThreads | undefined;
  /** Transient keys. */
  readonly store: KeyValueStore;
  /** @throws DatabaseError `DatabaseNotFound`, `DatabaseClosed`, `DatabaseInstalling` */
  readonly operated: (name: string) => OperatedDatabase;
  /** Opens a database that nobody else sees; the caller closes it. */
  readonly openAt: (name: string, directory: string) => Promise<Database>;
}

/** What each database is handed as it was given. */
function givenTo(options: ServerDatabasesOptions) {
  const { authorizer, languages, serverVersion, users, openEnvironment } = options;
  return { authorizer, languages, serverVersion, users, openEnvironment };
}

/** Puts the databases of a server together; `databases.start()` opens them. */
export function makeDatabases(options: ServerDatabasesOptions): ServerDatabases {
  const { settings, log } = options;
  const runtime: Runtime = { ...options.runtime, timers: new FairTurns(options.runtime.timers) };
  // One sequence for statements and operations: whoever cancels names one number.
  const nextId = idSequence();
  const active = new ActiveStatements(runtime, nextId);
  const progress = new ProgressRegistry(runtime.clock, nextId);
  const counters = newCounters();
  const meter = makeMeter(runtime.clock, settings, log);
  const store = makeStore(settings, () => databases);
  const { memory, threads } = makeMemory(options, active);
  const sessions = makeSessions(runtime, memory, options);
  const opened = new Set<Database>();
  const { timers, clock } = runtime;
  const engineSurroundings = { settings, timers, clock, openEnvironment: options.openEnvironment };
  const operations = new ServerOperations({
    settings,
    runtime,
    progress,
    paths: options.paths ?? pathsBelow(options.directory),
    serverVersion: options.serverVersion,
    open: (name) => openedDatabase(databases.open(name), opened),
    isOpen: (name) => [...opened].some((database) => database.name === name),
    initialize: (directory) => initializeEngine(directory, engineSurroundings),
    // What is built in a directory of its own is no member of a cluster.
    openAt: (name, directory) => openAt(name, directory),
    databases: () => databases,
    audit: options.audit ?? (() => {}),
  });
  const surroundings: DatabaseSurroundings = {
    settings,
    runtime,
    log,
    ...givenTo(options),
    memory,
    sessions,
    active,
    progress,
    counters,
    meter,
    operations,
    store,
    scripts: makeScripts(options),
    threads,
  };
  const openAt = (name: string, directory: string) =>
    openDatabase(name, directory, { ...surroundings, replication: undefined });
  const databases: Databases = new Databases({
    dropped: (name) => store.drop(name),
    throughLog: options.throughLog,
    directory: new DatabaseDirectory({ root: options.directory, random: runtime.random, log }),
    initialize: (path) => initializeEngine(path, engineSurroundings),
    openDatabase: async (name, path) => {
      await requireSoundEnvironment(path, {
        timers: runtime.timers,
        walked: (reason, pages) =>
          log.info('database looked at', { database: name, reason, ...pages }),
      });
      const replication = options.replication?.();
      const database = await openDatabase(name, path, { ...surroundings, replication });
      opened.add(database);
      database.onClosed(() => opened.delete(database));
      return database;
    },
    unopenable: options.unopenable,
    loadsAtStart: () => settings.get(serverDatabaseLoadAtStartup),
    countMax: () => settings.get(serverMaxDatabases),
    nameLengthMax: () => settings.get(maxNameLength),
    languages: () => options.languages.names(),
    counters: () => countersNow(counters, sessions, opened),
    storage: () => [...opened].map((database) => database.storage()),
    running: { statements: active, operations: progress },
    endSessionsOfUser: (user) => sessions.endOfUser(user),
    endAllSessions: () => sessions.endAll(),
    log,
  });
  const operated = (name: string) => openedDatabase(databases.open(name), opened);
  return { databases, active, progress, meter, operations, threads, store, operated, openAt };
}

/** Of a container's memory, the largest heap of a process that runs scripts: it has some 45 MiB beside it. */
const scriptHeapShare = 1 / 16;
/** From here on there is room for two such processes. */
const twoProcessesFromBytes = 1024 ** 3;

function makeScripts({ runtime, settings, container }: ServerDatabasesOptions): ScriptEngine {
  const limitBytes = container?.limitBytes ?? Number.POSITIVE_INFINITY;
  const shareMiB = Math.max(16, Math.floor((limitBytes * scriptHeapShare) / 1024 ** 2));
  const heapMiB = () => Math.min(settings.get(polyglotCommandMaxMemory), shareMiB);
  const processCountMax = limitBytes < twoProcessesFromBytes ? 1 : 2;
  return new ScriptEngine({ timers: runtime.timers, heapMiB, processCountMax });
}

function makeStore(settings: Settings, databases: () => Databases): KeyValueStore {
  return new KeyValueStore({
    bytesMax: () => settings.get(redisTransientMaxBytes),
    isDatabase: (name) => databases().exists(name),
  });
}

function openedDatabase(handle: DatabaseHandle, opened: ReadonlySet<Database>): Database {
  for (const database of opened) if (database === handle) return database;
  throw new DatabaseError('DatabaseClosed', `Database '${handle.name}' is closed`);
}

function pathsBelow(directory: string): OperationPaths {
  return {
    root: directory,
    databases: directory,
    backups: join(directory, '.backups'),
    exports: join(directory, '.exports'),
    closed: [],
  };
}

/** Of statements, and of transactions that are open between them; the threads count for it, too. */
function makeMemory(
  options: ServerDatabasesOptions,
  active: ActiveStatements,
): { readonly memory: ServerMemory; readonly threads: ReaderThreads | undefined } {
  const { settings, container } = options;
  const { processorCount = 1 } = options;
  const isMemoryLimited = container !== undefined;
  const held = threadMemory(readThreadCount(settings, { processorCount, isMemoryLimited }));
  const memory = new ServerMemory({
    bytesMax: settings.get(serverQueryMaxMemory) || Math.floor(options.heapBytesMax / 2),
    threads: held,
    settingKey: serverQueryMaxMemory.key,
    container,
    containerPercentMax: settings.get(serverMaxContainerMemory),
    percentSettingKey: serverMaxContainerMemory.key,
  });
  return { memory, threads: makeThreads({ ...options, bytesMax: memory.bytesMax, held, active }) };
}

function makeSessions(
  runtime: Runtime,
  memory: ServerMemory,
  { settings, newSessionId }: Pick<ServerDatabasesOptions, 'settings' | 'newSessionId'>,
): TransactionSessions {
  return new TransactionSessions({
    runtime,
    memory,
    newId: newSessionId,
    limits: {
      expireMs: () => settings.get(serverHttpTxExpireTimeout) * 1000,
      countMax: () => settings.get(serverHttpTxSessionMax),
      lockWaitMs: () => settings.get(serverHttpTxLockTimeout),
      snapshotAgeMsMax: () => settings.get(serverMaxSnapshotAge) * 1000,
    },
  });
}

function countersNow(
  counters: Counters,
  sessions: TransactionSessions,
  opened: ReadonlySet<Database>,
): Omit<DatabaseCounters, 'openDatabases'> {
  let asyncActive = 0;
  let asyncQueued = 0;
  let asyncCompleted = 0;
  for (const { queue } of opened) {
    asyncActive += queue.activeCount;
    asyncQueued += queue.queuedCount;
    asyncCompleted += queue.completedCount;
  }
  return { ...counters, asyncActive, asyncQueued, asyncCompleted, openSessions: sessions.count };
}

function makeMeter(clock: Clock, settings: Settings, log: Log): StatementMeter {
  const meter = new StatementMeter(clock, (slow) => logSlowStatement(log, slow));
  const readSlowMs = () => {
    meter.slowMs = settings.get(serverSlowStatement);
  };
  readSlowMs();
  settings.onChange(readSlowMs);
  return meter;
}

const slowTextLengthMax = 200;

/** The beginning of its text, without secrets, and who waited for it. */
function logSlowStatement(log: Log, slow: Parameters<SlowStatementReport>[0]): void {
  const { database, statement, options, ms } = slow;
  const { language, text } = statement;
  const shown = maskSecrets(text.slice(0, 2 * slowTextLengthMax)).slice(0, slowTextLengthMax);
  log.warn('slow statement', {
    db: database,
    language,
    ms: Math.round(ms),
    user: options.principal.name,
    requestId: options.requestId,
    statement: shown.length < text.length ? `${shown}...` : shown,
  });
}
