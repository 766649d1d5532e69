import type { IndexId, Rid } from '#core/value/rid.ts';

/** Which records have entries of an index under construction already. */
export interface BuildWatch extends Disposable {
  /** False: no commit has written entries of the record, so all that are given for it are new. */
  mayHaveEntries(rid: Rid): boolean;
  /** False: that is so of every record. */
  readonly mayHaveAny: boolean;
}

/** What is known of one index. */
interface Written {
  /** It held entries of records that nobody knows, before the first that are told. */
  readonly isBegun: boolean;
  readonly rids: Set<Rid>;
}

/**
 * Knows, of indexes under construction, the records whose entries commits have written meanwhile: a few beside all the others, for
 * which nobody has to look whether an entry is there. Commits may come before the build has its first round. Cost: an element of a set
 * for each of them while the build goes on.
 */
export class IndexBuilds {
  readonly #written = new Map<IndexId, Written>();
  readonly #entryCount: (index: IndexId) => number;

  /** @param entryCount entries that an index has, those of commits under way not among them */
  constructor(entryCount: (index: IndexId) => number) {
    this.#entryCount = entryCount;
  }

  watch(index: IndexId): BuildWatch {
    const { isBegun, rids } = this.#writtenOf(index);
    return {
      mayHaveEntries: (rid) => isBegun || rids.has(rid),
      get mayHaveAny() {
        return isBegun || rids.size > 0;
      },
      [Symbol.dispose]: () => void this.#written.delete(index),
    };
  }

  note(index: IndexId, rid: Rid): void {
    this.#writtenOf(index).rids.add(rid);
  }

  #writtenOf(index: IndexId): Written {
    let written = this.#written.get(index);
    if (written === undefined) {
      written = { isBegun: this.#entryCount(index) > 0, rids: new Set() };
      this.#written.set(index, written);
    }
    return written;
  }
}
