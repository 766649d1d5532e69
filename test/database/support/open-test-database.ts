import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Settings } from '#config/effective-settings.ts';
import { type Log, silentLog } from '#core/log.ts';
import type { Authorizer, Principal } from '#core/principal.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Value } from '#core/value/value.ts';
import type { ActiveStatements } from '#database/bounds/active-statements.ts';
import type { Database } from '#database/database.ts';
import type { Databases } from '#database/catalogue/databases.ts';
import type { KeyValueStore } from '#database/key-value/key-value-store.ts';
import { makeDatabases } from '#database/catalogue/make-databases.ts';
import type { Replication } from '#database/catalogue/replication.ts';
import type { UserChanges } from '#database/operations/change-user.ts';
import type { ProgressRegistry } from '#database/progress/progress-registry.ts';
import type { ServerOperations } from '#database/operations/server-operations.ts';
import type { ResultStream, RunOptions } from '#database/session.ts';
import type { StatementMeter } from '#database/statement/meter.ts';
import type { ReaderThreads } from '#database/threads/reader-threads.ts';
import { languageFrontends } from '#language/front-ends.ts';
import { LanguageRegistry } from '#language/registry.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { type PlainRow, plainValue, printValue } from './plain-values.ts';

/** A real database in a directory of its own, driven in process; nothing but doors is missing. */
export interface TestDatabase {
  readonly directory: string;
  readonly databases: Databases;
  readonly active: ActiveStatements;
  readonly progress: ProgressRegistry;
  readonly meter: StatementMeter;
  readonly operations: ServerOperations;
  readonly database: Database;
  /** With setting `server.readThreads`. */
  readonly threads: ReaderThreads | undefined;
  /** Transient keys. */
  readonly store: KeyValueStore;
  /** As `run`, on another database of the same server. */
  runOn(
    name: string,
    text: string,
    parameters?: Parameters,
    language?: string,
  ): Promise<readonly PlainRow[]>;
  /** Runs a statement to its end. @returns its rows as plain objects */
  run(
    text: string,
    parameters?: Parameters,
    options?: Partial<RunOptions>,
    language?: string,
  ): Promise<readonly PlainRow[]>;
  /** As `run`; each row printed on a line of its own, in the notation of `printValue`. */
  print(
    text: string,
    parameters?: Parameters,
    options?: Partial<RunOptions>,
    language?: string,
  ): Promise<string>;
  /** The result itself; close it. */
  stream(
    text: string,
    parameters?: Parameters,
    options?: Partial<RunOptions>,
    language?: string,
  ): Promise<ResultStream>;
  /** Stops everything and opens it again from disk. @param meanwhile done while it is closed */
  reopen(meanwhile?: () => void): Promise<void>;
  close(): Promise<void>;
}

/** Values by name, or by position for `?`. */
export type Parameters = Readonly<Record<string, Value>> | readonly Value[];

export interface TestDatabaseOptions {
  readonly settings?: Readonly<Record<string, string>>;
  readonly runtime?: Runtime;
  readonly authorizer?: Authorizer;
  readonly log?: Log;
  /** Another program of reader threads. */
  readonly readerScript?: URL;
  readonly users?: UserChanges;
  /** Stays when it is closed, and may hold databases already. */
  readonly directory?: string;
  /** The database is a member of a cluster. */
  readonly cluster?: TestCluster;
}

export interface TestCluster {
  readonly replication: () => Replication | undefined;
  /** The databases are open. */
  begin(databases: Databases): Promise<void>;
  create(name: string): Promise<void>;
  /** Before the databases are closed. */
  end(): Promise<void>;
}

export const root: Principal = { name: 'root', isRoot: true, via: 'password' };

const everything: Authorizer = { require() {}, canAccess: () => true, canRead: () => true };

const defaults = {
  runtime: systemRuntime,
  log: silentLog,
  authorizer: everything,
  languages: new LanguageRegistry(languageFrontends),
  serverVersion: '0.0.0-test',
  heapBytesMax: 2 * 1024 ** 3,
  readerScript: new URL('../../../server/plan/reader-thread.ts', import.meta.url),
} as const;

/** Opens the database `test`, on an empty directory that `close` deletes unless one is given. */
export async function openTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'polyad-test-'));
  const start = async () => {
    const made = makeDatabases({
      ...defaults,
      ...options,
      directory,
      settings: new Settings(withPrefix(options.settings ?? {})),
      replication: options.cluster?.replication,
    });
    await made.databases.start();
    await options.cluster?.begin(made.databases);
    return made;
  };
  let made = await start();
  if (!made.databases.exists('test')) await (options.cluster ?? made.databases).create('test');

  const stream: TestDatabase['stream'] = (
    text,
    parameters = {},
    overrides = {},
    language = 'sql',
  ) =>
    test.database.run(
      { language, text, parameters: new Map(Object.entries(parameters)) },
      {
        principal: root,
        mustBeIdempotent: false,
        signal: new AbortController().signal,
        ...overrides,
      },
    );
  const test: TestDatabase = {
    directory,
    get databases() {
      return made.databases;
    },
    get store() {
      return made.store;
    },
    get active() {
      return made.active;
    },
    get meter() {
      return made.meter;
    },
    get progress() {
      return made.progress;
    },
    get threads() {
      return made.threads;
    },
    get operations() {
      return made.operations;
    },
    runOn: async (name, text, parameters = {}, language = 'sql') =>
      rowsOf(
        await made.databases
          .open(name)
          .run(
            { language, text, parameters: new Map(Object.entries(parameters)) },
            { principal: root, mustBeIdempotent: false, signal: new AbortController().signal },
          ),
        plainRow,
      ),
    get database() {
      return made.databases.open('test') as Database;
    },
    stream,
    run: async (text, parameters, overrides, language) =>
      rowsOf(await stream(text, parameters, overrides, language), plainRow),
    print: async (text, parameters, overrides, language) =>
      (await rowsOf(await stream(text, parameters, overrides, language), printRow)).join('\n'),
    reopen: async (meanwhile) => {
      await options.cluster?.end();
      await made.databases.shutdown();
      meanwhile?.();
      made = await start();
    },
    close: async () => {
      await options.cluster?.end();
      await made.databases.shutdown();
      if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
    },
  };
  return test;
}

function withPrefix(settings: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(settings).map(([key, text]) => [`service.${key}`, text]));
}

type RowForm<Row> = (values: readonly Value[], names: readonly string[] | undefined) => Row;

/** Reads a result to its end and closes it. */
export async function rowsOf<Row>(result: ResultStream, form: RowForm<Row>): Promise<Row[]> {
  try {
    const names = result.shape.kind === 'columns' ? result.shape.names : undefined;
    const width = names?.length ?? 1;
    const rows: Row[] = [];
    for (;;) {
      const batch = await result.nextBatch();
      if (batch === undefined) return rows;
      for (let at = 0; at < batch.rowCount; at += 1) {
        rows.push(form(batch.values.slice(at * width, (at + 1) * width), names));
      }
    }
  } finally {
    result.close();
  }
}

function plainRow(values: readonly Value[], names: readonly string[] | undefined): PlainRow {
  if (names === undefined) return plainValue(values[0] ?? null) as PlainRow;
  return Object.fromEntries(names.map((name, at) => [name, plainValue(values[at] ?? null)]));
}

function printRow(values: readonly Value[], names: readonly string[] | undefined): string {
  if (names === undefined) return printValue(values[0] ?? null);
  return printValue(new Map(names.map((name, at) => [name, values[at] ?? null])));
}
