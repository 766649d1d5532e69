import type { Cancel } from '#core/runtime.ts';
import type { ChunkOutcome, InsertStream } from '#database/inserts/insert-port.ts';
import type { ProgressReporter } from '#database/progress/progress-registry.ts';
import type { Client } from './client.ts';
import type { StartOptions } from './insert-options.ts';

interface Counts {
  received: number;
  inserted: number;
  updated: number;
  ignored: number;
  failed: number;
}

/** A streamed insert between its `start` and its end: the sequence of chunks and what became of their records. */
export class InsertSession {
  readonly id: string;
  readonly client: Client;
  readonly database: string;
  readonly options: StartOptions;
  readonly stream: InsertStream;
  /** Shows the session among what runs. */
  readonly operation: ProgressReporter;
  readonly #startedMs: number;
  readonly #totals: Counts = { received: 0, inserted: 0, updated: 0, ignored: 0, failed: 0 };
  /** The last attempt of the chunk that comes next; counted when no other follows. */
  #failedAttempt: ChunkOutcome | undefined;
  #lastSequence = 0;
  isEnded = false;
  cancelExpiry: Cancel = () => {};

  constructor(given: {
    readonly id: string;
    readonly client: Client;
    readonly database: string;
    readonly options: StartOptions;
    readonly stream: InsertStream;
    readonly operation: ProgressReporter;
    readonly startedMs: number;
  }) {
    this.id = given.id;
    this.client = given.client;
    this.database = given.database;
    this.options = given.options;
    this.stream = given.stream;
    this.operation = given.operation;
    this.#startedMs = given.startedMs;
  }

  get lastSequence(): number {
    return this.#lastSequence;
  }

  /** Takes note of an attempt at the chunk that follows the last one. */
  note(outcome: ChunkOutcome): void {
    if (!outcome.isApplied) {
      this.#failedAttempt = outcome;
      return;
    }
    this.#failedAttempt = undefined;
    this.#lastSequence += 1;
    add(this.#totals, outcome);
    this.operation.advance(outcome.received);
    for (const name of ['inserted', 'updated', 'failed'] as const)
      this.operation.count(name, this.#totals[name]);
  }

  /** Totals of the whole session. */
  summary(nowMs: number): Readonly<Record<string, number | boolean>> {
    const totals = { ...this.#totals };
    if (this.#failedAttempt !== undefined) add(totals, this.#failedAttempt);
    const isCommitted = totals.inserted + totals.updated > 0;
    return {
      ...totals,
      executionTimeMs: Math.round(nowMs - this.#startedMs),
      partialCommit: this.options.transactionMode !== 'per_stream' && isCommitted,
    };
  }
}

function add(totals: Counts, outcome: ChunkOutcome): void {
  totals.received += outcome.received;
  totals.inserted += outcome.inserted;
  totals.updated += outcome.updated;
  totals.ignored += outcome.ignored;
  totals.failed += outcome.failed;
}
