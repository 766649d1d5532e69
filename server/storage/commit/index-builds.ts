import type { IndexId, Rid } from '#core/value/rid.ts';

/** Which records have entries of an index under construction already. */
export interface BuildWatch extends Disposable {
  /** False: no commit has written entries of the record, so all that are given for it are new. */
  mayHaveEntries(rid: Rid): boolean;
}

/**
 * Knows, of indexes under construction, the records whose entries commits have written meanwhile: a few beside all the others, for
 * which nobody has to look whether an entry is there. Cost: an element of a set for each of them while the build goes on.
 */
export class IndexBuilds {
  readonly #written = new Map<IndexId, Set<Rid>>();

  /** @param isBegun it holds entries of records that nobody knows */
  watch(index: IndexId, isBegun: boolean): BuildWatch {
    const written = new Set<Rid>();
    this.#written.set(index, written);
    return {
      mayHaveEntries: (rid) => isBegun || written.has(rid),
      [Symbol.dispose]: () => void this.#written.delete(index),
    };
  }

  note(index: IndexId, rid: Rid): void {
    this.#written.get(index)?.add(rid);
  }
}
