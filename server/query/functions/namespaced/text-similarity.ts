/**
 * Similarity of texts. All work on UTF-16 units and are symmetric. The caller bounds the lengths: Levenshtein costs
 * O(n * m / 32) time and O(m) memory, the others O(n + m).
 */

/** Of the block at hand: the rows at which a unit stands, one bit for each. All zero between calls. */
const rowsOfUnit = new Int32Array(0x10000);
const rowsPerBlock = 32;

/**
 * The least number of insertions, deletions and replacements. Bit-parallel: 32 rows of the table are one step (Myers 1999, in the form
 * of Hyyrö 2003); between blocks of rows stand the differences along the last row, which are -1, 0 or 1.
 */
export function levenshteinDistance(a: string, b: string): number {
  if (a === b) return 0;
  const differences = new Int8Array(b.length).fill(1);
  for (let from = 0; from < a.length; from += rowsPerBlock)
    advanceBlock(a, { from, to: Math.min(a.length, from + rowsPerBlock) }, b, differences);
  let distance = a.length;
  for (let j = 0; j < differences.length; j++) distance += differences[j] as number;
  return distance;
}

/** @param differences along the row above the block; then those along its last row */
function advanceBlock(
  a: string,
  { from, to }: { readonly from: number; readonly to: number },
  b: string,
  differences: Int8Array,
): void {
  for (let i = from; i < to; i++) {
    const unit = a.charCodeAt(i);
    rowsOfUnit[unit] = (rowsOfUnit[unit] as number) | (1 << (i - from));
  }
  const last = to - from - 1;
  let rises = -1;
  let falls = 0;
  for (let j = 0; j < b.length; j++) {
    const above = differences[j] as number;
    const fallsAbove = above >>> 31;
    const risesAbove = (above + 1) >> 1;
    const equal = rowsOfUnit[b.charCodeAt(j)] as number;
    const vertical = equal | falls;
    const met = equal | fallsAbove;
    const horizontal = (((met & rises) + rises) ^ rises) | met;
    let up = falls | ~(horizontal | rises);
    let down = rises & horizontal;
    differences[j] = ((up >>> last) & 1) - ((down >>> last) & 1);
    up = (up << 1) | risesAbove;
    down = (down << 1) | fallsAbove;
    rises = down | ~(vertical | up);
    falls = up & vertical;
  }
  for (let i = from; i < to; i++) rowsOfUnit[a.charCodeAt(i)] = 0;
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
  const placesInB = placesOfUnits(b);
  const matchedA = new Uint8Array(a.length);
  const matchedB = new Uint8Array(b.length);
  let matches = 0;
  for (let i = 0; i < a.length; i++) {
    const unit = a.charCodeAt(i);
    // Places before the reach are in the reach of no later unit either.
    let place = placesInB.first.get(unit) ?? noPlace;
    while (place !== noPlace && place < i - reach) place = placesInB.next[place] as number;
    if (place !== noPlace && place <= i + reach) {
      matchedA[i] = 1;
      matchedB[place] = 1;
      matches++;
      place = placesInB.next[place] as number;
    }
    placesInB.first.set(unit, place);
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

const noPlace = -1;

/** Where each unit stands: its first place, and for each place the next one of the same unit. */
function placesOfUnits(text: string): {
  readonly first: Map<number, number>;
  readonly next: Int32Array;
} {
  const first = new Map<number, number>();
  const next = new Int32Array(text.length);
  for (let at = text.length - 1; at >= 0; at--) {
    const unit = text.charCodeAt(at);
    next[at] = first.get(unit) ?? noPlace;
    first.set(unit, at);
  }
  return { first, next };
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
