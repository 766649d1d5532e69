/**
 * The number with the shortest decimal text among those that round to the float32 `x`: the float32 nearest to 0.1 gives
 * 0.1, not 0.10000000149011612 (house decision 14). `x` must be a float32 value (`Math.fround`), NaN or infinite.
 *
 * Six digits tell all decimals of that length apart in float32, nine digits always suffice.
 */
export function shortestFloat32(x: number): number {
  if (Number.isInteger(x) && Math.abs(x) < 16_777_216) return x;
  if (!Number.isFinite(x)) return x;
  // Most numbers that people and programs write have few decimals: the one with six digits, found without a text.
  const rounded = Math.round(x * 10_000) / 10_000;
  if (Math.fround(rounded) === x && Math.abs(x) < 100 && rounded !== 0) return rounded;
  for (let digits = 6; digits < 9; digits++) {
    const candidate = Number(x.toPrecision(digits));
    if (Math.fround(candidate) === x) return candidate;
  }
  return Number(x.toPrecision(9));
}
