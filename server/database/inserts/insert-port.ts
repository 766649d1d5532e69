import type { Principal } from '#core/principal.ts';
import type { Value, ValueMap } from '#core/value/value.ts';

/** How a streamed load writes (contract, "Streaming inserts over WebSocket"). */
export interface InsertOptions {
  readonly principal: Principal;
  /** Type of records that name none. */
  readonly targetType: string | undefined;
  /** What one transaction holds: the whole stream, a chunk, or a record. */
  readonly transactionMode: 'per_stream' | 'per_batch' | 'per_row';
  /** What happens to a record whose key is taken. */
  readonly conflictMode: 'error' | 'update' | 'ignore';
  /** Properties by which a record is recognized; empty: unique indexes alone decide. */
  readonly keyColumns: readonly string[];
  /** The only properties that `update` overwrites; undefined: all that a record brings. */
  readonly updateColumns: readonly string[] | undefined;
  /** Everything is checked and nothing written. */
  readonly validateOnly: boolean;
  /** Values as statements take them (typed markers); may throw for one record. */
  readonly decode: (record: ValueMap) => ValueMap;
}

/** A streamed load of records, chunk after chunk. One call at a time. */
export interface InsertStream {
  /**
   * Writes a chunk. Records that cannot be written are told of in the outcome, the others are.
   * @throws DatabaseError when the stream cannot go on; it is rolled back then
   */
  apply(records: readonly Value[]): Promise<ChunkOutcome>;
  /** @throws DatabaseError when nothing was written (`per_stream`) */
  commit(): Promise<void>;
  /** Nothing of an open transaction is written. */
  rollback(): void;
}

export interface ChunkOutcome {
  readonly received: number;
  readonly inserted: number;
  readonly updated: number;
  readonly ignored: number;
  readonly failed: number;
  /** The first 1,000. */
  readonly errors: readonly RowError[];
  /** False: the chunk as a whole failed, nothing of it was written, and it may come again. */
  readonly isApplied: boolean;
}

/** websocket.md 4.4. */
export type RowErrorCode =
  | 'CONFLICT'
  | 'MISSING_ENDPOINTS'
  | 'INVALID_KEY_COLUMN'
  | 'DB_ERROR'
  | 'COMMIT_FAILED';

export interface RowError {
  /** From 0; -1 for the chunk as a whole. */
  readonly rowIndex: number;
  readonly code: RowErrorCode;
  readonly message: string;
  readonly exception: string;
}

export const rowErrorsMax = 1000;
