/** Units, of some 20 to 100 ns, between two pauses. */
const unitsPerTurn = 8_192;

/** Counts the work of a turn. */
export class Work {
  #left = unitsPerTurn;

  /** Counts; true when it is time to pause. */
  isSpent(units: number): boolean {
    this.#left -= units;
    if (this.#left > 0) return false;
    this.#left = unitsPerTurn;
    return true;
  }
}

/** Numbers from 0 up to 1 by a seed (mulberry32): the same seed, the same numbers. */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
