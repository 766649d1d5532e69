import type { PausingWorker, Timers } from '#core/runtime.ts';

/** Who paused more often is a long worker. Slices are some 2 ms long. */
const youngPausesMax = 5;
/** A long worker goes on for so many turns before the next one does. */
const stretchTurns = 50;

interface Pause {
  readonly worker: PausingWorker | undefined;
  readonly resume: () => void;
}

/**
 * Gives the event loop to one long statement per turn. When several statements yield in one turn, the real `yield` would
 * resume all of them in the next, and ten scans with slices of 5 ms would keep `/health` waiting for 50 ms. Here each turn
 * resumes one, so other work waits for one slice however many statements run.
 *
 * A statement that was resumed goes on for a stretch of turns before another one does: what it keeps in the caches of the processor and
 * in young memory would otherwise be driven out by all the others between any two of its slices. Who has only begun comes first, but
 * has no more turns than those that are long, if there are any.
 */
export class FairTurns implements Timers {
  readonly #timers: Timers;
  readonly #young = new PauseQueue(youngPausesMax);
  readonly #long = new PauseQueue(stretchTurns);
  /** Turns that those who began had more than the long ones. */
  #lead = 0;
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

  yield(worker?: PausingWorker): Promise<void> {
    return new Promise((resume) => {
      const isYoung = worker === undefined || worker.pauseCount <= youngPausesMax;
      (isYoung ? this.#young : this.#long).add({ worker, resume });
      if (!this.#isTurning) void this.#turn();
    });
  }

  async #turn(): Promise<void> {
    this.#isTurning = true;
    while (this.#young.isWaiting || this.#long.isWaiting) {
      await this.#timers.yield();
      this.#resumeNext();
    }
    this.#lead = 0;
    this.#isTurning = false;
  }

  #resumeNext(): void {
    const [young, long] = [this.#young, this.#long];
    const isYoung = young.isWaiting && (!long.isWaiting || young.isInStretch || this.#lead <= 0);
    if (!long.isWaiting) this.#lead = 0;
    else this.#lead += isYoung ? 1 : -1;
    if (this.#lead < 0) this.#lead = 0;
    (isYoung ? young : long).resumeNext();
  }
}

/** First come first served, but for who has its stretch. */
class PauseQueue {
  readonly #stretchMax: number;
  readonly #waiting: Pause[] = [];
  #current: PausingWorker | undefined;
  #turnCount = 0;

  constructor(stretchMax: number) {
    this.#stretchMax = stretchMax;
  }

  get isWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  /** Whose stretch it is waits for the next turn of it. */
  get isInStretch(): boolean {
    return this.#placeInStretch() >= 0;
  }

  add(pause: Pause): void {
    this.#waiting.push(pause);
  }

  resumeNext(): void {
    const place = Math.max(0, this.#placeInStretch());
    const [next] = this.#waiting.splice(place, 1);
    const isSame = next?.worker !== undefined && next.worker === this.#current;
    this.#turnCount = isSame && this.#turnCount < this.#stretchMax ? this.#turnCount + 1 : 1;
    this.#current = next?.worker;
    next?.resume();
  }

  #placeInStretch(): number {
    if (this.#current === undefined || this.#turnCount >= this.#stretchMax) return -1;
    return this.#waiting.findIndex(({ worker }) => worker === this.#current);
  }
}
