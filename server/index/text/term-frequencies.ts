/** Tables of more places are made for one text alone. */
const placesKept = 32_768;

/** How often a text has each of its terms. One is used for many texts: a map for each takes twice the time, most of it to grow. */
export class TermFrequencies {
  /** In the order in which they first come. */
  readonly terms: string[] = [];
  /** Of each of them. */
  readonly counts: number[] = [];
  /** The number of a term and one, by its hash; 0: free. At most half of them are taken. */
  #kept = new Uint32Array(128);

  /** Counts the terms of one text, and forgets those before. Cost: O(characters). */
  count(all: readonly string[]): void {
    const { terms, counts } = this;
    terms.length = 0;
    counts.length = 0;
    const places = this.#placesFor(all.length);
    const mask = places.length - 1;
    for (let i = 0; i < all.length; i += 1) {
      const term = all[i] as string;
      let place = hashOf(term) & mask;
      let taken = places[place] as number;
      while (taken !== 0 && terms[taken - 1] !== term) {
        place = (place + 1) & mask;
        taken = places[place] as number;
      }
      if (taken === 0) {
        places[place] = terms.push(term);
        counts.push(1);
      } else counts[taken - 1] = (counts[taken - 1] as number) + 1;
    }
  }

  #placesFor(termCount: number): Uint32Array {
    let size = this.#kept.length;
    while (size < 2 * termCount) size *= 2;
    if (size > placesKept) return new Uint32Array(size);
    if (size > this.#kept.length) this.#kept = new Uint32Array(size);
    else this.#kept.fill(0);
    return this.#kept;
  }
}

function hashOf(term: string): number {
  const { length } = term;
  let hash = length;
  for (let i = 0; i < length; i += 1) hash = Math.imul(hash ^ term.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}
