import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import type { RunOptions, Statement } from '../session.ts';

/** A statement that was answered with 202 before its execution. */
export interface QueuedStatement {
  readonly statement: Statement;
  readonly options: RunOptions;
}

export interface AsyncQueueOptions {
  /** `service.asyncOperationsQueueSize` */
  readonly capacity: () => number;
  /** `service.asyncQueueTimeout` */
  readonly waitMsMax: () => number;
  /** `service.asyncTxBatchSize` */
  readonly batchSize: () => number;
  /** `service.asyncWorkerThreads`; more than one gives up the order of arrival. */
  readonly workerCountMax: () => number;
  /** `service.asyncBackPressure`, percent; 0 means none. */
  readonly backPressure: () => number;
  /**
   * Executes statements from the front of the list, in order, in one transaction for at most some 100 ms, and commits.
   * @returns how many it has taken, at least one
   */
  readonly execute: (statements: readonly QueuedStatement[]) => Promise<number>;
  readonly runtime: Runtime;
  readonly log: Log;
}

/**
 * Statements sent with `awaitResponse: false` (http-api.md 6.7, house decision 53): executed in order of arrival, visible at
 * most 100 ms after their turn. What is queued is in memory only, so a crash loses it; a regular stop drains it. A full
 * queue keeps its senders waiting; one that is filled beyond `service.asyncBackPressure` lets each wait until a batch is done,
 * 100 ms at most.
 */
export class AsyncQueue {
  readonly #options: AsyncQueueOptions;
  readonly #waiting: QueuedStatement[] = [];
  /** Batches that are being executed. */
  readonly #running = new Set<readonly QueuedStatement[]>();
  readonly #senders: (() => void)[] = [];
  #workerCount = 0;
  #isClosed = false;
  #completedCount = 0;
  #idle: (() => void)[] = [];

  constructor(options: AsyncQueueOptions) {
    this.#options = options;
  }

  get queuedCount(): number {
    let count = this.#waiting.length;
    for (const batch of this.#running) count += batch.length;
    return count;
  }

  get activeCount(): number {
    return this.#workerCount;
  }

  get completedCount(): number {
    return this.#completedCount;
  }

  /**
   * Resolves when the statement is queued.
   * @throws DatabaseError `Busy` when the queue stayed full for `waitMsMax`, or is closing
   */
  async add(item: QueuedStatement): Promise<void> {
    const { clock } = this.#options.runtime;
    const untilMs = clock.monotonicMs() + this.#options.waitMsMax();
    await this.#slowDown();
    while (!this.#isClosed && this.queuedCount >= this.#options.capacity()) {
      const leftMs = untilMs - clock.monotonicMs();
      if (leftMs <= 0 || !(await this.#room(leftMs))) throw queueIsFull(this.#options.capacity());
    }
    if (this.#isClosed) throw new DatabaseError('Busy', 'the asynchronous queue is closing');
    this.#waiting.push(item);
    if (this.#workerCount < this.#options.workerCountMax()) void this.#work();
  }

  async #slowDown(): Promise<void> {
    const { backPressure, capacity } = this.#options;
    const percent = backPressure();
    if (percent === 0 || this.#isClosed) return;
    if (this.queuedCount * 100 >= capacity() * percent) await this.#room(slowedMs);
  }

  /**
   * Takes no more statements and waits for those that are queued.
   * @returns what could not be executed in time, also logged by request id
   */
  async close(waitMs: number): Promise<readonly QueuedStatement[]> {
    this.#isClosed = true;
    for (const sender of this.#senders.splice(0)) sender();
    if (this.queuedCount > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#options.runtime.timers.after(waitMs, resolve);
        this.#idle.push(() => {
          cancel();
          resolve();
        });
      });
    }
    const left = [...[...this.#running].flat(), ...this.#waiting.splice(0)];
    for (const { options } of left) {
      this.#options.log.error('asynchronous command was not executed before the stop', {
        requestId: options.requestId,
      });
    }
    return left;
  }

  /** @returns false when there was no room in time */
  #room(waitMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = this.#options.runtime.timers.after(waitMs, () => {
        this.#senders.splice(this.#senders.indexOf(wake), 1);
        resolve(false);
      });
      const wake = (): void => {
        cancel();
        resolve(true);
      };
      this.#senders.push(wake);
    });
  }

  async #work(): Promise<void> {
    this.#workerCount += 1;
    // What arrives in the same turn shares a transaction.
    await this.#options.runtime.timers.yield();
    while (this.#waiting.length > 0) await this.#execute(this.#nextBatch());
    this.#workerCount -= 1;
    if (this.#workerCount === 0) for (const done of this.#idle.splice(0)) done();
  }

  #nextBatch(): readonly QueuedStatement[] {
    const share = Math.ceil(this.#waiting.length / this.#options.workerCountMax());
    return this.#waiting.splice(0, Math.min(share, this.#options.batchSize()));
  }

  async #execute(batch: readonly QueuedStatement[]): Promise<void> {
    this.#running.add(batch);
    let taken = batch.length;
    try {
      taken = await this.#options.execute(batch);
    } catch (error) {
      this.#options.log.error('asynchronous commands failed', { reason: String(error) });
    }
    this.#running.delete(batch);
    this.#waiting.unshift(...batch.slice(taken));
    this.#completedCount += taken;
    for (const sender of this.#senders.splice(0, taken)) sender();
  }
}

/** Longest that a sender is slowed down. */
const slowedMs = 100;

function queueIsFull(capacity: number): DatabaseError {
  return new DatabaseError(
    'Busy',
    `${capacity} asynchronous commands are waiting, service.asyncOperationsQueueSize allows no more`,
  );
}
