import { isAscii } from 'node:buffer';
import { decimalDigitsMax, parseDecimal } from './decimal.ts';
import { DatabaseError } from '../errors.ts';
import { defaultNumberLimits, type NumberLimits, oversizeOf } from './number-text.ts';
import { parseDouble, parseInteger } from './number-text.ts';
import type { PausingWork, WorkMeter } from '../pausing-work.ts';
import { double } from './value.ts';
import type { Value } from './value.ts';

/**
 * Strict JSON (RFC 8259) to values. Objects become `Map`s in the order of the text (a repeated key keeps its first place
 * and its last value); integers keep all digits (int64 as integers, longer ones as decimals); a number with a point or an
 * exponent is a double, also when it is integral, and a decimal when it has more digits than a double keeps. Written by hand
 * because `JSON.parse` loses the order of numeric keys, the digits of long numbers and the difference between 4 and 4.0.
 */
export interface JsonLimits {
  /** Levels of nested arrays and objects. */
  readonly depthMax: number;
  /** Default: those of the formats. */
  readonly numbers?: NumberLimits;
  /** Told of what values take, where the text is read in slices; may throw. */
  readonly hold?: (bytes: number) => void;
}

export const defaultJsonLimits: JsonLimits = { depthMax: 512 };

/**
 * @throws DatabaseError `IllegalArgument` with the position, for text that is no JSON, for lone surrogates, numbers outside
 * the limits of limits.md 11 and nesting deeper than `depthMax`
 */
export function parseJson(text: string, limits: JsonLimits = defaultJsonLimits): Value {
  if (!text.isWellFormed()) throw invalid(text, 0, 'the text holds a lone surrogate');
  const parser = new JsonParser(text, limits);
  return parser.parse();
}

/** Tells when to let others run, and lets them. */
export interface Slices {
  readonly isSpent: boolean;
  pause(): Promise<void>;
}

/** As `parseJsonBytes` for long texts (fifty megabytes take seconds): pauses whenever a slice is spent. */
export async function parseJsonInSlices(
  bytes: Uint8Array,
  limits: JsonLimits,
  slices: Slices,
): Promise<Value> {
  return parseTextInSlices(decodeUtf8(bytes), limits, slices);
}

/** As `parseJson` for long texts. */
export async function parseTextInSlices(
  text: string,
  limits: JsonLimits,
  slices: Slices,
): Promise<Value> {
  if (!text.isWellFormed()) throw invalid(text, 0, 'the text holds a lone surrogate');
  const parser = new JsonParser(text, limits);
  limits.hold?.(text.length);
  let heldBytes = 0;
  for (;;) {
    const isOver = parser.run(valuesPerLook);
    limits.hold?.(parser.madeBytes - heldBytes);
    heldBytes = parser.madeBytes;
    if (isOver) return parser.result;
    if (slices.isSpent) await slices.pause();
  }
}

/** As `parseJson` in turns. */
export function* parseJsonInTurns(
  text: string,
  meter: WorkMeter,
  limits: JsonLimits = defaultJsonLimits,
): PausingWork<Value> {
  if (!text.isWellFormed()) throw invalid(text, 0, 'the text holds a lone surrogate');
  const parser = new JsonParser(text, limits);
  while (!parser.run(valuesPerLook)) if (meter.isSpent(unitsPerLook)) yield;
  return parser.result;
}

const unitsPerLook = 128;

/** Some 100 microseconds of values. */
const valuesPerLook = 512;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true });

/** As `parseJson`, from UTF-8; a byte order mark is skipped. @throws DatabaseError `IllegalArgument`, also for invalid UTF-8 */
export function parseJsonBytes(bytes: Uint8Array, limits: JsonLimits = defaultJsonLimits): Value {
  return parseJson(decodeUtf8(bytes), limits);
}

// A method of node's buffers that their published types leave out; it takes any byte array.
const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, start: number, end: number): string;
};

/** Text from UTF-8, refusing what is not: the usual decoder would change data silently (limits.md 12). */
export function decodeUtf8(bytes: Uint8Array): string {
  // The decoder costs half a microsecond for any text, and most requests are ASCII.
  if (isAscii(bytes)) return latin1Slice.call(bytes, 0, bytes.length);
  try {
    return strictUtf8.decode(bytes);
  } catch (cause) {
    throw new DatabaseError('IllegalArgument', 'the text is not valid UTF-8', { cause });
  }
}

function invalid(text: string, position: number, reason: string): DatabaseError {
  const line = countLines(text, position);
  return new DatabaseError(
    'IllegalArgument',
    `invalid JSON at line ${line.number}, column ${line.column}: ${reason}`,
  );
}

function countLines(text: string, position: number): { number: number; column: number } {
  let number = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) {
    number++;
    start = at + 1;
  }
  return { number, column: position - start + 1 };
}

const quote = 34;
const backslash = 92;

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

const expected = {
  name: 'expected a name in double quotes',
  colon: "expected ':'",
  commaOrBrace: "expected ',' or '}'",
  commaOrBracket: "expected ',' or ']'",
  end: 'expected the end of the text',
} as const;

/** Units of a string that `run` reads without a stop: some 50 microseconds. */
const unitsPerPiece = 16 * 1024;

const noContainers: (Value[] | Map<string, Value>)[] = [];
const noKeys: string[] = [];

/** A value with its place and name, an object or array beside what is in it: as measured, about. */
const bytesPerValue = 32;
const bytesPerContainer = 160;

class JsonParser {
  readonly #text: string;
  readonly #depthMax: number;
  readonly #numbers: NumberLimits;
  /** What `run` has opened. */
  #open = noContainers;
  /** The name that is being read, of each open object by its level. */
  #keys = noKeys;
  #position = 0;
  #depth = 0;
  #result: Value = null;
  #isOver = false;
  /** What was read of the long string at the position, and where to go on in it; only `run` stops within one. */
  #begun: string | undefined;
  #resumeAt = 0;
  #mayStop = false;
  /** What `run` has made, about. */
  madeBytes = 0;

  constructor(text: string, { depthMax, numbers = defaultNumberLimits }: JsonLimits) {
    this.#text = text;
    this.#depthMax = depthMax;
    this.#numbers = numbers;
  }

  /** All at once, by recursion: a fifth faster than `run`. */
  parse(): Value {
    const value = this.#value(this.#next());
    if (!Number.isNaN(this.#next())) throw this.#unexpected(expected.end);
    return value;
  }

  /** The value, once `run` answered true. */
  get result(): Value {
    return this.#result;
  }

  /**
   * Reads some `valueCount` values more; it can stop between any two of them, since what is open stands on a stack of its own.
   * @returns true when the text is over
   */
  run(valueCount: number): boolean {
    if (this.#open === noContainers) {
      this.#open = [];
      this.#keys = [];
    }
    for (let left = valueCount; left > 0; left -= 1) {
      const unit = this.#next();
      if (unit === 123) this.#openObject();
      else if (unit === 91) this.#openArray();
      else {
        this.#mayStop = unit === quote;
        const value = this.#scalar(unit);
        this.#mayStop = false;
        if (this.#begun !== undefined) return false;
        this.#settle(value);
      }
      if (this.#isOver) return true;
    }
    return false;
  }

  /** Skips white space; the unit at the position, NaN at the end. */
  #next(): number {
    const text = this.#text;
    let unit = text.charCodeAt(this.#position);
    while (unit === 32 || unit === 10 || unit === 13 || unit === 9)
      unit = text.charCodeAt(++this.#position);
    return unit;
  }

  #scalar(unit: number): Value {
    switch (unit) {
      case quote:
        return this.#string();
      case 116:
        return this.#word('true', true);
      case 102:
        return this.#word('false', false);
      case 110:
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #word(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#position)) throw this.#unexpected('expected a value');
    this.#position += word.length;
    return value;
  }

  #enter(): void {
    this.#position++;
    if (++this.#depth > this.#depthMax)
      throw this.#unexpected(`nested deeper than ${this.#depthMax} levels`);
  }

  #leave<T>(value: T): T {
    this.#position++;
    this.#depth--;
    return value;
  }

  #value(unit: number): Value {
    if (unit === 123) return this.#object();
    return unit === 91 ? this.#array() : this.#scalar(unit);
  }

  #object(): Value {
    this.#enter();
    const map = new Map<string, Value>();
    let unit = this.#next();
    if (unit === 125) return this.#leave(map);
    for (;;) {
      if (unit !== quote) throw this.#unexpected(expected.name);
      const key = this.#string();
      if (this.#next() !== 58) throw this.#unexpected(expected.colon);
      this.#position++;
      map.set(key, this.#value(this.#next()));
      unit = this.#next();
      if (unit === 125) return this.#leave(map);
      if (unit !== 44) throw this.#unexpected(expected.commaOrBrace);
      this.#position++;
      unit = this.#next();
    }
  }

  #array(): Value {
    this.#enter();
    const list: Value[] = [];
    let unit = this.#next();
    if (unit === 93) return this.#leave(list);
    for (;;) {
      list.push(this.#value(unit));
      unit = this.#next();
      if (unit === 93) return this.#leave(list);
      if (unit !== 44) throw this.#unexpected(expected.commaOrBracket);
      this.#position++;
      unit = this.#next();
    }
  }

  // --- the same in pieces

  #openObject(): void {
    this.#enter();
    this.madeBytes += bytesPerContainer;
    const map = new Map<string, Value>();
    if (this.#next() === 125) {
      this.#settle(this.#leave(map));
      return;
    }
    this.#open.push(map);
    this.#key();
  }

  #openArray(): void {
    this.#enter();
    this.madeBytes += bytesPerContainer;
    const list: Value[] = [];
    if (this.#next() === 93) this.#settle(this.#leave(list));
    else this.#open.push(list);
  }

  /** Reads a name and its colon; it stands for the innermost object. */
  #key(): void {
    if (this.#next() !== quote) throw this.#unexpected(expected.name);
    this.#keys[this.#open.length - 1] = this.#string();
    if (this.#next() !== 58) throw this.#unexpected(expected.colon);
    this.#position++;
  }

  /** Puts a value where it belongs and closes what ends behind it; then the next value follows, or the text is over. */
  #settle(value: Value): void {
    let complete = value;
    this.madeBytes += bytesPerValue;
    for (let level = this.#open.length - 1; level >= 0; level -= 1) {
      const container = this.#open[level] as Value[] | Map<string, Value>;
      if (Array.isArray(container)) {
        container.push(complete);
        if (this.#continues(93, expected.commaOrBracket)) return;
      } else {
        container.set(this.#keys[level] as string, complete);
        if (this.#continues(125, expected.commaOrBrace)) {
          this.#key();
          return;
        }
      }
      this.#open.length = level;
      complete = this.#leave(container);
    }
    if (!Number.isNaN(this.#next())) throw this.#unexpected(expected.end);
    this.#result = complete;
    this.#isOver = true;
  }

  /** @returns true behind a comma, false before the closing sign */
  #continues(close: number, reason: string): boolean {
    const unit = this.#next();
    if (unit === close) return false;
    if (unit !== 44) throw this.#unexpected(reason);
    this.#position++;
    return true;
  }

  /** Most strings have no escape: one scan and one slice. */
  #string(): string {
    if (this.#mayStop) return this.#pieceOfString();
    const text = this.#text;
    const start = this.#position + 1;
    let position = start;
    for (;;) {
      const unit = text.charCodeAt(position);
      if (unit === quote) {
        this.#position = position + 1;
        return text.slice(start, position);
      }
      if (unit === backslash) return this.#escapedString(start, position);
      if (unit < 32) throw this.#fail(position, 'control character in a string');
      if (Number.isNaN(unit)) throw this.#fail(position, 'the string is not closed');
      position++;
    }
  }

  /** As `#string`; after some 10,000 units it stops, and goes on with the next call at the same position. */
  #pieceOfString(): string {
    const text = this.#text;
    const start = this.#position + 1;
    let position = start;
    const begun = this.#begun;
    if (begun === undefined) {
      const end = Math.min(text.length, start + unitsPerPiece);
      for (; position < end; position++) {
        const unit = text.charCodeAt(position);
        if (unit === quote) {
          this.#position = position + 1;
          return text.slice(start, position);
        }
        if (unit === backslash) break;
        if (unit < 32) throw this.#fail(position, 'control character in a string');
      }
      if (position < end) return this.#unescaped(text.slice(start, position), position);
      if (position === text.length) throw this.#fail(position, 'the string is not closed');
      this.#begun = text.slice(start, position);
      this.#resumeAt = position;
      return '';
    }
    this.#begun = undefined;
    return this.#unescaped(begun, this.#resumeAt);
  }

  /** Reads on behind what was read of the string. */
  #unescaped(begun: string, from: number): string {
    const text = this.#text;
    const end = from + unitsPerPiece;
    let result = begun;
    let position = from;
    for (;;) {
      const unit = text.charCodeAt(position);
      if (unit === quote) break;
      if (position >= end && !Number.isNaN(unit)) {
        this.#begun = result;
        this.#resumeAt = position;
        return '';
      }
      if (unit === backslash) {
        const char = text.charAt(position + 1);
        const plain = escapes[char];
        result += plain ?? this.#unicodeEscape(position);
        position += plain === undefined ? 6 : 2;
      } else {
        if (unit < 32) throw this.#fail(position, 'control character in a string');
        if (Number.isNaN(unit)) throw this.#fail(position, 'the string is not closed');
        const next = this.#plainRunEnd(position, end);
        result += text.slice(position, next);
        position = next;
      }
    }
    if (!result.isWellFormed())
      throw this.#fail(this.#position + 1, 'the string holds a lone surrogate');
    this.#position = position + 1;
    return result;
  }

  #escapedString(start: number, firstEscape: number): string {
    const text = this.#text;
    let result = text.slice(start, firstEscape);
    let position = firstEscape;
    for (;;) {
      const unit = text.charCodeAt(position);
      if (unit === quote) break;
      if (unit === backslash) {
        const char = text.charAt(position + 1);
        const plain = escapes[char];
        if (plain !== undefined) {
          result += plain;
          position += 2;
        } else {
          result += this.#unicodeEscape(position);
          position += 6;
        }
      } else {
        if (unit < 32) throw this.#fail(position, 'control character in a string');
        if (Number.isNaN(unit)) throw this.#fail(position, 'the string is not closed');
        const end = this.#plainRunEnd(position, text.length);
        result += text.slice(position, end);
        position = end;
      }
    }
    if (!result.isWellFormed()) throw this.#fail(start, 'the string holds a lone surrogate');
    this.#position = position + 1;
    return result;
  }

  #plainRunEnd(start: number, end: number): number {
    const text = this.#text;
    let position = start;
    for (;;) {
      if (position >= end) return position;
      const unit = text.charCodeAt(position);
      if (unit === quote || unit === backslash || unit < 32 || Number.isNaN(unit)) return position;
      position++;
    }
  }

  #unicodeEscape(position: number): string {
    const digits = this.#text.slice(position + 2, position + 6);
    if (this.#text.charAt(position + 1) !== 'u' || !/^[0-9a-fA-F]{4}$/.test(digits))
      throw this.#fail(position, 'unknown escape in a string');
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #number(): Value {
    const text = this.#text;
    const start = this.#position;
    let position = start;
    if (text.charCodeAt(position) === 45) position++;
    const firstDigit = position;
    position = this.#digitsEnd(position);
    const digitCount = position - firstDigit;
    if (digitCount === 0) throw this.#unexpected('expected a value');
    if (digitCount > 1 && text.charCodeAt(firstDigit) === 48)
      throw this.#unexpected('a number has a leading zero');
    const unit = text.charCodeAt(position);
    if (unit === 46 || unit === 101 || unit === 69) return this.#double(start, position);
    this.#position = position;
    if (digitCount <= 15) return Number(text.slice(start, position)) + 0;
    return this.#longInteger(start, position);
  }

  #digitsEnd(start: number): number {
    const text = this.#text;
    let position = start;
    for (;;) {
      const unit = text.charCodeAt(position);
      if (!(unit >= 48 && unit <= 57)) return position;
      position++;
    }
  }

  #longInteger(start: number, end: number): Value {
    const digits = this.#text.slice(start, end);
    this.#requireSize(start, digits.length, 0);
    const n =
      parseInteger(digits) ??
      (parseDouble(digits) === undefined ? undefined : parseDecimal(digits));
    if (n === undefined) throw this.#fail(start, numberOutside);
    return n;
  }

  #double(start: number, wholeEnd: number): Value {
    const text = this.#text;
    let position = wholeEnd;
    if (text.charCodeAt(position) === 46) {
      const end = this.#digitsEnd(position + 1);
      if (end === position + 1) throw this.#fail(end, 'expected a digit');
      position = end;
    }
    const mantissaEnd = position;
    const unit = text.charCodeAt(position);
    if (unit === 101 || unit === 69) {
      position++;
      const sign = text.charCodeAt(position);
      if (sign === 43 || sign === 45) position++;
      const end = this.#digitsEnd(position);
      if (end === position) throw this.#fail(end, 'expected a digit');
      position = end;
    }
    this.#position = position;
    const exponent = position === mantissaEnd ? 0 : Number(text.slice(mantissaEnd + 1, position));
    this.#requireSize(start, mantissaEnd - start, exponent);
    const number = text.slice(start, position);
    const n = parseDouble(number);
    if (n === undefined) throw this.#fail(start, numberOutside);
    const isExact = mantissaEnd - start > doubleDigitsMax && exceedsDouble(number);
    return (isExact ? parseDecimal(number) : undefined) ?? double(n);
  }

  /** @param digitCount with sign and point, which makes no difference worth a scan */
  #requireSize(start: number, digitCount: number, exponent: number): void {
    const { digitsMax, exponentMax } = this.#numbers;
    if (digitCount <= digitsMax && Math.abs(exponent) <= exponentMax) return;
    const digits = this.#text.slice(start, start + digitCount).replace(/[^0-9]/g, '').length;
    const problem = oversizeOf(digits, exponent, this.#numbers);
    if (problem !== undefined) throw this.#fail(start, problem);
  }

  #unexpected(reason: string): DatabaseError {
    return this.#fail(this.#position, reason);
  }

  #fail(position: number, reason: string): DatabaseError {
    return invalid(this.#text, position, reason);
  }
}

/** A double is told apart from all others by as many significant digits. */
const doubleDigitsMax = 17;

/** Whether a number of JSON has more digits than a double keeps (http-api.md 1); zeros at its ends are none. */
export function exceedsDouble(number: string): boolean {
  const [mantissa = ''] = number.split(/[eE]/, 1);
  const digits = mantissa.replace(/^-?[0.]*/, '').replace(/[0.]*$/, '');
  return digits.replace('.', '').length > doubleDigitsMax;
}

const numberOutside = `number outside the range of a double, or above ${decimalDigitsMax} digits`;
