import { isUtf8 } from 'node:buffer';
import { exceedsDouble } from '#core/value/json-number.ts';
import { defaultJsonLimits, parseJsonBytes } from '#core/value/json-value.ts';
import { DatabaseError } from '#core/errors.ts';
import { double, type Value } from '#core/value/value.ts';
import { type Bytes, type Image, readAscii } from '#storage/format/bytes.ts';
import { firstHash, nextHash } from '../ends/id-table.ts';
import { IdText } from '../ends/id-text.ts';
import type { PendingRows } from '../import-rows.ts';
import { Literal } from './literal.ts';
import type { TemporaryIds } from '../ends/temporary-ids.ts';

/** What stands between two literals of a line. */
export const slotKind = { value: 0, class: 1, id: 2, from: 3, to: 4 } as const;
export type SlotKind = (typeof slotKind)[keyof typeof slotKind];

/** Lines that differ in values only: everything between the values is the same, byte for byte. */
export interface LineTemplate {
  readonly isEdge: boolean;
  /** One more than slots; the last one closes the object. */
  readonly literals: readonly Literal[];
  readonly slots: readonly SlotKind[];
  /** Names of the value slots. */
  readonly columns: readonly string[];
  /** Type of the line before, and where its rows go. */
  lastClass: Literal;
  rows: PendingRows | undefined;
  generation: number;
}

/**
 * Reads lines that fit a template straight from bytes: no object, no list, no text for names and ids. What it does not read
 * quickly (escapes in names, exponents, long numbers) does not fit, and the line is parsed as a whole by `parseJson`; what it
 * does read, it reads exactly as `parseJson` does.
 */
export class LineMatcher {
  /** After a match: the values of the row, and where the texts of the other slots are. */
  readonly values: Value[] = [];
  classStart = 0;
  classEnd = 0;
  isSameClass = false;
  readonly id = new IdText();
  readonly from = new IdText();
  readonly to = new IdText();
  readonly #ids: TemporaryIds;
  readonly #depthMax: number;
  #value: Value = null;

  /** @param ids where ids of lines are looked for */
  constructor(ids: TemporaryIds, depthMax: number = defaultJsonLimits.depthMax) {
    this.#ids = ids;
    this.#depthMax = depthMax;
  }

  /**
   * Reads the line that begins at `start`; there must be a line feed behind it.
   * @returns where the next line begins, -1 when the line does not fit
   */
  match(template: LineTemplate, { bytes, view }: Image, start: number): number {
    const { literals, slots } = template;
    let at = start;
    let column = 0;
    this.id.end = -1;
    for (let slot = 0; slot < slots.length; slot += 1) {
      at = (literals[slot] as Literal).skip(bytes, view, at);
      if (at < 0) return -1;
      const kind = slots[slot] as SlotKind;
      if (kind === slotKind.value) {
        at = this.#readValue(bytes, at);
        this.values[column] = this.#value;
        column += 1;
      } else if (kind === slotKind.class) at = this.#className(template, bytes, view, at);
      else at = this.#name(this.#idFor(kind), bytes, at);
      if (at < 0) return -1;
    }
    at = (literals[slots.length] as Literal).skip(bytes, view, at);
    if (at < 0) return -1;
    if (bytes[at] === 13) at += 1;
    return bytes[at] === 10 ? at + 1 : -1;
  }

  /** Mostly the same as in the line before. */
  #className(template: LineTemplate, bytes: Bytes, view: DataView, start: number): number {
    this.classStart = start;
    const same = template.lastClass.skip(bytes, view, start);
    this.isSameClass = same >= 0 && bytes[same] === 34;
    this.classEnd = this.isSameClass ? same : textEnd(bytes, start);
    return this.classEnd;
  }

  #idFor(kind: SlotKind): IdText {
    if (kind === slotKind.from) return this.from;
    return kind === slotKind.to ? this.to : this.id;
  }

  #name(id: IdText, bytes: Bytes, start: number): number {
    const end = this.#ids.readNumbered(bytes, start, id);
    return end >= 0 && bytes[end] === 34 ? end : readHashed(bytes, start, id);
  }

  /** @returns where the value ends, -1 when it is none of the quick ones */
  #readValue(bytes: Bytes, at: number): number {
    const first = bytes[at] as number;
    if (first === 34) return this.#text(bytes, at + 1);
    if ((first >= 48 && first <= 57) || first === 45) return this.#number(bytes, at);
    if (first === 116) return this.#word(bytes, at, wordTrue, true);
    if (first === 102) return this.#word(bytes, at, wordFalse, false);
    if (first === 110) return this.#word(bytes, at, wordNull, null);
    return first === 91 || first === 123 ? this.#nested(bytes, at) : -1;
  }

  #word(bytes: Bytes, at: number, word: Uint8Array, value: Value): number {
    this.#value = value;
    return skip(word, bytes, at);
  }

  #text(bytes: Bytes, start: number): number {
    let at = start;
    let all = 0;
    for (;;) {
      const byte = bytes[at] as number;
      if (byte === 34) break;
      if (byte === 92) return this.#escapedText(bytes, start, at);
      if (byte < 32) return -1;
      all |= byte;
      at += 1;
    }
    if (all < 128) this.#value = readAscii(bytes, start, at);
    else if (isUtf8(bytes.subarray(start, at))) this.#value = bytes.utf8Slice(start, at);
    else return -1;
    return at + 1;
  }

  #escapedText(bytes: Bytes, start: number, firstEscape: number): number {
    let at = firstEscape;
    for (; bytes[at] !== 34; at += 1) {
      if (bytes[at] === 92) at += 1;
      if ((bytes[at] as number) < 32) return -1;
    }
    return this.#parsed(bytes, start - 1, at + 1);
  }

  /** A list or object: its end is found by counting, the rest is `parseJson`. */
  #nested(bytes: Bytes, start: number): number {
    let depth = 0;
    let at = start;
    for (;;) {
      const byte = bytes[at] as number;
      if (byte === 10) return -1;
      if (byte === 91 || byte === 123) depth += 1;
      else if (byte === 93 || byte === 125) depth -= 1;
      else if (byte === 34) {
        for (at += 1; bytes[at] !== 34; at += 1) {
          if (bytes[at] === 92) at += 1;
          if (bytes[at] === 10) return -1;
        }
      }
      at += 1;
      if (depth === 0) return this.#parsed(bytes, start, at);
    }
  }

  #parsed(bytes: Bytes, start: number, end: number): number {
    try {
      // One level is the line itself.
      this.#value = parseJsonBytes(bytes.subarray(start, end), { depthMax: this.#depthMax - 1 });
      return end;
    } catch (error) {
      // The whole line is parsed again for the message.
      if (error instanceof DatabaseError) return -1;
      throw error;
    }
  }

  #number(bytes: Bytes, start: number): number {
    const isNegative = bytes[start] === 45;
    const first = isNegative ? start + 1 : start;
    let at = first;
    let n = 0;
    let byte = bytes[at] as number;
    for (; byte >= 48 && byte <= 57; byte = bytes[++at] as number) n = n * 10 + byte - 48;
    const digits = at - first;
    if (digits === 0 || (digits > 1 && bytes[first] === 48)) return -1;
    if (byte === 46) return this.#fraction(bytes, { start, isNegative, whole: n, digits }, at + 1);
    if (digits > 15 || byte === 101 || byte === 69) return -1;
    this.#value = isNegative ? 0 - n : n;
    return at;
  }

  /** The digits make an exact integer, mostly, and its quotient by an exact power of ten is the nearest double. */
  #fraction(
    bytes: Bytes,
    number: { start: number; isNegative: boolean; whole: number; digits: number },
    start: number,
  ): number {
    let n = number.whole;
    let at = start;
    let byte = bytes[at] as number;
    for (; byte >= 48 && byte <= 57; byte = bytes[++at] as number) n = n * 10 + byte - 48;
    const fraction = at - start;
    if (fraction === 0 || byte === 101 || byte === 69) return -1;
    if (n > Number.MAX_SAFE_INTEGER || fraction >= powersOfTen.length) {
      if (number.digits + fraction > 300) return -1;
      const text = bytes.latin1Slice(number.start, at);
      if (exceedsDouble(text)) return -1;
      this.#value = double(Number(text));
      return at;
    }
    const value = n / (powersOfTen[fraction] as number);
    this.#value = double(number.isNegative ? -value : value);
    return at;
  }
}

/** @returns where the text ends, -1 for texts with escapes */
function textEnd(bytes: Bytes, start: number): number {
  let at = start;
  let all = 0;
  for (;;) {
    const byte = bytes[at] as number;
    if (byte === 34) break;
    if (byte === 92 || byte < 32) return -1;
    all |= byte;
    at += 1;
  }
  return all < 128 || isUtf8(bytes.subarray(start, at)) ? at : -1;
}

/** As `textEnd`, for an id that its hash finds. */
function readHashed(bytes: Bytes, start: number, into: IdText): number {
  let hash = firstHash;
  let at = start;
  let all = 0;
  for (;;) {
    const byte = bytes[at] as number;
    if (byte === 34) break;
    if (byte === 92 || byte < 32) return -1;
    all |= byte;
    hash = nextHash(hash, byte);
    at += 1;
  }
  into.start = start;
  into.end = at;
  into.number = -1;
  into.hash = hash;
  return all < 128 || isUtf8(bytes.subarray(start, at)) ? at : -1;
}

const wordTrue = Buffer.from('true');
const wordFalse = Buffer.from('false');
const wordNull = Buffer.from('null');

/** Those that are exact: 10^0 to 10^22. */
export const powersOfTen: readonly number[] = Array.from({ length: 23 }, (_, n) =>
  Number(`1e${n}`),
);

function skip(literal: Uint8Array, bytes: Bytes, at: number): number {
  const { length } = literal;
  for (let i = 0; i < length; i += 1) {
    if (bytes[at + i] !== literal[i]) return -1;
  }
  return at + length;
}

/**
 * The template of a line that `parseJson` took, one object of which no name is repeated or escaped.
 * @returns undefined for lines that are better parsed as a whole
 */
export function learnTemplate(line: Bytes, isEdge: boolean): LineTemplate | undefined {
  return new TemplateLearner(line, isEdge).learn();
}

export function isSameTemplate(a: LineTemplate, b: LineTemplate): boolean {
  return (
    a.literals.length === b.literals.length &&
    a.literals.every(
      ({ bytes }, at) => Buffer.compare(bytes, b.literals[at]?.bytes ?? noBytes) === 0,
    )
  );
}

const noBytes = new Uint8Array();
const columnsMax = 256;

class TemplateLearner {
  readonly #line: Bytes;
  readonly #isEdge: boolean;
  readonly #literals: Literal[] = [];
  readonly #slots: SlotKind[] = [];
  readonly #names = new Set<string>();
  readonly #columns: string[] = [];
  #at = 0;
  /** Where the current literal began. */
  #from = 0;

  constructor(line: Bytes, isEdge: boolean) {
    this.#line = line;
    this.#isEdge = isEdge;
  }

  learn(): LineTemplate | undefined {
    const line = this.#line;
    if (this.#next() !== 123) return undefined;
    do {
      this.#at += 1;
      if (!this.#member()) return undefined;
    } while (this.#next() === 44);
    let end = line.length;
    while (end > this.#at && (line[end - 1] === 13 || line[end - 1] === 10)) end -= 1;
    this.#literals.push(new Literal(line.subarray(this.#from, end)));
    return {
      isEdge: this.#isEdge,
      literals: this.#literals,
      slots: this.#slots,
      columns: this.#columns,
      lastClass: new Literal(noBytes),
      rows: undefined,
      generation: -1,
    };
  }

  #member(): boolean {
    if (this.#next() !== 34) return false;
    const start = this.#at + 1;
    if (!this.#skipText() || this.#names.size > columnsMax) return false;
    const name = this.#line.utf8Slice(start, this.#at - 1);
    if (this.#names.has(name)) return false;
    this.#names.add(name);
    if (this.#next() !== 58) return false;
    this.#at += 1;
    const first = this.#next();
    if (name === '@type') return this.#skipValue();
    const kind = metaSlots.get(name);
    if (kind === undefined) {
      this.#columns.push(name);
      this.#slot(slotKind.value, this.#at);
      const isRead = this.#skipValue();
      this.#from = this.#at;
      return isRead;
    }
    if (first !== 34) return false;
    this.#slot(kind, this.#at + 1);
    const isRead = this.#skipText();
    // The closing quote belongs to the next literal.
    this.#from = this.#at - 1;
    return isRead;
  }

  #slot(kind: SlotKind, at: number): void {
    this.#literals.push(new Literal(this.#line.subarray(this.#from, at)));
    this.#slots.push(kind);
  }

  #next(): number {
    for (;;) {
      const byte = this.#line[this.#at] ?? -1;
      if (byte !== 32 && byte !== 9 && byte !== 13) return byte;
      this.#at += 1;
    }
  }

  /** @returns false for texts with escapes */
  #skipText(): boolean {
    for (this.#at += 1; this.#at < this.#line.length; this.#at += 1) {
      const byte = this.#line[this.#at];
      if (byte === 92) return false;
      if (byte !== 34) continue;
      this.#at += 1;
      return true;
    }
    return false;
  }

  #skipValue(): boolean {
    const line = this.#line;
    let depth = 0;
    for (; this.#at < line.length; this.#at += 1) {
      const byte = line[this.#at];
      if (byte === 34) {
        for (this.#at += 1; line[this.#at] !== 34; this.#at += 1) {
          if (line[this.#at] === 92) this.#at += 1;
          if (this.#at >= line.length) return false;
        }
      } else if (byte === 91 || byte === 123) depth += 1;
      else if (depth === 0 && isBehindValue(byte)) return true;
      else if (byte === 93 || byte === 125) depth -= 1;
    }
    return false;
  }
}

const metaSlots: ReadonlyMap<string, SlotKind> = new Map([
  ['@class', slotKind.class],
  ['@id', slotKind.id],
  ['@from', slotKind.from],
  ['@to', slotKind.to],
]);

function isBehindValue(byte: number | undefined): boolean {
  return byte === 44 || byte === 125 || byte === 32 || byte === 9 || byte === 13;
}
