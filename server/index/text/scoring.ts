import type { Matches, ScoreTable } from './matches.ts';
import type { FieldStatistics, Postings } from './text-memory.ts';
import type { TextField, TextSettings } from './text-keys.ts';

export interface Scoring extends Pick<TextSettings, 'similarity' | 'k1' | 'b'> {
  readonly statistics: readonly FieldStatistics[];
  readonly boost: number;
  /** The index has this many fields. */
  readonly fieldCount: number;
}

const fieldsMax = 256;
const notWanted = -Infinity;
// Made once, since a query may stand for thousands of terms; each call leaves no weight behind.
const foundIn = new Uint32Array(fieldsMax);
const weights = new Float64Array(fieldsMax).fill(notWanted);
const averages = new Float64Array(fieldsMax);

/**
 * Scores of one term. BM25 (Robertson and Zaragoza 2009) for each field, with its boost, added up:
 * `ln(1 + (N - n + 0.5) / (n + 0.5)) * f (k1 + 1) / (f + k1 (1 - b + b length / average))`.
 * CLASSIC counts the term once, in whatever fields it stands.
 */
export function scoreOf(
  postings: Postings,
  fields: readonly TextField[],
  scoring: Scoring,
): Matches {
  const { similarity, k1, b, statistics, boost } = scoring;
  const { count, rids } = postings;
  const [first] = fields;
  if (scoring.fieldCount === 1 && first !== undefined)
    return { count, rids, scores: scoresOfOne(postings, first, scoring) };
  for (const { number } of fields) foundIn[number] = 0;
  for (let i = 0; i < count; i += 1) {
    const field = postings.fields[i] as number;
    foundIn[field] = (foundIn[field] as number) + 1;
  }
  for (const field of fields) {
    const n = foundIn[field.number] as number;
    const sums = statistics[field.number];
    weights[field.number] = rarity(n, sums) * (k1 + 1) * field.boost * boost;
    averages[field.number] = averageLength(sums);
  }
  const found = new Float64Array(count);
  const scores = new Float64Array(count);
  let size = 0;
  for (let i = 0; i < count; i += 1) {
    const field = postings.fields[i] as number;
    const weight = weights[field] as number;
    if (weight === notWanted) continue;
    const rid = rids[i] as number;
    let score = boost;
    if (similarity === 'BM25') {
      const frequency = postings.frequencies[i] as number;
      const length = (postings.lengths[i] as number) / (averages[field] as number);
      score = (weight * frequency) / (frequency + k1 * (1 - b + b * length));
    }
    if (size > 0 && found[size - 1] === rid) {
      if (similarity === 'BM25') scores[size - 1] = (scores[size - 1] as number) + score;
    } else {
      found[size] = rid;
      scores[size++] = score;
    }
  }
  for (const { number } of fields) weights[number] = notWanted;
  return { count: size, rids: found, scores };
}

/** As `scoreOf` where all postings are of the one field. Cost: some nanoseconds a posting. */
function scoresOfOne(
  { count, frequencies, lengths }: Postings,
  field: TextField,
  { similarity, k1, b, statistics, boost }: Scoring,
): Float64Array {
  const scores = new Float64Array(count);
  if (similarity !== 'BM25') return scores.fill(boost);
  const sums = statistics[field.number];
  const weight = rarity(count, sums) * (k1 + 1) * field.boost * boost;
  const average = averageLength(sums);
  for (let i = 0; i < count; i += 1) {
    const frequency = frequencies[i] as number;
    const length = (lengths[i] as number) / average;
    scores[i] = (weight * frequency) / (frequency + k1 * (1 - b + b * length));
  }
  return scores;
}

/** As `scoreOf` in an index of one field, into a table: no array for each of thousands of terms. */
export function addScores(
  table: ScoreTable,
  { count, rids, frequencies, lengths }: Postings,
  field: TextField,
  { similarity, k1, b, statistics, boost }: Scoring,
): void {
  const { first, isFound, sums } = table;
  const isRanked = similarity === 'BM25';
  const own = statistics[field.number];
  const weight = isRanked ? rarity(count, own) * (k1 + 1) * field.boost * boost : boost;
  const average = averageLength(own);
  let found = table.count;
  for (let i = 0; i < count; i += 1) {
    const at = (rids[i] as number) - first;
    let score = weight;
    if (isRanked) {
      const frequency = frequencies[i] as number;
      const length = (lengths[i] as number) / average;
      score = (weight * frequency) / (frequency + k1 * (1 - b + b * length));
    }
    sums[at] = (sums[at] as number) + score;
    found += 1 - (isFound[at] as number);
    isFound[at] = 1;
  }
  table.count = found;
}

/** Scores of single postings of one term, in an index of one field: as `scoreOf`, for few of many. */
export class PostingScores {
  readonly #postings: Postings;
  readonly #scoring: Scoring;
  readonly #weight: number;
  readonly #average: number;

  constructor(postings: Postings, field: TextField, scoring: Scoring) {
    const { statistics, k1, boost } = scoring;
    const sums = statistics[field.number];
    this.#postings = postings;
    this.#scoring = scoring;
    this.#weight = rarity(postings.count, sums) * (k1 + 1) * field.boost * boost;
    this.#average = averageLength(sums);
  }

  at(place: number): number {
    const { similarity, k1, b, boost } = this.#scoring;
    if (similarity !== 'BM25') return boost;
    const frequency = this.#postings.frequencies[place] as number;
    const length = (this.#postings.lengths[place] as number) / this.#average;
    return (this.#weight * frequency) / (frequency + k1 * (1 - b + b * length));
  }
}

/** @param n records that have the term */
function rarity(n: number, sums: FieldStatistics | undefined): number {
  const all = Math.max(n, sums?.recordCount ?? 0);
  return Math.log(1 + (all - n + 0.5) / (n + 0.5));
}

function averageLength(sums: FieldStatistics | undefined): number {
  const average = sums && sums.recordCount > 0 ? sums.termCount / sums.recordCount : 1;
  return Math.max(average, 1e-9);
}
