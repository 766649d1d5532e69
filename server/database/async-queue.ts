import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Runtime } from '#core/runtime.ts';
import type { RunOptions, Statement } from './session.ts';

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
 * queue keeps its senders waiting.
 */
export class AsyncQueue {
  readonly #options: AsyncQueueOptions;
  readonly #waiting: QueuedStatement[] = [];
  readonly #senders: (() => void)[] = [];
  #isWorking = false;
  #isClosed = false;
  #completedCount = 0;
  #idle: (() => void)[] = [];

  constructor(options: AsyncQueueOptions) {
    this.#options = options;
  }

  get queuedCount(): number {
    return this.#waiting.length;
  }

  get activeCount(): number {
    return this.#isWorking ? 1 : 0;
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
    while (!this.#isClosed && this.#waiting.length >= this.#options.capacity()) {
      const leftMs = untilMs - clock.monotonicMs();
      if (leftMs <= 0 || !(await this.#room(leftMs))) throw queueIsFull(this.#options.capacity());
    }
    if (this.#isClosed) throw new DatabaseError('Busy', 'the asynchronous queue is closing');
    this.#waiting.push(item);
    if (!this.#isWorking) void this.#work();
  }

  /**
   * Takes no more statements and waits for those that are queued.
   * @returns what could not be executed in time, also logged by request id
   */
  async close(waitMs: number): Promise<readonly QueuedStatement[]> {
    this.#isClosed = true;
    for (const sender of this.#senders.splice(0)) sender();
    if (this.#isWorking || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#options.runtime.timers.after(waitMs, resolve);
        this.#idle.push(() => {
          cancel();
          resolve();
        });
      });
    }
    const left = this.#waiting.splice(0);
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
    this.#isWorking = true;
    // What arrives in the same turn shares a transaction.
    await this.#options.runtime.timers.yield();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, this.#options.batchSize());
      let taken = batch.length;
      try {
        taken = await this.#options.execute(batch);
      } catch (error) {
        this.#options.log.error('asynchronous commands failed', { reason: String(error) });
      }
      this.#waiting.splice(0, taken);
      this.#completedCount += taken;
      for (const sender of this.#senders.splice(0, taken)) sender();
    }
    this.#isWorking = false;
    for (const done of this.#idle.splice(0)) done();
  }
}

function queueIsFull(capacity: number): DatabaseError {
  return new DatabaseError(
    'Busy',
    `${capacity} asynchronous commands are waiting, service.asyncOperationsQueueSize allows no more`,
  );
}
