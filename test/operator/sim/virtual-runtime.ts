import type { Runtime } from '../../../operator/api/runtime.ts';

interface Timer {
  readonly atMs: number;
  readonly run: () => void;
}

/** Time that moves only when a test says so. Starts at 2026-11-21T00:00:00Z. */
export class VirtualRuntime implements Runtime {
  #nowMs = Date.UTC(2026, 10, 21);
  #timers: Timer[] = [];
  #counter = 0;
  readonly clock = { now: () => this.#nowMs, monotonicMs: () => this.#nowMs };
  readonly timers = {
    after: (delayMs: number, run: () => void) => {
      const timer = { atMs: this.#nowMs + delayMs, run };
      this.#timers.push(timer);
      return () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      };
    },
    sleep: (delayMs: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        if (signal?.aborted) {
          resolve();
          return;
        }
        const cancel = this.timers.after(delayMs, resolve);
        signal?.addEventListener('abort', () => {
          cancel();
          resolve();
        });
      }),
  };
  readonly random = {
    fraction: () => 0.5,
    secret: (length: number) => `secret-${++this.#counter}-`.padEnd(length, 'x').slice(0, length),
    uuid: () => `${String(++this.#counter).padStart(8, '0')}-0000-4000-8000-000000000000`,
  };

  /** Moves time without running timers: for code that is driven step by step. */
  skip(ms: number): void {
    this.#nowMs += ms;
  }

  /** Moves time and runs what falls due, letting promises settle after each. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms;
    for (;;) {
      await settlePromises();
      const next = this.#timers
        .filter((timer) => timer.atMs <= endMs)
        .sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.run();
    }
    this.#nowMs = endMs;
    await settlePromises();
  }
}

/** Lets everything that waits for no timer run to its end. */
export async function settlePromises(): Promise<void> {
  for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setImmediate(resolve));
}
