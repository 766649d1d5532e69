import { availableParallelism } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { takesShortcut } from './shortcuts.ts';

/** With fewer cores than this, threads that are busy already have them all. */
const coresForHelpers = 4;

/**
 * Young garbage is collected by the thread that made it. The platform lets up to four other threads help and waits for them: where
 * several busy threads share few cores, as in a server of a cluster, the wait for a core is longer than the work. What is long, the
 * collection of the whole heap, stays beside the work.
 */
export function collectWithoutHelpers(cores = availableParallelism()): boolean {
  if (cores >= coresForHelpers || !takesShortcut('collector-helpers')) return false;
  setFlagsFromString('--no-parallel-scavenge');
  return true;
}
