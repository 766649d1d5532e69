import { randomBytes, randomFillSync, randomUUID } from 'node:crypto';
// Not the global of this name, which is looked up at each use: half the cost of a look at the clock.
import { performance } from 'node:perf_hooks';
import type { Runtime } from '#core/runtime.ts';

const words = new Uint32Array(256);
let nextWord = words.length;

/** A word from a pool that is filled 256 at a time: one system call each would cost a microsecond. */
function uint32(): number {
  if (nextWord === words.length) {
    randomFillSync(words);
    nextWord = 0;
  }
  return words[nextWord++] ?? 0;
}

/**
 * The real clock, timers and randomness; the only place that names them. Everything else takes a `Runtime`, so that
 * tests can put a simulated one in its place. Timers of `after` do not keep the process alive.
 */
export const systemRuntime: Runtime = {
  clock: {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
  },
  timers: {
    after(delayMs, run) {
      const timer = setTimeout(run, delayMs);
      timer.unref();
      return () => clearTimeout(timer);
    },
    sleep: (delayMs) => new Promise((resolve) => setTimeout(resolve, delayMs)),
    // Two turns: in the first a new connection is accepted, in the second its request is read and, if short, answered. With
    // one, that request would wait for two slices of long work instead of one.
    yield: () => new Promise((resolve) => setImmediate(setImmediate, resolve)),
    soon: (run) => void setImmediate(run),
  },
  random: {
    uint32,
    bytes: (length) => randomBytes(length),
    uuid: () => randomUUID(),
  },
};
