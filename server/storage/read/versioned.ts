import type { LogIndex } from '#core/value/rid.ts';

/**
 * A value that changes with commits, together with those earlier values that open snapshots still see. Each link holds
 * from its `since` on until that of the next one.
 */
export class Versioned<T> {
  readonly value: T;
  readonly since: LogIndex;
  readonly #previous: Versioned<T> | undefined;

  constructor(value: T, since: LogIndex, previous?: Versioned<T>) {
    this.value = value;
    this.since = since;
    this.#previous = previous;
  }

  /** The value that a snapshot at `index` sees; undefined when there was none yet. */
  at(index: LogIndex): T | undefined {
    if (this.since <= index) return this.value;
    let link = this.#previous;
    while (link !== undefined && link.since > index) link = link.#previous;
    return link?.value;
  }

  /** The next value. @param heldIndex of the newest snapshot in use: values that nobody sees are left out */
  replacedBy(value: T, since: LogIndex, heldIndex: LogIndex): Versioned<T> {
    const previous = heldIndex >= this.since ? this : this.#previous;
    return new Versioned(value, since, previous);
  }
}
