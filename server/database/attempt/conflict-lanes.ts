import type { Timers } from '#core/runtime.ts';

interface Waiter {
  readonly wake: (lane: Lane | undefined) => void;
  isOver: boolean;
}

/** Statements that wait for one transaction, in order of arrival. */
export interface Lane {
  readonly waiters: Waiter[];
}

/**
 * Where statements wait for a transaction in flight that is in their way (ha.md 5.4 rule 3). If all of them were executed
 * again when it has ended, one of them would win and the others would have worked for nothing: n writers of one record would
 * cost n^2 executions. So they are woken one by one, each in a turn of its own. When a woken one meets another transaction
 * again, those behind it follow it into its new lane unwoken, since what they want is most likely the same record; when it
 * does not, the next one is woken at once, without waiting for any commit.
 */
export class ConflictLanes {
  readonly #timers: Timers;
  readonly #lanes = new Map<Promise<void>, Lane>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /**
   * @param blocker settles when the transaction in the way has ended
   * @param from the lane that this statement was woken from, when it waits again
   * @returns the lane from which it is woken; undefined after `waitMs`
   */
  wait(blocker: Promise<void>, from: Lane | undefined, waitMs: number): Promise<Lane | undefined> {
    const lane = this.#laneOf(blocker);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        isOver: false,
        wake: (woken) => {
          waiter.isOver = true;
          cancel();
          resolve(woken);
        },
      };
      const cancel = this.#timers.after(waitMs, () => waiter.wake(undefined));
      lane.waiters.push(waiter);
      if (from !== undefined && from !== lane) lane.waiters.push(...from.waiters.splice(0));
    });
  }

  #laneOf(blocker: Promise<void>): Lane {
    const known = this.#lanes.get(blocker);
    if (known !== undefined) return known;
    const lane: Lane = { waiters: [] };
    this.#lanes.set(blocker, lane);
    const open = (): void => void this.#wakeAll(blocker, lane);
    blocker.then(open, open);
    return lane;
  }

  async #wakeAll(blocker: Promise<void>, lane: Lane): Promise<void> {
    this.#lanes.delete(blocker);
    for (let waiter = lane.waiters.shift(); waiter !== undefined; waiter = lane.waiters.shift()) {
      if (waiter.isOver) continue;
      waiter.wake(lane);
      // It is executed and validated within this turn, unless it is a long one.
      await this.#timers.yield();
    }
  }
}
