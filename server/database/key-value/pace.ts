import type { Runtime } from '#core/runtime.ts';

/** Milliseconds of work between two turns of the event loop. */
const sliceMs = 2;

/** The turns of commands that take long. */
export class Pace {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly #check: () => void;
  /** Undefined before the first look: most commands are over by then. */
  #startMs: number | undefined;

  /** @param check throws when the work is to end */
  constructor(runtime: Pick<Runtime, 'clock' | 'timers'>, check: () => void = () => {}) {
    this.#runtime = runtime;
    this.#check = check;
  }

  /** It is time to let others have theirs. */
  get isSpent(): boolean {
    const now = this.#runtime.clock.monotonicMs();
    this.#startMs ??= now;
    return now - this.#startMs >= sliceMs;
  }

  /** @throws DatabaseError when the work is to end */
  async pause(): Promise<void> {
    await this.#runtime.timers.yield();
    this.#startMs = this.#runtime.clock.monotonicMs();
    this.#check();
  }
}
