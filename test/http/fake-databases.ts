import { Histogram } from '#core/instruments.ts';
import type { Settings } from '#config/effective-settings.ts';
import { requireSetting } from '#config/registry.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Principal } from '#core/principal.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { LogIndex, Rid } from '#core/value/rid.ts';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import type { Value } from '#core/value/value.ts';
import { ActiveStatements } from '#database/bounds/active-statements.ts';
import type { InsertOptions, InsertStream } from '#database/inserts/insert-port.ts';
import { type ProgressEntry, ProgressRegistry } from '#database/progress/progress-registry.ts';
import type {
  DatabaseCounters,
  DatabaseHandle,
  DatabaseStorage,
  DatabasesPort,
  ExplainedPlan,
  ResultBatch,
  ResultShape,
  ResultStream,
  RunOptions,
  Statement,
} from '#database/session.ts';
import { RenderedBatches } from '#database/statement/rendered-rows.ts';
import { systemRuntime } from '#platform/system-runtime.ts';

/** What a statement text of the fake database does. */
export interface Behaviour {
  readonly shape?: ResultShape;
  /** Batches of row-major values; a function is called with the number of the batch and gives undefined at the end. */
  readonly batches?: readonly ResultBatch[] | ((index: number) => Promise<ResultBatch | undefined>);
  readonly complete?: ResultBatch;
  readonly statementLimit?: number;
  readonly isWrite?: boolean;
  readonly stats?: Readonly<Record<string, number | boolean>>;
  readonly explain?: ExplainedPlan;
  readonly records?: ReadonlyMap<Rid, StoredRecord>;
  /** What a run of it draws of the memory of all statements. */
  readonly memoryBytes?: number;
  /** Called before anything else; throws to refuse. */
  readonly before?: (statement: Statement, options: RunOptions) => void | Promise<void>;
}

export interface Seen {
  readonly statement: Statement;
  readonly options: RunOptions;
}

const noCounters: DatabaseCounters = {
  writeTx: 0,
  readTx: 0,
  txRollbacks: 0,
  queries: 0,
  concurrentModificationExceptions: 0,
  asyncActive: 0,
  asyncQueued: 0,
  asyncCompleted: 0,
  openDatabases: 0,
  openSessions: 0,
  commitSeconds: new Histogram(),
  flushSeconds: new Histogram(),
};

/** Databases whose statements are scripted by their text; everything that the door hands in is kept in `seen`. */
export class FakeDatabases implements DatabasesPort {
  readonly behaviours = new Map<string, Behaviour>();
  readonly seen: Seen[] = [];
  readonly later: Seen[] = [];
  readonly databases = new Map<string, FakeDatabase>();
  readonly endedUsers: string[] = [];
  readonly running = {
    statements: new ActiveStatements(systemRuntime),
    operations: new ProgressRegistry(systemRuntime.clock),
  };
  readonly committed = new Map<string, LogIndex>();
  /** Of streamed inserts. */
  insertStream: ((options: InsertOptions) => InsertStream) | undefined;
  /** As a server in a cluster makes them. */
  newSessionId: (() => string) | undefined;
  openStreams = 0;
  isShutDown = false;

  readonly settings: Settings;

  constructor(settings: Settings, names: readonly string[]) {
    this.settings = settings;
    for (const name of names) this.databases.set(name, new FakeDatabase(name, this));
  }

  names(): readonly string[] {
    return [...this.databases.keys()].sort();
  }
  exists(name: string): boolean {
    return this.databases.has(name);
  }
  open(name: string): DatabaseHandle {
    const database = this.databases.get(name);
    if (!database) throw new DatabaseError('DatabaseNotFound', `Database '${name}' does not exist`);
    if (database.isClosed)
      throw new DatabaseError('DatabaseClosed', `Database '${name}' is closed`);
    return database;
  }
  async create(name: string): Promise<void> {
    this.databases.set(name, new FakeDatabase(name, this));
  }
  async install(name: string): Promise<void> {
    await this.create(name);
  }
  async replace(): Promise<void> {}
  async drop(name: string): Promise<void> {
    this.databases.delete(name);
  }
  async openClosed(name: string): Promise<void> {
    const database = this.databases.get(name);
    if (database) database.isClosed = false;
  }
  async close(name: string): Promise<void> {
    const database = this.databases.get(name);
    if (database) database.isClosed = true;
  }
  languages(): readonly string[] {
    return ['sql', 'sqlscript'];
  }
  progress(name: string): readonly ProgressEntry[] {
    return this.running.operations.of(name);
  }
  storage(): readonly DatabaseStorage[] {
    return [];
  }
  endAllSessions(): void {
    for (const { sessions } of this.databases.values()) sessions.clear();
  }
  endSessionsOfUser(user: string): void {
    this.endedUsers.push(user);
  }
  isRecovered(): boolean {
    return true;
  }
  counters(): DatabaseCounters {
    return noCounters;
  }
  watch(): void {}

  async shutdown(): Promise<void> {
    this.isShutDown = true;
  }
}

class FakeDatabase implements DatabaseHandle {
  readonly name: string;
  readonly settings: Settings;
  readonly sessions = new Map<string, string>();
  isClosed = false;
  readonly #all: FakeDatabases;

  constructor(name: string, all: FakeDatabases) {
    this.name = name;
    this.#all = all;
    this.settings = all.settings.forDatabase(new Map());
  }
  formats() {
    return defaultTemporalFormats;
  }
  committedUnder(replayKey: string): LogIndex | undefined {
    return this.#all.committed.get(replayKey);
  }
  runNow(statement: Statement, options: RunOptions): Promise<ResultStream> {
    return this.run(statement, options);
  }
  placeOf({ text }: Statement): 'any' | 'leader' {
    return this.#all.behaviours.get(text)?.isWrite ? 'leader' : 'any';
  }
  async setSetting(key: string, text: string): Promise<void> {
    this.settings.set(requireSetting(key), text);
  }
  async runLater(statement: Statement, options: RunOptions): Promise<void> {
    this.#all.later.push({ statement, options });
  }
  async run(statement: Statement, options: RunOptions): Promise<ResultStream> {
    this.#all.seen.push({ statement, options });
    if (options.sessionId !== undefined && !this.hasSession(options.principal, options.sessionId))
      throw new DatabaseError('SessionNotFound', 'Remote transaction session not found or expired');
    const behaviour = this.#all.behaviours.get(statement.text);
    if (!behaviour) throw new DatabaseError('Syntax', `no such statement: ${statement.text}`);
    if (behaviour.isWrite && options.mustBeIdempotent)
      throw new DatabaseError('NotIdempotent', `Query '${statement.text}' is not idempotent`);
    await behaviour.before?.(statement, options);
    this.#all.openStreams += 1;
    return fakeStream(behaviour, () => {
      this.#all.openStreams -= 1;
    });
  }
  readonly changes = { subscribe: () => () => {} };
  insertStream(options: InsertOptions): InsertStream {
    if (this.#all.insertStream !== undefined) return this.#all.insertStream(options);
    throw new DatabaseError('NotSupported', 'these databases take no streams');
  }
  bulkLoader(): never {
    throw new DatabaseError('NotSupported', 'these databases load nothing');
  }
  begin(principal: Principal): string {
    const id = this.#all.newSessionId?.() ?? `AS-${this.sessions.size}-${principal.name}`;
    this.sessions.set(id, principal.name);
    return id;
  }
  async commit(principal: Principal, id: string): Promise<LogIndex> {
    await this.rollback(principal, id);
    return 7 as LogIndex;
  }
  async rollback(principal: Principal, id: string): Promise<void> {
    if (!this.hasSession(principal, id))
      throw new DatabaseError('SessionNotFound', `session '${id}' not found`);
    this.sessions.delete(id);
  }
  hasSession(principal: Principal, id: string): boolean {
    return this.sessions.get(id) === principal.name;
  }
}

function fakeStream(behaviour: Behaviour, closed: () => void): ResultStream {
  let index = 0;
  let isClosed = false;
  const { batches = [], complete } = behaviour;
  const stream: ResultStream = {
    shape: behaviour.shape ?? { kind: 'columns', names: ['a', 'b'] },
    isReadOnly: behaviour.isWrite !== true,
    statementLimit: behaviour.statementLimit,
    complete,
    memoryBytes: behaviour.memoryBytes ?? 0,
    records: {
      record: (rid) => behaviour.records?.get(rid),
      degree: (_vertex, direction) => (direction === 'in' ? 3 : 4),
      outgoing: () => [],
    },
    nextBatch: async () => {
      const at = index++;
      if (complete) return at === 0 ? complete : undefined;
      return typeof batches === 'function' ? await batches(at) : batches[at];
    },
    rendered: (renderer, rowCountMax) => new RenderedBatches(stream, renderer, rowCountMax),
    close: () => {
      if (!isClosed) closed();
      isClosed = true;
    },
    summary: () => ({
      isReadOnly: behaviour.isWrite !== true,
      statementLimit: behaviour.statementLimit,
      index: 7 as LogIndex,
      stats: behaviour.stats,
      explain: behaviour.explain,
    }),
  };
  return stream;
}

/** Rows of two columns, `a` counting from `from` and `b` a text. */
export function rowBatch(from: number, rowCount: number, text = 'text'): ResultBatch {
  const values: Value[] = [];
  for (let row = 0; row < rowCount; row++) values.push(from + row, text);
  return { rowCount, values };
}
