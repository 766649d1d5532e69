import type { Runtime } from '#core/runtime.ts';

/** Long work on the main thread lets go of the event loop this often (storage.md 6.7). */
const sliceMs = 5;

/** Tells long work when to let others run. */
export class SliceTimer {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly #pause: () => Promise<void>;
  #startMs: number;

  /** @param pause what `pause` awaits instead of the next turn; may throw to end the work */
  constructor(
    runtime: Pick<Runtime, 'clock' | 'timers'>,
    pause: () => Promise<void> = () => runtime.timers.yield(),
  ) {
    this.#runtime = runtime;
    this.#pause = pause;
    this.#startMs = runtime.clock.monotonicMs();
  }

  get isSpent(): boolean {
    return this.#runtime.clock.monotonicMs() - this.#startMs >= sliceMs;
  }

  /** Resolves after pending I/O had its turn; a new slice begins. */
  async pause(): Promise<void> {
    await this.#pause();
    this.#startMs = this.#runtime.clock.monotonicMs();
  }
}
