import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { SlotHeap } from '../vector/heap.ts';

const boundsPerLook = 16_384;
const unitsPerLook = 32;

/**
 * Places of bounds, the highest first, some at a time: who stops early does not pay for the order of all. Cost: two passes over all
 * bounds for each batch.
 */
export class BoundOrder {
  readonly #bounds: Float64Array;
  /** Those from here on were given. */
  #above = Infinity;

  /** @param bounds finite numbers */
  constructor(bounds: Float64Array) {
    this.#bounds = bounds;
  }

  /**
   * The highest of those that were not given, negated: as many as are wanted, and all others that equal the last of them.
   * @returns an empty heap when all were given
   */
  *next(wanted: number, meter: WorkMeter): PausingWork<SlotHeap> {
    const { length } = this.#bounds;
    const highest = new SlotHeap(wanted);
    for (let from = 0; from < length; from += boundsPerLook) {
      this.#sift(highest, wanted, from);
      if (meter.isSpent(unitsPerLook)) yield;
    }
    const least = highest.size < wanted ? -Infinity : highest.topKey;
    const batch = new SlotHeap(wanted);
    for (let from = 0; from < length; from += boundsPerLook) {
      this.#gather(batch, least, from);
      if (meter.isSpent(unitsPerLook)) yield;
    }
    this.#above = least;
    return batch;
  }

  #sift(highest: SlotHeap, wanted: number, from: number): void {
    const bounds = this.#bounds;
    const end = Math.min(bounds.length, from + boundsPerLook);
    const above = this.#above;
    for (let place = from; place < end; place += 1) {
      const bound = bounds[place] as number;
      if (bound >= above) continue;
      if (highest.size < wanted) highest.push(bound, place);
      else if (bound > highest.topKey) highest.replaceTop(bound, place);
    }
  }

  #gather(batch: SlotHeap, least: number, from: number): void {
    const bounds = this.#bounds;
    const end = Math.min(bounds.length, from + boundsPerLook);
    const above = this.#above;
    for (let place = from; place < end; place += 1) {
      const bound = bounds[place] as number;
      if (bound >= least && bound < above) batch.push(-bound, place);
    }
  }
}
