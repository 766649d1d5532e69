import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';

/**
 * Records that a query finds, by record id, each with its score. Arrays are never changed once they are made; unions and
 * intersections walk through both in step.
 */
export interface Matches {
  readonly count: number;
  readonly rids: Float64Array;
  readonly scores: Float64Array;
}

export const noMatches: Matches = {
  count: 0,
  rids: new Float64Array(0),
  scores: new Float64Array(0),
};

/** Records of either, scores added. Cost: linear. */
export function union(a: Matches, b: Matches): Matches {
  if (a.count === 0) return b;
  if (b.count === 0) return a;
  const rids = new Float64Array(a.count + b.count);
  const scores = new Float64Array(rids.length);
  let [i, j, count] = [0, 0, 0];
  while (i < a.count && j < b.count) {
    const x = a.rids[i] as number;
    const y = b.rids[j] as number;
    if (x < y) {
      rids[count] = x;
      scores[count++] = a.scores[i++] as number;
    } else if (y < x) {
      rids[count] = y;
      scores[count++] = b.scores[j++] as number;
    } else {
      rids[count] = x;
      scores[count++] = (a.scores[i++] as number) + (b.scores[j++] as number);
    }
  }
  for (; i < a.count; i += 1) {
    rids[count] = a.rids[i] as number;
    scores[count++] = a.scores[i] as number;
  }
  for (; j < b.count; j += 1) {
    rids[count] = b.rids[j] as number;
    scores[count++] = b.scores[j] as number;
  }
  return { count, rids, scores };
}

/**
 * Records of any, scores added in the order of the lists. Cost: linear where many lists lie close together, else matches times the
 * logarithm of the lists.
 */
export function* unionOfAll(lists: readonly Matches[], meter: WorkMeter): PausingWork<Matches> {
  const all = lists.filter(({ count }) => count > 0);
  const table = ScoreTable.over(all);
  if (table !== undefined) {
    for (const list of all) {
      table.add(list);
      if (meter.isSpent(1 + list.count / matchesPerUnit)) yield;
    }
    return yield* table.matches(meter);
  }
  let left = all;
  while (left.length > 1) {
    const united: Matches[] = [];
    for (let i = 0; i < left.length; i += 2) {
      const both = union(left[i] as Matches, left[i + 1] ?? noMatches);
      united.push(both);
      if (meter.isSpent(1 + both.count / matchesPerUnit)) yield;
    }
    left = united;
  }
  return left[0] ?? noMatches;
}

/** Fewer lists are united in pairs. */
const tableListsMin = 4;
/** Places of a table for each match at most; a table of more would cost more than the pairs do. */
const placesPerMatch = 32;
const placesMax = 4 * 1024 * 1024;
const placesPerLook = 65_536;

/** A table that nobody uses; who takes it leaves it empty. Made anew for each search it would be the most of its time, with many terms. */
let spare: { readonly isFound: Uint8Array; readonly sums: Float64Array } | undefined;
const spareMax = 1024 * 1024;

/** Sums of scores by record id: a place for each id from the first of all lists to the last. */
export class ScoreTable {
  readonly first: number;
  readonly isFound: Uint8Array;
  readonly sums: Float64Array;
  readonly #size: number;
  /** Places that are found. */
  count = 0;

  private constructor(first: number, size: number) {
    const own = spare !== undefined && spare.isFound.length >= size ? spare : undefined;
    if (own !== undefined) spare = undefined;
    this.first = first;
    this.#size = size;
    this.isFound = own?.isFound ?? new Uint8Array(size);
    this.sums = own?.sums ?? new Float64Array(size);
  }

  /** @returns undefined when a table is not worth its while: few lists, or ids too far apart, as those of several types */
  static over(lists: readonly SortedIds[]): ScoreTable | undefined {
    if (lists.length < tableListsMin) return undefined;
    let [first, last, count] = [Infinity, -Infinity, 0];
    for (const { rids, count: own } of lists) {
      if (own === 0) continue;
      first = Math.min(first, rids[0] as number);
      last = Math.max(last, rids[own - 1] as number);
      count += own;
    }
    const size = last - first + 1;
    return size <= Math.min(placesMax, count * placesPerMatch)
      ? new ScoreTable(first, size)
      : undefined;
  }

  add({ count, rids, scores }: Matches): void {
    const { first, isFound, sums } = this;
    let found = this.count;
    for (let i = 0; i < count; i += 1) {
      const at = (rids[i] as number) - first;
      sums[at] = (sums[at] as number) + (scores[i] as number);
      found += 1 - (isFound[at] as number);
      isFound[at] = 1;
    }
    this.count = found;
  }

  /** Ids without scores. */
  addIds({ count, rids }: SortedIds): void {
    const { first, isFound } = this;
    let found = this.count;
    for (let i = 0; i < count; i += 1) {
      const at = (rids[i] as number) - first;
      found += 1 - (isFound[at] as number);
      isFound[at] = 1;
    }
    this.count = found;
  }

  /**
   * What was found, in order; the table is used up.
   * @param score of all of them, instead of the sums
   */
  *matches(meter: WorkMeter, score?: number): PausingWork<Matches> {
    const { first, isFound, sums, count } = this;
    const size = this.#size;
    const rids = new Float64Array(count);
    const scores = score === undefined ? new Float64Array(count) : constants(score, count);
    let found = 0;
    for (let from = 0; from < size; from += placesPerLook) {
      const end = Math.min(size, from + placesPerLook);
      for (let at = from; at < end; at += 1) {
        if (isFound[at] === 0) continue;
        isFound[at] = 0;
        if (score === undefined) {
          scores[found] = sums[at] as number;
          sums[at] = 0;
        }
        rids[found++] = first + at;
      }
      if (meter.isSpent((end - from) / matchesPerUnit)) yield;
    }
    if (isFound.length <= spareMax) spare = { isFound, sums };
    return { count, rids, scores };
  }
}

let sharedOnes = new Float64Array(0);

/** At least so many times the number. Nobody's own: arrays of matches are never changed. */
function constants(score: number, count: number): Float64Array {
  if (score !== 1) return new Float64Array(count).fill(score);
  if (count > sharedOnes.length) sharedOnes = new Float64Array(2 * count).fill(1);
  return sharedOnes;
}

/** Matches that a walk through them passes in a microsecond or so. */
export const matchesPerUnit = 256;

/** Record ids in order. */
export type SortedIds = Pick<Matches, 'count' | 'rids'>;

/** Records of both, scores added. */
export function intersection(a: Matches, b: Matches): Matches {
  return kept(a, b, { wanted: true, adds: true });
}

/** Records of `a` that `b` does not have. */
export function difference(a: Matches, b: Matches): Matches {
  return b.count === 0 ? a : kept(a, b, { wanted: false, adds: false });
}

/** Records of `a`, with the scores of `b` added where it has them. */
export function withScoresOf(a: Matches, b: Matches): Matches {
  if (b.count === 0) return a;
  const scores = a.scores.slice(0, a.count);
  let j = 0;
  for (let i = 0; i < a.count; i += 1) {
    const rid = a.rids[i] as number;
    j = advance(b, j, rid);
    if (j < b.count && b.rids[j] === rid)
      scores[i] = (scores[i] as number) + (b.scores[j] as number);
  }
  return { count: a.count, rids: a.rids, scores };
}

/**
 * Records that are in all lists, which are sorted. Cost: as many steps as the shortest has, and some for each in the others.
 * @param score of a record, by its place in each list
 */
export function inAll(
  lists: readonly SortedIds[],
  score: (places: Uint32Array) => number,
): Matches {
  const shortest = lists.reduce((a, b) => (b.count < a.count ? b : a));
  const rids = new Float64Array(shortest.count);
  const scores = new Float64Array(shortest.count);
  const places = new Uint32Array(lists.length);
  let count = 0;
  for (let i = 0; i < shortest.count; i += 1) {
    const rid = shortest.rids[i] as number;
    let isInAll = true;
    for (let at = 0; at < lists.length && isInAll; at += 1) {
      const list = lists[at] as SortedIds;
      const place = list === shortest ? i : advance(list, places[at] as number, rid);
      places[at] = place;
      isInAll = place < list.count && list.rids[place] === rid;
    }
    if (!isInAll) continue;
    rids[count] = rid;
    scores[count++] = score(places);
  }
  return { count, rids, scores };
}

function kept(
  a: Matches,
  b: Matches,
  { wanted, adds }: { readonly wanted: boolean; readonly adds: boolean },
): Matches {
  // The shorter one leads when both must have a record.
  if (wanted && b.count < a.count) return kept(b, a, { wanted, adds });
  const rids = new Float64Array(a.count);
  const scores = new Float64Array(a.count);
  let count = 0;
  let j = 0;
  for (let i = 0; i < a.count; i += 1) {
    const rid = a.rids[i] as number;
    j = advance(b, j, rid);
    const isThere = j < b.count && b.rids[j] === rid;
    if (isThere !== wanted) continue;
    rids[count] = rid;
    scores[count++] = (a.scores[i] as number) + (adds && isThere ? (b.scores[j] as number) : 0);
  }
  return { count, rids, scores };
}

/** The first place from `from` on with a record id of at least `rid`: by doubling steps, then by halving. */
function advance(
  { rids, count }: Pick<Matches, 'count' | 'rids'>,
  from: number,
  rid: number,
): number {
  let step = 1;
  let low = from;
  let high = from;
  while (high < count && (rids[high] as number) < rid) {
    low = high + 1;
    high += step;
    step *= 2;
  }
  if (high > count) high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rids[middle] as number) < rid) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function boosted(matches: Matches, boost: number): Matches {
  if (boost === 1) return matches;
  const scores = matches.scores.slice(0, matches.count);
  for (let i = 0; i < scores.length; i += 1) scores[i] = (scores[i] as number) * boost;
  return { count: matches.count, rids: matches.rids, scores };
}

/** Where the record stands; -1 when it is not found. */
export function placeOf(matches: Matches, rid: number): number {
  const at = advance(matches, 0, rid);
  return at < matches.count && matches.rids[at] === rid ? at : -1;
}

/** Places of the best, highest score first, ties by record id. Cost: a heap of `limit`. */
export function best({ count, rids, scores }: Matches, limit: number): Uint32Array {
  const size = Math.min(limit, count);
  const heap = new Uint32Array(size);
  let held = 0;
  /** True when the match at `a` is worse than that at `b`. */
  const isWorse = (a: number, b: number): boolean => {
    const x = scores[a] as number;
    const y = scores[b] as number;
    return x < y || (x === y && (rids[a] as number) > (rids[b] as number));
  };
  const sink = (from: number): void => {
    const value = heap[from] as number;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= held) break;
      if (child + 1 < held && isWorse(heap[child + 1] as number, heap[child] as number)) child += 1;
      if (!isWorse(heap[child] as number, value)) break;
      heap[at] = heap[child] as number;
      at = child;
    }
    heap[at] = value;
  };
  for (let i = 0; i < count && size > 0; i += 1) {
    if (held < size) {
      heap[held++] = i;
      if (held === size) for (let at = (size >>> 1) - 1; at >= 0; at -= 1) sink(at);
    } else if (isWorse(heap[0] as number, i)) {
      heap[0] = i;
      sink(0);
    }
  }
  return heap.sort((a, b) => (isWorse(b, a) ? -1 : 1));
}
