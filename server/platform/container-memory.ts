/*
 * How large the heap may be in a container (house decision 4). The platform sizes its heap by the machine, so in a container
 * with a memory limit the kernel would end the process long before the collector takes pains.
 */

import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { halfSpaceOnFewCores, hasFewCores } from './young-generation.ts';

const MiB = 1024 * 1024;

/**
 * Memory beside the heap that grows with the data: the caches of blocks and adjacency (64 MiB), and blocks that running
 * statements keep or have just let go of.
 */
const storageBudgetBytes = 128 * MiB;
/** What the heap gets at least, of however small a container. */
const oldSpaceShareMin = 3 / 8;

/** Up to this limit the young generation is kept small: three half-spaces of 32 MiB would be memory that nobody counted. */
const smallContainerBytes = 2048 * MiB;
const halfSpaceMiB = { min: 2, max: 16, perContainer: 1 / 64 } as const;

export const heapPercentDefault = 75;

/** Largest size of the old generation for a container, whole MiB: `percent` of its limit less what storage is budgeted. */
export function oldSpaceMiB(limitBytes: number, percent = heapPercentDefault): number {
  const wanted = (limitBytes * percent) / 100 - storageBudgetBytes;
  const least = Math.min(limitBytes * oldSpaceShareMin, (limitBytes * percent) / 100);
  return Math.max(16, Math.floor(Math.max(wanted, least) / MiB));
}

/** Options of the platform for a container with this limit. */
export function heapOptions(
  limitBytes: number,
  percent = heapPercentDefault,
  cores = availableParallelism(),
): readonly string[] {
  const old = `--max-old-space-size=${oldSpaceMiB(limitBytes, percent)}`;
  if (limitBytes >= smallContainerBytes) return [old];
  const share = Math.round((limitBytes / MiB) * halfSpaceMiB.perContainer);
  const most = hasFewCores(cores) ? halfSpaceOnFewCores : halfSpaceMiB.max;
  const half = Math.min(most, Math.max(halfSpaceMiB.min, share));
  return [old, `--max-semi-space-size=${half}`];
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

/** The memory limit of the container in bytes, or undefined when the process has the machine to itself. */
export function containerLimitBytes(): number | undefined {
  const limitBytes = process.constrainedMemory();
  return limitBytes > 0 && limitBytes < totalmem() ? limitBytes : undefined;
}

const pageBytes = 4096;

/**
 * Bytes of memory that the process has for itself: what the kernel ends it for. Pages of mapped files are not among them,
 * the kernel takes those back. 0 where the system does not tell. Cost: 10 us.
 */
export function ownMemoryBytes(): number {
  if (process.platform !== 'linux') return 0;
  const [, resident, shared] = readFileSync('/proc/self/statm', 'latin1').split(' ');
  return (Number(resident) - Number(shared)) * pageBytes;
}

/**
 * What a server sets for the C library unless somebody else did. Its threshold for memory that goes back to the system at once
 * grows by itself, up to 32 MiB; then blocks that are let go of would leave holes that nothing fits into. Up to twice as much, free at
 * the end of its memory, would stay, and each thread would get a piece of memory that others do not take from.
 */
export const memoryVariables = {
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '1048576',
  MALLOC_ARENA_MAX: '2',
} as const;

/** The environment of a server process: what somebody has set in `own` stays. */
export function withMemoryVariables(own: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...memoryVariables, ...own };
}
