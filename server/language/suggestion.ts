/**
 * The candidate that a misspelt word was probably meant to be: at most two slips (letters added, left out, changed or
 * swapped), at most one in words of up to four letters. Letter case is ignored; of two that are as close, the one with the same
 * first letter, since slips are rare there.
 * Cost: O(candidates * length^2); for errors only.
 */
export function closestWord(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > 64) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = word.length <= 4 ? 2 : 3;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) > bestDistance) continue;
    const distance = slips(lower, candidate.toLowerCase());
    const isAsClose = distance === bestDistance && best !== undefined;
    if (distance < bestDistance || (isAsClose && startsAlike(candidate, lower, best))) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function startsAlike(candidate: string, lower: string, best: string | undefined): boolean {
  const first = lower[0];
  return candidate[0]?.toLowerCase() === first && best?.[0]?.toLowerCase() !== first;
}

/** Optimal string alignment distance. */
function slips(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      let distance = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + (isSame ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        distance = Math.min(distance, (beforeLast[j - 2] ?? 0) + 1);
      row.push(distance);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
