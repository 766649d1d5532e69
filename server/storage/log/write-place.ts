import type { Clock } from '#core/runtime.ts';

/** Writes in a row that nobody else wanted to commit during, before one is made in place. */
const aloneMin = 16;
/**
 * Every so many writes one is made elsewhere all the same, to see whether somebody comes meanwhile. Two writers who have missed
 * each other lose some milliseconds by it; a lone one pays twice for each probe.
 */
const probeEvery = 64;
/** A write in place that takes longer holds up others ... */
const slowMs = 1;
/**
 * ... which is paid for: t ms cost t + t^2 / 10 of a credit that grows by a fifth of the time, and without credit no write is made in
 * place. So writes of 2 ms, no more than a slice of a statement, hold the main thread for a sixth of the time at most, writes of 20 ms
 * for a fifteenth, writes of 200 ms for a hundredth; a single one of 20 ms on a quick disk, which is the machine rather than the disk,
 * is forgiven.
 */
const creditShare = 0.2;
const creditMsMax = 50;
const steepMs = 10;

/**
 * Where a write to the log is made: on the thread pool, which leaves the main thread free, or in place, which saves a single
 * writer two switches between threads, a third of the time of its commit. In place only while one writer is alone and the
 * disk is quick.
 */
export class WritePlace {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #aloneCount = 0;
  #startMs = 0;
  #creditMs = creditMsMax;
  #creditedMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /**
   * A write begins.
   * @param isDiskBusy it would take longer than usual, which says nothing about other writers
   * @returns whether it is made in place
   */
  begin(isAlone: boolean, isDiskBusy = false): boolean {
    if (!isAlone) {
      this.#aloneCount = 0;
      return false;
    }
    this.#aloneCount += 1;
    if (isDiskBusy || this.#aloneCount <= aloneMin || this.#aloneCount % probeEvery === 0)
      return false;
    const nowMs = this.#clock.monotonicMs();
    const credit = this.#creditMs + (nowMs - this.#creditedMs) * creditShare;
    this.#creditMs = Math.min(credit, creditMsMax);
    this.#creditedMs = nowMs;
    this.#startMs = nowMs;
    return this.#creditMs > 0;
  }

  /** A write in place has ended. */
  end(): void {
    const tookMs = this.#clock.monotonicMs() - this.#startMs;
    if (tookMs > slowMs) this.#creditMs -= tookMs + (tookMs * tookMs) / steepMs;
  }
}
