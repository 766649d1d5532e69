import { isAscii, isUtf8 } from 'node:buffer';
import { DatabaseError } from '../errors.ts';
import type { PausingWork, WorkMeter } from '../pausing-work.ts';
import { JsonNumbers, numberLengthMax } from './json-number.ts';
import { controlCharacter, escapeAt, loneSurrogate, notClosed } from './json-string.ts';
import { plainRunEnd, unknownEscape } from './json-string.ts';
import { defaultJsonLimits, expected, invalidJson, type JsonLimits } from './json-value.ts';
import { defaultNumberLimits } from './number-text.ts';
import type { Value } from './value.ts';

/*
 * JSON of megabytes, read with pauses: what `parseJson` gives, and the same refusals. The text is seen through a window that moves
 * over it, since the whole text of a hundred megabytes takes a tenth of a second to make; and the reader can stop at any sign, since
 * what is open stands on a stack. Start at `JsonSlices.run`.
 */

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
  for (let at = 0; at < bytes.length; ) {
    const end = characterEnd(bytes, at + checkedBytes);
    const part = bytes.subarray(at, end);
    if (!isAscii(part) && !isUtf8(part))
      throw new DatabaseError('IllegalArgument', 'the text is not valid UTF-8');
    at = end;
    if (slices.isSpent) await slices.pause();
  }
  limits.hold?.(bytes.length);
  return readInSlices(new JsonSlices(partsOfBytes(bytes), limits), limits, slices);
}

/** As `parseJson` for long texts. */
export async function parseTextInSlices(
  text: string,
  limits: JsonLimits,
  slices: Slices,
): Promise<Value> {
  requireWellFormed(text);
  limits.hold?.(text.length);
  return readInSlices(new JsonSlices(partsOfText(text), limits), limits, slices);
}

async function readInSlices(
  reader: JsonSlices,
  { hold }: JsonLimits,
  slices: Slices,
): Promise<Value> {
  let heldBytes = 0;
  for (;;) {
    const isOver = reader.run(stepsPerLook);
    hold?.(reader.madeBytes - heldBytes);
    heldBytes = reader.madeBytes;
    if (isOver) return reader.result;
    if (slices.isSpent) await slices.pause();
  }
}

/** As `parseJson` in turns. */
export function* parseJsonInTurns(
  text: string,
  meter: WorkMeter,
  limits: JsonLimits = defaultJsonLimits,
): PausingWork<Value> {
  requireWellFormed(text);
  const reader = new JsonSlices(partsOfText(text), limits);
  while (!reader.run(stepsPerLook)) if (meter.isSpent(unitsPerLook)) yield;
  return reader.result;
}

function requireWellFormed(text: string): void {
  if (!text.isWellFormed())
    throw invalidJson({ line: 1, column: 1 }, 'the text holds a lone surrogate');
}

const unitsPerLook = 128;
/** Some 100 microseconds of values. */
const stepsPerLook = 512;
/** Looked at between two pauses: some 100 microseconds of bytes that are no ASCII. */
const checkedBytes = 256 * 1024;
/** With what is left of the part before, a text that the platform keeps among small objects even at two bytes a unit. */
const partLength = 48 * 1024;
/** Units of a string that are read without a stop: some 50 microseconds. */
const unitsPerPiece = 16 * 1024;
/** As much of the text is seen at each step, or all that is left of it: the longest word or escape, and more. */
const windowMin = 4 * 1024;
/** As much of it is seen where a number may be longer than that. */
const numberWindowMin = 2 * numberLengthMax;

// Methods of node's buffers that their published types leave out; they take any byte array.
const { latin1Slice, utf8Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, start: number, end: number): string;
  utf8Slice(this: Uint8Array, start: number, end: number): string;
};

/** The end itself, or a little before it, so that no character is cut. */
export function characterEnd(bytes: Uint8Array, end: number): number {
  if (end >= bytes.length) return bytes.length;
  let at = end;
  while (at > end - 4 && ((bytes[at] ?? 0) & 0xc0) === 0x80) at -= 1;
  return at;
}

/** @param bytes valid UTF-8 */
function* partsOfBytes(bytes: Uint8Array): Iterator<string, undefined> {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  for (let at = hasMark ? 3 : 0; at < bytes.length; ) {
    const end = characterEnd(bytes, at + partLength);
    yield isAscii(bytes.subarray(at, end))
      ? latin1Slice.call(bytes, at, end)
      : utf8Slice.call(bytes, at, end);
    at = end;
  }
  return undefined;
}

/** Halves of a character come together again in whatever string they belong to. */
function* partsOfText(text: string): Iterator<string, undefined> {
  for (let at = 0; at < text.length; at += partLength) yield text.slice(at, at + partLength);
  return undefined;
}

const quote = 34;
const backslash = 92;
const comma = 44;
const colon = 58;
const openBracket = 91;
const closeBracket = 93;
const openBrace = 123;
const closeBrace = 125;

/** A value with its place and name, an object or array beside what is in it: as measured, about. */
const bytesPerValue = 32;
const bytesPerContainer = 160;

/** Signs that a number may have in it. */
function isOfNumber(unit: number): boolean {
  if (unit >= 48 && unit <= 57) return true;
  return unit === 45 || unit === 43 || unit === 46 || unit === 101 || unit === 69;
}

type Container = Value[] | Map<string, Value>;

/** What stands next in the text. `first` may be the end of what was opened as well. */
type Phase = 'value' | 'first value' | 'name' | 'first name' | 'colon' | 'behind' | 'end';

class JsonSlices {
  readonly #parts: Iterator<string, undefined>;
  readonly #depthMax: number;
  readonly #numbers: JsonNumbers;
  /** What is seen of the text, and the place in it. */
  #window = '';
  #position = 0;
  /** Behind this place the window is to move on; infinite when it holds all that is left. */
  #moveAt = -1;
  /** Where a number begins that the end of the window may have cut; behind all when there is none. */
  #cutNumberStart = 0;
  /** Where the window begins in the text, the number of the line and where it begins. */
  #windowStart = 0;
  #line = 1;
  #lineStart = 0;
  readonly #open: Container[] = [];
  /** The name that is being read, of each open object by its level. */
  readonly #names: string[] = [];
  #phase: Phase = 'value';
  /** What was read of the string that goes on at the position. */
  #begun: string | undefined;
  /** Of that string, in the text. */
  #stringStart = 0;
  /** Behind an escaped half of a character whose other half must follow at once; -1: there is none. */
  #halfEnd = -1;
  #hasLoneHalf = false;
  #result: Value = null;
  #isOver = false;
  /** What was made, about. */
  madeBytes = 0;

  constructor(
    parts: Iterator<string, undefined>,
    { depthMax, numbers = defaultNumberLimits }: JsonLimits,
  ) {
    this.#parts = parts;
    this.#depthMax = depthMax;
    this.#numbers = new JsonNumbers(numbers);
  }

  /** The value, once `run` answered true. */
  get result(): Value {
    return this.#result;
  }

  /** Reads on for some steps, of a sign or a value each, or for a piece of a string. @returns true when the text is over */
  run(stepCount: number): boolean {
    for (let left = stepCount; left > 0; left -= 1) {
      if (this.#begun !== undefined) {
        if (this.#position > this.#moveAt) this.#moveWindow();
        this.#goOnWithString(this.#begun);
        // A piece takes as long as hundreds of values.
        if (this.#begun !== undefined) return false;
        continue;
      }
      const unit = this.#next();
      if (this.#position > this.#moveAt) {
        this.#moveWindow();
        // Blanks up to the end of the window: there may be more of them.
        if (Number.isNaN(unit)) return false;
      }
      this.#step(unit);
      if (this.#isOver) return true;
    }
    return false;
  }

  #moveWindow(): void {
    this.#windowStart += this.#position;
    this.#window = this.#window.slice(this.#position);
    this.#position = 0;
    this.#widenWindow(windowMin);
  }

  /** More of the text, until the window has this length or all that is left is in it. */
  #widenWindow(length: number): void {
    let window = this.#window;
    let isAll = false;
    while (window.length < length && !isAll) {
      const part = this.#parts.next();
      if (part.done === true) isAll = true;
      else window += part.value;
    }
    this.#window = window;
    this.#moveAt = isAll ? Number.POSITIVE_INFINITY : window.length - windowMin;
    let cut = window.length;
    while (!isAll && cut > 0 && isOfNumber(window.charCodeAt(cut - 1))) cut -= 1;
    this.#cutNumberStart = isAll ? Number.POSITIVE_INFINITY : cut;
  }

  /** Skips white space; the unit at the position, NaN at the end of the window. */
  #next(): number {
    const window = this.#window;
    let position = this.#position;
    for (;;) {
      const unit = window.charCodeAt(position);
      if (unit === 10) {
        this.#line += 1;
        this.#lineStart = this.#windowStart + position + 1;
      } else if (unit !== 32 && unit !== 13 && unit !== 9) {
        this.#position = position;
        return unit;
      }
      position += 1;
    }
  }

  #step(unit: number): void {
    switch (this.#phase) {
      case 'value':
        this.#value(unit);
        return;
      case 'name':
        this.#name(unit);
        return;
      case 'first value':
        if (unit === closeBracket) this.#close();
        else this.#value(unit);
        return;
      case 'first name':
        if (unit === closeBrace) this.#close();
        else this.#name(unit);
        return;
      case 'colon':
        if (unit !== colon) throw this.#unexpected(expected.colon);
        this.#position += 1;
        this.#phase = 'value';
        return;
      case 'behind':
        this.#behind(unit);
        return;
      default:
        if (!Number.isNaN(unit)) throw this.#unexpected(expected.end);
        this.#isOver = true;
    }
  }

  #value(unit: number): void {
    switch (unit) {
      case openBrace:
        this.#enter(new Map<string, Value>(), 'first name');
        return;
      case openBracket:
        this.#enter([], 'first value');
        return;
      case quote:
        this.#beginString();
        return;
      case 116:
        this.#word('true', true);
        return;
      case 102:
        this.#word('false', false);
        return;
      case 110:
        this.#word('null', null);
        return;
      default:
        this.#number();
    }
  }

  #word(word: string, value: Value): void {
    if (!this.#window.startsWith(word, this.#position)) throw this.#unexpected(expected.value);
    this.#position += word.length;
    this.#settle(value);
  }

  #number(): void {
    if (this.#position >= this.#cutNumberStart) this.#widenWindow(this.#position + numberWindowMin);
    const numbers = this.#numbers;
    const value = numbers.read(this.#window, this.#position);
    if (numbers.fault !== undefined) throw this.#fail(numbers.end, numbers.fault);
    this.#position = numbers.end;
    this.#settle(value);
  }

  #enter(container: Container, phase: Phase): void {
    this.#position += 1;
    if (this.#open.length >= this.#depthMax)
      throw this.#unexpected(`nested deeper than ${this.#depthMax} levels`);
    this.madeBytes += bytesPerContainer;
    this.#open.push(container);
    this.#phase = phase;
  }

  #close(): void {
    this.#position += 1;
    this.#settle(this.#open.pop() ?? null);
  }

  /** Puts a value where it belongs. */
  #settle(value: Value): void {
    this.madeBytes += bytesPerValue;
    const level = this.#open.length - 1;
    if (level < 0) {
      this.#result = value;
      this.#phase = 'end';
      return;
    }
    const container = this.#open[level] as Container;
    const isList = Array.isArray(container);
    if (isList) container.push(value);
    else container.set(this.#names[level] as string, value);
    // Mostly a comma follows at once, and a colon a name: half of the steps less.
    if (this.#passes(comma)) this.#phase = isList ? 'value' : 'name';
    else this.#phase = 'behind';
  }

  #behind(unit: number): void {
    const isList = Array.isArray(this.#open[this.#open.length - 1]);
    if (unit === comma) {
      this.#position += 1;
      this.#phase = isList ? 'value' : 'name';
    } else if (unit === (isList ? closeBracket : closeBrace)) this.#close();
    else throw this.#unexpected(isList ? expected.commaOrBracket : expected.commaOrBrace);
  }

  #name(unit: number): void {
    if (unit !== quote) throw this.#unexpected(expected.name);
    this.#phase = 'name';
    this.#beginString();
  }

  /** A name or a value, by the phase. */
  #take(text: string): void {
    if (this.#phase !== 'name') {
      this.#settle(text);
      return;
    }
    this.#names[this.#open.length - 1] = text;
    this.#phase = this.#passes(colon) ? 'value' : 'colon';
  }

  #passes(sign: number): boolean {
    if (this.#window.charCodeAt(this.#position) !== sign) return false;
    this.#position += 1;
    return true;
  }

  /** Most strings are short and have no escape: one scan and one slice. */
  #beginString(): void {
    const window = this.#window;
    const start = this.#position + 1;
    const end = Math.min(window.length, start + unitsPerPiece);
    let position = start;
    for (; position < end; position += 1) {
      const unit = window.charCodeAt(position);
      if (unit === quote) {
        this.#position = position + 1;
        this.#take(window.slice(start, position));
        return;
      }
      if (unit === backslash) break;
      if (unit < 32) throw this.#fail(position, controlCharacter);
    }
    this.#stringStart = this.#windowStart + start;
    this.#halfEnd = -1;
    this.#hasLoneHalf = false;
    this.#position = position;
    this.#begun = window.slice(start, position);
  }

  /** A piece of a string that has escapes or is long. */
  #goOnWithString(begun: string): void {
    const window = this.#window;
    const end = Math.min(this.#position + unitsPerPiece, this.#moveAt + 1);
    // Joined piece by piece: a sum of a million little texts would be as many objects.
    const parts: string[] = [];
    let position = this.#position;
    for (;;) {
      const unit = window.charCodeAt(position);
      if (unit === quote) break;
      if (unit < 32) throw this.#fail(position, controlCharacter);
      if (Number.isNaN(unit)) throw this.#fail(position, notClosed);
      if (position >= end) {
        this.#position = position;
        this.#begun = begun + parts.join('');
        return;
      }
      if (unit === backslash) {
        const meant = escapeAt(window, position);
        if (meant === undefined) throw this.#fail(position, unknownEscape);
        this.#watchHalves(meant, position);
        parts.push(meant);
        position += window.charCodeAt(position + 1) === 117 ? 6 : 2;
      } else {
        const next = plainRunEnd(window, position, end);
        parts.push(window.slice(position, next));
        position = next;
      }
    }
    if (this.#hasLoneHalf || this.#halfEnd >= 0)
      throw this.#fail(this.#stringStart - this.#windowStart, loneSurrogate);
    this.#position = position + 1;
    this.#begun = undefined;
    this.#take(begun + parts.join(''));
  }

  /** Only escapes bring halves of characters; a look at the whole string would be one more at all of it. */
  #watchHalves(meant: string, position: number): void {
    const unit = meant.charCodeAt(0);
    if (unit < 0xd800 || unit > 0xdfff) return;
    const at = this.#windowStart + position;
    if (unit < 0xdc00) {
      if (this.#halfEnd >= 0) this.#hasLoneHalf = true;
      this.#halfEnd = at + 6;
    } else if (this.#halfEnd === at) this.#halfEnd = -1;
    else this.#hasLoneHalf = true;
  }

  #unexpected(reason: string): DatabaseError {
    return this.#fail(this.#position, reason);
  }

  /** Strings have no line ends in them, so that the line is the one that blanks have come to. */
  #fail(position: number, reason: string): DatabaseError {
    const column = this.#windowStart + position - this.#lineStart + 1;
    return invalidJson({ line: this.#line, column }, reason);
  }
}
