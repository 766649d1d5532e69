import { statfsSync } from 'node:fs';
import type { Clock } from '#core/runtime.ts';

/** Of what is free, or of the whole volume, whichever is less: below it the storage library may hit the wall. */
const freeBytesMin = 64 * 1024 * 1024;
const freeShareMin = 0.01;
const lookEveryMs = 1000;

/** Whether the volume of the databases has room for what is applied next (ha.md 3.7 rule 3). Looks once a second at most. */
export function diskRoom(
  directory: string,
  clock: Pick<Clock, 'monotonicMs'>,
  look: typeof statfsSync = statfsSync,
): () => boolean {
  let lookedMs = Number.NEGATIVE_INFINITY;
  let hasRoom = true;
  return () => {
    const nowMs = clock.monotonicMs();
    if (nowMs - lookedMs < lookEveryMs) return hasRoom;
    lookedMs = nowMs;
    const { bavail, bsize, blocks } = look(directory);
    hasRoom = bavail * bsize >= Math.min(freeBytesMin, blocks * bsize * freeShareMin);
    return hasRoom;
  };
}
