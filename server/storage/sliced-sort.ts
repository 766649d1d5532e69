import type { Timers } from '#core/runtime.ts';

/** Items sorted or merged between two turns of the event loop: a millisecond or two. */
const itemsPerSlice = 2048;

/**
 * The items in order, stable: short runs are sorted, then merged two by two, with a turn of the event loop after each slice. A
 * sort of a million items at once would keep everybody waiting for a second. Cost: as `Array.sort`, and one more array.
 */
export async function sortedInSlices<T>(
  items: readonly T[],
  compare: (a: T, b: T) => number,
  timers: Pick<Timers, 'yield'>,
): Promise<readonly T[]> {
  if (items.length <= itemsPerSlice) return items.toSorted(compare);
  let from: T[] = [];
  for (let start = 0; start < items.length; start += itemsPerSlice) {
    const run = items.slice(start, start + itemsPerSlice).sort(compare);
    for (let at = 0; at < run.length; at += 1) from.push(run[at] as T);
    await timers.yield();
  }
  for (let length = itemsPerSlice; length < from.length; length *= 2)
    from = await merged(from, length, compare, timers);
  return from;
}

/** Merges neighbouring runs of `length` items. */
async function merged<T>(
  from: readonly T[],
  length: number,
  compare: (a: T, b: T) => number,
  timers: Pick<Timers, 'yield'>,
): Promise<T[]> {
  const into: T[] = [];
  for (let start = 0; start < from.length; start += 2 * length) {
    let left = start;
    const leftEnd = Math.min(start + length, from.length);
    let right = leftEnd;
    const rightEnd = Math.min(start + 2 * length, from.length);
    while (left < leftEnd || right < rightEnd) {
      const takesRight =
        left === leftEnd || (right < rightEnd && compare(from[left] as T, from[right] as T) > 0);
      into.push(from[takesRight ? right : left] as T);
      if (takesRight) right += 1;
      else left += 1;
      if (into.length % itemsPerSlice === 0) await timers.yield();
    }
  }
  return into;
}
