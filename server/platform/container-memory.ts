/*
 * How large the heap may be in a container (house decision 4). The platform sizes its heap by the machine, so in a container
 * with a memory limit the kernel would end the process long before the collector takes pains.
 */

const MiB = 1024 * 1024;

/** Memory beside the heap that grows with the data: the caches of blocks and adjacency, pages of the storage map in use. */
const storageBudgetBytes = 64 * MiB;
/** Of a small container the storage gets no more than this part. */
const storageShareMax = 1 / 8;

export const heapPercentDefault = 75;

/** Largest size of the old generation for a container, whole MiB: `percent` of its limit less what storage is budgeted. */
export function oldSpaceMiB(limitBytes: number, percent = heapPercentDefault): number {
  const storageBytes = Math.min(storageBudgetBytes, limitBytes * storageShareMax);
  return Math.max(16, Math.floor(((limitBytes * percent) / 100 - storageBytes) / MiB));
}

/** Whether the person who started the process chose a heap size, in `NODE_OPTIONS` or as an option of the platform. */
export function isHeapPinned(nodeOptions: string, ownOptions: readonly string[]): boolean {
  return /--max[-_](old[-_]space|heap)[-_]size/.test([nodeOptions, ...ownOptions].join(' '));
}

/**
 * The share of the limit that `text` (variable `POLYAD_HEAP_PERCENT`) asks for, or the default.
 * @returns undefined when the text is no whole number from 10 to 90
 */
export function parseHeapPercent(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return heapPercentDefault;
  const percent = /^\d{2}$/.test(text) ? Number(text) : Number.NaN;
  return percent >= 10 && percent <= 90 ? percent : undefined;
}
