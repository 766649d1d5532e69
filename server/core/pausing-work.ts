import { DatabaseError } from './errors.ts';
import type { Clock, Timers } from './runtime.ts';
import { enterTurn, leaveTurn } from './turn-end.ts';

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

/**
 * Steps that work may take where nobody can pause: rows of a body, and `stepsPerPause` for each pause of its plan; some 20 ms. They
 * are counted, since the clock would refuse the same work now and then on a busy machine (house decision 76).
 */
export const stepsInPlaceMax = 20_000;
/** What operators work between two pauses, about. */
export const stepsPerPause = 256;
/** For work that another process does, which nobody can count. Most of such a time is the machine's. */
export const standStillMsMax = 2000;

/** Of the work that is done in place now, the outermost one: it runs without a pause, so there is one at a time. */
let inPlace: { readonly what: string; stepsLeft: number } | undefined;

/**
 * Counts steps of work that may be part of work in place; elsewhere it does nothing.
 * @throws DatabaseError `TooLarge` when that has taken `stepsInPlaceMax`
 */
export function countInPlace(steps: number): void {
  if (inPlace === undefined) return;
  inPlace.stepsLeft -= steps;
  if (inPlace.stepsLeft < 0) throw tooLongInPlace(inPlace.what);
}

/** Counts the steps of work in place that is not a body. */
export const meterInPlace: WorkMeter = {
  isSpent(units) {
    countInPlace(units);
    return false;
  },
};

/**
 * Does all of the work now.
 * @param what as it reads in the error
 * @throws DatabaseError `TooLarge` after `stepsInPlaceMax` steps, `Timeout` after it waited `standStillMsMax` for another process;
 * either ends the work
 */
export function doneInPlace<T>(
  work: PausingWork<T>,
  clock: Pick<Clock, 'monotonicMs'>,
  what: string,
): T {
  const outer = inPlace;
  inPlace ??= { what, stepsLeft: stepsInPlaceMax };
  const outerTurn = enterTurn(undefined);
  let waitUntilMs: number | undefined;
  try {
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      if (step.value === undefined) continue;
      waitUntilMs ??= clock.monotonicMs() + standStillMsMax;
      const leftMs = waitUntilMs - clock.monotonicMs();
      if (leftMs <= 0) break;
      step.value.standStill(leftMs);
    }
  } finally {
    inPlace = outer;
    leaveTurn(outerTurn);
    work.return(undefined as T);
  }
  throw new DatabaseError(
    'Timeout',
    `${what} waits longer than ${standStillMsMax} ms, which it may not where the statement cannot pause; compute it in LET or in the projection`,
  );
}

/** The error of work that is too long to be done in place. */
export function tooLongInPlace(what: string): DatabaseError {
  return new DatabaseError(
    'TooLarge',
    `${what} takes more than ${stepsInPlaceMax} steps, which it may not where the statement cannot pause; compute it in LET or in the projection`,
  );
}
