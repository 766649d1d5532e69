import type { Clock } from '#core/runtime.ts';

/**
 * Work that was done at once, of all statements: what loops went through, and what operations on large values took. It only grows;
 * whoever does many such things in a turn looks at it before and after each, and pauses. What is short for every value is not counted.
 */
export const doneWork = {
  /** Elements of loops, and work as long as that of an element. */
  units: 0,
  /** Of them the elements: these are the same on each machine at each time. */
  steps: 0,
};

/** What may be done before somebody pauses; some milliseconds. */
export const unitsAtOnce = 16_384;
const unitsPerMs = 5_000;

/** Does what may take milliseconds, and counts its time. */
export function timed<T>(clock: Pick<Clock, 'monotonicMs'>, compute: () => T): T {
  const startMs = clock.monotonicMs();
  const value = compute();
  countMs(clock.monotonicMs() - startMs);
  return value;
}

/** Counts time. A small integer stays one. */
export function countMs(ms: number): void {
  doneWork.units += (ms * unitsPerMs) | 0;
}
