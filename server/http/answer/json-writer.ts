import { decimalText } from '#core/value/decimal.ts';
import { type ExtendedValue, textOfExtended } from '#core/value/extended-value.ts';
import { pointFields } from '#core/value/point-components.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { formatDate, formatDateTime } from '#core/temporal/format.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { doubleText, durationText, nonFiniteText } from '#core/text/text-form.ts';
import type { Rid } from '#core/value/rid.ts';
import { bucketOf, positionOf } from '#core/value/rid.ts';
import type { EmbeddedDocument, Value, ValueList, ValueMap } from '#core/value/value.ts';

/*
 * Values as JSON bytes (http-api.md 5). The bytes are written straight into one growing buffer: a row costs a copy of its
 * constant parts and a loop over the characters of its short strings, no intermediate text. Everything that is not plain
 * ASCII goes through `JSON.stringify` and the platform's encoder.
 */

const quote = 34;
const backslash = 92;
const comma = 44;
const colon = 58;
/** Above this length the platform's encoder beats a loop over characters. */
const shortLengthMax = 64;
/** Constant pieces of at most this length are copied in a loop: the call of `set` costs more. */
const shortPieceMax = 40;
const needsEscape = /["\\\u0000-\u001f\ud800-\udfff]/;

const nullBytes = Buffer.from('null');
const trueBytes = Buffer.from('true');
const falseBytes = Buffer.from('false');
const ridOpen = Buffer.from('{"@rid":"');
const typeOpen = Buffer.from(',"@type":');
const pathOpen = Buffer.from('{"@cat":"path","nodes":');
const pathMiddle = Buffer.from(',"relationships":');
const pathLength = Buffer.from(',"length":');
const embeddedOpen = Buffer.from('{"@type":');
const categories = {
  document: Buffer.from(',"@cat":"d"'),
  vertex: Buffer.from(',"@cat":"v"'),
  edge: Buffer.from(',"@cat":"e"'),
};
const inOpen = Buffer.from(',"@in":');
const outOpen = Buffer.from(',"@out":');

/** Tells how many edges a vertex has. */
export interface Degrees {
  degree(vertex: Rid, direction: 'in' | 'out'): number;
}

const cachedNamesMax = 4096;

/** Names of properties as JSON, with their colon; shared by all writers. Bounded, since names come from data. */
export class NameCache {
  readonly #encoded = new Map<string, Buffer>();

  encoded(name: string): Buffer {
    const known = this.#encoded.get(name);
    if (known) return known;
    const encoded = Buffer.from(`${JSON.stringify(name)}:`);
    if (this.#encoded.size >= cachedNamesMax) this.#encoded.clear();
    if (name.length <= 256) this.#encoded.set(name, encoded);
    return encoded;
  }
}

/** Thrown by a writer when a row turns out long; no error, and cheap, since it has no stack. */
export const longRow = Object.freeze({ reason: 'the row is to be written in pieces' });

/** JSON bytes under construction. Not shared between requests. */
export class JsonWriter {
  readonly #formats: TemporalFormats;
  readonly #names: NameCache;
  #bytes: Buffer;
  #length = 0;
  #rowStart = 0;
  #rowEnd = Number.POSITIVE_INFINITY;
  /** Of the vertices that are written, wherever they stand in a row: serializer `studio`. Undefined: not asked for. */
  degrees: Degrees | undefined;

  /** @param capacity bytes to begin with; small ones come from the platform's pool */
  constructor(formats: TemporalFormats, capacity: number, names: NameCache) {
    this.#formats = formats;
    this.#names = names;
    this.#bytes = Buffer.allocUnsafe(capacity);
  }

  /** Bytes written since the last `take`. */
  get length(): number {
    return this.#length;
  }

  /**
   * What follows may be dropped by `dropRow`, and should be of at most `bytesMax` bytes: when the buffer must grow for more,
   * `longRow` is thrown, and for a record of thousands of properties. Costs nothing per byte. Ends with `endRow` or `dropRow`.
   */
  beginRow(bytesMax: number): void {
    this.#rowStart = this.#length;
    this.#rowEnd = this.#length + bytesMax;
  }

  /** Anything may be written from now on. */
  endRow(): void {
    this.#rowEnd = Number.POSITIVE_INFINITY;
  }

  /** Forgets what was written since `beginRow`, and lets anything be written from now on. */
  dropRow(): void {
    this.#length = this.#rowStart;
    this.endRow();
  }

  /** Hands out what was written, without a copy, and starts anew. @param nextCapacity 0 when nothing follows */
  take(nextCapacity: number): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = nextCapacity === 0 ? nothing : Buffer.allocUnsafeSlow(nextCapacity);
    this.#length = 0;
    return taken;
  }

  /** Hands out what was written, without a copy, and goes on in `next`, which nobody else may use. */
  swap(next: Buffer): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = next;
    this.#length = 0;
    return taken;
  }

  /** A constant piece of JSON. */
  raw(piece: Uint8Array): void {
    const { length } = piece;
    this.#ensure(length);
    const bytes = this.#bytes;
    let at = this.#length;
    if (length > shortPieceMax) {
      bytes.set(piece, at);
      at += length;
    } else {
      for (let i = 0; i < length; i++) bytes[at++] = piece[i] as number;
    }
    this.#length = at;
  }

  byte(code: number): void {
    this.#ensure(1);
    this.#bytes[this.#length++] = code;
  }

  /** Text of ASCII characters that is JSON already, such as a number. */
  ascii(text: string): void {
    const { length } = text;
    this.#ensure(length);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let i = 0; i < length; i++) bytes[at++] = text.charCodeAt(i);
    this.#length = at;
  }

  /** A JSON string. */
  string(text: string): void {
    const { length } = text;
    if (length > shortLengthMax) {
      this.#longString(text);
      return;
    }
    this.#ensure(length + 2);
    const bytes = this.#bytes;
    let at = this.#length;
    bytes[at++] = quote;
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code < 32 || code > 126 || code === quote || code === backslash) {
        this.#escapedString(text);
        return;
      }
      bytes[at++] = code;
    }
    bytes[at] = quote;
    this.#length = at + 1;
  }

  integer(n: number): void {
    if (n > 2_147_483_647 || n < -2_147_483_647) {
      this.ascii(String(n));
      return;
    }
    this.#ensure(11);
    const bytes = this.#bytes;
    let at = this.#length;
    let rest = n | 0;
    if (rest < 0) {
      bytes[at++] = 45;
      rest = -rest;
    }
    let end = at + 1;
    for (let bound = 10; rest >= bound; bound *= 10) end++;
    at = end;
    do {
      const next = (rest / 10) | 0;
      bytes[--at] = 48 + rest - next * 10;
      rest = next;
    } while (rest > 0);
    this.#length = end;
  }

  value(value: Value): void {
    switch (typeof value) {
      case 'string':
        this.string(value);
        return;
      case 'number':
        if (Number.isInteger(value)) this.integer(value);
        else this.#double(value);
        return;
      case 'boolean':
        this.raw(value ? trueBytes : falseBytes);
        return;
      case 'bigint':
        this.ascii(String(value));
        return;
      default:
        if (value === null) this.raw(nullBytes);
        else this.#object(value);
    }
  }

  /** `"name":` */
  name(name: string): void {
    this.raw(this.#names.encoded(name));
  }

  /** A whole record row in the layout of http-api.md 5.3. */
  record(record: StoredRecord): void {
    const isInRow = this.#rowEnd !== Number.POSITIVE_INFINITY;
    if (isInRow && record.manyRead?.() !== undefined) throw longRow;
    this.openRecord(record);
    this.#properties(record, true);
    this.byte(125);
  }

  /** A record row up to its properties. */
  openRecord(record: StoredRecord): void {
    const { kind } = record;
    if (kind === 'edge' && record.isLightweight === true) this.raw(embeddedOpen);
    else {
      this.raw(ridOpen);
      this.#ridDigits(record.rid);
      this.byte(quote);
      this.raw(typeOpen);
    }
    this.string(record.typeName);
    this.raw(categories[kind]);
    if (kind === 'edge') {
      this.raw(inOpen);
      this.rid(record.in);
      this.raw(outOpen);
      this.rid(record.out);
    } else if (kind === 'vertex' && this.degrees !== undefined) {
      this.raw(inOpen);
      this.integer(this.degrees.degree(record.rid, 'in'));
      this.raw(outOpen);
      this.integer(this.degrees.degree(record.rid, 'out'));
    }
  }

  /** An embedded document up to its properties. */
  openEmbedded(document: EmbeddedDocument): void {
    this.raw(embeddedOpen);
    this.string(document.typeName);
    this.raw(categories.document);
  }

  /** The properties of a record alone, as an object. */
  properties(record: StoredRecord): void {
    this.byte(123);
    this.#properties(record, false);
    this.byte(125);
  }

  /** A record id as a string. */
  rid(rid: Rid): void {
    this.byte(quote);
    this.#ridDigits(rid);
    this.byte(quote);
  }

  #ridDigits(rid: Rid): void {
    this.byte(35);
    this.integer(bucketOf(rid));
    this.byte(colon);
    this.integer(positionOf(rid));
  }

  #properties(record: StoredRecord, isContinued: boolean): void {
    const names = record.propertyNames();
    let needsComma = isContinued;
    for (let i = 0; i < names.length; i++) {
      const name = names[i] as string;
      const value = record.get(name);
      if (value === undefined) continue;
      if (needsComma) this.byte(comma);
      needsComma = true;
      this.name(name);
      this.value(value);
    }
  }

  #object(value: Exclude<Value, null | string | number | boolean | bigint>): void {
    if (Array.isArray(value)) this.#list(value as ValueList);
    else if (value instanceof Map) this.#map(value as ValueMap);
    else if (value instanceof Uint8Array) this.#binary(value);
    else this.#tagged(value as Exclude<typeof value, ValueList | ValueMap | Uint8Array>);
  }

  #tagged(
    value: Exclude<
      Value,
      null | string | number | boolean | bigint | ValueList | ValueMap | Uint8Array
    >,
  ): void {
    switch (value.valueKind) {
      case 'record':
        this.record(value);
        return;
      case 'link':
        this.rid(value.rid);
        return;
      case 'float':
        this.#double(value.number);
        return;
      case 'decimal':
        this.ascii(decimalText(value));
        return;
      case 'date':
        this.string(formatDate(value, this.#formats));
        return;
      case 'datetime':
        this.string(formatDateTime(value, this.#formats));
        return;
      case 'duration':
        this.ascii(durationText(value));
        return;
      case 'embedded':
        this.#embedded(value);
        return;
      default:
        this.#extended(value);
    }
  }

  /** Texts; a point is an object of its coordinates, a path one of its records (house decision 20). */
  #extended(value: ExtendedValue): void {
    switch (value.valueKind) {
      case 'point':
        this.#map(pointFields(value));
        return;
      case 'path':
        this.raw(pathOpen);
        this.#list(value.nodes);
        this.raw(pathMiddle);
        this.#list(value.relationships);
        this.raw(pathLength);
        this.integer(value.length);
        this.byte(125);
        return;
      default:
        this.string(textOfExtended(value));
    }
  }

  #double(n: number): void {
    if (Number.isFinite(n)) this.ascii(doubleText(n));
    else this.string(nonFiniteText(n));
  }

  #list(list: ValueList): void {
    this.byte(91);
    for (let i = 0; i < list.length; i++) {
      if (i > 0) this.byte(comma);
      this.value(list[i] as Value);
    }
    this.byte(93);
  }

  #map(map: ValueMap): void {
    this.byte(123);
    this.#entries(map, false);
    this.byte(125);
  }

  #embedded(document: EmbeddedDocument): void {
    this.openEmbedded(document);
    this.#entries(document.properties, true);
    this.byte(125);
  }

  #entries(map: ValueMap, isContinued: boolean): void {
    let needsComma = isContinued;
    for (const [key, value] of map) {
      if (needsComma) this.byte(comma);
      needsComma = true;
      this.name(key);
      this.value(value);
    }
  }

  /** Signed integers. */
  #binary(value: Uint8Array): void {
    this.byte(91);
    for (let i = 0; i < value.length; i++) {
      if (i > 0) this.byte(comma);
      this.integer(((value[i] as number) << 24) >> 24);
    }
    this.byte(93);
  }

  /** Characters inside of a JSON string. */
  characters(text: string): void {
    const json = needsEscape.test(text) ? JSON.stringify(text).slice(1, -1) : text;
    this.#ensure(Buffer.byteLength(json));
    this.#length += this.#bytes.write(json, this.#length, 'utf8');
  }

  #longString(text: string): void {
    // Before anything is made of a text that is too long for the row.
    this.#ensure(text.length + 2);
    if (needsEscape.test(text)) {
      this.#escapedString(text);
      return;
    }
    this.#ensure(Buffer.byteLength(text) + 2);
    this.#bytes[this.#length++] = quote;
    this.#length += this.#bytes.write(text, this.#length, 'utf8');
    this.#bytes[this.#length++] = quote;
  }

  #escapedString(text: string): void {
    const json = JSON.stringify(text);
    this.#ensure(json.length * 3 > 4096 ? Buffer.byteLength(json) : json.length * 3);
    this.#length += this.#bytes.write(json, this.#length, 'utf8');
  }

  #ensure(extra: number): void {
    if (this.#length + extra <= this.#bytes.length) return;
    if (this.#length + extra > this.#rowEnd) throw longRow;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#length + extra));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}

const nothing = Buffer.alloc(0);
