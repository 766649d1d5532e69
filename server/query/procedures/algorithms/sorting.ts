import type { Work } from './work.ts';

/** Items that are sorted at once: less than a millisecond. */
const runLength = 1_024;

interface Items<T> {
  readonly length: number;
  readonly [at: number]: T;
}

/** The items in order, equal ones as they came: short runs first, then merged two by two. Cost: n log n steps, with pauses. */
export function* sortedInTurns<T>(
  items: Items<T>,
  compare: (a: T, b: T) => number,
  work: Work,
): Generator<'pause', T[], undefined> {
  let from: T[] = [];
  for (let start = 0; start < items.length; start += runLength) {
    const run: T[] = [];
    for (let at = start; at < Math.min(start + runLength, items.length); at += 1)
      run.push(items[at] as T);
    for (const item of run.sort(compare)) from.push(item);
    if (work.isSpent(run.length * 10)) yield 'pause';
  }
  for (let width = runLength; width < from.length; width *= 2) {
    const into: T[] = [];
    for (let start = 0; start < from.length; start += width * 2) {
      const middle = Math.min(start + width, from.length);
      const end = Math.min(start + width * 2, from.length);
      let left = start;
      let right = middle;
      while (left < middle || right < end) {
        const isLeft =
          right >= end || (left < middle && compare(from[left] as T, from[right] as T) <= 0);
        into.push(from[isLeft ? left : right] as T);
        if (isLeft) left += 1;
        else right += 1;
        if (work.isSpent(2)) yield 'pause';
      }
    }
    from = into;
  }
  return from;
}
