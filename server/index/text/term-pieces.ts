import { isList, type Value } from '#core/value/value.ts';
import type { KeyPieces } from '../key-port.ts';
import type { Analyzer } from './analyzer.ts';
import { lengthKey, termKey } from './posting-key.ts';

// The keys of texts with so many words that making all of them in one turn would keep everybody else waiting: 10 MB of different
// words have 1.2 million keys, which take seconds.

/** Texts with more UTF-16 units than this are cut into terms in pieces. */
export const longTextUnits = 16 * 1024;
/** Cut into terms in one go: a millisecond or two, and so are the keys of one piece. */
const unitsPerPieceDefault = 8 * 1024;
const keysPerPiece = 1024;
/** One map of a million terms would stop for 100 ms whenever it grows. */
const shardCount = 128;

export interface AnalyzedField {
  readonly number: number;
  readonly indexAnalyzer: Analyzer;
}

const noKeys: readonly Uint8Array[] = [];

/** @param values one for each field, read before: the record may change meanwhile */
export function* termPieces(
  fields: readonly AnalyzedField[],
  values: readonly (Value | undefined)[],
  isChunked: boolean,
  unitsPerPiece = unitsPerPieceDefault,
): KeyPieces {
  for (const [at, { number, indexAnalyzer }] of fields.entries()) {
    const counts = new TermCounts();
    let length = 0;
    for (const terms of termsInPieces(indexAnalyzer, values[at] ?? null, unitsPerPiece)) {
      counts.add(terms);
      length += terms.length;
      yield noKeys;
    }
    if (length === 0) continue;
    let piece = [lengthKey(number, length, isChunked)];
    for (const frequencies of counts.shards) {
      for (const [term, frequency] of frequencies) {
        piece.push(termKey(term, number, frequency, length));
        if (piece.length < keysPerPiece) continue;
        yield piece;
        piece = [];
      }
      frequencies.clear();
    }
    yield piece;
  }
}

/** UTF-16 units of a text, or of the texts in a list. */
export function unitsOf(value: Value | undefined): number {
  if (typeof value === 'string') return value.length;
  if (value === undefined || !isList(value)) return 0;
  let units = 0;
  for (const item of value) units += unitsOf(item);
  return units;
}

/** How often terms come, in maps of which each is small enough for one turn. */
export class TermCounts {
  readonly shards = Array.from({ length: shardCount }, () => new Map<string, number>());

  add(terms: readonly string[]): void {
    for (const term of terms) {
      const frequencies = this.shards[shardOf(term)] as Map<string, number>;
      frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
    }
  }
}

function shardOf(term: string): number {
  const { length } = term;
  return (
    (term.charCodeAt(length - 1) * 31 + term.charCodeAt(length >> 1) * 7 + length) % shardCount
  );
}

/** As `addTerms`: some thousand terms at a time. */
export function* termsInPieces(
  analyzer: Analyzer,
  value: Value,
  unitsPerPiece = unitsPerPieceDefault,
): Generator<readonly string[], void, undefined> {
  let terms: string[] = [];
  let units = 0;
  for (const text of textsIn(value)) {
    for (let from = 0; from < text.length; ) {
      const end = cutFrom(analyzer, text, from + unitsPerPiece);
      analyzer.terms(text.slice(from, end), terms);
      units += end - from;
      from = end;
      if (units < unitsPerPiece) continue;
      yield terms;
      terms = [];
      units = 0;
    }
  }
  if (terms.length > 0) yield terms;
}

function* textsIn(value: Value): Generator<string, void, undefined> {
  if (typeof value === 'string') yield value;
  else if (isList(value)) for (const item of value) yield* textsIn(item);
}

/** The first place from there on where the text may be cut. */
function cutFrom(analyzer: Analyzer, text: string, from: number): number {
  for (let at = from; at < text.length; at += 1)
    if (analyzer.mayCutBefore(text.charCodeAt(at))) return at;
  return text.length;
}
