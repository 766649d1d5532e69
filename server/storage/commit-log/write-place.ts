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
 * ... and is followed by its milliseconds cubed, divided by this, without another one, up to `recoveryMsMax`. A write of 2 ms, which
 * is no more than a slice of a statement and which quick disks have every hundred writes, costs 2 ms more; one of 20 ms holds the main
 * thread for 1 % of the time at most.
 */
const recoveryDivisor = 4;
const recoveryMsMax = 30_000;

/**
 * Where a write to the log is made: on the thread pool, which leaves the main thread free, or in place, which saves a single
 * writer two switches between threads, a third of the time of its commit. In place only while one writer is alone and the
 * disk is quick.
 */
export class WritePlace {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #aloneCount = 0;
  #startMs = 0;
  /** No write in place before. */
  #recoveredMs = 0;

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
    this.#startMs = this.#clock.monotonicMs();
    return this.#startMs >= this.#recoveredMs;
  }

  /** A write in place has ended. */
  end(): void {
    const nowMs = this.#clock.monotonicMs();
    const tookMs = nowMs - this.#startMs;
    if (tookMs > slowMs)
      this.#recoveredMs = nowMs + Math.min(tookMs ** 3 / recoveryDivisor, recoveryMsMax);
  }
}
