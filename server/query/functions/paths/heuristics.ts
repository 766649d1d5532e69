/** Estimates of the way that remains, from coordinates (A. Patel, "Heuristics" in his notes on A*). */
export type HeuristicName = 'MANHATTAN' | 'MAXAXIS' | 'DIAGONAL' | 'EUCLIDEAN' | 'EUCLIDEANNOSQR';

export const heuristicNames = [
  'MANHATTAN',
  'MAXAXIS',
  'DIAGONAL',
  'EUCLIDEAN',
  'EUCLIDEANNOSQR',
  'CUSTOM',
] as const;

/** `from` and `to` have the same number of coordinates. */
export function estimate(
  name: HeuristicName,
  from: readonly number[],
  to: readonly number[],
  factor: number,
): number {
  let sum = 0;
  let largest = 0;
  let smallest = Infinity;
  let squares = 0;
  for (let i = 0; i < from.length; i++) {
    const difference = Math.abs((from[i] as number) - (to[i] as number));
    sum += difference;
    squares += difference * difference;
    if (difference > largest) largest = difference;
    if (difference < smallest) smallest = difference;
  }
  if (from.length === 0) return 0;
  switch (name) {
    case 'MANHATTAN':
      return factor * sum;
    case 'MAXAXIS':
      return factor * largest;
    case 'DIAGONAL':
      return factor * (sum + (Math.SQRT2 - 2) * smallest);
    case 'EUCLIDEAN':
      return factor * Math.sqrt(squares);
    case 'EUCLIDEANNOSQR':
      return factor * squares;
  }
}

/** Prefers ways along the straight line from start to goal: a small part of the deviation from it, in the first two axes. */
export function tieBreaker(
  at: readonly number[],
  start: readonly number[],
  goal: readonly number[],
): number {
  const dx = (at[0] ?? 0) - (goal[0] ?? 0);
  const dy = (at[1] ?? 0) - (goal[1] ?? 0);
  const sx = (start[0] ?? 0) - (goal[0] ?? 0);
  const sy = (start[1] ?? 0) - (goal[1] ?? 0);
  return Math.abs(dx * sy - sx * dy) * 0.0001;
}
