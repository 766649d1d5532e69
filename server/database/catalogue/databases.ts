import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { BuildKind, DatabaseDirectory } from './database-directory.ts';
import { requireDatabaseName } from './database-directory.ts';
import type { ProgressEntry } from '../progress/progress-registry.ts';
import type { RunningWork } from '../progress/running-work.ts';
import type {
  DatabaseCounters,
  DatabaseHandle,
  DatabaseStorage,
  DatabaseWatcher,
  DatabasesPort,
} from '../session.ts';

/** An open database, as its owner sees it. */
export interface OpenDatabase extends DatabaseHandle {
  /** Statements and sessions end with an error of this kind; resolves when the files are let go of. Never rejects. */
  close(why: DatabaseEnd): Promise<void>;
}

/** `stopped`: the server stops; the asynchronous queue is drained first. */
export type DatabaseEnd = 'closed' | 'dropped' | 'stopped';

export interface DatabasesOptions {
  readonly directory: DatabaseDirectory;
  readonly openDatabase: (name: string, path: string) => Promise<OpenDatabase>;
  /** Makes the files of an empty database and lets go of them. */
  readonly initialize: (path: string) => Promise<void>;
  /** `service.server.databaseLoadAtStartup`; else databases are opened at their first use. */
  readonly loadsAtStart: () => boolean;
  /** `service.server.maxDatabases` */
  readonly countMax: () => number;
  /** `service.maxNameLength`; absent: as the rule for names of databases has it. */
  readonly nameLengthMax?: () => number;
  readonly languages: () => readonly string[];
  readonly counters: () => Omit<DatabaseCounters, 'openDatabases'>;
  readonly storage: () => readonly DatabaseStorage[];
  readonly running: RunningWork;
  readonly endSessionsOfUser: (user: string) => void;
  readonly endAllSessions?: () => void;
  readonly log: Log;
  /** In a cluster databases come and go by its log; undefined: this server decides alone. */
  readonly throughLog?: (() => DatabasesLog | undefined) | undefined;
  /** Told of a database that is no more. */
  readonly dropped?: (name: string) => void;
  /** Told of a database that cannot be opened, with the reason. */
  readonly unopenable?: ((reason: string, database: string) => void) | undefined;
}

/** Makes every server of a cluster create or drop a database; resolves when this one has. */
export interface DatabasesLog {
  /** @throws DatabaseError `NotLeader`, `QuorumNotReached`, `DatabaseExists` */
  create(name: string): Promise<void>;
  drop(name: string): Promise<void>;
  /** A whole database, which `fill` makes in an empty directory; every server gets its files before it is there. */
  install(
    name: string,
    fill: (directory: string) => Promise<void>,
    options: { readonly replaces: boolean },
  ): Promise<void>;
}

interface Entry {
  readonly name: string;
  state: 'unloaded' | 'opening' | 'open' | 'closed' | 'failed' | 'creating' | 'dropping';
  database: OpenDatabase | undefined;
  /** Operations on one database run one after the other. */
  last: Promise<unknown>;
}

const openingAtOnce = 4;

/**
 * All databases of the server by name. Those that cannot be opened stay in the list and answer `DatabaseInstalling`; they do
 * not keep the others away (limits.md 20). A closed database stays closed, over restarts too, until somebody opens it.
 */
export class Databases implements DatabasesPort {
  readonly running: RunningWork;
  readonly #options: DatabasesOptions;
  /** By lower-cased name: two names that differ in case alone would be one directory on some platforms. */
  readonly #entries = new Map<string, Entry>();
  readonly #watchers: DatabaseWatcher[] = [];
  #isRecovered = false;
  #isStopping = false;

  constructor(options: DatabasesOptions) {
    this.#options = options;
    this.running = options.running;
  }

  /** Opens what is on disk; resolves when each database is open or known to be unopenable. */
  async start(): Promise<void> {
    const { directory } = this.#options;
    await directory.prepare();
    const toOpen: Entry[] = [];
    const loadsAtStart = this.#options.loadsAtStart();
    for (const { name, isClosed } of await directory.list()) {
      const key = name.toLowerCase();
      if (this.#entries.has(key)) {
        this.#options.log.error('database ignored: another name differs in case only', { name });
        continue;
      }
      const isLoaded = loadsAtStart && !isClosed;
      const entry = this.#addEntry(name, isClosed ? 'closed' : isLoaded ? 'opening' : 'unloaded');
      if (isLoaded) toOpen.push(entry);
    }
    const workers = Array.from({ length: openingAtOnce }, async () => {
      for (let entry = toOpen.shift(); entry; entry = toOpen.shift()) {
        const next = entry;
        await this.#exclusively(next, () => this.#load(next)).catch(() => {});
      }
    });
    await Promise.all(workers);
    this.#isRecovered = true;
  }

  names(): readonly string[] {
    const names: string[] = [];
    for (const entry of this.#entries.values()) if (isVisible(entry)) names.push(entry.name);
    return names.sort();
  }

  exists(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  open(name: string): DatabaseHandle {
    const entry = this.#entries.get(name) ?? this.#find(name);
    if (entry?.database !== undefined && entry.name === name && entry.state === 'open') {
      return entry.database;
    }
    if (entry === undefined || entry.name !== name || !isVisible(entry)) throw missing(name);
    if (entry.state === 'closed') {
      throw new DatabaseError('DatabaseClosed', `Database '${name}' is closed`);
    }
    // The first use; the client is told to come again in a moment.
    if (entry.state === 'unloaded') {
      entry.state = 'opening';
      this.#exclusively(entry, () => this.#load(entry)).catch(() => {});
    }
    throw new DatabaseError(
      'DatabaseInstalling',
      entry.state === 'opening'
        ? `Database '${name}' is being opened`
        : `Database '${name}' could not be opened; the server log says why. A backup can be restored over it`,
    );
  }

  async create(name: string): Promise<void> {
    const log = this.#options.throughLog?.();
    if (log === undefined) return this.createHere(name);
    this.#requireFree(name);
    await log.create(name);
  }

  /** On this server alone: a cluster has decided it. */
  createHere(name: string): Promise<void> {
    return this.#install(name, this.#options.initialize, 'creating');
  }

  async install(
    name: string,
    fill: (directory: string) => Promise<void>,
    work: BuildKind,
  ): Promise<void> {
    const log = this.#options.throughLog?.();
    if (log === undefined) return this.#install(name, fill, work);
    this.#requireFree(name);
    await log.install(name, fill, { replaces: false });
  }

  /** @throws DatabaseError `DatabaseExists`, `IllegalArgument` */
  #requireFree(name: string): void {
    requireDatabaseName(name, this.#options.nameLengthMax?.());
    const other = this.#entries.get(name.toLowerCase());
    if (other !== undefined) {
      const difference = other.name === name ? '' : `: '${other.name}' differs in case only`;
      throw new DatabaseError('DatabaseExists', `Database '${name}' already exists${difference}`);
    }
    const countMax = this.#options.countMax();
    if (this.#entries.size >= countMax) {
      throw new DatabaseError(
        'IllegalArgument',
        `there are ${this.#entries.size} databases, service.server.maxDatabases (${countMax}) allows no more`,
      );
    }
  }

  async #install(
    name: string,
    fill: (directory: string) => Promise<void>,
    work: BuildKind,
  ): Promise<void> {
    this.#requireFree(name);
    const entry = this.#addEntry(name, 'creating');
    await this.#exclusively(entry, async () => {
      try {
        await this.#options.directory.create(name, fill, work);
      } catch (error) {
        this.#entries.delete(name.toLowerCase());
        throw error;
      }
      await this.#load(entry);
    });
  }

  async replace(
    name: string,
    fill: (directory: string) => Promise<void>,
    work: BuildKind,
  ): Promise<void> {
    const log = this.#options.throughLog?.();
    if (log === undefined) return this.replaceHere(name, fill, work);
    this.#require(name);
    await log.install(name, fill, { replaces: true });
  }

  /** On this server alone: files that stand ready become the database, in place of the one that has the name. */
  async publishHere(name: string, from: string): Promise<void> {
    await this.#exchange(name, (directory) => directory.take(name, from));
  }

  /** On this server alone: who writes it is another one now. One whose files are not here is no more. */
  async reopenHere(name: string): Promise<void> {
    if (!(await this.#options.directory.holds(name))) return this.#remove(name, async () => {});
    const isClosed = this.#find(name)?.state === 'closed';
    await this.#exchange(name, async () => true);
    const entry = this.#find(name);
    if (isClosed && entry?.state === 'open') entry.state = 'closed';
  }

  /** On this server alone: a member of the cluster that is not here yet answers as one that is being installed. */
  async awaitHere(name: string): Promise<void> {
    await this.#exchange(name, async (directory) => {
      await directory.trashIfThere(name);
      return false;
    });
  }

  /** @param move whether there is something to open then */
  async #exchange(
    name: string,
    move: (directory: DatabaseDirectory) => Promise<boolean>,
  ): Promise<void> {
    const entry = this.#entries.get(name.toLowerCase()) ?? this.#addEntry(name, 'opening');
    await this.#exclusively(entry, async () => {
      entry.state = 'opening';
      const { database } = entry;
      entry.database = undefined;
      await database?.close('closed');
      try {
        const isThere = await move(this.#options.directory);
        // One that cannot be opened is told by the log, and fetched anew.
        if (isThere) await this.#load(entry).catch(() => {});
      } finally {
        if (entry.state === 'opening' && entry.database === undefined) entry.state = 'failed';
      }
    });
  }

  /** Databases that are known here and that nobody can open: their files are damaged, or not there yet. */
  failed(): readonly string[] {
    return [...this.#entries.values()].flatMap(({ name, state }) =>
      state === 'failed' ? [name] : [],
    );
  }

  /** On this server alone: a member of a cluster fetches what it lacks. */
  async installHere(name: string, fill: (directory: string) => Promise<void>): Promise<void> {
    await this.#install(name, fill, 'fetch-tmp');
  }

  async replaceHere(
    name: string,
    fill: (directory: string) => Promise<void>,
    work: BuildKind = 'fetch-tmp',
  ): Promise<void> {
    const entry = this.#require(name);
    const built = await this.#options.directory.build(name, fill, work);
    await this.#exclusively(entry, async () => {
      if (this.#entries.get(name.toLowerCase()) !== entry || this.#isStopping) {
        await built.discard();
        this.#requireStill(entry);
        throw new DatabaseError('NotOnline', 'the server is stopping');
      }
      entry.state = 'opening';
      const { database } = entry;
      entry.database = undefined;
      await database?.close('closed');
      try {
        await built.replace();
      } catch (error) {
        entry.state = 'failed';
        throw error;
      }
      await this.#load(entry);
    });
  }

  async drop(name: string): Promise<void> {
    this.#require(name);
    const log = this.#options.throughLog?.();
    if (log === undefined) await this.dropHere(name);
    else await log.drop(name);
  }

  /** On this server alone: a cluster has decided it. */
  async dropHere(name: string): Promise<void> {
    await this.#remove(name, (directory) => directory.trash(name));
  }

  /** Its name is free then, and its files stay. @returns where they are, below the directory of databases */
  async setAsideHere(name: string): Promise<string> {
    let aside = '';
    await this.#remove(name, async (directory) => {
      aside = await directory.setAside(name);
    });
    return aside;
  }

  async #remove(
    name: string,
    move: (directory: DatabaseDirectory) => Promise<void>,
  ): Promise<void> {
    const entry = this.#require(name);
    await this.#exclusively(entry, async () => {
      this.#requireStill(entry);
      entry.state = 'dropping';
      await entry.database?.close('dropped');
      entry.database = undefined;
      try {
        await move(this.#options.directory);
      } catch (error) {
        entry.state = 'failed';
        throw error;
      }
      this.#entries.delete(name.toLowerCase());
      this.#options.dropped?.(name);
      for (const watcher of this.#watchers) watcher.dropped(name);
    });
  }

  async openClosed(name: string): Promise<void> {
    const entry = this.#require(name);
    await this.#exclusively(entry, async () => {
      this.#requireStill(entry);
      if (entry.state === 'open') return;
      await this.#options.directory.markOpen(name);
      // The log has opened it for itself.
      if (entry.database !== undefined) entry.state = 'open';
      else await this.#load(entry);
    });
  }

  /**
   * The log writes to it: it is opened beside what people may do with it, and a closed one stays closed to them.
   * @returns undefined for one whose files are not here yet
   */
  async openForLog(name: string): Promise<OpenDatabase | undefined> {
    const entry = this.#require(name);
    return this.#exclusively(entry, async () => {
      this.#requireStill(entry);
      if (entry.database !== undefined) return entry.database;
      // It is fetched first: until then its entries pass it by.
      if (entry.state === 'failed' && !(await this.#options.directory.holds(name)))
        return undefined;
      const isClosed = entry.state === 'closed';
      await this.#load(entry);
      if (isClosed) entry.state = 'closed';
      return entry.database;
    });
  }

  async close(name: string): Promise<void> {
    const entry = this.#require(name);
    await this.#exclusively(entry, async () => {
      this.#requireStill(entry);
      if (entry.state === 'closed') return;
      await this.#options.directory.markClosed(name);
      entry.state = 'closed';
      const { database } = entry;
      entry.database = undefined;
      await database?.close('closed');
    });
  }

  watch(watcher: DatabaseWatcher): void {
    this.#watchers.push(watcher);
  }

  languages(): readonly string[] {
    return this.#options.languages();
  }

  progress(name: string): readonly ProgressEntry[] {
    return this.running.operations.of(name);
  }

  endSessionsOfUser(user: string): void {
    this.#options.endSessionsOfUser(user);
  }

  endAllSessions(): void {
    this.#options.endAllSessions?.();
  }

  isRecovered(): boolean {
    return this.#isRecovered;
  }

  counters(): DatabaseCounters {
    let openDatabases = 0;
    for (const entry of this.#entries.values()) if (entry.state === 'open') openDatabases += 1;
    return { ...this.#options.counters(), openDatabases };
  }

  storage(): readonly DatabaseStorage[] {
    return this.#options.storage();
  }

  async shutdown(): Promise<void> {
    this.#isStopping = true;
    const closings = [...this.#entries.values()].map((entry) =>
      this.#exclusively(entry, async () => {
        const { database } = entry;
        entry.database = undefined;
        if (entry.state === 'open') entry.state = 'opening';
        await database?.close('stopped');
      }),
    );
    await Promise.all(closings);
  }

  #addEntry(name: string, state: Entry['state']): Entry {
    const entry: Entry = { name, state, database: undefined, last: Promise.resolve() };
    this.#entries.set(name.toLowerCase(), entry);
    return entry;
  }

  /** Names that differ in case alone name no database here, though they are taken. */
  #find(name: string): Entry | undefined {
    const entry = this.#entries.get(name.toLowerCase());
    return entry !== undefined && entry.name === name && isVisible(entry) ? entry : undefined;
  }

  #require(name: string): Entry {
    const entry = this.#find(name);
    if (entry === undefined) throw missing(name);
    return entry;
  }

  /** It may have been dropped while an earlier operation on it ran. */
  #requireStill(entry: Entry): void {
    if (this.#entries.get(entry.name.toLowerCase()) !== entry) throw missing(entry.name);
  }

  async #load(entry: Entry): Promise<void> {
    if (this.#isStopping) throw new DatabaseError('NotOnline', 'the server is stopping');
    entry.state = 'opening';
    try {
      const { directory, openDatabase } = this.#options;
      // The storage library would make an empty database in their place.
      if (!(await directory.holds(entry.name)))
        throw new DatabaseError('CorruptedRecord', 'its files are not there');
      const database = await openDatabase(entry.name, directory.path(entry.name));
      entry.database = database;
      entry.state = 'open';
      for (const watcher of this.#watchers) watcher.opened(database);
    } catch (error) {
      entry.state = 'failed';
      const { log, unopenable } = this.#options;
      const reason = error instanceof Error ? error.message : String(error);
      log.error('database could not be opened', { database: entry.name, reason });
      unopenable?.(`Database '${entry.name}' could not be opened: ${reason}`, entry.name);
      throw error;
    }
  }

  #exclusively<T>(entry: Entry, operation: () => Promise<T>): Promise<T> {
    const result = entry.last.then(operation);
    entry.last = result.catch(() => {});
    return result;
  }
}

function isVisible(entry: Entry): boolean {
  return entry.state !== 'creating' && entry.state !== 'dropping';
}

function missing(name: string): DatabaseError {
  return new DatabaseError('DatabaseNotFound', `Database '${name}' does not exist`);
}
