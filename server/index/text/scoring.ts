import type { Matches } from './matches.ts';
import type { FieldStatistics, Postings } from './text-memory.ts';
import type { TextField, TextSettings } from './text-keys.ts';

export interface Scoring extends Pick<TextSettings, 'similarity' | 'k1' | 'b'> {
  readonly statistics: readonly FieldStatistics[];
  readonly boost: number;
}

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
  const isWanted = new Uint8Array(256);
  for (const field of fields) isWanted[field.number] = 1;
  const foundIn = new Float64Array(256);
  for (let i = 0; i < count; i += 1) {
    const field = postings.fields[i] as number;
    foundIn[field] = (foundIn[field] as number) + 1;
  }
  const weights = new Float64Array(256);
  const averages = new Float64Array(256);
  for (const field of fields) {
    const n = foundIn[field.number] as number;
    const sums = statistics[field.number];
    const all = Math.max(n, sums?.recordCount ?? 0);
    weights[field.number] =
      Math.log(1 + (all - n + 0.5) / (n + 0.5)) * (k1 + 1) * field.boost * boost;
    averages[field.number] = sums && sums.recordCount > 0 ? sums.termCount / sums.recordCount : 1;
  }
  const found = new Float64Array(count);
  const scores = new Float64Array(count);
  let size = 0;
  for (let i = 0; i < count; i += 1) {
    const field = postings.fields[i] as number;
    if (isWanted[field] === 0) continue;
    const rid = rids[i] as number;
    let score = boost;
    if (similarity === 'BM25') {
      const frequency = postings.frequencies[i] as number;
      const length = (postings.lengths[i] as number) / Math.max(averages[field] as number, 1e-9);
      score = ((weights[field] as number) * frequency) / (frequency + k1 * (1 - b + b * length));
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
