import { DatabaseError } from '#core/errors.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { Rid } from '#core/value/rid.ts';
import type { EntryReader } from '../entry-reader.ts';
import { DistancesFrom } from './edit-distance.ts';
import { type Matches, matchesPerUnit, ScoreTable, unionOfAll } from './matches.ts';
import { matchesPattern } from './pattern.ts';
import { lengthTag } from './posting-key.ts';
import type { PatternPart } from './query.ts';
import { type FieldStatistics, type Postings, TextMemory } from './text-memory.ts';
import {
  lengthIn,
  lengthRange,
  type PostingNumbers,
  prefixRange,
  readPosting,
  termEnd,
  termIn,
  termRange,
} from './text-keys.ts';

/** Entries read between two looks at the meter; some hundred nanoseconds each. */
const entriesPerLook = 256;
const unitsPerLook = 64;
/** Entries of one term after which the rest of them is skipped by a search for the next term. */
const entriesBeforeSkip = 48;

export function memoryOf(reader: EntryReader): TextMemory {
  const { memory } = reader;
  return memory.state(() => new TextMemory(memory.newest));
}

/** Grows as entries come; sorted once. */
class PostingList {
  readonly rids: number[] = [];
  readonly fields: number[] = [];
  readonly frequencies: number[] = [];
  readonly lengths: number[] = [];
  readonly #numbers: PostingNumbers = { field: 0, frequency: 0, length: 0 };

  add(key: Uint8Array, rid: Rid, end: number): void {
    readPosting(key, end, this.#numbers);
    this.rids.push(rid);
    this.fields.push(this.#numbers.field);
    this.frequencies.push(this.#numbers.frequency);
    this.lengths.push(this.#numbers.length);
  }

  addPostings(postings: Postings, at: number): void {
    this.rids.push(postings.rids[at] as number);
    this.fields.push(postings.fields[at] as number);
    this.frequencies.push(postings.frequencies[at] as number);
    this.lengths.push(postings.lengths[at] as number);
  }

  sorted(): Postings {
    const { rids, fields } = this;
    const count = rids.length;
    const order = new Uint32Array(count);
    for (let i = 0; i < count; i += 1) order[i] = i;
    order.sort(
      (a, b) =>
        (rids[a] as number) - (rids[b] as number) || (fields[a] as number) - (fields[b] as number),
    );
    const postings = {
      count,
      rids: new Float64Array(count),
      fields: new Uint8Array(count),
      frequencies: new Uint32Array(count),
      lengths: new Uint32Array(count),
    };
    for (let i = 0; i < count; i += 1) {
      const from = order[i] as number;
      postings.rids[i] = rids[from] as number;
      postings.fields[i] = fields[from] as number;
      postings.frequencies[i] = this.frequencies[from] as number;
      postings.lengths[i] = this.lengths[from] as number;
    }
    return postings;
  }
}

/** The postings of a term as the transaction sees them. */
export function* postingsOf(
  reader: EntryReader,
  term: string,
  meter: WorkMeter,
): PausingWork<Postings> {
  const stored = yield* storedPostings(reader, term, meter);
  if (!reader.hasOwn) return stored;
  const { low, high } = termRange(term);
  const list = new PostingList();
  for (let i = 0; i < stored.count; i += 1)
    if (!reader.isHidden(stored.rids[i] as Rid)) list.addPostings(stored, i);
  for (const { key, rid } of reader.own(low, high)) list.add(key, rid, termEnd(key));
  return list.sorted();
}

/** Those of the snapshot, of changed records too. */
function* storedPostings(
  reader: EntryReader,
  term: string,
  meter: WorkMeter,
): PausingWork<Postings> {
  const memory = reader.memory.isTold ? memoryOf(reader) : undefined;
  const known = memory?.postings(term, reader.lsn);
  if (known !== undefined) return known;
  const { low, high } = termRange(term);
  const list = new PostingList();
  const end = low.length - 1;
  const cursor = reader.stored(low, high);
  try {
    for (let seen = 1; cursor.next(); seen += 1) {
      list.add(cursor.key, cursor.rid, end);
      if (seen % entriesPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
    }
  } finally {
    cursor.close();
  }
  const postings = list.sorted();
  memory?.keep(term, reader.lsn, postings);
  return postings;
}

/** Number of records and terms of each field, of the newest state that is known. */
export function* statisticsOf(
  reader: EntryReader,
  meter: WorkMeter,
): PausingWork<readonly FieldStatistics[]> {
  const { memory } = reader;
  const kept = memory.isTold ? memoryOf(reader) : undefined;
  const known = kept?.statistics(reader.lsn);
  if (kept === undefined || known !== undefined) return known ?? (yield* gathered(reader, meter));
  // A commit under way may not have been told.
  if (memory.newest > reader.lsn || !kept.beginGathering()) return yield* gathered(reader, meter);
  let sums: FieldStatistics[] | undefined;
  try {
    sums = yield* gathered(reader, meter);
  } finally {
    kept.endGathering(sums, reader.lsn);
  }
  return sums;
}

function* gathered(reader: EntryReader, meter: WorkMeter): PausingWork<FieldStatistics[]> {
  const sums = reader.definition.components.map(() => ({ recordCount: 0, termCount: 0 }));
  for (const [field, sum] of sums.entries()) {
    const { low, high } = lengthRange(field);
    const cursor = reader.stored(low, high);
    try {
      for (let seen = 1; cursor.next(); seen += 1) {
        sum.recordCount += 1;
        sum.termCount += lengthIn(cursor.key);
        if (seen % entriesPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
      }
    } finally {
      cursor.close();
    }
  }
  return sums;
}

/** Finds the terms that prefixes, wildcards and fuzzy words stand for. */
export class TermFinder {
  readonly #reader: EntryReader;
  readonly #meter: WorkMeter;
  readonly #termsMax: number;
  #expanded = 0;

  constructor(reader: EntryReader, meter: WorkMeter, termsMax: number) {
    this.#reader = reader;
    this.#meter = meter;
    this.#termsMax = termsMax;
  }

  /** Records that have a term of the pattern in one of the fields, with that score. */
  *recordsWith(
    parts: readonly PatternPart[],
    fields: ReadonlySet<number>,
    score: number,
  ): PausingWork<Matches> {
    const prefix = typeof parts[0] === 'string' ? parts[0] : '';
    const isPrefix = parts.length === 2 && prefix !== '' && isRun(parts[1]);
    const test = (term: string) => isPrefix || matchesPattern(parts, term);
    const hasOneField = this.#reader.definition.components.length === 1;
    const found: Matches[] = [];
    for (const term of yield* this.#termsFrom(prefix, test)) {
      const postings: Postings = yield* postingsOf(this.#reader, term, this.#meter);
      found.push(recordsIn(postings, fields, hasOneField));
      if (this.#meter.isSpent(1 + postings.count / matchesPerUnit)) yield;
    }
    const table = ScoreTable.over(found);
    if (table !== undefined) {
      for (const records of found) {
        table.addIds(records);
        if (this.#meter.isSpent(1 + records.count / matchesPerUnit)) yield;
      }
      return yield* table.matches(this.#meter, score);
    }
    const { count, rids } = yield* unionOfAll(found, this.#meter);
    return { count, rids, scores: new Float64Array(count).fill(score) };
  }

  /** Terms at most so many edits away. */
  *near(
    word: string,
    distance: number,
  ): PausingWork<readonly { readonly term: string; readonly distance: number }[]> {
    const distances: number[] = [];
    const from = new DistancesFrom(word, distance);
    const test = (term: string) => {
      const found = from.to(term);
      if (found <= distance) distances.push(found);
      return found <= distance;
    };
    const terms = yield* this.#termsFrom('', test);
    return terms.map((term, i) => ({ term, distance: distances[i] as number }));
  }

  /** Terms with the prefix that pass, in the order of their tests; those of the transaction too. */
  *#termsFrom(prefix: string, test: (term: string) => boolean): PausingWork<readonly string[]> {
    const found: string[] = [];
    const take = (term: string): void => {
      if (!test(term)) return;
      found.push(term);
      this.#expanded += 1;
      if (this.#expanded > this.#termsMax)
        throw new DatabaseError(
          'IllegalArgument',
          `full-text query: its prefixes, wildcards and fuzzy words stand for more than ${this.#termsMax} terms (fullText.maxExpandedTerms)`,
        );
    };
    const terms = yield* termsOf(this.#reader, prefix, this.#meter);
    for (let i = firstAtLeast(terms, prefix); i < terms.length; i += 1) {
      const term = terms[i] as string;
      if (prefix !== '' && !term.startsWith(prefix)) break;
      take(term);
      if (i % entriesPerLook === 0 && this.#meter.isSpent(16)) yield;
    }
    if (this.#reader.hasOwn) {
      const { low, high } = prefixRange(prefix);
      const known = new Set(found);
      for (const { key } of this.#reader.own(low, high)) {
        const term = termIn(key);
        if (known.has(term)) continue;
        known.add(term);
        take(term);
      }
    }
    return found;
  }
}

function isRun(part: PatternPart | undefined): boolean {
  return typeof part === 'object' && part.any === 'run';
}

/** Records of the fields, each once; scores are 0. */
function recordsIn(
  { count, rids, fields }: Postings,
  wanted: ReadonlySet<number>,
  hasOneField: boolean,
): Matches {
  if (hasOneField) return { count, rids, scores: zeros(count) };
  const found = new Float64Array(count);
  let size = 0;
  for (let i = 0; i < count; i += 1) {
    const rid = rids[i] as number;
    if (wanted.has(fields[i] as number) && (size === 0 || found[size - 1] !== rid))
      found[size++] = rid;
  }
  return { count: size, rids: found, scores: zeros(size) };
}

let sharedZeros = new Float64Array(1_024);

/** At least so many scores of 0. They are nobody's own, and arrays of matches are never changed. */
function zeros(count: number): Float64Array {
  if (count > sharedZeros.length) sharedZeros = new Float64Array(2 * count);
  return sharedZeros;
}

function firstAtLeast(terms: readonly string[], prefix: string): number {
  let low = 0;
  let high = terms.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((terms[middle] as string) < prefix) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Terms of the snapshot in order, at least those with the prefix; some may be gone. */
function* termsOf(
  reader: EntryReader,
  prefix: string,
  meter: WorkMeter,
): PausingWork<readonly string[]> {
  const { memory } = reader;
  const kept = memory.isTold ? memoryOf(reader) : undefined;
  const known = kept?.terms;
  if (known !== undefined) return known;
  const mayKeep = kept !== undefined && memory.newest <= reader.lsn;
  // Beginnings are rare enough to be walked through; the second time all terms are worth being known.
  const isWhole = prefix === '' || (mayKeep && kept.asksForTermsAgain());
  const terms = yield* readTerms(reader, isWhole ? '' : prefix, meter);
  // What was told meanwhile may hold new terms.
  if (isWhole && mayKeep && memory.newest <= reader.lsn) kept.setTerms(new Set(terms));
  return terms.sort();
}

/** Walks through the entries, over the many of frequent terms in one step. */
function* readTerms(reader: EntryReader, prefix: string, meter: WorkMeter): PausingWork<string[]> {
  const { low, high } = prefixRange(prefix);
  const terms: string[] = [];
  let from = low;
  let seen = 0;
  for (;;) {
    const cursor = reader.stored(from, high);
    let last: Buffer | undefined;
    let repeated = 0;
    let isSkipping = false;
    try {
      while (!isSkipping && cursor.next()) {
        seen += 1;
        if (seen % entriesPerLook === 0 && meter.isSpent(unitsPerLook)) yield;
        const { key } = cursor;
        if (key[0] === lengthTag) continue;
        if (last !== undefined && startsWith(key, last)) {
          repeated += 1;
          isSkipping = repeated > entriesBeforeSkip;
          continue;
        }
        repeated = 0;
        last = Buffer.from(key.subarray(0, termEnd(key) + 1));
        terms.push(last.toString('utf8', 1, last.length - 1));
      }
    } finally {
      cursor.close();
    }
    if (!isSkipping || last === undefined) return terms;
    last[last.length - 1] = 1;
    from = last;
  }
}

function startsWith(key: Uint8Array, beginning: Uint8Array): boolean {
  if (key.length < beginning.length) return false;
  for (let i = beginning.length - 1; i >= 0; i -= 1) if (key[i] !== beginning[i]) return false;
  return true;
}
