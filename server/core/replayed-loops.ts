import { assert } from './assert.ts';
import { type PausingWork, toEnd } from './pausing-work.ts';
import { isTurnOver } from './turn-end.ts';

/*
 * Recursion over something long, with pauses and without being written twice: `inStretches` ends it at a place to pause by an exception
 * and begins it anew, and what its long loops (`mapLong`) have made already is kept, so that each goes on where it stood. So between
 * two such loops the work is the same at each beginning, and it hands nothing on but what it returns.
 */

const pause = new Error('the work pauses');

/** Fewer items are gone through again. */
const longMin = 64;
/** Items between two pauses: about a millisecond. */
const itemsPerStretchMax = 1_000;
/** Before the first pause of a piece of work, twice as many before each that follows: code takes ten times as long while it is not compiled. */
const itemsOfFirstStretch = 125;

/** Items after which it is looked whether the turn is over. */
const itemsPerLook = 16;

/** What work in steps counts when it is over, though it may have been one step: nobody makes it of a few items. */
const itemsOfSteps = 15;

/** What the work numbers as it goes, brought back to where it stood when a loop is passed over. */
export interface ReplayedCount {
  count: number;
}

interface Loop {
  readonly made: unknown[];
  readonly length: number;
  /** The count after the last item. */
  count: number;
}

class ReplayedLoops {
  /** In the order in which they begin; those behind one that is not over stand inside of the item at hand. */
  readonly #loops: Loop[] = [];
  readonly #counted: ReplayedCount | undefined;
  #next = 0;
  #itemsPerStretch = itemsOfFirstStretch;
  /** Before the next look at the turn, and after it. */
  #itemsLeft = 0;
  #itemsBehind = itemsOfFirstStretch;

  constructor(counted: ReplayedCount | undefined) {
    this.#counted = counted;
  }

  rewind(): void {
    this.#next = 0;
    this.#begin(this.#itemsPerStretch);
    if (this.#counted !== undefined) this.#counted.count = 0;
  }

  /** The piece of work is over. */
  forget(): void {
    this.#itemsPerStretch = itemsOfFirstStretch;
    if (this.#loops.length > 0) this.#loops.length = 0;
  }

  lengthen(): void {
    this.#itemsPerStretch = Math.min(itemsPerStretchMax, this.#itemsPerStretch * 2);
  }

  spend(items: number): void {
    // What was gone through before counts no more: of a turn that begins with much of it little would be left for what is new.
    if (this.#next >= this.#loops.length) this.#itemsLeft -= items;
  }

  map<T, R>(items: readonly T[], make: (item: T, at: number) => R): readonly R[] {
    const counted = this.#counted;
    const loop = this.#enter(items.length);
    const { made } = loop;
    const inside = this.#next;
    for (let at = made.length; at < items.length; at += 1) {
      made.push(make(items[at] as T, at));
      this.#loops.length = inside;
      this.#next = inside;
      if (counted !== undefined) loop.count = counted.count;
      this.#itemsLeft -= 1;
      if (this.#itemsLeft <= 0) this.#look();
    }
    return made as R[];
  }

  /** The work stands in the first place of its loop, what it gave in the second. */
  steps<T>(begin: () => PausingWork<T>): T {
    const counted = this.#counted;
    const loop = this.#enter(2);
    const { made } = loop;
    if (made.length === 0) made.push(begin());
    if (made.length === 1) {
      const step = atOnce(() => (made[0] as PausingWork<T>).next());
      if (counted !== undefined) loop.count = counted.count;
      if (step.done !== true) throw pause;
      made.push(step.value);
      this.#itemsLeft -= itemsOfSteps;
      if (this.#itemsLeft <= 0) this.#look();
    }
    return made[1] as T;
  }

  /** The state stands in the first place of its loop, whether it is over in the second. */
  smallSteps<S>(begin: () => S, step: (state: S) => boolean): S {
    const counted = this.#counted;
    const loop = this.#enter(2);
    const { made } = loop;
    if (made.length === 0) {
      made.push(begin());
      if (counted !== undefined) loop.count = counted.count;
    }
    const state = made[0] as S;
    const inside = this.#next;
    while (made.length === 1) {
      if (step(state)) made.push(true);
      this.#loops.length = inside;
      this.#next = inside;
      if (counted !== undefined) loop.count = counted.count;
      this.#itemsLeft -= 1;
      if (this.#itemsLeft <= 0) this.#look();
    }
    return state;
  }

  /** @throws the pause when the stretch is over, or the turn */
  #look(): void {
    const itemsOwed = -this.#itemsLeft;
    if (itemsOwed >= this.#itemsBehind || isTurnOver()) throw pause;
    this.#begin(this.#itemsBehind - itemsOwed);
  }

  #begin(items: number): void {
    this.#itemsLeft = Math.min(items, itemsPerLook);
    this.#itemsBehind = items - this.#itemsLeft;
  }

  #enter(length: number): Loop {
    const known = this.#loops[this.#next];
    this.#next += 1;
    if (known === undefined) {
      const loop = { made: [], length, count: 0 };
      this.#loops.push(loop);
      return loop;
    }
    assert(known.length === length, 'work that begins anew comes by the same loops');
    if (this.#counted !== undefined && known.made.length > 0) this.#counted.count = known.count;
    return known;
  }
}

/** Of the work that is done now; it runs without an interruption between two pauses, so there is one at a time. */
let current: ReplayedLoops | undefined;

/** `items.map(make)`; inside of work in stretches a place to pause after each item. What `make` does besides is done once for each. */
export function mapLong<T, R>(items: readonly T[], make: (item: T, at: number) => R): readonly R[] {
  const loops = current;
  if (loops === undefined) return items.map(make);
  if (items.length >= longMin) return loops.map(items, make);
  loops.spend(items.length);
  return items.map(make);
}

/**
 * As `mapLong`, where an item needs to know what was made of those before.
 * @param begin makes the state that the items share: anew whenever the first of them is
 * @param make may change the state as the last thing that it does, or takes its changes back when it throws
 */
export function mapLongOver<S, T, R>(
  items: readonly T[],
  begin: () => S,
  make: (item: T, state: S) => R,
): { readonly made: readonly R[]; readonly state: S } {
  const isReplayed = current !== undefined && items.length >= longMin;
  const state = isReplayed ? madeOnce(begin) : begin();
  return { made: mapLong(items, (item) => make(item, state)), state };
}

/** `items.filter(test)`, with the pauses of `mapLong`. */
export function filterLong<T>(items: readonly T[], test: (item: T) => boolean): readonly T[] {
  if (current === undefined || items.length < longMin) return items.filter(test);
  const isKept = mapLong(items, test);
  return madeOnce(() => items.filter((_, at) => isKept[at]), items.length);
}

const onlyOne = [undefined];

/**
 * What `make` gives, made once however often the work around it begins anew. For what takes as long as its argument is.
 * @param items how many `make` goes through, after which there may be a pause. What goes through few is made anew each time: it may
 *   hold objects that are made anew, too, and are told apart by being the same
 */
export function madeOnce<R>(make: () => R, items?: number): R {
  const loops = current;
  if (loops === undefined) return make();
  if (items === undefined) return loops.map(onlyOne, make)[0] as R;
  return items < longMin ? make() : madeOnceAs(items, make);
}

/**
 * As `madeOnce`, with a place to pause behind it whatever it goes through. For what takes as long as `items` that are made in a loop, beside
 * what is long in it.
 */
export function madeOnceAs<R>(items: number, make: () => R): R {
  const loops = current;
  if (loops === undefined) return make();
  return loops.map(onlyOne, () => {
    loops.spend(items);
    return make();
  })[0] as R;
}

/**
 * What work in steps gives; each step ends at a place to pause. It is kept while what is around it begins anew, so it may change its
 * state as it likes: long loops in it do not pause, unless it has them do so by `inStretches`.
 * @param begin does nothing but make the work
 */
export function stepped<T>(begin: () => PausingWork<T>): T {
  return current === undefined ? toEnd(begin()) : current.steps(begin);
}

/**
 * A loop that is neither over a list nor apart from what is around it: there is a place to pause after each step, and in long loops inside
 * of a step.
 * @param begin makes the state of the loop, once
 * @param step changes the state as the last thing that it does; true when the loop is over
 */
export function smallSteps<S>(begin: () => S, step: (state: S) => boolean): S {
  if (current !== undefined) return current.smallSteps(begin, step);
  const state = begin();
  while (!step(state));
  return state;
}

/** Items of which each takes next to nothing, between two places to pause. */
const itemsPerGlance = 16;
/** Fewer of them are gone through at once. */
const manyMin = 1_024;

/** `items.some(test)`, for a test that is no more than a look at the item; places to pause where there are very many. */
export function someLong<T>(items: readonly T[], test: (item: T) => boolean): boolean {
  if (current === undefined || items.length < manyMin) return items.some(test);
  const { isFound } = current.smallSteps(
    () => ({ at: 0, isFound: false }),
    (state) => {
      const end = Math.min(items.length, state.at + itemsPerGlance);
      for (; state.at < end && !state.isFound; state.at += 1)
        state.isFound = test(items[state.at] as T);
      return state.isFound || end === items.length;
    },
  );
  return isFound;
}

function atOnce<T>(work: () => T): T {
  const outer = current;
  current = undefined;
  try {
    return work();
  } finally {
    current = outer;
  }
}

/** The turn is over: the same work is to be tried again. */
export const PAUSED = Symbol('paused');

/** Pieces of work one after the other, each in stretches; next to nothing for those that hold nothing long. */
export class Stretches {
  readonly #loops: ReplayedLoops;

  /** @param counted what each piece begins to count at 0 */
  constructor(counted?: ReplayedCount) {
    this.#loops = new ReplayedLoops(counted);
  }

  /** What the work gives, which is over then. @throws what the work throws */
  attempt<T>(work: () => T): T | typeof PAUSED {
    const loops = this.#loops;
    const outer = current;
    current = loops;
    loops.rewind();
    try {
      const result = work();
      loops.forget();
      return result;
    } catch (error) {
      if (error !== pause) throw error;
      loops.lengthen();
      return PAUSED;
    } finally {
      current = outer;
    }
  }
}

/** Does work in stretches. @throws what the work throws */
export function* inStretches<T>(work: () => T, counted?: ReplayedCount): PausingWork<T> {
  const stretches = new Stretches(counted);
  for (;;) {
    const result = stretches.attempt(work);
    if (result !== PAUSED) return result;
    yield;
  }
}
