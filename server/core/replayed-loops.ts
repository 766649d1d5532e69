import { assert } from './assert.ts';
import type { PausingWork } from './pausing-work.ts';

/*
 * Recursion over something long, with pauses and without being written twice: `inStretches` ends it at a place to pause by an exception
 * and begins it anew, and what its long loops (`mapLong`) have made already is kept, so that each goes on where it stood. So between
 * two such loops the work is the same at each beginning, and it hands nothing on but what it returns.
 */

const pause = new Error('the work pauses');

/** Fewer items are gone through again. */
const longMin = 64;
/** Items between two pauses: about a millisecond. */
const itemsPerStretch = 1_000;

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
  #itemsLeft = itemsPerStretch;

  constructor(counted: ReplayedCount | undefined) {
    this.#counted = counted;
  }

  rewind(): void {
    this.#next = 0;
    this.#itemsLeft = itemsPerStretch;
    if (this.#counted !== undefined) this.#counted.count = 0;
  }

  spend(items: number): void {
    this.#itemsLeft -= items;
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
      if (this.#itemsLeft <= 0) throw pause;
    }
    return made as R[];
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

const onlyOne = [undefined];

/** What `make` gives, made once however often the work around it begins anew. For what takes as long as its argument is. */
export function madeOnce<R>(make: () => R): R {
  return current === undefined ? make() : (current.map(onlyOne, make)[0] as R);
}

/**
 * Does work in stretches.
 * @param counted what the work begins to count at 0
 * @throws what the work throws
 */
export function* inStretches<T>(work: () => T, counted?: ReplayedCount): PausingWork<T> {
  const loops = new ReplayedLoops(counted);
  for (;;) {
    const outer = current;
    current = loops;
    loops.rewind();
    try {
      return work();
    } catch (error) {
      if (error !== pause) throw error;
    } finally {
      current = outer;
    }
    yield;
  }
}
