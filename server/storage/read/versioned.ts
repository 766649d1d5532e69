import type { LogIndex } from '#core/value/rid.ts';

/** Between which states those lie that somebody holds; when nobody does, `newest` is below all. */
export interface HeldStates {
  readonly oldest: LogIndex;
  readonly newest: LogIndex;
}

/** Those of the readers. */
export function heldStates(readers: Iterable<{ readonly index: LogIndex }>): HeldStates {
  let oldest = Number.POSITIVE_INFINITY;
  let newest = -1;
  for (const { index } of readers) {
    oldest = Math.min(oldest, index);
    newest = Math.max(newest, index);
  }
  return { oldest: oldest as LogIndex, newest: newest as LogIndex };
}

/** As `held`, with one that is newer than all of them. */
export function heldWith(held: HeldStates, newest: LogIndex): HeldStates {
  return { oldest: Math.min(held.oldest, newest) as LogIndex, newest };
}

/** Fewer values are not worth a look at which of them are seen. */
const shortenedMin = 16;

/**
 * A value that changes with commits, together with those earlier values that open snapshots still see. Each link holds
 * from its `since` on until that of the next one.
 */
export class Versioned<T> {
  readonly value: T;
  readonly since: LogIndex;
  #previous: Versioned<T> | undefined;
  /** Values from this one on, those before it included; perhaps of some that are forgotten by now. */
  #length: number;

  constructor(value: T, since: LogIndex, previous?: Versioned<T>) {
    this.value = value;
    this.since = since;
    this.#previous = previous;
    this.#length = previous === undefined ? 1 : previous.#length + 1;
  }

  /** The value that a snapshot at `index` sees; undefined when there was none yet. */
  at(index: LogIndex): T | undefined {
    if (this.since <= index) return this.value;
    let link = this.#previous;
    while (link !== undefined && link.since > index) link = link.#previous;
    return link?.value;
  }

  /** The next value. Those that no held state shows are left out; the oldest ones as their number doubles. */
  replacedBy(value: T, since: LogIndex, held: HeldStates): Versioned<T> {
    const next = new Versioned(value, since, this.#notAfter(held.newest));
    if ((next.#length & (next.#length - 1)) === 0 && next.#length >= shortenedMin)
      next.#forgetBefore(held.oldest);
    return next;
  }

  /** The newest of this and earlier values that a state up to this one shows. */
  #notAfter(index: LogIndex): Versioned<T> | undefined {
    let link: Versioned<T> | undefined = this;
    while (link !== undefined && link.since > index) link = link.#previous;
    return link;
  }

  #forgetBefore(index: LogIndex): void {
    let last: Versioned<T> = this;
    let length = 1;
    for (; last.since > index && last.#previous !== undefined; length += 1) last = last.#previous;
    last.#previous = undefined;
    this.#length = length;
  }
}
