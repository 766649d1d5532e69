import type { Matches } from './matches.ts';
import type { FieldStatistics, Postings } from './text-memory.ts';
import type { TextField, TextSettings } from './text-keys.ts';

export interface Scoring extends Pick<TextSettings, 'similarity' | 'k1' | 'b'> {
  readonly statistics: readonly FieldStatistics[];
  readonly boost: number;
}

const fieldsMax = 256;
const notWanted = -Infinity;
// Filled anew by each call: a query may stand for thousands of terms.
const foundIn = new Uint32Array(fieldsMax);
const weights = new Float64Array(fieldsMax);
const averages = new Float64Array(fieldsMax);

/**
 * Scores of one term. BM25 (Robertson and Zaragoza 2009) for each field, with its boost, added up:
 * `ln(1 + (N - n + 0.5) / (n + 0.5)) * f (k1 + 1) / (f + k1 (1 - b + b length / average))`.
 * CLASSIC counts the term once, in whatever fields it stands.
 */
export function scoreOf(
  postings: Postings,
  fields: readonly TextField[],
  { similarity, k1, b, statistics, boost }: Scoring,
): Matches {
  const { count, rids } = postings;
  foundIn.fill(0, 0, fieldsMax);
  for (let i = 0; i < count; i += 1) {
    const field = postings.fields[i] as number;
    foundIn[field] = (foundIn[field] as number) + 1;
  }
  weights.fill(notWanted);
  for (const field of fields) {
    const n = foundIn[field.number] as number;
    const sums = statistics[field.number];
    const all = Math.max(n, sums?.recordCount ?? 0);
    weights[field.number] =
      Math.log(1 + (all - n + 0.5) / (n + 0.5)) * (k1 + 1) * field.boost * boost;
    const average = sums && sums.recordCount > 0 ? sums.termCount / sums.recordCount : 1;
    averages[field.number] = Math.max(average, 1e-9);
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
  return { count: size, rids: found, scores };
}
