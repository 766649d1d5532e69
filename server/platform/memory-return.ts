import { setFlagsFromString } from 'node:v8';
import { takesShortcut } from './shortcuts.ts';

/** What memory outside the heap may grow by before the platform begins to collect, and a little more. */
const beginsAtBytes = 68 * 1024 * 1024;

/**
 * Begins a collection of the whole heap that also gives free pages back to the system, beside the work of the thread that calls it: some
 * tenths of a second later the memory is there. By itself the platform collects when the heap is large, whatever the process takes beside
 * it, and keeps the pages that it freed (`DECISIONS.md`).
 *
 * Nothing starts such a collection but memory outside the heap that grows at once; what is asked for here is never touched, so the system
 * gives none. The collection is one that gives pages back if the platform favours memory when it begins.
 */
export function giveMemoryBack(): void {
  if (!takesShortcut('memory-return')) return;
  setFlagsFromString('--optimize-for-size');
  try {
    Reflect.construct(ArrayBuffer, [beginsAtBytes]);
  } finally {
    setFlagsFromString('--no-optimize-for-size');
  }
}
