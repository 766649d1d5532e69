import type { Runtime } from '../api/runtime.ts';

/** Together with what `LeaderWatch` asks, 200 a second (operator.md 10.5). */
const requestsPerSecondMax = 150;
/** After a pause so much of it is made up for: 50 requests go at once, and 200 in that second. */
const creditMs = 333;

/**
 * How fast members are asked, all together. The first requests after a pause go at once; of those that cannot wait the ones after
 * them wait in their place.
 */
export class Pace {
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly #perSecond: number;
  /** When the next one may go. */
  #turnMs = Number.NEGATIVE_INFINITY;

  constructor(
    runtime: Pick<Runtime, 'clock' | 'timers'>,
    perSecond: number = requestsPerSecondMax,
  ) {
    this.#runtime = runtime;
    this.#perSecond = perSecond;
  }

  /** Waits for the turn of so many more requests: a question, with the login that it needs. */
  async turns(requests: number): Promise<void> {
    const waitMs = this.count(requests);
    if (waitMs > 0) await this.#runtime.timers.sleep(waitMs);
  }

  /** Those that go without waiting: changes, with what they need. @returns for how long they would have waited */
  count(requests: number): number {
    const now = this.#runtime.clock.monotonicMs();
    this.#turnMs = Math.max(this.#turnMs, now - creditMs) + (requests * 1000) / this.#perSecond;
    return this.#turnMs - now;
  }
}
