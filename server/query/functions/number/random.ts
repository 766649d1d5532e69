import type { Random } from '#core/runtime.ts';

const uint32Count = 2 ** 32;

/** A uniform integer in `[0, max)`, for 1 <= max <= 2^53 - 1; draws again rather than favour small numbers. */
export function randomBelow(max: number, random: Random): number {
  if (max <= uint32Count) {
    const limit = uint32Count - (uint32Count % max);
    for (;;) {
      const drawn = random.uint32();
      if (drawn < limit) return drawn % max;
    }
  }
  const range = 2 ** 53;
  const limit = range - (range % max);
  for (;;) {
    const drawn = (random.uint32() >>> 11) * uint32Count + random.uint32();
    if (drawn < limit) return drawn % max;
  }
}
