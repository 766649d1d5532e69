/**
 * Similarity of texts. All work on UTF-16 units and are symmetric. The caller bounds the lengths: Levenshtein costs
 * O(n * m) time and O(m) memory.
 */

/** The least number of insertions, deletions and replacements. */
export function levenshteinDistance(a: string, b: string): number {
  if (a === b) return 0;
  let previous = new Uint32Array(b.length + 1).map((_, i) => i);
  let current = new Uint32Array(b.length + 1);
  for (let i = 1; i <= a.length; i++) {
    current[0] = i;
    const unit = a.charCodeAt(i - 1);
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] as number) + (unit === b.charCodeAt(j - 1) ? 0 : 1);
      const deleted = (previous[j] as number) + 1;
      const inserted = (current[j - 1] as number) + 1;
      current[j] = Math.min(replaced, deleted, inserted);
    }
    [previous, current] = [current, previous];
  }
  return previous[b.length] as number;
}

/** 1 - distance / longer length; 1 for two empty texts. */
export function levenshteinSimilarity(a: string, b: string): number {
  const longer = Math.max(a.length, b.length);
  return longer === 0 ? 1 : 1 - levenshteinDistance(a, b) / longer;
}

/** Positions that differ; undefined for texts of different lengths. */
export function hammingDistance(a: string, b: string): number | undefined {
  if (a.length !== b.length) return undefined;
  let count = 0;
  for (let i = 0; i < a.length; i++) if (a.charCodeAt(i) !== b.charCodeAt(i)) count++;
  return count;
}

const winklerPrefixMax = 4;
const winklerScale = 0.1;

/** Jaro similarity raised by a common prefix of up to four units (Winkler 1990); 1 for equal texts, 0 for nothing common. */
export function jaroWinklerSimilarity(a: string, b: string): number {
  if (a === b) return 1;
  const jaro = jaroSimilarity(a, b);
  let prefix = 0;
  while (
    prefix < winklerPrefixMax &&
    prefix < a.length &&
    prefix < b.length &&
    a.charCodeAt(prefix) === b.charCodeAt(prefix)
  )
    prefix++;
  return jaro + prefix * winklerScale * (1 - jaro);
}

function jaroSimilarity(a: string, b: string): number {
  if (a.length === 0 || b.length === 0) return 0;
  const reach = Math.max(0, Math.floor(Math.max(a.length, b.length) / 2) - 1);
  const matchedA = new Uint8Array(a.length);
  const matchedB = new Uint8Array(b.length);
  let matches = 0;
  for (let i = 0; i < a.length; i++) {
    const to = Math.min(b.length - 1, i + reach);
    for (let j = Math.max(0, i - reach); j <= to; j++) {
      if (matchedB[j] || a.charCodeAt(i) !== b.charCodeAt(j)) continue;
      matchedA[i] = 1;
      matchedB[j] = 1;
      matches++;
      break;
    }
  }
  if (matches === 0) return 0;
  let outOfOrder = 0;
  let j = 0;
  for (let i = 0; i < a.length; i++) {
    if (!matchedA[i]) continue;
    while (!matchedB[j]) j++;
    if (a.charCodeAt(i) !== b.charCodeAt(j)) outOfOrder++;
    j++;
  }
  const transpositions = outOfOrder / 2;
  return (matches / a.length + matches / b.length + (matches - transpositions) / matches) / 3;
}

/** Twice the common pairs of adjacent units over all pairs; texts below two units are compared as a whole. */
export function sorensenDiceSimilarity(a: string, b: string): number {
  if (a === b) return 1;
  if (a.length < 2 || b.length < 2) return 0;
  const pairs = new Map<string, number>();
  for (let i = 0; i < a.length - 1; i++) {
    const pair = a.slice(i, i + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  let common = 0;
  for (let i = 0; i < b.length - 1; i++) {
    const pair = b.slice(i, i + 2);
    const left = pairs.get(pair) ?? 0;
    if (left === 0) continue;
    pairs.set(pair, left - 1);
    common++;
  }
  return (2 * common) / (a.length + b.length - 2);
}
