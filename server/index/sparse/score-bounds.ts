import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { type BucketId, bucketOf, type Rid } from '#core/value/rid.ts';
import type { RidFilter } from '../rid-filter.ts';
import type { WeightList } from './weight-list.ts';

/** What a query wants of one dimension. */
export interface AskedDimension {
  readonly list: WeightList;
  readonly weight: number;
}

/** Which records may be given. */
export interface GivenRecords {
  readonly filter: RidFilter | undefined;
  readonly buckets: ReadonlySet<BucketId> | undefined;
}

export interface ScoreBounds {
  readonly rids: Float64Array;
  /** What each can score at most. */
  readonly most: Float64Array;
}

/** Record ids of one window; its sums stay in a cache of the processor. */
const windowSize = 8_192;
/** Weights and lists that are passed in a unit of the meter. */
const stepsPerUnit = 256;
const unitsPerLook = 64;

/**
 * Adds up what each record can score at most, window by window of record ids: a place for each id of the window, where a hash table
 * over all records was half of a search. Cost: some nanoseconds a weight, and one for each list in each window that has any record.
 */
export function* scoreBounds(
  asked: readonly AskedDimension[],
  given: GivenRecords,
  meter: WorkMeter,
): PausingWork<ScoreBounds> {
  const found = new Found(given);
  const window = new Window();
  const next = new Uint32Array(asked.length);
  let steps = 0;
  for (;;) {
    let first = Infinity;
    for (let at = 0; at < asked.length; at += 1) {
      const { rids } = (asked[at] as AskedDimension).list;
      const place = next[at] as number;
      if (place < rids.length && (rids[place] as number) < first) first = rids[place] as number;
    }
    if (first === Infinity) return found.bounds();
    for (let at = 0; at < asked.length; at += 1) {
      const from = next[at] as number;
      const to = window.add(asked[at] as AskedDimension, from, first);
      next[at] = to;
      steps += 1 + to - from;
      if (steps < stepsPerUnit * unitsPerLook) continue;
      steps = 0;
      if (meter.isSpent(unitsPerLook)) yield;
    }
    window.moveTo(found, first);
  }
}

/** Sums of the records whose ids lie in one window. */
class Window {
  readonly #sums = new Float64Array(windowSize);
  readonly #isFound = new Uint8Array(windowSize);
  /** Places that are found. */
  readonly #places = new Uint16Array(windowSize + 1);
  #count = 0;

  /** Adds weights from a place of the list on. @returns the place of the first one behind the window */
  add({ list, weight }: AskedDimension, from: number, first: number): number {
    const sums = this.#sums;
    const isFound = this.#isFound;
    const places = this.#places;
    const { rids } = list;
    const bounds = weight > 0 ? list.high : list.low;
    let count = this.#count;
    let i = from;
    for (; i < rids.length; i += 1) {
      const at = (rids[i] as number) - first;
      if (at >= windowSize) break;
      sums[at] = (sums[at] as number) + weight * (bounds[i] as number);
      places[count] = at;
      count += 1 - (isFound[at] as number);
      isFound[at] = 1;
    }
    this.#count = count;
    return i;
  }

  /** Leaves the window empty. */
  moveTo(found: Found, first: number): void {
    for (let i = 0; i < this.#count; i += 1) {
      const at = this.#places[i] as number;
      found.add((first + at) as Rid, this.#sums[at] as number);
      this.#sums[at] = 0;
      this.#isFound[at] = 0;
    }
    this.#count = 0;
  }
}

class Found {
  readonly #given: GivenRecords;
  #rids: Float64Array = new Float64Array(1_024);
  #most: Float64Array = new Float64Array(1_024);
  #count = 0;

  constructor(given: GivenRecords) {
    this.#given = given;
  }

  add(rid: Rid, most: number): void {
    const { filter, buckets } = this.#given;
    if (filter !== undefined && !filter.has(rid)) return;
    if (buckets !== undefined && !buckets.has(bucketOf(rid))) return;
    if (this.#count === this.#rids.length) {
      this.#rids = grown(this.#rids);
      this.#most = grown(this.#most);
    }
    this.#rids[this.#count] = rid;
    this.#most[this.#count++] = most;
  }

  bounds(): ScoreBounds {
    const count = this.#count;
    return { rids: this.#rids.subarray(0, count), most: this.#most.subarray(0, count) };
  }
}

function grown(array: Float64Array): Float64Array {
  const twice = new Float64Array(array.length * 2);
  twice.set(array);
  return twice;
}
