import { Worker } from 'node:worker_threads';
import { DatabaseError } from '#core/errors.ts';
import type { Log } from '#core/log.ts';
import type { Cancel, Timers } from '#core/runtime.ts';
import type { ThreadMemory } from '../bounds/memory-accounts.ts';
import {
  type FromThread,
  receivedError,
  type StatementOrder,
  type ThreadStart,
  type ToThread,
} from './messages.ts';
import type { MovedRows } from './moved-rows.ts';

/** A thread that has had nothing to do for so long ends, with its caches. */
const idleMsMax = 60_000;

export interface ReaderThreadsOptions {
  /** Threads at most. */
  readonly countMax: number;
  /** The program of a thread. */
  readonly script: URL;
  /** Largest heap of a thread. */
  readonly heapMiB: number;
  readonly timers: Pick<Timers, 'after'>;
  readonly log: Log;
  /** For a thread with this place in the counts of memory, from 1 on. */
  readonly startOf: (own: number) => ThreadStart;
  readonly memory: ThreadMemory;
  /** Statements that outlived their first slice, wherever they run. */
  readonly longCount: () => number;
}

/** A statement in a thread. */
interface Run {
  readonly rows: MovedRows;
  /** Told what it took there. */
  readonly ended: (tookMs: number) => void;
}

/** One thread as the main thread knows it. */
class ReaderThread {
  readonly own: number;
  readonly worker: Worker;
  readonly runs = new Map<number, Run>();
  /** Those that were told to stop, and have not said yet that they have. */
  readonly #stopping = new Set<number>();
  /** Whose files it has open, or is about to. */
  key: number | undefined;
  isReady = false;
  isEnding = false;
  stopIdling: Cancel = () => {};
  readonly #leaving = new Map<number, () => void>();

  constructor(own: number, worker: Worker) {
    this.own = own;
    this.worker = worker;
  }

  /** Statements that somebody waits for. */
  get load(): number {
    return this.runs.size - this.#stopping.size;
  }

  stop(id: number): void {
    if (!this.runs.has(id)) return;
    this.#stopping.add(id);
    this.post({ kind: 'stop', id });
  }

  ended(id: number): void {
    this.runs.delete(id);
    this.#stopping.delete(id);
  }

  post(message: ToThread, transferred: readonly ArrayBuffer[] = []): void {
    this.worker.postMessage(message, transferred);
  }

  /** Resolves when the thread has let go of the database, or has died. */
  leave(key: number): Promise<void> {
    if (this.key !== key) return Promise.resolve();
    return new Promise((resolve) => {
      this.#leaving.set(key, resolve);
      this.post({ kind: 'leave', key });
    });
  }

  left(key: number): void {
    if (this.key === key) this.key = undefined;
    this.#leaving.get(key)?.();
    this.#leaving.delete(key);
  }

  isLeaving(): boolean {
    return this.#leaving.size > 0;
  }

  died(error: unknown): void {
    for (const { rows } of this.runs.values()) rows.fail(error);
    this.runs.clear();
    this.#stopping.clear();
    for (const resolve of this.#leaving.values()) resolve();
    this.#leaving.clear();
  }
}

/**
 * Threads that run reading statements beside the main thread, which takes its share: a statement moves when a thread has no more of
 * them than the main thread. They start when a statement asks for one that is not there, which then runs where it is, and end when
 * they have been idle.
 */
export class ReaderThreads {
  readonly #options: ReaderThreadsOptions;
  readonly #threads: (ReaderThread | undefined)[] = [];
  /** False: a thread could not even start; everything runs in the main thread. */
  #isUsable = true;
  #nextId = 1;
  #nextKey = 1;
  #takenCount = 0;

  constructor(options: ReaderThreadsOptions) {
    this.#options = options;
  }

  /** For a database that is opened. */
  newKey(): number {
    return this.#nextKey++;
  }

  /** Threads at most. */
  get countMax(): number {
    return this.#options.countMax;
  }

  /** Threads that are there, starting ones too. */
  get count(): number {
    return this.#threads.reduce((sum, thread) => sum + (thread === undefined ? 0 : 1), 0);
  }

  /** Statements that run in threads. */
  get movedCount(): number {
    return this.#threads.reduce((sum, thread) => sum + (thread?.load ?? 0), 0);
  }

  /** Statements that threads have taken so far. */
  get takenCount(): number {
    return this.#takenCount;
  }

  /** A thread for one more statement on the database; undefined: it runs where it is. */
  free(key: number): ReaderThread | undefined {
    const here = this.#options.longCount() - this.movedCount - 1;
    let best: ReaderThread | undefined;
    for (const thread of this.#threads) {
      if (thread === undefined || !thread.isReady || thread.isLeaving()) continue;
      if (thread.runs.size > 0 && thread.key !== key) continue;
      if (best === undefined || isBetter(thread, best, key)) best = thread;
    }
    if (best !== undefined && best.load <= here) return best;
    if (best === undefined || best.load > 0) this.#startOneMore();
    return undefined;
  }

  /** @param thread what `free` gave, in the same turn */
  run(thread: ReaderThread, order: Omit<StatementOrder, 'id'>, run: Run): number {
    const id = this.#nextId++;
    this.#takenCount += 1;
    thread.stopIdling();
    thread.key = order.database.key;
    thread.runs.set(id, run);
    thread.post({ kind: 'run', order: { ...order, id } });
    return id;
  }

  /** All threads let go of a database that is about to be closed. */
  async leave(key: number): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread?.leave(key)));
  }

  /** Resolves when a thread is ready, started if need be: for whoever does not want to begin in the main thread. */
  async started(): Promise<void> {
    if (this.count === 0) this.#startOneMore();
    await Promise.all(
      this.#threads.map((thread) => {
        if (thread === undefined || thread.isReady) return undefined;
        return new Promise<void>((resolve) => {
          thread.worker.once('message', () => resolve());
          thread.worker.once('exit', () => resolve());
        });
      }),
    );
  }

  #startOneMore(): void {
    if (this.#isUsable && this.count < this.#options.countMax) this.#start();
  }

  #start(): void {
    const { script, heapMiB, startOf, countMax } = this.#options;
    let own = 1;
    while (own < countMax && this.#threads[own] !== undefined) own += 1;
    const worker = new Worker(script, {
      name: `reader-${own}`,
      workerData: startOf(own),
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
    });
    const thread = new ReaderThread(own, worker);
    this.#threads[own] = thread;
    let reason: unknown = new Error('it has ended');
    worker.on('message', (messages: readonly FromThread[]) => {
      for (const message of messages) this.#take(thread, message);
    });
    worker.on('error', (error) => {
      reason = error;
    });
    worker.on('exit', () => this.#ended(thread, reason));
    // Listeners would keep the process alive.
    worker.unref();
  }

  #take(thread: ReaderThread, message: FromThread): void {
    if (message.kind === 'ready') {
      thread.isReady = true;
      this.#idle(thread);
    } else if (message.kind === 'left') thread.left(message.key);
    else this.#toRun(thread, message);
  }

  #toRun(
    thread: ReaderThread,
    message: Exclude<FromThread, { readonly kind: 'ready' | 'left' }>,
  ): void {
    const run = thread.runs.get(message.id);
    if (run === undefined) return;
    if (message.kind === 'rows') {
      run.rows.add(message);
      return;
    }
    thread.ended(message.id);
    if (thread.runs.size === 0) this.#idle(thread);
    if (message.kind === 'failed') run.rows.fail(receivedError(message.error));
    else {
      run.ended(message.tookMs);
      run.rows.end(message.pulledCount, message.index);
    }
  }

  #idle(thread: ReaderThread): void {
    thread.stopIdling = this.#options.timers.after(idleMsMax, () => {
      if (thread.runs.size === 0) this.#end(thread);
    });
  }

  /** It may not be asked for anything from now on. */
  #end(thread: ReaderThread): void {
    thread.isReady = false;
    thread.isEnding = true;
    thread.post({ kind: 'end' });
  }

  #ended(thread: ReaderThread, reason: unknown): void {
    const { log, memory } = this.#options;
    thread.stopIdling();
    if (this.#threads[thread.own] === thread) this.#threads[thread.own] = undefined;
    memory.held[thread.own] = 0;
    if (thread.isEnding) {
      thread.died(reason);
      return;
    }
    if (!thread.isReady) this.#isUsable = false;
    const text = reason instanceof Error ? reason.message : String(reason);
    log.error('a reader thread has died', { statements: thread.runs.size, reason: text });
    thread.died(
      new DatabaseError(
        'Busy',
        `the thread that ran the statement has died and took its rows along: ${text}; try again`,
      ),
    );
  }
}

/** Whether to take `thread` before `best`: it has less to do, or its caches hold the database. */
function isBetter(thread: ReaderThread, best: ReaderThread, key: number): boolean {
  if (thread.load !== best.load) return thread.load < best.load;
  return thread.key === key && best.key !== key;
}

export type { ReaderThread };
