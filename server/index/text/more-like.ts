import { DatabaseError } from '#core/errors.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { Rid } from '#core/value/rid.ts';
import { isList, type Value, type ValueMap } from '#core/value/value.ts';
import type { EntryReader } from '../entry-reader.ts';
import { doubleOf } from '../vector/vector-keys.ts';
import { difference, type Matches } from './matches.ts';
import { postingsOf, statisticsOf } from './postings.ts';
import { searchTerms, type WeightedTerm } from './text-search.ts';
import { TermCounts, termsInPieces } from './term-pieces.ts';
import { textSettings, valueAt } from './text-keys.ts';

/** How records are found that are like others (sql-functions.md 6). */
export interface MoreLikeOptions {
  /** Times that a term must come in the sources. */
  readonly minTermFreq: number;
  /** Records that must have it, and the share of all that may. */
  readonly minDocFreq: number;
  readonly maxDocFreqPercent: number | undefined;
  readonly maxQueryTerms: number;
  /** Characters; 0: any. */
  readonly minWordLen: number;
  readonly maxWordLen: number;
  readonly boostByScore: boolean;
  readonly excludeSource: boolean;
  readonly stopWords: ReadonlySet<string>;
}

/** @throws DatabaseError `IllegalArgument` */
export function moreLikeOptions(given: ValueMap, what: string): MoreLikeOptions {
  const refuse = (key: string, wanted: string) =>
    new DatabaseError('IllegalArgument', `${what}: option '${key}' must be ${wanted}`);
  const number = (key: string, otherwise: number, low = 0): number => {
    const value = given.get(key) ?? null;
    if (value === null) return otherwise;
    const n = doubleOf(value);
    if (n === undefined || !(n >= low) || !Number.isInteger(n))
      throw refuse(key, `an integer of at least ${low}`);
    return n;
  };
  const boolean = (key: string): boolean => {
    const value = given.get(key) ?? null;
    if (value !== null && typeof value !== 'boolean') throw refuse(key, 'true or false');
    return value ?? true;
  };
  const percent = given.get('maxDocFreqPercent') ?? null;
  const share = percent === null ? undefined : doubleOf(percent);
  if (percent !== null && (share === undefined || !(share >= 0 && share <= 100)))
    throw refuse('maxDocFreqPercent', 'a number from 0 to 100');
  const words: Value = given.get('stopWords') ?? [];
  if (!isList(words) || words.some((word) => typeof word !== 'string'))
    throw refuse('stopWords', 'a list of words');
  return {
    minTermFreq: number('minTermFreq', 2),
    minDocFreq: number('minDocFreq', 5),
    maxDocFreqPercent: share,
    maxQueryTerms: number('maxQueryTerms', 25, 1),
    minWordLen: number('minWordLen', 0),
    maxWordLen: number('maxWordLen', 0),
    boostByScore: boolean('boostByScore'),
    excludeSource: boolean('excludeSource'),
    stopWords: new Set(words.map((word) => String(word).toLowerCase())),
  };
}

/** Records like those: with the terms that say most about them. */
export function* searchMoreLike(
  reader: EntryReader,
  rids: readonly Rid[],
  options: MoreLikeOptions,
  meter: WorkMeter,
  fields: readonly string[] | undefined,
): PausingWork<Matches> {
  const terms = yield* tellingTerms(reader, rids, options, meter, fields);
  const found = yield* searchTerms(reader, terms, meter, fields);
  if (!options.excludeSource) return found;
  const sources = Float64Array.from(new Set(rids)).sort();
  return difference(found, {
    count: sources.length,
    rids: sources,
    scores: new Float64Array(sources.length),
  });
}

/** Records read of each source that many times at most. */
const candidatesMax = 2_000;

function* tellingTerms(
  reader: EntryReader,
  rids: readonly Rid[],
  options: MoreLikeOptions,
  meter: WorkMeter,
  wanted: readonly string[] | undefined,
): PausingWork<readonly WeightedTerm[]> {
  const settings = textSettings(reader.definition);
  const fields = settings.fields.filter(({ name }) => wanted?.includes(name) ?? true);
  const counts = new TermCounts();
  for (const rid of rids) {
    const record = reader.record(rid);
    if (record === undefined) continue;
    for (const field of fields) {
      const value = valueAt(record, field.name) ?? null;
      for (const terms of termsInPieces(field.indexAnalyzer, value)) {
        counts.add(terms);
        if (meter.isSpent(1 + terms.length)) yield;
      }
    }
  }
  const statistics = yield* statisticsOf(reader, meter);
  const recordCount = Math.max(1, ...statistics.map((sum) => sum.recordCount));
  const candidates = yield* mostFrequent(counts, options, meter);
  const weighted: { term: string; boost: number }[] = [];
  for (const [term, count] of candidates) {
    const postings = yield* postingsOf(reader, term, meter);
    const found = new Set(postings.rids).size;
    if (found < options.minDocFreq) continue;
    const { maxDocFreqPercent: most } = options;
    if (most !== undefined && found > (recordCount * most) / 100) continue;
    weighted.push({ term, boost: count * (1 + Math.log(recordCount / (found + 1))) });
  }
  weighted.sort((a, b) => b.boost - a.boost || (a.term < b.term ? -1 : 1));
  const kept = weighted.slice(0, options.maxQueryTerms);
  const most = kept[0]?.boost ?? 1;
  return kept.map(({ term, boost }) => ({
    term,
    boost: options.boostByScore && most > 0 ? Math.max(boost / most, 0) : 1,
  }));
}

type Counted = readonly [term: string, count: number];

/** The candidates, the most frequent first, in pieces: a long text has a million terms. */
function* mostFrequent(
  counts: TermCounts,
  options: MoreLikeOptions,
  meter: WorkMeter,
): PausingWork<readonly Counted[]> {
  let kept: Counted[] = [];
  let countMin = options.minTermFreq;
  const trim = (): void => {
    kept.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    if (kept.length < candidatesMax) return;
    kept = kept.slice(0, candidatesMax);
    countMin = Math.max(countMin, kept.at(-1)?.[1] ?? 0);
  };
  for (const frequencies of counts.shards) {
    for (const [term, count] of frequencies) {
      if (count < countMin || !isWanted(term, options)) continue;
      kept.push([term, count]);
      if (kept.length < 2 * candidatesMax) continue;
      trim();
      if (meter.isSpent(candidatesMax)) yield;
    }
    if (meter.isSpent(frequencies.size)) yield;
  }
  trim();
  return kept;
}

function isWanted(term: string, options: MoreLikeOptions): boolean {
  if (options.minWordLen > 0 && term.length < options.minWordLen) return false;
  if (options.maxWordLen > 0 && term.length > options.maxWordLen) return false;
  return !options.stopWords.has(term);
}
