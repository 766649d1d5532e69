import { constants, getPriority, setPriority } from 'node:os';

/** Steps of the system's scale, each a fifth of a processor less for the one that wants it as well. */
const steps = 5;

/**
 * Lets the other threads of the process go first where there are fewer processors than threads that want one. Where a priority is that
 * of a whole process, nothing happens.
 */
export function letOthersGoFirst(): void {
  // On Linux alone a thread has a priority of its own, and 0 names the one that calls.
  if (process.platform !== 'linux') return;
  try {
    setPriority(0, Math.min(constants.priority.PRIORITY_LOW, getPriority(0) + steps));
  } catch {
    // Whoever may not is served as before.
  }
}
