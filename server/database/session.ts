import type { Principal } from '#core/principal.ts';
import type { LogIndex } from '#core/rid.ts';
import type { Value } from '#core/value.ts';
import type { Isolation } from '#transaction/transaction.ts';

/** One statement as a door hands it in. */
export interface Statement {
  readonly language: string;
  readonly text: string;
  readonly parameters: ReadonlyMap<string, Value>;
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
  readonly profile?: 'basic' | 'detailed';
  /** Aborted when the client leaves or the request is cancelled. */
  readonly signal: AbortSignal;
}

/**
 * Rows of a running statement. Pull with `nextBatch` until undefined; `close` in any case. Reading is what drives execution,
 * so a slow reader slows the producer (bounded memory). A write statement has committed before its first batch is given.
 */
export interface ResultStream {
  readonly shape: ResultShape;
  /** At most some 1,024 rows or 5 ms of work; undefined at the end. */
  nextBatch(): Promise<ResultBatch | undefined>;
  close(): void;
  /** After the last batch. */
  summary(): ResultSummary;
}

export type ResultShape =
  /** Each row has one value per name. */
  | { readonly kind: 'columns'; readonly names: readonly string[] }
  /** Each row IS one value: a record is a full record row, a map is a row whose columns are its keys. */
  | { readonly kind: 'value' };

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
}

export interface ExplainedPlan {
  readonly text: string;
  readonly steps: readonly ExplainedStep[];
}

export interface ExplainedStep {
  readonly name: string;
  readonly description: string;
  /** Nanoseconds, -1 when not measured. */
  readonly cost: number;
  readonly rowCount: number | undefined;
  readonly steps: readonly ExplainedStep[];
}

/** One open database, as doors see it. */
export interface DatabaseHandle {
  readonly name: string;
  run(statement: Statement, options: RunOptions): Promise<ResultStream>;
  /** @returns the session id, `AS-<uuid>` */
  begin(principal: Principal, isolation: Isolation): string;
  commit(principal: Principal, sessionId: string): Promise<LogIndex>;
  rollback(principal: Principal, sessionId: string): Promise<void>;
  hasSession(principal: Principal, sessionId: string): boolean;
}

/** All databases of the server, as doors and control commands see them. */
export interface DatabasesPort {
  /** Sorted names of all databases, closed ones too; names starting with '.' excluded. */
  names(): readonly string[];
  exists(name: string): boolean;
  /** @throws DatabaseError `DatabaseNotFound`, `DatabaseClosed`, `DatabaseInstalling` */
  open(name: string): DatabaseHandle;
  create(name: string): Promise<void>;
  drop(name: string): Promise<void>;
  openClosed(name: string): Promise<void>;
  close(name: string): Promise<void>;
  languages(): readonly string[];
}
