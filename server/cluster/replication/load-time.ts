import type { Cancel, Timers } from '#core/runtime.ts';

/** Longer than a load takes from one entry to the next, and than the merge of its edges begins behind the last one. */
const lullMs = 3000;

/** When row runs are applied, one after the other: the time of a load, as far as a server that follows can tell. */
export class LoadTime {
  readonly #begin: () => () => void;
  readonly #timers: Pick<Timers, 'after'>;
  #isOver: (() => void) | undefined;
  #runningCount = 0;
  #cancel: Cancel = () => {};

  /** @param begin told that a load begins; what it returns is called when it is over */
  constructor(begin: () => () => void, timers: Pick<Timers, 'after'>) {
    this.#begin = begin;
    this.#timers = timers;
  }

  /** Applies one of the runs. */
  async during(apply: () => Promise<void>): Promise<void> {
    this.#cancel();
    this.#runningCount += 1;
    this.#isOver ??= this.#begin();
    try {
      await apply();
    } finally {
      this.#runningCount -= 1;
      if (this.#runningCount === 0) this.#cancel = this.#timers.after(lullMs, () => this.#end());
    }
  }

  #end(): void {
    this.#isOver?.();
    this.#isOver = undefined;
  }
}
