/**
 * How many characters must be put in, taken out, replaced or swapped with their neighbour to make `b` of `a` (optimal string
 * alignment), as far as that is at most `max`; else a number above it. Cost: rows of 2 max + 1 cells.
 */
export function boundedDistance(a: string, b: string, max: number): number {
  const over = max + 1;
  if (Math.abs(a.length - b.length) > max) return over;
  if (a === b) return 0;
  if (max === 0) return over;
  let before = rowA;
  let last = rowB;
  let next = rowC;
  if (b.length + 2 > last.length) {
    before = new Uint16Array(b.length + 2);
    last = new Uint16Array(b.length + 2);
    next = new Uint16Array(b.length + 2);
  }
  for (let j = 0; j <= b.length; j += 1) last[j] = j;
  for (let i = 1; i <= a.length; i += 1) {
    const from = Math.max(1, i - max);
    const to = Math.min(b.length, i + max);
    next[from - 1] = from === 1 ? i : over;
    let least = next[from - 1] as number;
    const x = a.charCodeAt(i - 1);
    for (let j = from; j <= to; j += 1) {
      const y = b.charCodeAt(j - 1);
      let cost = (last[j - 1] as number) + (x === y ? 0 : 1);
      if (j < i + max) cost = Math.min(cost, (last[j] as number) + 1);
      cost = Math.min(cost, (next[j - 1] as number) + 1);
      if (i > 1 && j > 1 && x === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === y)
        cost = Math.min(cost, (before[j - 2] as number) + 1);
      next[j] = Math.min(cost, over);
      if (cost < least) least = cost;
    }
    if (least > max) return over;
    const spare = before;
    before = last;
    last = next;
    next = spare;
  }
  return last[b.length] as number;
}

const rowA = new Uint16Array(300);
const rowB = new Uint16Array(300);
const rowC = new Uint16Array(300);
