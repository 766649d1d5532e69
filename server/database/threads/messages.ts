import { assert } from '#core/assert.ts';
import { DatabaseError, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import type { LogIndex } from '#core/value/rid.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { imageOf } from '#storage/format/bytes.ts';
import { ByteWriter } from '#storage/format/byte-writer.ts';
import { ValueReader, writeValue } from '#storage/format/value-codec.ts';
import type { StatementLimits } from '../bounds/statement-limits.ts';
import type { RowForm } from '../session.ts';

// What the main thread and a reader thread say to each other.

/** What a thread is started with. */
export interface ThreadStart {
  readonly serverVersion: string;
  readonly memory: {
    /** What statements hold, by thread (`memory-accounts.ts`). */
    readonly held: SharedArrayBuffer;
    readonly own: number;
    readonly bytesMax: number;
    readonly settingKey: string;
    readonly containerLimitBytes: number | undefined;
    readonly containerPercentMax: number;
    readonly percentSettingKey: string;
  };
}

/** A database as a thread opens it. */
export interface ThreadedDatabase {
  /** Given once: a database that is opened again has another one. */
  readonly key: number;
  readonly name: string;
  readonly directory: string;
  readonly cacheBytes: number;
  readonly mapSizeBytes: number;
  readonly readersMax: number;
}

export interface StatementOrder {
  readonly id: number;
  readonly database: ThreadedDatabase;
  readonly language: string;
  readonly text: string;
  /** `encodeParameters` */
  readonly parameters: Uint8Array;
  readonly limits: StatementLimits;
  readonly planCountMax: number;
  readonly user: string;
  readonly rowCountMax: number | undefined;
  readonly limitedRowCountMax: number | undefined;
  readonly readTimeoutMs: number | undefined;
  readonly snapshotAgeMsMax: number;
  /** It began so many milliseconds ago. */
  readonly elapsedMs: number;
  readonly form: RowForm;
  /** Of the rows that are written. */
  readonly renderedMax: number;
}

export type ToThread =
  | { readonly kind: 'run'; readonly order: StatementOrder }
  /** Rows were taken: as many more may be sent. The memory of those before comes back, to be used again. */
  | { readonly kind: 'taken'; readonly id: number; readonly spent: ArrayBuffer | undefined }
  | { readonly kind: 'stop'; readonly id: number }
  /** The database is about to be closed. */
  | { readonly kind: 'leave'; readonly key: number }
  | { readonly kind: 'end' };

export type FromThread =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'rows';
      readonly id: number;
      readonly bytes: Uint8Array<ArrayBuffer>;
      readonly rowCount: number;
      /** Rows that the statement has given so far. */
      readonly pulledCount: number;
      /** They are one long row. */
      readonly isLong: boolean;
    }
  | {
      readonly kind: 'ended';
      readonly id: number;
      readonly index: LogIndex;
      readonly pulledCount: number;
      /** What the statement took from its beginning there. */
      readonly tookMs: number;
    }
  | { readonly kind: 'failed'; readonly id: number; readonly error: SentError }
  | { readonly kind: 'left'; readonly key: number };

/** Messages of rows that may be under way. */
export const rowMessagesMax = 4;

export interface SentError {
  /** undefined: an error of ours. */
  readonly code: ErrorCode | undefined;
  readonly message: string;
  readonly details: ErrorDetails;
  readonly stack: string | undefined;
}

export function sentError(error: unknown): SentError {
  if (error instanceof DatabaseError) {
    const { code, message, help, isPartlyDone, failure, position } = error;
    const details = {
      arguments: [...error.arguments],
      isPartlyDone,
      ...(help !== undefined && { help }),
      ...(failure !== undefined && { failure }),
      ...(position !== undefined && { position }),
    };
    return { code, message, details, stack: undefined };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { code: undefined, message, details: {}, stack };
}

export function receivedError({ code, message, details, stack }: SentError): Error {
  if (code !== undefined) return new DatabaseError(code, message, details);
  const error = new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** @throws DatabaseError for values that no record could hold */
export function encodeParameters(parameters: ReadonlyMap<string, Value>): Uint8Array {
  const out = new ByteWriter(64);
  writeValue(out, parameters);
  return new Uint8Array(out.bytes.subarray(0, out.position));
}

export function decodeParameters(bytes: Uint8Array): ValueMap {
  const value = new ValueReader(imageOf(bytes), 0).value();
  assert(isMap(value), 'parameters are a map');
  return value;
}
