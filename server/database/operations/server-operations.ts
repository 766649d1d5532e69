import { join } from 'node:path';
import type { Settings } from '#config/effective-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { RowFile } from '#query/operators/operator.ts';
import { makeDirectories } from '#platform/files.ts';
import type { OperationCall } from '../progress/operation-run.ts';
import type {
  ProgressEntry,
  ProgressRegistry,
  ProgressReporter,
} from '../progress/progress-registry.ts';
import type { DatabasesPort } from '../session.ts';
import { CsvFile } from './csv-file.ts';
import { backupOptions, backupStepCount, writeBackup } from './backup/backup.ts';
import { backupFileName } from './backup/names.ts';
import type { OperatedDatabase, StatementOperations } from './operated-database.ts';
import { exportOrder, writeExport } from './export/export.ts';
import { restoreStepCount, unpackBackup } from './backup/restore.ts';
import { importFiles, importStepCount } from './import.ts';
import { type ImportSettings, importSettings } from '../importers/import-settings.ts';
import type { ImportCounts } from '../importers/import-sink.ts';
import { openSource, shownUrl, type SourceDoor, type SourceFile } from './source.ts';

/** Directories that operations read and write. */
export interface OperationPaths {
  readonly root: string;
  readonly databases: string;
  readonly backups: string;
  readonly exports: string;
  /** Nothing is imported from these: users, settings, stored databases. */
  readonly closed: readonly string[];
}

export interface ServerOperationsOptions {
  readonly settings: Settings;
  readonly runtime: Runtime;
  readonly progress: ProgressRegistry;
  readonly paths: OperationPaths;
  readonly serverVersion: string;
  /** Databases by name. @throws DatabaseError `DatabaseNotFound`, `DatabaseClosed`, ... */
  readonly open: (name: string) => OperatedDatabase;
  readonly isOpen: (name: string) => boolean;
  /** Makes the files of an empty database. */
  readonly initialize: (directory: string) => Promise<void>;
  /** Opens a database that nobody else sees; the caller closes it. */
  readonly openAt: (name: string, directory: string) => Promise<OperatedDatabase>;
  readonly databases: () => Pick<DatabasesPort, 'install' | 'replace' | 'exists'>;
  /** Who did what, without secrets; for the event log. */
  readonly audit: (message: string, database: string) => void;
}

/** Who asks, and until when. */
export interface Asker {
  readonly principal: Principal;
  readonly signal: AbortSignal;
  readonly requestId?: string | undefined;
  /** Told of each step and, now and then, of what was done. */
  readonly onProgress?: (entry: ProgressEntry, step: string) => void;
}

/** Backup, restore, export and import of whole databases, one implementation for statements, commands and schedules. */
export class ServerOperations implements StatementOperations {
  readonly #options: ServerOperationsOptions;
  /** Databases of which an archive is being made. */
  readonly #backups = new Set<string>();

  constructor(options: ServerOperationsOptions) {
    this.#options = options;
  }

  get paths(): OperationPaths {
    return this.#options.paths;
  }

  rowFile(order: Parameters<StatementOperations['rowFile']>[0]): RowFile {
    const { settings, paths } = this.#options;
    return new CsvFile(order, { settings, paths });
  }

  async run(database: OperatedDatabase, call: OperationCall): Promise<ValueMap> {
    const { program, principal, signal } = call;
    const url = program.arguments.get('url');
    const target = typeof url === 'string' ? url : undefined;
    const settings = program.arguments.get('settings');
    const asker: Asker = { principal, signal };
    switch (program.name) {
      case 'backup database':
        return this.#backupStatement(database, { target, settings }, asker);
      case 'export database':
        return this.#exportStatement(database, { target, settings }, asker);
      case 'import database':
        return this.#importStatement(database, { target, settings }, asker);
      default:
        throw new DatabaseError('NotSupported', `not supported: ${program.name.toUpperCase()}`);
    }
  }

  /** Whether the database is open now; asking opens nothing. */
  isOpen(database: string): boolean {
    return this.#options.isOpen(database);
  }

  isBackingUp(database: string): boolean {
    return this.#backups.has(database);
  }

  /**
   * Writes an archive of the database into `directory`.
   * @param settings those of BACKUP DATABASE
   * @returns its name and size
   * @throws DatabaseError `OperationRunning` while another one is written, `IllegalArgument` for a wrong setting
   */
  async backup(
    database: string | OperatedDatabase,
    about: {
      readonly directory: string;
      readonly settings?: Value | undefined;
      readonly fileName?: string;
    },
    asker: Asker,
  ): Promise<{ readonly fileName: string; readonly size: number }> {
    const operated = typeof database === 'string' ? this.#options.open(database) : database;
    const { name, engine, settings } = operated;
    const options = backupOptions(about.settings, settings);
    const { runtime, audit } = this.#options;
    if (this.#backups.has(name)) throw alreadyRunning(name);
    this.#backups.add(name);
    try {
      const now = runtime.clock.now();
      const fileName = about.fileName ?? backupFileName(name, now);
      const { directory } = about;
      const size = await this.#reported(
        { database: name, operation: 'backup database', stepCount: backupStepCount },
        asker,
        async (reporter) => {
          makeDirectories(directory, 0o750);
          const job = { database: name, engine, directory, fileName, options, settings };
          const { archiveBytes } = await writeBackup({ ...job, reporter, runtime });
          return archiveBytes;
        },
      );
      audit(`User '${asker.principal.name}' backed up database '${name}' to '${fileName}'`, name);
      return { fileName, size };
    } finally {
      this.#backups.delete(name);
    }
  }

  /**
   * Makes a database of an archive. It appears when all of it was verified, or not at all.
   * @param about `overwrites`: it takes the place of the database of this name, if there is one
   * @throws DatabaseError `DatabaseExists`, `Validation`, `Forbidden`, `IllegalArgument`
   */
  async restore(
    name: string,
    about: {
      readonly url: string;
      readonly passphrase?: string | undefined;
      readonly overwrites?: boolean;
      /** The path is one of our own archives. */
      readonly isOwnArchive?: boolean;
    },
    asker: Asker,
  ): Promise<void> {
    const databases = this.#options.databases();
    const { settings, audit } = this.#options;
    const replaces = about.overwrites === true && databases.exists(name);
    await this.#reported(
      { database: name, operation: 'restore database', stepCount: restoreStepCount },
      asker,
      async (reporter) => {
        const source = await this.#archive(about, reporter);
        try {
          const fill = (directory: string) =>
            unpackBackup({
              path: source.path,
              directory,
              passphrase: about.passphrase,
              settings,
              reporter,
            });
          if (replaces) await databases.replace(name, fill, 'restore-tmp');
          else await databases.install(name, fill, 'restore-tmp');
        } finally {
          await source.dispose();
        }
      },
    );
    audit(`User '${asker.principal.name}' restored database '${name}'`, name);
  }

  /**
   * Makes a database and reads a file into it. It appears when all of it was read, or not at all.
   * @throws DatabaseError `DatabaseExists`, `Forbidden`, `IllegalArgument`, `Validation`
   */
  async importNew(
    name: string,
    about: { readonly url: string; readonly settings: Value | undefined },
    asker: Asker,
  ): Promise<ImportCounts> {
    const { audit, initialize, openAt } = this.#options;
    const settings = importSettings(about.settings);
    let counts: ImportCounts | undefined;
    await this.#reported(
      { database: name, operation: 'import database', stepCount: importStepCount },
      asker,
      (reporter) =>
        this.#options.databases().install(
          name,
          async (directory) => {
            await initialize(directory);
            // Closing it ends operations on its name, which must not be this one.
            const database = await openAt(`.import-tmp-${name}`, directory);
            try {
              const order = { database, url: about.url, settings, reporter };
              counts = await this.#import({ ...order, door: 'command' });
            } finally {
              await database.close('closed');
            }
          },
          'import-tmp',
        ),
    );
    const url = shownUrl(about.url);
    audit(`User '${asker.principal.name}' imported '${url}' as database '${name}'`, name);
    return counts ?? noCounts;
  }

  async #importStatement(
    database: OperatedDatabase,
    about: { target: string | undefined; settings: Value | undefined },
    asker: Asker,
  ): Promise<ValueMap> {
    const { name } = database;
    const { target } = about;
    const settings = importSettings(about.settings);
    const counts = await this.#reported(
      { database: name, operation: 'import database', stepCount: importStepCount },
      asker,
      (reporter) => this.#import({ database, url: target, settings, reporter, door: 'statement' }),
    );
    const shown = shownUrl(target ?? settings.parts[0]?.url ?? '');
    this.#options.audit(`User '${asker.principal.name}' imported '${shown}'`, name);
    return new Map<string, Value>([
      ['operation', 'import database'],
      ['fromUrl', target ?? settings.parts[0]?.url ?? null],
      ['result', 'OK'],
      ...Object.entries(counts),
    ]);
  }

  #import(order: {
    readonly database: OperatedDatabase;
    readonly url: string | undefined;
    readonly settings: ImportSettings;
    readonly reporter: ProgressReporter;
    readonly door: SourceDoor;
  }): Promise<ImportCounts> {
    const { settings: serverSettings, runtime } = this.#options;
    const { door, reporter } = order;
    const source = (url: string): Promise<SourceFile> => this.source(url, door, reporter);
    const isNew = door === 'command';
    return importFiles({ ...order, source, serverSettings, runtime, isNew });
  }

  async #archive(
    about: { readonly url: string; readonly isOwnArchive?: boolean },
    reporter: ProgressReporter,
  ): Promise<SourceFile> {
    if (about.isOwnArchive === true)
      return { path: about.url, name: '', entry: undefined, dispose: async () => {} };
    return this.source(about.url, 'command', reporter);
  }

  /** A file that a URL names, readable. */
  source(url: string, door: SourceDoor, reporter: ProgressReporter): Promise<SourceFile> {
    const { settings, paths } = this.#options;
    return openSource(url, {
      settings,
      door,
      rootPath: paths.root,
      exportsPath: paths.exports,
      closedDirectories: paths.closed,
      temporaryDirectory: paths.databases,
      signal: reporter.signal,
      onRead: (bytes) => {
        reporter.advance(bytes);
      },
    });
  }

  async #backupStatement(
    database: OperatedDatabase,
    { target, settings }: { target: string | undefined; settings: Value | undefined },
    asker: Asker,
  ): Promise<ValueMap> {
    const directory = join(this.#options.paths.backups, database.name);
    const named = target === undefined ? {} : { fileName: archiveName(target) };
    const { fileName } = await this.backup(database, { directory, settings, ...named }, asker);
    const row = new Map<string, Value>([['operation', 'backup database']]);
    if (target !== undefined) row.set('target', target);
    return row.set('result', 'OK').set('backupFile', fileName);
  }

  async #exportStatement(
    database: OperatedDatabase,
    { target, settings }: { target: string | undefined; settings: Value | undefined },
    asker: Asker,
  ): Promise<ValueMap> {
    const { runtime, paths, audit, serverVersion } = this.#options;
    const { name } = database;
    const nowMs = runtime.clock.now();
    const order = exportOrder(name, { url: target, settings, nowMs });
    const directory = paths.exports;
    const totals = await this.#reported(
      { database: name, operation: 'export database', stepCount: 1 },
      asker,
      (reporter) => writeExport({ database, order, directory, runtime, reporter, serverVersion }),
    );
    audit(
      `User '${asker.principal.name}' exported database '${name}' to '${order.fileName}'`,
      name,
    );
    const { documents, vertices, edges, warnings } = totals;
    return new Map<string, Value>([
      ['operation', 'export database'],
      ['toUrl', target ?? `file://${order.fileName}`],
      ['documents', documents],
      ['vertices', vertices],
      ['edges', edges],
      ['totalRecords', documents + vertices + edges],
      ['warnings', warnings],
      ['result', 'OK'],
    ]);
  }

  /** Runs work that reports its progress and may be cancelled by its id. */
  async #reported<T>(
    about: { readonly database: string; readonly operation: string; readonly stepCount: number },
    { principal, signal, requestId, onProgress }: Asker,
    work: (reporter: ProgressReporter) => Promise<T>,
  ): Promise<T> {
    const user = principal.name;
    const reporter = this.#options.progress.start({ ...about, user, requestId, signal });
    const told = onProgress === undefined ? reporter : telling(reporter, onProgress);
    try {
      const result = await work(told);
      reporter.finish();
      return result;
    } catch (error) {
      reporter.fail(error);
      if (error instanceof DatabaseError) throw error;
      // What an abort broke off shows as some other error.
      reporter.check();
      throw ofSystem(about.operation, error);
    }
  }
}

const noCounts: ImportCounts = {
  parsedRecords: 0,
  createdDocuments: 0,
  createdVertices: 0,
  createdEdges: 0,
  errors: 0,
  warnings: 0,
};

/** A full or missing disk is nobody's fault in here: it is told by its name. */
function ofSystem(operation: string, error: unknown): unknown {
  if (!(error instanceof Error) || (error as NodeJS.ErrnoException).syscall === undefined)
    return error;
  return new DatabaseError('CommandExecution', `${operation} failed: ${error.message}`, {
    cause: error,
  });
}

function alreadyRunning(name: string): DatabaseError {
  return new DatabaseError(
    'OperationRunning',
    `A backup of database '${name}' is already in progress`,
  );
}

/** The file that `BACKUP DATABASE file://name.zip` names, in the directory of the database's archives. */
function archiveName(url: string): string {
  const name = url.replace(/^file:\/*/i, '');
  const isPlain = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}\.zip$/.test(name) && !name.includes('..');
  if (isPlain) return name;
  throw new DatabaseError(
    'IllegalArgument',
    `backup target '${url.slice(0, 160)}' is no plain file name that ends with '.zip'`,
  );
}

/** The same reporter; whoever listens hears of each step and count. */
function telling(
  reporter: ProgressReporter,
  onProgress: (entry: ProgressEntry, step: string) => void,
): ProgressReporter {
  return {
    id: reporter.id,
    signal: reporter.signal,
    step: (name, total) => {
      reporter.step(name, total);
      onProgress(reporter.entry(), name);
    },
    advance: (units) => reporter.advance(units),
    count: (name, value) => {
      reporter.count(name, value);
      onProgress(reporter.entry(), '');
    },
    check: () => reporter.check(),
    entry: () => reporter.entry(),
    finish: () => reporter.finish(),
    fail: (error) => reporter.fail(error),
  };
}
