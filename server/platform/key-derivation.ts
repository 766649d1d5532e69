import { Worker } from 'node:worker_threads';
import { DatabaseError } from '#core/errors.ts';
import type { Cancel, Timers } from '#core/runtime.ts';

/** Derives keys from passwords; slow on purpose. */
export interface KeyDerivation {
  /**
   * PBKDF2-HMAC-SHA256, 32 bytes.
   * @throws DatabaseError `Busy` when too many derivations wait already
   */
  derive(password: string, salt: Uint8Array, iterations: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** What goes to the worker. */
export interface DerivationRequest {
  readonly password: string;
  readonly salt: Uint8Array;
  readonly iterations: number;
}

interface Waiting extends DerivationRequest {
  readonly resolve: (key: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

export interface KeyDerivationOptions {
  /** Derivations that may wait; read at each use. */
  readonly queueLengthMax: () => number;
  readonly timers: Timers;
  /** The worker ends after this time without work: it costs some 10 MB. */
  readonly idleMs?: number;
}

/**
 * Derivation in one worker thread of its own, one after the other: neither the event loop nor the shared pool of file
 * calls is held up by a flood of logins (security.md 9.2).
 */
export class WorkerKeyDerivation implements KeyDerivation {
  readonly #options: KeyDerivationOptions;
  readonly #waiting: Waiting[] = [];
  #running: Waiting | undefined;
  #worker: Worker | undefined;
  #stopIdleTimer: Cancel = () => {};

  constructor(options: KeyDerivationOptions) {
    this.#options = options;
  }

  derive(password: string, salt: Uint8Array, iterations: number): Promise<Uint8Array> {
    if (this.#waiting.length >= this.#options.queueLengthMax())
      return Promise.reject(new DatabaseError('Busy', 'Too many authentication requests'));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ password, salt, iterations, resolve, reject });
      this.#startNext();
    });
  }

  async close(): Promise<void> {
    this.#stopIdleTimer();
    const worker = this.#worker;
    this.#worker = undefined;
    this.#fail(new DatabaseError('NotOnline', 'the server is stopping'));
    await worker?.terminate();
  }

  #startNext(): void {
    if (this.#running) return;
    const next = this.#waiting.shift();
    this.#running = next;
    this.#stopIdleTimer();
    if (!next) {
      const { timers, idleMs = 1000 } = this.#options;
      this.#stopIdleTimer = timers.after(idleMs, () => void this.close());
      return;
    }
    this.#worker ??= this.#startWorker();
    const { password, salt, iterations } = next;
    this.#worker.postMessage({ password, salt, iterations } satisfies DerivationRequest);
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL('./key-derivation-worker.mjs', import.meta.url), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
    });
    worker.unref();
    worker.on('message', (key: Uint8Array) => {
      const done = this.#running;
      this.#running = undefined;
      done?.resolve(key);
      this.#startNext();
    });
    worker.on('error', (error) => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#fail(error);
    });
    return worker;
  }

  #fail(error: unknown): void {
    const all = this.#running ? [this.#running, ...this.#waiting] : [...this.#waiting];
    this.#running = undefined;
    this.#waiting.length = 0;
    for (const waiting of all) waiting.reject(error);
  }
}
