import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Value } from '#core/value/value.ts';
import type { Isolation, Transaction } from '#transaction/transaction.ts';
import { ConflictLanes } from '../attempt/conflict-lanes.ts';
import { type Counters, timedCommit } from '../catalogue/counters.ts';
import { type ServerMemory, StatementMemory } from '../bounds/memory-accounts.ts';
import { runWithRetries } from '../attempt/retry.ts';
import type { ChunkOutcome, InsertStream } from './insert-port.ts';
import { RowWriter, type RowWriterOptions } from './row-writer.ts';
import { failedChunk, RowFailure, type RowResult, Tally } from './tally.ts';

export interface TransactionStreamOptions extends RowWriterOptions {
  readonly begin: (isolation: Isolation) => Transaction;
  /** @throws DatabaseError when the database was closed or dropped */
  readonly requireOpen: () => void;
  readonly memory: ServerMemory;
  readonly counters: Counters;
  readonly runtime: Runtime;
  readonly limits: () => {
    readonly attemptCountMax: number;
    readonly retryDelayMs: number;
    readonly conflictWaitMs: number;
  };
}

const sliceMs = 5;

/**
 * A streamed load over transactions (websocket.md 4.5): one for the stream, one per chunk or one per record. Without key
 * columns a taken key counts as found at commit, as the contract says: it ends the stream at its commit, the chunk, or the
 * record. The event loop is given away every 5 ms.
 */
export class TransactionStream implements InsertStream {
  readonly #options: TransactionStreamOptions;
  readonly #rows: RowWriter;
  readonly #turn = (): Promise<void> => this.#pause();
  readonly #lanes: ConflictLanes;
  readonly #memory: StatementMemory;
  /** Of `per_stream`; begun by the first chunk. */
  #transaction: Transaction | undefined;
  /** Why the commit of `per_stream` will fail. */
  #doom: DatabaseError | undefined;
  #isEnded = false;
  #sliceEndMs = 0;

  constructor(options: TransactionStreamOptions) {
    this.#options = options;
    this.#rows = new RowWriter(options);
    this.#lanes = new ConflictLanes(options.runtime.timers);
    this.#memory = new StatementMemory(options.memory, Number.POSITIVE_INFINITY);
  }

  async apply(records: readonly Value[]): Promise<ChunkOutcome> {
    try {
      this.#options.requireOpen();
      if (this.#options.validateOnly) return await this.#validate(records);
      switch (this.#options.transactionMode) {
        case 'per_stream':
          return await this.#extend(records);
        case 'per_batch':
          return await this.#writeBatch(records);
        case 'per_row':
          return await this.#writeEach(records);
      }
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  async commit(): Promise<void> {
    const transaction = this.#transaction;
    try {
      if (transaction === undefined) return;
      this.#options.requireOpen();
      if (this.#doom !== undefined) throw this.#doom;
      this.#transaction = undefined;
      await this.#commit(transaction);
    } finally {
      this.rollback();
    }
  }

  rollback(): void {
    this.#isEnded = true;
    if (this.#transaction !== undefined) this.#options.counters.txRollbacks += 1;
    this.#transaction?.rollback();
    this.#transaction = undefined;
    this.#memory.close();
  }

  /** Writes into a transaction that is never committed. */
  async #validate(records: readonly Value[]): Promise<ChunkOutcome> {
    const transaction = this.#options.begin('READ_COMMITTED');
    try {
      return (await this.#fill(transaction, records, true)).outcome(true);
    } finally {
      transaction.rollback();
    }
  }

  async #extend(records: readonly Value[]): Promise<ChunkOutcome> {
    this.#transaction ??= this.#options.begin('READ_COMMITTED');
    const isEager = this.#options.keyColumns.length > 0;
    const tally = await this.#fill(this.#transaction, records, isEager);
    this.#memory.holdWrites(this.#transaction.heldBytes);
    return tally.outcome(false);
  }

  async #writeBatch(records: readonly Value[]): Promise<ChunkOutcome> {
    const isEager = this.#options.keyColumns.length > 0;
    try {
      return await this.#retried(async (transaction) => {
        const tally = await this.#fill(transaction, records, isEager);
        if (this.#doom !== undefined) throw this.#doom;
        return tally.outcome(false);
      });
    } catch (error) {
      if (this.#isEnded) throw error;
      const { message, exception } = RowFailure.of(error);
      return failedChunk(records.length, new RowFailure('COMMIT_FAILED', message, exception));
    }
  }

  /** Writes the records of a chunk; those that fail leave nothing behind. */
  async #fill(
    transaction: Transaction,
    records: readonly Value[],
    isEager: boolean,
  ): Promise<Tally> {
    const tally = new Tally(records.length);
    transaction.beginStatement();
    this.#startSlice();
    await this.#rows.begin(records, transaction, () => this.#pause());
    for (let at = 0; at < records.length; at++) {
      try {
        const written = this.#rows.write(records[at] as Value, transaction, this.#turn);
        tally.count(written instanceof Promise ? await written : written);
      } catch (error) {
        if (!isEager && isDuplicate(error)) {
          // Found by the engine at commit, says the contract; the row counts as taken until then.
          this.#doom ??= error;
          tally.count('inserted');
        } else tally.fail(at, RowFailure.of(error));
      }
      if (at % 16 === 15) await this.#pause();
    }
    return tally;
  }

  async #writeEach(records: readonly Value[]): Promise<ChunkOutcome> {
    const tally = new Tally(records.length);
    this.#startSlice();
    await this.#prepareEach(records);
    for (let at = 0; at < records.length; at++) {
      this.#options.requireOpen();
      try {
        tally.count(await this.#writeOne(records[at] as Value));
      } catch (error) {
        const failure = RowFailure.of(error);
        const isIgnored =
          failure.code === 'CONFLICT' &&
          this.#options.conflictMode === 'ignore' &&
          this.#options.keyColumns.length === 0;
        if (isIgnored) tally.count('ignored');
        else tally.fail(at, failure);
        await this.#prepareEach(records.slice(at + 1));
      }
      await this.#pause();
      if (this.#isEnded) throw new DatabaseError('Cancelled', 'the load was ended');
    }
    return tally.outcome(false);
  }

  /** How keys are found, looked up once for the records that follow. */
  async #prepareEach(records: readonly Value[]): Promise<void> {
    const transaction = this.#options.begin('READ_COMMITTED');
    try {
      await this.#rows.begin(records, transaction, () => this.#pause());
    } finally {
      transaction.rollback();
    }
  }

  async #writeOne(record: Value): Promise<RowResult> {
    let isWritten = false;
    try {
      return await this.#retried(async (transaction) => {
        isWritten = false;
        transaction.beginStatement();
        const result = await this.#rows.write(record, transaction, this.#turn);
        isWritten = true;
        return result;
      });
    } catch (error) {
      throw isWritten ? RowFailure.of(error, 'COMMIT_FAILED') : error;
    }
  }

  /** Fills and commits a transaction, again and again while conflicts allow. */
  #retried<T>(fill: (transaction: Transaction) => T | Promise<T>): Promise<T> {
    const { attemptCountMax, retryDelayMs, conflictWaitMs } = this.#options.limits();
    const attempt = async (): Promise<T> => {
      this.#doom = undefined;
      const transaction = this.#options.begin('READ_COMMITTED');
      try {
        const result = await fill(transaction);
        await this.#commit(transaction);
        return result;
      } catch (error) {
        transaction.rollback();
        this.#options.counters.txRollbacks += 1;
        throw error;
      }
    };
    return runWithRetries(attempt, () => ({
      attemptCountMax,
      delayMs: retryDelayMs,
      conflictWaitMs,
      lanes: this.#lanes,
      check: () => this.#options.requireOpen(),
      runtime: this.#options.runtime,
    }));
  }

  async #commit(transaction: Transaction): Promise<void> {
    const { counters, runtime } = this.#options;
    try {
      await timedCommit(transaction, counters, runtime.clock);
    } catch (error) {
      if (error instanceof DatabaseError && error.code === 'ConcurrentModification') {
        counters.concurrentModificationExceptions += 1;
      }
      throw error;
    }
  }

  #startSlice(): void {
    this.#sliceEndMs = this.#options.runtime.clock.monotonicMs() + sliceMs;
  }

  async #pause(): Promise<void> {
    const { clock, timers } = this.#options.runtime;
    if (clock.monotonicMs() < this.#sliceEndMs) return;
    await timers.yield();
    if (this.#isEnded) throw new DatabaseError('Cancelled', 'the load was ended');
    this.#startSlice();
  }
}

function isDuplicate(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.code === 'DuplicatedKey';
}
