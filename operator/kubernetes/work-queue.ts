import type { Runtime } from '../api/runtime.ts';

const backoffMs = { first: 250, max: 30_000 } as const;

export interface WorkQueueOptions {
  readonly runtime: Runtime;
  readonly workers: number;
  /** Works on one key; throwing means: again later. Never runs twice at once for one key. */
  readonly work: (key: string) => Promise<void>;
  /** How long to wait before the next try, when the error itself knows. */
  readonly retryAfterMs?: (error: unknown) => number | undefined;
  readonly onError: (key: string, error: unknown) => void;
  /** How long a key waited and was worked on. */
  readonly onDone?: (times: { readonly waitedMs: number; readonly workedMs: number }) => void;
}

/** What the queue has been doing, for the metrics. */
export interface QueueCounts {
  depth: number;
  active: number;
  adds: number;
  retries: number;
}

/** Keys to be worked on: equal keys merge, one worker per key, failures come back later and later. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  /** With the time since when. */
  readonly #waiting = new Map<string, number>();
  readonly #running = new Map<string, number>();
  /** Of those that wait, the ones that are next. */
  readonly #first = new Set<string>();
  /** Keys that changed while they were worked on. */
  readonly #again = new Set<string>();
  readonly #timers = new Map<string, { readonly atMs: number; readonly cancel: () => void }>();
  readonly #failures = new Map<string, number>();
  #isStopped = false;
  #idle: (() => void)[] = [];
  readonly counts: QueueCounts = { depth: 0, active: 0, adds: 0, retries: 0 };

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  add(key: string): void {
    if (this.#isStopped) return;
    this.counts.adds++;
    this.#cancelTimer(key);
    if (this.#running.has(key)) this.#again.add(key);
    else this.#wait(key);
    this.#start();
  }

  /** Before all that wait: what it waited for has come and grows old. */
  addFirst(key: string): void {
    if (this.#isStopped) return;
    this.#first.add(key);
    this.add(key);
  }

  /** The earliest of several times counts. */
  addAfter(key: string, delayMs: number): void {
    if (this.#isStopped) return;
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const { timers } = this.#options.runtime;
    const atMs = this.#now() + delayMs;
    const present = this.#timers.get(key);
    if (present !== undefined && present.atMs <= atMs) return;
    present?.cancel();
    const cancel = timers.after(delayMs, () => {
      this.#timers.delete(key);
      this.add(key);
    });
    this.#timers.set(key, { atMs, cancel });
  }

  forget(key: string): void {
    this.#cancelTimer(key);
    this.#failures.delete(key);
  }

  /** Takes no more work; resolves when what is being worked on has ended. */
  stop(): Promise<void> {
    this.#isStopped = true;
    this.#waiting.clear();
    this.#first.clear();
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
    return this.whenIdle();
  }

  whenIdle(): Promise<void> {
    if (this.#running.size === 0 && this.#waiting.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** Milliseconds for which the slowest key has been worked on; 0 when none is. */
  longestRunningMs(): number {
    return Math.max(0, ...[...this.#running.values()].map((sinceMs) => this.#now() - sinceMs));
  }

  /** Milliseconds for which all that is under way has been worked on, together. */
  unfinishedMs(): number {
    let sumMs = 0;
    for (const sinceMs of this.#running.values()) sumMs += this.#now() - sinceMs;
    return sumMs;
  }

  #now(): number {
    return this.#options.runtime.clock.monotonicMs();
  }

  #wait(key: string): void {
    if (!this.#waiting.has(key)) this.#waiting.set(key, this.#now());
  }

  #cancelTimer(key: string): void {
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
  }

  #start(): void {
    for (const key of this.#first) this.#take(key);
    for (const key of this.#waiting.keys()) {
      if (this.#running.size >= this.#options.workers) break;
      this.#take(key);
    }
    this.counts.depth = this.#waiting.size;
    this.counts.active = this.#running.size;
  }

  #take(key: string): void {
    const sinceMs = this.#waiting.get(key);
    if (sinceMs === undefined || this.#running.size >= this.#options.workers) return;
    this.#first.delete(key);
    this.#waiting.delete(key);
    this.#running.set(key, this.#now());
    this.#runOne(key, sinceMs).catch((error: unknown) => this.#options.onError(key, error));
  }

  async #runOne(key: string, sinceMs: number): Promise<void> {
    const startedMs = this.#now();
    try {
      await this.#options.work(key);
      this.#failures.delete(key);
    } catch (error) {
      this.#options.onError(key, error);
      this.#retry(key, error);
    }
    this.#running.delete(key);
    this.#options.onDone?.({
      waitedMs: startedMs - sinceMs,
      workedMs: this.#now() - startedMs,
    });
    if (this.#again.delete(key) && !this.#isStopped) this.#wait(key);
    this.#start();
    if (this.#running.size > 0 || this.#waiting.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #retry(key: string, error: unknown): void {
    const count = this.#failures.get(key) ?? 0;
    this.#failures.set(key, count + 1);
    this.counts.retries++;
    const step = Math.min(backoffMs.first * 2 ** Math.min(count, 20), backoffMs.max);
    const jitter = 0.8 + 0.4 * this.#options.runtime.random.fraction();
    this.addAfter(key, this.#options.retryAfterMs?.(error) ?? step * jitter);
  }
}
