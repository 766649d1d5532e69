import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { EntryReader } from '../entry-reader.ts';
import {
  boosted,
  difference,
  inAll,
  intersection,
  type Matches,
  matchesPerUnit,
  noMatches,
  ScoreTable,
  union,
  unionOfAll,
  withScoresOf,
} from './matches.ts';
import { type PatternPart, parseTextQuery, type QueryLimits, type TextQuery } from './query.ts';
import { postingsOf, statisticsOf, TermFinder } from './postings.ts';
import { addScores, PostingScores, scoreOf, type Scoring } from './scoring.ts';
import type { Postings } from './text-memory.ts';
import { type TextField, type TextSettings, textSettings } from './text-keys.ts';

export interface TextLimits extends QueryLimits {
  /** Terms that prefixes, wildcards and fuzzy words of one query may stand for. */
  readonly expandedTermsMax: number;
}

export const defaultTextLimits: TextLimits = {
  clauseCountMax: 1_024,
  depthMax: 200,
  expandedTermsMax: 10_000,
};

/**
 * All records that the query finds, with their scores.
 * @param fields names of fields to search where the query names none; all of them when absent
 * @throws DatabaseError `IllegalArgument` for a query that cannot be read or stands for too many terms
 */
export function* searchText(
  reader: EntryReader,
  query: string,
  meter: WorkMeter,
  options: { readonly limits?: TextLimits; readonly fields?: readonly string[] } = {},
): PausingWork<Matches> {
  const settings = textSettings(reader.definition);
  const limits = options.limits ?? defaultTextLimits;
  const parsed = parseTextQuery(query, settings, reader.definition.name, limits);
  const search = new TextSearch(reader, settings, meter, limits, options.fields);
  return (yield* search.evaluate(parsed)) ?? noMatches;
}

/** Words that a search is made of, each with its weight (more-like-this). */
export interface WeightedTerm {
  readonly term: string;
  readonly boost: number;
}

/** Records that have at least one of the terms in any field. */
export function* searchTerms(
  reader: EntryReader,
  terms: readonly WeightedTerm[],
  meter: WorkMeter,
  fields: readonly string[] | undefined,
): PausingWork<Matches> {
  const settings = textSettings(reader.definition);
  const search = new TextSearch(reader, settings, meter, defaultTextLimits, fields);
  const found: Matches[] = [];
  for (const { term, boost } of terms)
    found.push(yield* search.term(term, search.fieldsNamed(undefined), boost));
  return yield* unionOfAll(found, meter);
}

class TextSearch {
  readonly #reader: EntryReader;
  readonly #settings: TextSettings;
  readonly #meter: WorkMeter;
  readonly #finder: TermFinder;
  readonly #wanted: readonly string[] | undefined;

  constructor(
    reader: EntryReader,
    settings: TextSettings,
    meter: WorkMeter,
    limits: TextLimits,
    wanted: readonly string[] | undefined,
  ) {
    this.#reader = reader;
    this.#settings = settings;
    this.#meter = meter;
    this.#finder = new TermFinder(reader, meter, limits.expandedTermsMax);
    this.#wanted = wanted;
  }

  /** undefined: the query says nothing, as a stop word does. */
  *evaluate(query: TextQuery): PausingWork<Matches | undefined> {
    switch (query.kind) {
      case 'word':
        return yield* this.#words(query.text, query, this.#settings.defaultOperator);
      case 'phrase':
        return yield* this.#words(query.text, query, 'AND');
      case 'wildcard':
        return yield* this.#wildcard(query);
      case 'fuzzy':
        return yield* this.#fuzzy(query);
      case 'group':
        return yield* this.#group(query);
    }
  }

  fieldsNamed(name: string | undefined): readonly TextField[] {
    const { fields } = this.#settings;
    if (name !== undefined) return fields.filter((field) => field.name === name);
    const wanted = this.#wanted;
    return wanted === undefined ? fields : fields.filter((field) => wanted.includes(field.name));
  }

  *#group(query: Extract<TextQuery, { kind: 'group' }>): PausingWork<Matches | undefined> {
    let required: Matches | undefined = yield* this.#havingAll(query.must);
    for (const part of required === undefined ? query.must : []) {
      const found = yield* this.evaluate(part);
      if (found === undefined) continue;
      required = required === undefined ? found : intersection(required, found);
      if (this.#meter.isSpent(1 + found.count / matchesPerUnit)) yield;
    }
    let optional: Matches | undefined;
    for (const part of query.should) {
      const found = yield* this.evaluate(part);
      if (found === undefined) continue;
      optional = optional === undefined ? found : union(optional, found);
      if (this.#meter.isSpent(1 + optional.count / matchesPerUnit)) yield;
    }
    let found = required;
    if (found === undefined) found = optional;
    else if (optional !== undefined) found = withScoresOf(found, optional);
    // Only what is not wanted was said: nothing is found, as in the reference engine.
    if (found === undefined) return query.not.length > 0 ? noMatches : undefined;
    for (const part of query.not) {
      if (found.count === 0) break;
      const unwanted: Matches | undefined = yield* this.evaluate(part);
      if (unwanted !== undefined) found = difference(found, unwanted);
    }
    return boosted(found, query.boost);
  }

  /** The terms that the text has for each analyzer among the fields. */
  *#words(
    text: string,
    query: { readonly field: string | undefined; readonly boost: number },
    operator: 'OR' | 'AND',
  ): PausingWork<Matches | undefined> {
    let all: Matches | undefined;
    const fields = this.fieldsNamed(query.field);
    for (const analyzer of new Set(fields.map((field) => field.queryAnalyzer))) {
      const terms: string[] = [];
      analyzer.terms(text, terms);
      const own = fields.filter((field) => field.queryAnalyzer === analyzer);
      let found: Matches | undefined;
      for (const term of new Set(terms)) {
        const matches: Matches = yield* this.term(term, own, query.boost);
        if (found === undefined) found = matches;
        else found = operator === 'AND' ? intersection(found, matches) : union(found, matches);
      }
      if (found !== undefined) all = all === undefined ? found : union(all, found);
    }
    return all;
  }

  /** Of an index of one field, records that have several words; only these are scored. undefined: something else is asked for. */
  *#havingAll(parts: readonly TextQuery[]): PausingWork<Matches | undefined> {
    const [field] = this.#settings.fields;
    if (parts.length < 2 || this.#settings.fields.length > 1 || field === undefined)
      return undefined;
    const words: WeightedTerm[] = [];
    for (const part of parts) {
      if (part.kind !== 'word' || this.fieldsNamed(part.field).length === 0) return undefined;
      const terms: string[] = [];
      field.queryAnalyzer.terms(part.text, terms);
      const [term] = terms;
      if (term === undefined || terms.length > 1) return undefined;
      words.push({ term, boost: part.boost });
    }
    const lists: Postings[] = [];
    for (const { term } of words) {
      const postings = yield* postingsOf(this.#reader, term, this.#meter);
      if (postings.count === 0) return noMatches;
      lists.push(postings);
    }
    const scorings: PostingScores[] = [];
    for (const [at, { boost }] of words.entries())
      scorings.push(new PostingScores(lists[at] as Postings, field, yield* this.#scoring(boost)));
    const found = inAll(lists, (places) => {
      let score = 0;
      for (let at = 0; at < scorings.length; at += 1)
        score += (scorings[at] as PostingScores).at(places[at] as number);
      return score;
    });
    if (this.#meter.isSpent(1 + (lists[0] as Postings).count / matchesPerUnit)) yield;
    return found;
  }

  *term(term: string, fields: readonly TextField[], boost: number): PausingWork<Matches> {
    const postings = yield* postingsOf(this.#reader, term, this.#meter);
    return yield* this.#scored(postings, fields, boost);
  }

  *#scored(postings: Postings, fields: readonly TextField[], boost: number): PausingWork<Matches> {
    if (postings.count === 0) return noMatches;
    return scoreOf(postings, fields, yield* this.#scoring(boost));
  }

  *#scoring(boost: number): PausingWork<Scoring> {
    const { similarity, k1, b, fields } = this.#settings;
    const statistics =
      similarity === 'CLASSIC' ? [] : yield* statisticsOf(this.#reader, this.#meter);
    return { similarity, k1, b, statistics, boost, fieldCount: fields.length };
  }

  *#wildcard(query: Extract<TextQuery, { kind: 'wildcard' }>): PausingWork<Matches> {
    const fields = this.fieldsNamed(query.field);
    let all: Matches | undefined;
    for (const analyzer of new Set(fields.map((field) => field.queryAnalyzer))) {
      const own = fields.filter((field) => field.queryAnalyzer === analyzer);
      const parts = query.pattern.map((part) =>
        typeof part === 'string' ? analyzer.word(part) : part,
      );
      const numbers = new Set(own.map((field) => field.number));
      const found: Matches = yield* this.#finder.recordsWith(parts, numbers, query.boost);
      if (all === undefined) all = found;
      else {
        const { count, rids } = union(all, found);
        all = { count, rids, scores: new Float64Array(count).fill(query.boost) };
      }
    }
    return all ?? noMatches;
  }

  *#fuzzy(query: Extract<TextQuery, { kind: 'fuzzy' }>): PausingWork<Matches> {
    const fields = this.fieldsNamed(query.field);
    const found: Matches[] = [];
    for (const analyzer of new Set(fields.map((field) => field.queryAnalyzer))) {
      const own = fields.filter((field) => field.queryAnalyzer === analyzer);
      const word = analyzer.word(query.text);
      const near: WeightedTerm[] = [];
      for (const { term, distance } of yield* this.#finder.near(word, query.distance)) {
        // The further away, the less a term says.
        const nearness = 1 - distance / Math.max(term.length, word.length, 1);
        const isClassic = this.#settings.similarity === 'CLASSIC';
        const weight = isClassic ? 1 : Math.max(nearness, 0.01);
        near.push({ term, boost: query.boost * weight });
      }
      found.push(yield* this.#anyOf(near, own));
    }
    return yield* unionOfAll(found, this.#meter);
  }

  /** Records that have any of the terms, scores added. */
  *#anyOf(terms: readonly WeightedTerm[], fields: readonly TextField[]): PausingWork<Matches> {
    const lists: Postings[] = [];
    for (const { term } of terms) {
      const postings: Postings = yield* postingsOf(this.#reader, term, this.#meter);
      lists.push(postings);
      if (this.#meter.isSpent(1 + postings.count / matchesPerUnit)) yield;
    }
    const [field] = fields;
    const hasOneField = this.#settings.fields.length === 1 && field !== undefined;
    const table = hasOneField ? ScoreTable.over(lists) : undefined;
    const found: Matches[] = [];
    const scoring: Scoring = yield* this.#scoring(1);
    for (const [at, { boost }] of terms.entries()) {
      const postings = lists[at] as Postings;
      if (postings.count === 0) continue;
      if (table === undefined) found.push(yield* this.#scored(postings, fields, boost));
      else addScores(table, postings, field as TextField, { ...scoring, boost });
      if (this.#meter.isSpent(1 + postings.count / matchesPerUnit)) yield;
    }
    return table === undefined
      ? yield* unionOfAll(found, this.#meter)
      : yield* table.matches(this.#meter);
  }
}

/** The text that all words of the pattern begin with. */
export function literalPrefix(parts: readonly PatternPart[]): string {
  const [first] = parts;
  return typeof first === 'string' ? first : '';
}
