import { DatabaseError } from '#core/errors.ts';
import type { Cancel, Timers } from '#core/runtime.ts';
import type { Index } from '#raft/vocabulary.ts';

/** Requests that may wait for the applied index at once (ha.md 7.3). */
const waiterCountMax = 10_000;

interface Waiter {
  readonly index: Index;
  /** Place in the heap; -1 when it is out of it. */
  at: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  readonly stop: Cancel;
}

/** Who waits until something is applied here: a heap by index, so that each move of the applied index costs what it wakes. */
export class AppliedWaiters {
  readonly #timers: Timers;
  readonly #heap: Waiter[] = [];

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  get count(): number {
    return this.#heap.length;
  }

  /**
   * Resolves when `index` is applied.
   * @param signal the client has left
   * @throws DatabaseError `NeedRetry` after `timeoutMs`, `Busy` when too many wait, `Cancelled`
   */
  wait(index: Index, timeoutMs: number, late: () => Error, signal?: AbortSignal): Promise<void> {
    if (this.#heap.length >= waiterCountMax)
      throw new DatabaseError(
        'Busy',
        `${waiterCountMax} requests wait for this server to catch up`,
      );
    return new Promise((resolve, reject) => {
      const stopTimer = this.#timers.after(timeoutMs, () => this.#end(waiter, late()));
      const left = () => this.#end(waiter, new DatabaseError('Cancelled', 'the client has left'));
      const waiter: Waiter = {
        index,
        at: -1,
        resolve,
        reject,
        stop: () => {
          stopTimer();
          signal?.removeEventListener('abort', left);
        },
      };
      signal?.addEventListener('abort', left);
      this.#push(waiter);
    });
  }

  /** Wakes everybody who waited for this index or a lower one. */
  applied(index: Index): void {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined || first.index > index) return;
      this.#remove(first);
      first.stop();
      first.resolve();
    }
  }

  /** Nothing will be applied any more. */
  failAll(error: Error): void {
    for (const waiter of [...this.#heap]) this.#end(waiter, error);
  }

  #end(waiter: Waiter, error: Error): void {
    if (waiter.at < 0) return;
    this.#remove(waiter);
    waiter.stop();
    waiter.reject(error);
  }

  #push(waiter: Waiter): void {
    waiter.at = this.#heap.length;
    this.#heap.push(waiter);
    this.#raise(waiter);
  }

  #remove(waiter: Waiter): void {
    const last = this.#heap.pop();
    const { at } = waiter;
    waiter.at = -1;
    if (last === undefined || last === waiter) return;
    this.#place(last, at);
    this.#raise(last);
    this.#sink(last);
  }

  #place(waiter: Waiter, at: number): void {
    waiter.at = at;
    this.#heap[at] = waiter;
  }

  #raise(waiter: Waiter): void {
    while (waiter.at > 0) {
      const { at } = waiter;
      const parent = this.#heap[(at - 1) >> 1] as Waiter;
      if (parent.index <= waiter.index) return;
      this.#place(waiter, parent.at);
      this.#place(parent, at);
    }
  }

  #sink(waiter: Waiter): void {
    for (;;) {
      const { at } = waiter;
      const left = this.#heap[2 * at + 1];
      const right = this.#heap[2 * at + 2];
      const child =
        right !== undefined && left !== undefined && right.index < left.index ? right : left;
      if (child === undefined || child.index >= waiter.index) return;
      this.#place(waiter, child.at);
      this.#place(child, at);
    }
  }
}
