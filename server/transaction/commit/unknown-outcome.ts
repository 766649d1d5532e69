import { DatabaseError } from '#core/errors.ts';
import type { LogIndex } from '#core/value/rid.ts';

/**
 * Whoever waits for a commit is told that nobody knows yet what becomes of it (ha.md 12.1). What it holds it keeps until that
 * is known: else the next writer passes, and both commit.
 */
export class UnknownOutcome extends DatabaseError {
  /** Never rejects; undefined: nothing was committed. */
  readonly fate: Promise<LogIndex | undefined>;

  constructor(message: string, fate: Promise<LogIndex | undefined>) {
    super('OutcomeUnknown', message);
    this.fate = fate;
  }
}

/** Calls `settle` when it is known what became of a commit that was answered with this error: mostly at once. */
export function whenSettled(error: unknown, settle: (index: LogIndex | undefined) => void): void {
  if (error instanceof UnknownOutcome) void error.fate.then(settle);
  else settle(undefined);
}
