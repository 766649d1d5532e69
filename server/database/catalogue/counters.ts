import { Histogram } from '#core/instruments.ts';
import type { Clock } from '#core/runtime.ts';
import type { CommitReceipt, Transaction } from '#transaction/transaction.ts';

/** Counted since the server started; `GET /server` shows them. */
export interface Counters {
  writeTx: number;
  readTx: number;
  txRollbacks: number;
  queries: number;
  concurrentModificationExceptions: number;
  /** Seconds from the wish to commit until the change was durable and visible; those that succeeded. */
  readonly commitSeconds: Histogram;
  /** Seconds of each write of a commit log, which is one flush of the disk. */
  readonly flushSeconds: Histogram;
}

export function newCounters(): Counters {
  return {
    writeTx: 0,
    readTx: 0,
    txRollbacks: 0,
    queries: 0,
    concurrentModificationExceptions: 0,
    commitSeconds: new Histogram(),
    flushSeconds: new Histogram(),
  };
}

/** Counts for one database what is counted for the server as well (`schema:stats`, sql.md 7.12). */
export class OwnCounters implements Counters {
  readonly commitSeconds: Histogram;
  readonly flushSeconds: Histogram;
  readonly #server: Counters;
  #writeTx = 0;
  #readTx = 0;
  #txRollbacks = 0;
  #queries = 0;
  #concurrentModificationExceptions = 0;

  constructor(server: Counters) {
    this.#server = server;
    this.commitSeconds = server.commitSeconds;
    this.flushSeconds = server.flushSeconds;
  }

  get writeTx(): number {
    return this.#writeTx;
  }

  set writeTx(count: number) {
    this.#server.writeTx += count - this.#writeTx;
    this.#writeTx = count;
  }

  get readTx(): number {
    return this.#readTx;
  }

  set readTx(count: number) {
    this.#server.readTx += count - this.#readTx;
    this.#readTx = count;
  }

  get txRollbacks(): number {
    return this.#txRollbacks;
  }

  set txRollbacks(count: number) {
    this.#server.txRollbacks += count - this.#txRollbacks;
    this.#txRollbacks = count;
  }

  get queries(): number {
    return this.#queries;
  }

  set queries(count: number) {
    this.#server.queries += count - this.#queries;
    this.#queries = count;
  }

  get concurrentModificationExceptions(): number {
    return this.#concurrentModificationExceptions;
  }

  set concurrentModificationExceptions(count: number) {
    this.#server.concurrentModificationExceptions += count - this.#concurrentModificationExceptions;
    this.#concurrentModificationExceptions = count;
  }
}

/** The counts alone. */
export function plainCounts(counters: Counters): Readonly<Record<string, number>> {
  const { writeTx, readTx, txRollbacks, queries, concurrentModificationExceptions } = counters;
  return { writeTx, readTx, txRollbacks, queries, concurrentModificationExceptions };
}

/** Commits and counts it; its time only when there was something to write. @throws what `commit` throws */
export function timedCommit(
  transaction: Transaction,
  counters: Counters,
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<CommitReceipt> {
  const { hasWrites } = transaction;
  const startMs = clock.monotonicMs();
  return transaction.commit().then((receipt) => {
    counters.writeTx += 1;
    if (hasWrites) counters.commitSeconds.observe((clock.monotonicMs() - startMs) / 1000);
    return receipt;
  });
}
