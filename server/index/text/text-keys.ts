import type { IndexDefinition } from '#catalog/catalog.ts';
import { isList, type Value } from '#core/value/value.ts';
import type { KeyedRecord, KeyPieces, SearchKeys } from '../key-port.ts';
import { type Analyzer, analyzerFor } from './analyzer.ts';
import { lengthKey, lengthTag, termKey, termTag } from './posting-key.ts';
import { TermFrequencies } from './term-frequencies.ts';
import { longTextUnits, termPieces, unitsOf } from './term-pieces.ts';

/** One property of a full-text index. */
export interface TextField {
  readonly name: string;
  readonly number: number;
  readonly indexAnalyzer: Analyzer;
  readonly queryAnalyzer: Analyzer;
  readonly boost: number;
}

/** What the METADATA of a full-text index says, with defaults (sql.md 13.10). */
export interface TextSettings {
  readonly fields: readonly TextField[];
  readonly similarity: 'BM25' | 'CLASSIC';
  readonly k1: number;
  readonly b: number;
  readonly defaultOperator: 'OR' | 'AND';
  readonly allowsLeadingWildcard: boolean;
}

export function textSettings({ components, metadata }: IndexDefinition): TextSettings {
  const word = (key: string): string | undefined => {
    const value = metadata.get(key);
    return typeof value === 'string' ? value : undefined;
  };
  const number = (key: string, otherwise: number): number => numberIn(metadata.get(key), otherwise);
  const fields = components.map(({ property }, at) => {
    const own = word(`${property}_analyzer`);
    const both = word('analyzer') ?? 'standard';
    return {
      name: property,
      number: at,
      indexAnalyzer: analyzerFor(own ?? word('index_analyzer') ?? both),
      queryAnalyzer: analyzerFor(own ?? word('query_analyzer') ?? both),
      boost: number(`${property}_boost`, 1),
    };
  });
  return {
    fields,
    similarity: word('similarity')?.toUpperCase() === 'CLASSIC' ? 'CLASSIC' : 'BM25',
    k1: number('bm25_k1', 1.2),
    b: number('bm25_b', 0.75),
    defaultOperator: word('defaultOperator')?.toUpperCase() === 'AND' ? 'AND' : 'OR',
    allowsLeadingWildcard: metadata.get('allowLeadingWildcard') === true,
  };
}

function numberIn(value: Value | undefined, otherwise: number): number {
  if (typeof value === 'number') return value;
  return value instanceof Object && 'number' in value ? Number(value.number) : otherwise;
}

/** The keys of records in a full-text index. */
export class TextKeys implements SearchKeys {
  readonly #fields: readonly TextField[];
  readonly #terms: string[] = [];
  readonly #frequencies = new TermFrequencies();
  readonly #isChunked: boolean;

  constructor(definition: IndexDefinition) {
    this.#fields = textSettings(definition).fields;
    this.#isChunked = definition.isChunked === true;
  }

  keysOf(record: KeyedRecord): readonly Uint8Array[] {
    const keys: Uint8Array[] = [];
    for (const field of this.#fields) this.#addKeys(field, valueAt(record, field.name), keys);
    return keys;
  }

  keysOrPieces(record: KeyedRecord): readonly Uint8Array[] | KeyPieces {
    const values = this.#fields.map(({ name }) => valueAt(record, name));
    let units = 0;
    for (const value of values) units += unitsOf(value);
    if (units > longTextUnits) return termPieces(this.#fields, values, this.#isChunked);
    const keys: Uint8Array[] = [];
    for (let at = 0; at < values.length; at += 1)
      this.#addKeys(this.#fields[at] as TextField, values[at], keys);
    return keys;
  }

  requireValid(): void {
    // Whatever is no text has no terms.
  }

  #addKeys(field: TextField, value: Value | undefined, keys: Uint8Array[]): void {
    const all = this.#terms;
    all.length = 0;
    addTerms(field.indexAnalyzer, value ?? null, all);
    const { length } = all;
    if (length === 0) return;
    this.#frequencies.count(all);
    const { terms, counts } = this.#frequencies;
    keys.push(lengthKey(field.number, length, this.#isChunked));
    for (let i = 0; i < terms.length; i += 1)
      keys.push(termKey(terms[i] as string, field.number, counts[i] as number, length));
  }
}

/** Terms of a text, or of the texts in a list. */
export function addTerms(analyzer: Analyzer, value: Value, into: string[]): void {
  if (typeof value === 'string') analyzer.terms(value, into);
  else if (isList(value)) for (const item of value) addTerms(analyzer, item, into);
}

export function valueAt(record: KeyedRecord, property: string): Value | undefined {
  const whole = record.get(property);
  if (whole !== undefined || !property.includes('.')) return whole;
  const [head = '', ...rest] = property.split('.');
  let at: Value | undefined = record.get(head);
  for (const name of rest) {
    if (!(at instanceof Object)) return undefined;
    if (at instanceof Map) at = at.get(name);
    else if ('valueKind' in at && at.valueKind === 'embedded') at = at.properties.get(name);
    else return undefined;
  }
  return at;
}

/** The first byte range of a term: all of its postings lie from `low` to before `high`. */
export function termRange(term: string): { readonly low: Uint8Array; readonly high: Uint8Array } {
  const low = Buffer.concat([Buffer.of(termTag), Buffer.from(term), Buffer.of(0)]);
  const high = Buffer.from(low);
  high[high.length - 1] = 1;
  return { low, high };
}

/** Where the terms lie that start with this text; all of them for ''. */
export function prefixRange(prefix: string): {
  readonly low: Uint8Array;
  readonly high: Uint8Array;
} {
  const low = Buffer.concat([Buffer.of(termTag), Buffer.from(prefix)]);
  const high = Buffer.from(low);
  // No byte of UTF-8 is FF, so the last one can be raised.
  high[high.length - 1] = (high[high.length - 1] as number) + 1;
  return { low, high };
}

export function lengthRange(field: number): {
  readonly low: Uint8Array;
  readonly high: Uint8Array;
} {
  return { low: Uint8Array.of(lengthTag, field), high: Uint8Array.of(lengthTag, field + 1) };
}

export function lengthIn(key: Uint8Array): number {
  return new DataView(key.buffer, key.byteOffset, key.length).getUint32(key.length - 4);
}

/** Where the term of a posting's key ends. */
export function termEnd(key: Uint8Array): number {
  return key.indexOf(0, 1);
}

export function termIn(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.length).toString('utf8', 1, termEnd(key));
}

/** Reads the numbers of a posting whose term ends at `end` into `posting`. */
export function readPosting(key: Uint8Array, end: number, posting: PostingNumbers): void {
  posting.field = key[end + 1] as number;
  let at = end + 2;
  let shift = 0;
  let value = 0;
  for (;;) {
    const byte = key[at++] as number;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
    shift += 7;
  }
  posting.frequency = value;
  value = 0;
  shift = 0;
  for (;;) {
    const byte = key[at++] as number;
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) break;
    shift += 7;
  }
  posting.length = value;
}

export interface PostingNumbers {
  field: number;
  frequency: number;
  length: number;
}
