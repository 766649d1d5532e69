import type { Timers } from '#core/runtime.ts';

/**
 * Gives the event loop to one long statement per turn. When several statements yield in one turn, the real `yield` would
 * resume all of them in the next, and ten scans with slices of 5 ms would keep `/health` waiting for 50 ms. Here each turn
 * resumes one, first come first served, so other work waits for one slice however many statements run.
 */
export class FairTurns implements Timers {
  readonly #timers: Timers;
  readonly #waiting: (() => void)[] = [];
  #isTurning = false;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  after(delayMs: number, run: () => void): () => void {
    return this.#timers.after(delayMs, run);
  }

  sleep(delayMs: number): Promise<void> {
    return this.#timers.sleep(delayMs);
  }

  /** Not in the queue of long statements. */
  soon(run: () => void): void {
    const { soon } = this.#timers;
    if (soon === undefined) queueMicrotask(run);
    else soon(run);
  }

  yield(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isTurning) void this.#turn();
    });
  }

  async #turn(): Promise<void> {
    this.#isTurning = true;
    while (this.#waiting.length > 0) {
      await this.#timers.yield();
      this.#waiting.shift()?.();
    }
    this.#isTurning = false;
  }
}
