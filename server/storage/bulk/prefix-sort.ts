import type { Timers } from '#core/runtime.ts';
import { sortedOrder } from './radix-sort.ts';
import { isInOrder, itemsPerSlice, orderInSlices } from './sliced-sort.ts';

/** Items that are sorted by their first bytes as numbers, and by what follows where these are equal. */
export interface PrefixedItems {
  readonly count: number;
  /** Whole numbers from 0 to 2^53 - 1; there may be more of them than items. */
  readonly prefixes: Float64Array;
  /** Compares two items with equal prefixes. */
  readonly compareRest: (a: number, b: number) => number;
}

/** Bytes that `prefixOf` holds whole; of the next it has five bits. */
export const prefixSize = 6;

/** The first bytes of `bytes[start, end)` as a number; zeroes where there are none. */
export function prefixOf(bytes: Uint8Array, start: number, end: number): number {
  let prefix = 0;
  for (let i = start + 1; i < start + 7; i += 1) {
    prefix = prefix * 256 + (i < end ? (bytes[i] as number) : 0);
  }
  return (start < end ? (bytes[start] as number) : 0) * 2 ** 45 + Math.floor(prefix / 8);
}

/** Prefixes that a pass looks at between two turns of the event loop. */
const segmentBits = 15;

/**
 * As `orderInSlices`: the order that sorts the items, stable. Cost: passes over the prefixes, and comparisons only within those
 * that are equal: postings of a text index take a third of the time of a sort that compares, what is in order is left alone.
 */
export async function orderByPrefix(
  items: PrefixedItems,
  timers: Pick<Timers, 'yield'>,
): Promise<Uint32Array> {
  const { count, prefixes, compareRest } = items;
  const compare = (a: number, b: number): number =>
    (prefixes[a] as number) - (prefixes[b] as number) || compareRest(a, b);
  if (count <= itemsPerSlice) return await orderInSlices(count, compare, timers);
  const asGiven = new Uint32Array(count);
  for (let at = 0; at < count; at += 1) asGiven[at] = at;
  if (await isSorted(asGiven, compare, timers)) return asGiven;
  const segments: Float64Array[] = [];
  for (let from = 0; from < count; from += 2 ** segmentBits)
    segments.push(prefixes.subarray(from, Math.min(from + 2 ** segmentBits, count)));
  const keys = { segments, segmentBits, count, first: 0, stride: 1 };
  const order = await sortedOrder(keys, timers);
  await sortEqual(order, items, timers);
  return order;
}

async function isSorted(
  order: Uint32Array,
  compare: (a: number, b: number) => number,
  timers: Pick<Timers, 'yield'>,
): Promise<boolean> {
  // Slices overlap by one.
  for (let from = 0; from < order.length; from += itemsPerSlice) {
    if (!isInOrder(order.subarray(from, from + itemsPerSlice + 1), compare)) return false;
    await timers.yield();
  }
  return true;
}

/** Sorts what has equal prefixes by what follows. */
async function sortEqual(
  order: Uint32Array,
  { prefixes, compareRest }: PrefixedItems,
  timers: Pick<Timers, 'yield'>,
): Promise<void> {
  let untilYield = itemsPerSlice;
  let end = 0;
  for (let start = 0; start < order.length; start = end) {
    end = endOfEqual(order, prefixes, start);
    const group = order.subarray(start, end);
    if (group.length > itemsPerSlice) {
      const inner = await orderInSlices(
        group.length,
        (a, b) => compareRest(group[a] as number, group[b] as number),
        timers,
      );
      const copy = group.slice();
      for (let at = 0; at < inner.length; at += 1) group[at] = copy[inner[at] as number] as number;
    } else if (group.length > 1 && !isInOrder(group, compareRest)) group.sort(compareRest);
    untilYield -= end - start;
    if (untilYield > 0) continue;
    untilYield = itemsPerSlice;
    await timers.yield();
  }
}

function endOfEqual(order: Uint32Array, prefixes: Float64Array, start: number): number {
  const prefix = prefixes[order[start] as number];
  let end = start + 1;
  while (end < order.length && prefixes[order[end] as number] === prefix) end += 1;
  return end;
}
