import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { Value } from '#core/value/value.ts';

/**
 * Sorting in turns: short runs are sorted at once, then merged, two and two. Stable, as the sort of the engine; some 1.5 times of its
 * time.
 */
export function* sortedInTurns(
  list: readonly Value[],
  compare: (a: Value, b: Value) => number,
  meter: WorkMeter,
): PausingWork<Value[]> {
  const { length } = list;
  let from: Value[] = [];
  for (let at = 0; at < length; at += runLength) {
    const run = list.slice(at, at + runLength).sort(compare);
    for (let i = 0; i < run.length; i += 1) from.push(run[i] as Value);
    if (meter.isSpent(unitsPerRun)) yield;
  }
  let to: Value[] = new Array(length);
  for (let width = runLength; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(start + width, length);
      const end = Math.min(start + 2 * width, length);
      let left = start;
      let right = middle;
      for (let at = start; at < end; at += 1) {
        const takesLeft =
          left < middle &&
          (right >= end || compare(from[left] as Value, from[right] as Value) <= 0);
        if (takesLeft) {
          to[at] = from[left] as Value;
          left += 1;
        } else {
          to[at] = from[right] as Value;
          right += 1;
        }
        if ((at & mergeMask) === 0 && meter.isSpent(unitsPerMerge)) yield;
      }
    }
    [from, to] = [to, from];
  }
  return from;
}

const runLength = 256;
const unitsPerRun = 128;
/** Elements that are merged between two looks. */
const mergeMask = 511;
const unitsPerMerge = 64;

/** Numbers, in place of which a sorted copy is given; NaN comes last. */
export function* sortedNumbersInTurns(
  numbers: Float64Array,
  meter: WorkMeter,
): PausingWork<Float64Array> {
  const { length } = numbers;
  let from = numbers.slice();
  for (let at = 0; at < length; at += numbersPerRun) {
    from.subarray(at, at + numbersPerRun).sort();
    if (meter.isSpent(unitsPerNumbers)) yield;
  }
  let to: typeof from = new Float64Array(length);
  for (let width = numbersPerRun; width < length; width *= 2) {
    for (let start = 0; start < length; start += 2 * width) {
      const middle = Math.min(start + width, length);
      const end = Math.min(start + 2 * width, length);
      const merge = new NumberMerge(from, to, { start, middle, end });
      while (!merge.run(numbersPerRun)) if (meter.isSpent(unitsPerNumbers)) yield;
    }
    [from, to] = [to, from];
  }
  return from;
}

const numbersPerRun = 8_192;
const unitsPerNumbers = 400;

class NumberMerge {
  readonly #from: Float64Array;
  readonly #to: Float64Array;
  readonly #middle: number;
  readonly #end: number;
  #left: number;
  #right: number;
  #at: number;

  constructor(
    from: Float64Array,
    to: Float64Array,
    { start, middle, end }: { start: number; middle: number; end: number },
  ) {
    this.#from = from;
    this.#to = to;
    this.#left = start;
    this.#right = middle;
    this.#at = start;
    this.#middle = middle;
    this.#end = end;
  }

  /** @returns true when it is over */
  run(count: number): boolean {
    const from = this.#from;
    const to = this.#to;
    const middle = this.#middle;
    const end = this.#end;
    let left = this.#left;
    let right = this.#right;
    const stop = Math.min(end, this.#at + count);
    for (let at = this.#at; at < stop; at += 1) {
      const a = from[left] as number;
      const b = from[right] as number;
      // A NaN stands behind everything else, so it is taken from the left only when the right side is over or has one.
      const takesLeft = left < middle && (right >= end || a <= b || Number.isNaN(b));
      to[at] = takesLeft ? a : b;
      if (takesLeft) left += 1;
      else right += 1;
    }
    this.#left = left;
    this.#right = right;
    this.#at = stop;
    return stop >= end;
  }
}
