/** @returns numbers from 0 on, below 1 */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** All steps of work that pauses. */
export function finished<Result>(work: Generator<unknown, Result, undefined>): Result {
  for (let step = work.next(); ; step = work.next()) if (step.done === true) return step.value;
}
