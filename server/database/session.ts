import type { Histogram } from '#core/instruments.ts';
import type { SchemaTypeName } from '#core/value/conversion.ts';
import type { Effect } from '#core/effects.ts';
import type { Principal } from '#core/principal.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { Value } from '#core/value/value.ts';
import type { Warning } from '#core/warnings.ts';
import type { Isolation } from '#transaction/transaction.ts';
import type { CommandsProgram } from '#query/algebra/commands.ts';
import type { LocateSpace } from './key-value/staged-keys.ts';
import type { BulkLoader, BulkLoadOptions } from './bulk/bulk-loader.ts';
import type { BuildKind } from './catalogue/database-directory.ts';
import type { ChangeEvents } from './events.ts';
import type { InsertOptions, InsertStream } from './inserts/insert-port.ts';
import type { ProgressEntry } from './progress/progress-registry.ts';
import type { RunningWork } from './progress/running-work.ts';
import type { RecordedRequest } from './session/recorded-request.ts';

/** One statement as a door hands it in. */
export interface Statement {
  readonly language: string;
  readonly text: string;
  readonly parameters: ReadonlyMap<string, Value>;
  /** Commands that the door has read itself (the wire of the key-value protocol); `text` is then only shown. */
  readonly commands?: GivenCommands;
}

/** The texts of their replies are bytes. */
export interface GivenCommands {
  readonly program: CommandsProgram;
  /** Where transient keys live; asks for the caller's rights on them. */
  readonly locate: LocateSpace;
}

export interface RunOptions {
  readonly principal: Principal;
  /** `/query` refuses writes before execution (http-api.md 6.6). */
  readonly mustBeIdempotent: boolean;
  /** The transaction session to run in (`service-session-id`). */
  readonly sessionId?: string;
  /** `autoCommit` of the request. */
  readonly autoCommit?: boolean;
  /** Attempts of a single statement; default `txRetries`. */
  readonly retries?: number;
  /** Largest number of rows that the caller will take; pushed into plans without a LIMIT of their own. */
  readonly rowCountMax?: number;
  /** As many rows as the caller takes of a statement that has a LIMIT of its own; default `rowCountMax`. */
  readonly limitedRowCountMax?: number;
  /** Memory that is counted for the statement before it starts: what an earlier run of it took. */
  readonly memoryBytes?: number;
  readonly profile?: 'basic' | 'detailed';
  /** `readTimeout` of the user's groups (http-api.md 16), beside `command.timeout`; -1 or absent: none. */
  readonly readTimeoutMs?: number;
  /** The request's id, for the log. */
  readonly requestId?: string;
  /**
   * Set when the client sent `X-Request-Id` with a command: a digest of id, user and request (http-api.md 4). It is stored
   * with the commit, so that `DatabaseHandle.committedUnder` knows it after a restart (limits.md 17, ha.md 5.9).
   */
  readonly replayKey?: string;
  /** Told what the statement does before anything of it runs, once for each of its parts; throws to refuse it. */
  readonly judge?: (effects: ReadonlySet<Effect>) => void;
  /** Aborted when the client leaves or the request is cancelled. Made when it is first asked for: short statements do not. */
  readonly signal: AbortSignal;
  /** What the signal says, without making it. */
  readonly isAborted?: boolean;
  /** When the request arrived (ms of the monotonic clock); for recordings. */
  readonly receivedMs?: number;
  /** While a recording runs: takes the measured plan. Set by `statement-meter.ts`, not by doors. */
  planSink?: PlanSink;
}

/**
 * Rows of a running statement: values by `nextBatch`, pulled until undefined, or bytes by `rendered`; never both. `close` in any
 * case. Reading is what drives execution, so a slow reader slows the producer (bounded memory). A write statement has committed
 * before its first row is given.
 */
export interface ResultStream {
  readonly shape: ResultShape;
  readonly isReadOnly: boolean;
  /** Called once, when the result is closed or has failed, with the error then. */
  whenClosed?: ((error: unknown) => void) | undefined;
  /** The LIMIT that the statement itself has; known before the first batch (http-api.md 6.3). */
  readonly statementLimit: number | undefined;
  /** For serializers that follow links (`graph`, `studio`); valid until `close`, sees what the statement saw or wrote. */
  readonly records: RecordLookup;
  /**
   * All rows, when the statement has ended already (it took less than a slice, or it writes): the same rows that `nextBatch`
   * gives, without a promise per batch. Undefined: pull.
   */
  readonly complete?: ResultBatch | undefined;
  /** What the statement has drawn of the memory of all statements, until it is closed. */
  readonly memoryBytes: number;
  /** At most some 1,024 rows or 5 ms of work; undefined at the end. */
  nextBatch(): Promise<ResultBatch | undefined>;
  /** The rows as bytes. @param rowCountMax of the rows that are written; one more is looked for, for `isCut` */
  rendered(renderer: RowRenderer, rowCountMax: number): RenderedRows;
  close(): void;
  /** After the last row. */
  summary(): ResultSummary;
}

/**
 * What makes bytes of rows: JSON objects, lines, rows of a wire. Whoever asks for bytes brings it, made for the result's shape. It
 * owns the buffer, so that heads, rows and tails of an answer share one; what it holds may be taken whenever `write` gave back.
 */
export interface RowRenderer {
  /** What makes a renderer of the same bytes in another thread; absent: rows are written here only. */
  readonly form?: RowForm;
  /** What a renderer of the same form has written elsewhere: all rows of the result, piece by piece. */
  append?(bytes: Uint8Array): void;
  /** Bytes written and not yet taken. */
  readonly length: number;
  /** Writes one row. @returns false when it is long: nothing of it was written then */
  write(batch: ResultBatch, row: number): boolean;
  /** A long row: the bytes of `write`; gives back whenever there is a piece to be taken. */
  writeInPieces(batch: ResultBatch, row: number): Iterable<void>;
}

/** How rows are to look. Its meaning is that of the door which makes renderers. */
export interface RowForm {
  /** Items of a JSON array, or lines `{"record":...}`. */
  readonly layout: 'list' | 'lines';
  readonly typeHints: boolean;
  /** Vertices carry their numbers of edges. */
  readonly counts: boolean;
}

/**
 * Why `RenderedRows.write` gave back: so many `bytes` are there, or so many `rows`; the next row is `long` and waits for
 * `longRow`; a `batch` has ended, `pull` goes on; the `end`.
 */
export type RenderPause = 'bytes' | 'rows' | 'long' | 'batch' | 'end';

/** Rows of a statement as bytes, in the buffer of their renderer. */
export interface RenderedRows {
  /** Rows written. */
  readonly rowCount: number;
  /** Rows that the statement has given so far, also those that nobody asked for. */
  readonly pulledCount: number;
  /** There are more rows than were asked for. */
  readonly isCut: boolean;
  /** Writes without waiting, until the renderer holds `bytes`, `rows` are written, or there is nothing more to write here. */
  write(until: { readonly bytes: number; readonly rows: number }): RenderPause;
  /** The row that `write` stopped at. To be read to its end. */
  longRow(): Iterable<void>;
  /** The next batch. @returns false when there is none */
  pull(): Promise<boolean>;
}

export interface RecordLookup {
  /** Undefined for a record that is gone. */
  record(rid: Rid): StoredRecord | undefined;
  /** Number of edges of a vertex. */
  degree(vertex: Rid, direction: 'out' | 'in'): number;
  /** The edges that leave a vertex, one list for each type of them. */
  outgoing(vertex: Rid): Iterable<LeavingEdges>;
}

/** Parallel ids of edges and of the vertices that they lead to. */
export interface LeavingEdges {
  readonly count: number;
  readonly edges: ArrayLike<number>;
  readonly vertices: ArrayLike<number>;
}

export type ResultShape =
  /** Each row has one value per name. */
  | {
      readonly kind: 'columns';
      readonly names: readonly string[];
      /** Types of columns, where more is known about the values than they show themselves. */
      readonly types?: readonly (SchemaTypeName | undefined)[];
    }
  /** Each row IS one value: a record is a full record row, a map is a row whose columns are its keys. */
  | { readonly kind: 'value'; readonly name?: string };

export interface ResultBatch {
  readonly rowCount: number;
  /** Row-major: `rowCount` times the number of columns (1 for shape `value`). */
  readonly values: readonly Value[];
}

export interface ResultSummary {
  readonly isReadOnly: boolean;
  readonly statementLimit: number | undefined;
  /** Commit-index bookmark. */
  readonly index: LogIndex;
  readonly stats: Readonly<Record<string, number | boolean>> | undefined;
  readonly explain: ExplainedPlan | undefined;
  /** Absent when there are none. */
  readonly warnings?: readonly Warning[] | undefined;
}

export interface ExplainedPlan {
  readonly text: string;
  readonly steps: readonly ExplainedStep[];
}

/** Where a statement's plan is put while it is recorded. */
export interface PlanSink {
  plan: (() => ExplainedPlan) | undefined;
}

export interface ExplainedStep {
  readonly name: string;
  readonly description: string;
  /** Nanoseconds, -1 when not measured. */
  readonly cost: number;
  readonly rowCount: number | undefined;
  /** Rows that were expected, and the cost of this step and those below; openCypher only. */
  readonly estimate?: { readonly rowCount: number; readonly cost: number } | undefined;
  readonly steps: readonly ExplainedStep[];
}

/** One open database, as doors see it. */
export interface DatabaseHandle {
  readonly name: string;
  /** Values in force for this database. */
  readonly settings: SettingsReader;
  /** How dates and moments are printed now. */
  formats(): TemporalFormats;
  /** The commit that carried this `replayKey` within `ha.idempotencyCacheTtlMs`; undefined when there is none. */
  committedUnder?(replayKey: string): LogIndex | undefined;
  /** As `committedUnder`, of a load that was told what to remember (`BulkLoader.commit`). */
  recorded?(replayKey: string): RecordedRequest | undefined;
  /** Persists a database setting in the database's configuration. @throws DatabaseError `InvalidSetting` */
  setSetting(key: string, text: string): Promise<void>;
  /**
   * `awaitResponse: false`: resolves when the statement is queued (back pressure up to `asyncQueueTimeout`, then `Busy`);
   * its outcome goes to the log. The signal of the options is not used: the client is answered before execution.
   */
  runLater(statement: Statement, options: RunOptions): Promise<void>;
  run(statement: Statement, options: RunOptions): Promise<ResultStream>;
  /** As `run`; a short reading statement gives its result without a promise. @throws what `run` rejects with, too */
  runNow(statement: Statement, options: RunOptions): ResultStream | Promise<ResultStream>;
  /**
   * In a cluster: `any` server may run it, since it only reads or concerns the server that is asked; else the leader must. Texts
   * that take long to compile are for the leader. @throws DatabaseError what is wrong with it here
   */
  placeOf?(statement: Statement): 'any' | 'leader';
  /** What is committed, as it happens here. */
  readonly changes: ChangeEvents;
  /** Begins a load of records that come chunk by chunk and may meet stored ones. */
  insertStream(options: InsertOptions): InsertStream;
  /** Begins a load of many new records. */
  bulkLoader(options?: BulkLoadOptions): BulkLoader;
  /** @returns the session id, `AS-<uuid>` */
  begin(principal: Principal, isolation: Isolation): string;
  commit(principal: Principal, sessionId: string): Promise<LogIndex>;
  rollback(principal: Principal, sessionId: string): Promise<void>;
  hasSession(principal: Principal, sessionId: string): boolean;
}

/** Told of databases that come and go. Must not throw. */
export interface DatabaseWatcher {
  /** Created, opened again, or other files took its place. */
  opened(database: DatabaseHandle): void;
  dropped(name: string): void;
}

/** All databases of the server, as doors and control commands see them. */
export interface DatabasesPort {
  /** Sorted names of all databases, closed ones too; names starting with '.' excluded. */
  names(): readonly string[];
  exists(name: string): boolean;
  /** @throws DatabaseError `DatabaseNotFound`, `DatabaseClosed`, `DatabaseInstalling` */
  open(name: string): DatabaseHandle;
  create(name: string): Promise<void>;
  /**
   * Makes a database whose files `fill` makes in an empty directory. It appears when they are whole.
   * @throws DatabaseError `DatabaseExists`, `IllegalArgument`, and what `fill` throws, with nothing left behind
   */
  install(name: string, fill: (directory: string) => Promise<void>, work: BuildKind): Promise<void>;
  /** As `install` for a database that exists: it goes on until the new files are whole, then they take its place. */
  replace(name: string, fill: (directory: string) => Promise<void>, work: BuildKind): Promise<void>;
  drop(name: string): Promise<void>;
  openClosed(name: string): Promise<void>;
  close(name: string): Promise<void>;
  languages(): readonly string[];
  /** Tells from now on which databases come and go. */
  watch(watcher: DatabaseWatcher): void;
  /** Maintenance operations that run now on a database, for `GET /progress`. */
  progress(name: string): readonly ProgressEntry[];
  /** Everything that runs now, on all databases. */
  readonly running: RunningWork;
  /** Rolls back the transaction sessions of a user who was dropped or has a new password (http-api.md 8). */
  endSessionsOfUser(user: string): void;
  /** Rolls back every transaction session: this server leads its cluster no more (ha.md 6.4). */
  endAllSessions(): void;
  /** False until every database loaded at start is open or known to be unopenable (limits.md 20). */
  isRecovered(): boolean;
  /** Counters since start for `GET /server`. */
  counters(): DatabaseCounters;
  /** What the open databases take. */
  storage(): readonly DatabaseStorage[];
  /** Rolls back sessions, drains the asynchronous queues, checkpoints and closes all databases. */
  shutdown(): Promise<void>;
}

export interface DatabaseCounters {
  readonly writeTx: number;
  readonly readTx: number;
  readonly txRollbacks: number;
  readonly queries: number;
  readonly concurrentModificationExceptions: number;
  readonly asyncActive: number;
  readonly asyncQueued: number;
  readonly asyncCompleted: number;
  readonly openDatabases: number;
  readonly openSessions: number;
  readonly commitSeconds: Histogram;
  readonly flushSeconds: Histogram;
}

/** What an open database takes; counts since it was opened. */
export interface DatabaseStorage {
  readonly database: string;
  /** Of the LMDB file. */
  readonly mapBytes: number;
  readonly flushCount: number;
  readonly logBytes: number;
  /** Records of all types; cost grows with the number of buckets. */
  readonly recordCount: () => number;
}
