import type { Timers } from '#core/runtime.ts';

/** Items sorted or merged between two turns of the event loop: a millisecond or two. */
export const itemsPerSlice = 2048;

/** Compares two items by their numbers. */
type Compare = (a: number, b: number) => number;

/**
 * The order that sorts `count` items, stable: short runs are sorted, then merged two by two, with a turn of the event loop after each
 * slice. A sort of a million items at once would keep everybody waiting for a second. Cost: as a sort, and eight bytes an item;
 * what is in order already costs two comparisons an item.
 * @returns the numbers of the items, that of the smallest first
 */
export async function orderInSlices(
  count: number,
  compare: Compare,
  timers: Pick<Timers, 'yield'>,
): Promise<Uint32Array> {
  let from = new Uint32Array(count);
  for (let at = 0; at < count; at += 1) from[at] = at;
  for (let start = 0; start < count; start += itemsPerSlice) {
    const run = from.subarray(start, start + itemsPerSlice);
    if (!isInOrder(run, compare)) run.sort(compare);
    if (count > itemsPerSlice) await timers.yield();
  }
  let into = new Uint32Array(count <= itemsPerSlice ? 0 : count);
  for (let length = itemsPerSlice; length < count; length *= 2) {
    await merge(from, into, length, compare, timers);
    [from, into] = [into, from];
  }
  return from;
}

/** Whether the items stand in their order already. */
export function isInOrder(run: Uint32Array, compare: Compare): boolean {
  for (let at = 1; at < run.length; at += 1)
    if (compare(run[at - 1] as number, run[at] as number) > 0) return false;
  return true;
}

/** Merges neighbouring runs of `length` items. */
async function merge(
  from: Uint32Array,
  into: Uint32Array,
  length: number,
  compare: Compare,
  timers: Pick<Timers, 'yield'>,
): Promise<void> {
  let at = 0;
  let untilYield = itemsPerSlice;
  for (let start = 0; start < from.length; start += 2 * length) {
    let left = start;
    const leftEnd = Math.min(start + length, from.length);
    let right = leftEnd;
    const rightEnd = Math.min(start + 2 * length, from.length);
    if (right === rightEnd || compare(from[right - 1] as number, from[right] as number) <= 0) {
      into.set(from.subarray(start, rightEnd), start);
      at = rightEnd;
      await timers.yield();
      continue;
    }
    while (at < rightEnd) {
      const takesRight =
        left === leftEnd ||
        (right < rightEnd && compare(from[left] as number, from[right] as number) > 0);
      into[at] = from[takesRight ? right : left] as number;
      at += 1;
      if (takesRight) right += 1;
      else left += 1;
      untilYield -= 1;
      if (untilYield > 0) continue;
      untilYield = itemsPerSlice;
      await timers.yield();
    }
  }
}
