import { DatabaseError } from '#core/errors.ts';
import {
  type ChunkOutcome,
  type RowError,
  type RowErrorCode,
  rowErrorsMax,
} from './insert-port.ts';

/** Why one record was not written. */
export class RowFailure {
  readonly code: RowErrorCode;
  readonly message: string;
  readonly exception: string;

  constructor(code: RowErrorCode, message: string, exception = 'IllegalArgumentException') {
    this.code = code;
    this.message = message;
    this.exception = exception;
  }

  /** An error of the engine as the failure of a record. @throws the error when it is none of the engine's */
  static of(error: unknown, code?: RowErrorCode): RowFailure {
    if (error instanceof RowFailure) return error;
    if (!(error instanceof DatabaseError) || error.code === 'Internal') throw error;
    const ofEngine = error.code === 'DuplicatedKey' ? 'CONFLICT' : (code ?? 'DB_ERROR');
    return new RowFailure(ofEngine, error.message, error.exception);
  }
}

export type RowResult = 'inserted' | 'updated' | 'ignored';

/** Counts what became of the records of one chunk. */
export class Tally {
  readonly #received: number;
  readonly #counts = { inserted: 0, updated: 0, ignored: 0 };
  readonly #errors: RowError[] = [];
  #failed = 0;

  constructor(received: number) {
    this.#received = received;
  }

  count(result: RowResult): void {
    this.#counts[result] += 1;
  }

  fail(rowIndex: number, failure: RowFailure): void {
    this.#failed += 1;
    if (this.#errors.length >= rowErrorsMax) return;
    const { code, message, exception } = failure;
    this.#errors.push({ rowIndex, code, message, exception });
  }

  /** @param isDry nothing was meant to be written */
  outcome(isDry: boolean): ChunkOutcome {
    const none = { inserted: 0, updated: 0, ignored: 0 };
    return {
      received: this.#received,
      ...(isDry ? none : this.#counts),
      failed: this.#failed,
      errors: this.#errors,
      isApplied: true,
    };
  }
}

/** Of a chunk whose transaction failed. */
export function failedChunk(received: number, failure: RowFailure): ChunkOutcome {
  const { code, message, exception } = failure;
  return {
    received,
    inserted: 0,
    updated: 0,
    ignored: 0,
    failed: received,
    errors: [{ rowIndex: -1, code, message, exception }],
    isApplied: false,
  };
}
