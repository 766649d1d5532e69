import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { isMainThread } from 'node:worker_threads';
import { takesShortcut } from './shortcuts.ts';

/**
 * How far the heap may grow beside long work before all of it is collected. Such work keeps tens of megabytes outside the
 * heap, in tables and blocks, which count as growth: a heap of 30 MB under a limit of 256 MB was collected at every turn,
 * since the platform let it grow by no more than what the young generation may take. Each collection stops everything for 5
 * to 10 ms.
 */
const heapGrowthBytes = 128 * 1024 * 1024;
/** Of all the memory that the heap may take. */
const heapGrowthShare = 1 / 8;
/** The platform's own choice. */
const defaultHeapGrowth = '--heap-growing-percent=0';

let workCount = 0;

/** Long work begins: the heap may grow further than the platform lets it. @returns to be called when it is over */
export function letHeapGrow(): () => void {
  // The share is one for all heaps of the process; the main thread reckons it by its own, which is the largest.
  if (!isMainThread || !takesShortcut('heap-growth')) return () => {};
  workCount += 1;
  if (workCount === 1) {
    const { used_heap_size: usedBytes, heap_size_limit: limitBytes } = getHeapStatistics();
    setFlagsFromString(`--heap-growing-percent=${heapGrowthPercent(usedBytes, limitBytes)}`);
  }
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    workCount -= 1;
    if (workCount === 0) setFlagsFromString(defaultHeapGrowth);
  };
}

/** Percent of a heap of `usedBytes` until it is collected as a whole; 0, which leaves it to the platform, for large heaps. */
export function heapGrowthPercent(usedBytes: number, limitBytes: number): number {
  const growthBytes = Math.min(heapGrowthBytes, limitBytes * heapGrowthShare);
  const percent = Math.floor((growthBytes / usedBytes) * 100);
  // The platform lets a heap grow by half to threefold.
  return percent < 100 ? 0 : percent;
}
