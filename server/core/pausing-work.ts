import { DatabaseError } from './errors.ts';
import type { Clock, Timers } from './runtime.ts';

/**
 * Work in steps. Each `yield` is a place to pause; with a wait, nothing can be done before it is over (asking earlier is harmless:
 * the work yields the same wait again). What it holds it gives back in `finally`.
 */
export type PausingWork<T> = Generator<Wait | undefined, T, undefined>;

/** Counts the work of a turn. */
export interface WorkMeter {
  /** Counts work, some microseconds a unit. @returns true when it is time to pause */
  isSpent(units: number): boolean;
}

/** Something outside that work waits for. */
export interface Wait {
  /** Never rejects: what became of it the work finds out itself. */
  readonly over: Promise<unknown>;
  /** Somebody works for this work meanwhile: the time counts as its own. */
  readonly isWork: boolean;
  /** Stands still until it is over, at most this long. For callers that cannot pause. */
  standStill(ms: number): void;
}

/**
 * Stands under synchronous code that is run once more from its beginning after a pause: remembers what is over, so that it is done
 * once, and goes on with the work that was interrupted.
 */
export interface Replay {
  /** The result of the work; otherwise the run is ended, and begun anew in the next turn. */
  result<T>(site: object, begin: () => PausingWork<T>): T;
  /** What something gives that may differ at each call: computed the first time only. It may not pause. */
  once<T>(site: object, compute: () => T): T;
}

/** Does all of the work now, however long it takes; it waits for nobody. */
export function toEnd<T>(work: PausingWork<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Does the work with a turn of the event loop before each step; it waits for nobody. */
export async function inTurns<T>(
  work: Generator<undefined, T, undefined>,
  timers: Pick<Timers, 'yield'>,
): Promise<T> {
  for (;;) {
    await timers.yield();
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Milliseconds that work may take where nobody can pause: with what stands around it, still within some slices. */
export const inPlaceMsMax = 8;

/**
 * As `inPlaceMsMax` for work that another process does: of such a time most is the machine's, which may be busy with others, and a
 * limit as close would refuse the same work now and then.
 */
export const standStillMsMax = 100;

/**
 * Does all of the work now.
 * @param what as it reads in the error
 * @throws DatabaseError `Timeout` after `inPlaceMsMax`, or `standStillMsMax` when it waits for somebody; that ends the work
 */
export function doneInPlace<T>(
  work: PausingWork<T>,
  clock: Pick<Clock, 'monotonicMs'>,
  what: string,
): T {
  const startMs = clock.monotonicMs();
  let limitMs = inPlaceMsMax;
  try {
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      if (step.value !== undefined) limitMs = standStillMsMax;
      const leftMs = startMs + limitMs - clock.monotonicMs();
      if (leftMs <= 0) break;
      step.value?.standStill(leftMs);
    }
  } finally {
    work.return(undefined as T);
  }
  throw new DatabaseError(
    'Timeout',
    `${what} takes longer than ${limitMs} ms, which it may not where the statement cannot pause; compute it in LET or in the projection`,
  );
}
