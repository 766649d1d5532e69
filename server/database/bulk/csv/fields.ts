import { isUtf8 } from 'node:buffer';
import type { DatabaseError } from '#core/errors.ts';
import type { Slices } from '#core/value/json-slices.ts';
import { parseDouble } from '#core/value/number-text.ts';
import { double, type Value } from '#core/value/value.ts';
import { allocateBytes, type Bytes, readAscii } from '#storage/format/bytes.ts';
import { firstHash, nextHash } from '../ends/id-table.ts';
import { hashedId, IdText } from '../ends/id-text.ts';

const quote = 34;
const comma = 44;
const lineFeed = 10;
const carriageReturn = 13;
/** Longer fields are read in slices. */
const longFieldBytes = 64 * 1024;
const noBytes = allocateBytes(0);

/** How a field is quoted. */
const quoting = { none: 0, plain: 1, doubled: 2 } as const;

/** An id, and the bytes in which it stands. */
export interface FieldId {
  readonly bytes: Uint8Array;
  readonly id: IdText;
}

/**
 * The fields of one line of comma-separated values (RFC 4180), which quoted ones may carry on over several: where they are, and what
 * they say. The memory of the line must not change between `split` and the last question.
 */
export class CsvFields {
  readonly #refusal: (reason: string) => DatabaseError;
  #bytes: Bytes = noBytes;
  #starts = new Int32Array(64);
  #ends = new Int32Array(64);
  #quoting = new Uint8Array(64);
  #count = 0;
  /** Within quoted fields. */
  lineFeedCount = 0;
  /** Texts of long fields that were read in slices. */
  readonly #longTexts = new Map<number, string>();
  readonly #id = new IdText();

  /** @param refusal an error that names the line */
  constructor(refusal: (reason: string) => DatabaseError) {
    this.#refusal = refusal;
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Finds the fields of the line that begins at `start`.
   * @param end of the bytes, behind a line feed
   * @returns where the next line begins; -1 when a quoted field goes on behind the bytes
   */
  split(bytes: Bytes, start: number, end: number): number {
    this.#bytes = bytes;
    this.lineFeedCount = 0;
    let at = start;
    let count = 0;
    for (;;) {
      if (count === this.#starts.length) this.#widen();
      if (bytes[at] === quote) {
        at = this.#quotedField(bytes, { start: at, end }, count);
        if (at < 0) return -1;
      } else {
        const from = at;
        let byte = bytes[at] as number;
        while (byte !== comma && byte !== lineFeed) byte = bytes[++at] as number;
        const isLast = byte === lineFeed;
        const to = isLast && at > from && bytes[at - 1] === carriageReturn ? at - 1 : at;
        this.#starts[count] = from;
        this.#ends[count] = to;
        this.#quoting[count] = quoting.none;
      }
      count += 1;
      if (bytes[at] === lineFeed) break;
      at += 1;
    }
    this.#count = count;
    return at + 1;
  }

  /** @returns the place of the comma or line feed behind the field; -1 when it goes on behind the bytes */
  #quotedField(
    bytes: Bytes,
    { start, end }: { readonly start: number; readonly end: number },
    field: number,
  ): number {
    let at = start + 1;
    let doubledQuotes = 0;
    for (; ; at += 1) {
      if (at >= end) return -1;
      if (bytes[at] === lineFeed) this.lineFeedCount += 1;
      if (bytes[at] !== quote) continue;
      if (bytes[at + 1] !== quote) break;
      doubledQuotes += 1;
      at += 1;
    }
    this.#starts[field] = start + 1;
    this.#ends[field] = at;
    this.#quoting[field] = doubledQuotes > 0 ? quoting.doubled : quoting.plain;
    at += 1;
    if (bytes[at] === carriageReturn && bytes[at + 1] === lineFeed) at += 1;
    if (bytes[at] === comma || bytes[at] === lineFeed) return at;
    throw this.#refusal('there is text behind the closing quote of a field');
  }

  #widen(): void {
    const capacity = this.#starts.length * 2;
    const starts = new Int32Array(capacity);
    const ends = new Int32Array(capacity);
    const quotings = new Uint8Array(capacity);
    starts.set(this.#starts);
    ends.set(this.#ends);
    quotings.set(this.#quoting);
    this.#starts = starts;
    this.#ends = ends;
    this.#quoting = quotings;
  }

  /** Where the text of the field begins; behind its quote, when it has one. */
  startOf(field: number): number {
    return this.#starts[field] as number;
  }

  endOf(field: number): number {
    return this.#ends[field] as number;
  }

  isQuoted(field: number): boolean {
    return this.#quoting[field] !== quoting.none;
  }

  /** An empty field means that the property is not there, an empty text in quotes that it is empty. */
  isAbsent(field: number): boolean {
    return this.#quoting[field] === quoting.none && this.#starts[field] === this.#ends[field];
  }

  text(field: number): string {
    const known = this.#longTexts.size === 0 ? undefined : this.#longTexts.get(field);
    if (known !== undefined) return known;
    const text = this.#rawText(field);
    return this.#quoting[field] === quoting.doubled ? text.replaceAll('""', '"') : text;
  }

  /** Whether the field is so long that it is to be read by `readLong`. */
  isLong(field: number): boolean {
    return this.endOf(field) - this.startOf(field) > longFieldBytes;
  }

  /** As `text`, giving others a turn now and then; kept for `text` until `forgetLong`. */
  async readLong(field: number, slices: Slices): Promise<string> {
    const text = await this.#textInSlices(field, slices);
    this.#longTexts.set(field, text);
    return text;
  }

  forgetLong(): void {
    this.#longTexts.clear();
  }

  async #textInSlices(field: number, slices: Slices): Promise<string> {
    if (this.#quoting[field] !== quoting.doubled) return this.#rawText(field);
    const bytes = this.#bytes;
    const end = this.endOf(field);
    let from = this.startOf(field);
    const unquoted = Buffer.allocUnsafe(end - from) as Bytes;
    let length = 0;
    while (from < end) {
      const stop = Math.min(from + longFieldBytes, end);
      while (from < stop) {
        const byte = bytes[from] as number;
        unquoted[length] = byte;
        length += 1;
        // Two quotes stand for one.
        from += byte === quote ? 2 : 1;
      }
      if (slices.isSpent) await slices.pause();
    }
    return this.#textBetween(unquoted, 0, length);
  }

  #rawText(field: number): string {
    return this.#textBetween(this.#bytes, this.startOf(field), this.endOf(field));
  }

  #textBetween(bytes: Bytes, start: number, end: number): string {
    let all = 0;
    for (let at = start; at < end; at += 1) all |= bytes[at] as number;
    if (all >= 128 && !isUtf8(bytes.subarray(start, end))) throw this.#invalidText();
    return all < 128 ? readAscii(bytes, start, end) : bytes.utf8Slice(start, end);
  }

  /** The field as an id that its hash finds; valid until the next one. */
  id(field: number): FieldId {
    if (this.#quoting[field] === quoting.doubled) {
      const own = Buffer.from(this.text(field));
      return { bytes: own, id: hashedId(own) };
    }
    const bytes = this.#bytes;
    const start = this.startOf(field);
    const end = this.endOf(field);
    let hash = firstHash;
    let all = 0;
    for (let at = start; at < end; at += 1) {
      const byte = bytes[at] as number;
      all |= byte;
      hash = nextHash(hash, byte);
    }
    if (all >= 128 && !isUtf8(bytes.subarray(start, end))) throw this.#invalidText();
    const id = this.#id;
    id.start = start;
    id.end = end;
    id.hash = hash;
    return { bytes, id };
  }

  /**
   * What a field without quotes looks like: a boolean, a number or a text. Up to 18 digits are an integer, other numbers doubles;
   * zeros in front and a plus sign make it a text.
   */
  detected(field: number): Value {
    const bytes = this.#bytes;
    const start = this.startOf(field);
    const end = this.endOf(field);
    const isNegative = bytes[start] === 45;
    const first = isNegative ? start + 1 : start;
    let n = 0;
    let at = first;
    for (; at < end; at += 1) {
      const digit = (bytes[at] as number) - 48;
      if (digit < 0 || digit > 9) break;
      n = n * 10 + digit;
    }
    const digits = at - first;
    const hasLeadingZero = digits > 1 && bytes[first] === 48;
    if (at === end && digits > 0 && digits <= 15 && !hasLeadingZero) return isNegative ? 0 - n : n;
    const text = this.text(field);
    if (digits === 0 && bytes[first] !== 46) return booleanOf(text) ?? text;
    return hasLeadingZero ? text : numberOf(text);
  }

  #invalidText(): DatabaseError {
    return this.#refusal('the text is not valid UTF-8');
  }
}

function booleanOf(text: string): boolean | undefined {
  if (text.length > 5) return undefined;
  const lower = text.toLowerCase();
  return lower === 'true' ? true : lower === 'false' ? false : undefined;
}

const integerShape = /^-?\d{1,18}$/;
const numberShape = /^-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?$/;

function numberOf(text: string): Value {
  if (integerShape.test(text)) {
    const n = Number(text);
    return Number.isSafeInteger(n) ? n + 0 : BigInt(text);
  }
  const n = numberShape.test(text) ? parseDouble(text) : undefined;
  return n === undefined ? text : double(n);
}
