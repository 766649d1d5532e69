import { editDistance } from '#core/text/edit-distance.ts';

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
    const distance = editDistance(lower, candidate.toLowerCase());
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
