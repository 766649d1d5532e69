import { isAscii } from 'node:buffer';
import { DatabaseError } from '../errors.ts';
import { JsonNumbers } from './json-number.ts';
import { controlCharacter, escapeAt, loneSurrogate, notClosed } from './json-string.ts';
import { plainRunEnd, unknownEscape } from './json-string.ts';
import { defaultNumberLimits, type NumberLimits } from './number-text.ts';
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
  return invalidJson(countLines(text, position), reason);
}

/** The error of a text that is no JSON. */
export function invalidJson(
  { line, column }: { readonly line: number; readonly column: number },
  reason: string,
): DatabaseError {
  return new DatabaseError(
    'IllegalArgument',
    `invalid JSON at line ${line}, column ${column}: ${reason}`,
  );
}

function countLines(text: string, position: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let at = text.indexOf('\n'); at >= 0 && at < position; at = text.indexOf('\n', at + 1)) {
    line++;
    start = at + 1;
  }
  return { line, column: position - start + 1 };
}

const quote = 34;
const backslash = 92;

/** What is missing, as errors say it. */
export const expected = {
  value: 'expected a value',
  name: 'expected a name in double quotes',
  colon: "expected ':'",
  commaOrBrace: "expected ',' or '}'",
  commaOrBracket: "expected ',' or ']'",
  end: 'expected the end of the text',
} as const;

class JsonParser {
  readonly #text: string;
  readonly #depthMax: number;
  readonly #numbers: JsonNumbers;
  #position = 0;
  #depth = 0;

  constructor(text: string, { depthMax, numbers = defaultNumberLimits }: JsonLimits) {
    this.#text = text;
    this.#depthMax = depthMax;
    this.#numbers = new JsonNumbers(numbers);
  }

  /** All at once, by recursion: a fifth faster than in slices. */
  parse(): Value {
    const value = this.#value(this.#next());
    if (!Number.isNaN(this.#next())) throw this.#unexpected(expected.end);
    return value;
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
    if (!this.#text.startsWith(word, this.#position)) throw this.#unexpected(expected.value);
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

  /** Most strings have no escape: one scan and one slice. */
  #string(): string {
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
      if (unit < 32) throw this.#fail(position, controlCharacter);
      if (Number.isNaN(unit)) throw this.#fail(position, notClosed);
      position++;
    }
  }

  #escapedString(start: number, firstEscape: number): string {
    const text = this.#text;
    let result = text.slice(start, firstEscape);
    let position = firstEscape;
    for (;;) {
      const unit = text.charCodeAt(position);
      if (unit === quote) break;
      if (unit === backslash) {
        const meant = escapeAt(text, position);
        if (meant === undefined) throw this.#fail(position, unknownEscape);
        result += meant;
        position += text.charCodeAt(position + 1) === 117 ? 6 : 2;
      } else {
        if (unit < 32) throw this.#fail(position, controlCharacter);
        if (Number.isNaN(unit)) throw this.#fail(position, notClosed);
        const end = plainRunEnd(text, position, text.length);
        result += text.slice(position, end);
        position = end;
      }
    }
    if (!result.isWellFormed()) throw this.#fail(start, loneSurrogate);
    this.#position = position + 1;
    return result;
  }

  #number(): Value {
    const numbers = this.#numbers;
    const value = numbers.read(this.#text, this.#position);
    if (numbers.fault !== undefined) throw this.#fail(numbers.end, numbers.fault);
    this.#position = numbers.end;
    return value;
  }

  #unexpected(reason: string): DatabaseError {
    return this.#fail(this.#position, reason);
  }

  #fail(position: number, reason: string): DatabaseError {
    return invalid(this.#text, position, reason);
  }
}
