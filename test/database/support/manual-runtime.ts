import type { Cancel, Runtime } from '#core/runtime.ts';

/** A runtime whose time stands still until a test moves it; randomness is a counter. */
export class ManualRuntime implements Runtime {
  #nowMs = 1_700_000_000_000;
  #random = 0;
  readonly #timers = new Map<number, { atMs: number; run: () => void }>();
  #lastTimer = 0;

  readonly clock = {
    now: () => this.#nowMs,
    monotonicMs: () => this.#nowMs - 1_700_000_000_000,
  };

  readonly timers = {
    after: (delayMs: number, run: () => void): Cancel => {
      this.#lastTimer += 1;
      const id = this.#lastTimer;
      this.#timers.set(id, { atMs: this.#nowMs + delayMs, run });
      return () => void this.#timers.delete(id);
    },
    sleep: (delayMs: number): Promise<void> =>
      new Promise((resolve) => void this.timers.after(delayMs, resolve)),
    yield: (): Promise<void> => new Promise((resolve) => setImmediate(resolve)),
  };

  readonly random = {
    uint32: () => {
      this.#random = (this.#random + 0x9e3779b9) >>> 0;
      return this.#random;
    },
    bytes: (length: number) => new Uint8Array(length),
    uuid: () => {
      this.#random += 1;
      return `00000000-0000-4000-8000-${this.#random.toString(16).padStart(12, '0')}`;
    },
  };

  get timerCount(): number {
    return this.#timers.size;
  }

  /** Runs what is due up to then, in time order, letting promises settle after each. */
  async advance(ms: number): Promise<void> {
    await settle();
    const until = this.#nowMs + ms;
    for (;;) {
      let next: { id: number; atMs: number; run: () => void } | undefined;
      for (const [id, timer] of this.#timers) {
        if (timer.atMs <= until && (next === undefined || timer.atMs < next.atMs)) {
          next = { id, ...timer };
        }
      }
      if (next === undefined) break;
      this.#timers.delete(next.id);
      this.#nowMs = next.atMs;
      next.run();
      await settle();
    }
    this.#nowMs = until;
    await settle();
  }
}

/** Lets everything that is ready run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
