import { DatabaseError } from '#core/errors.ts';
import { type PausingWork, toEnd, type WorkMeter } from '#core/pausing-work.ts';
import { TextPieces } from '#core/text/text-pieces.ts';
import { parseJsonInTurns } from '#core/value/json-slices.ts';
import { parseJson } from '#core/value/json-value.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { refusal, shown } from './refusal.ts';

/** A text that may be an object: what is written in braces. */
export function looksLikeObject(text: string): boolean {
  return /^\s*\{/.test(text);
}

/**
 * The object that an argument holds: JSON, or JSON with single quotes and bare keys (redis.md 4.2).
 * @throws DatabaseError `IllegalArgument`
 */
export function objectOf(text: string): ValueMap {
  const value = parsed(text);
  if (isMap(value)) return value;
  throw noObject(text);
}

function noObject(text: string): DatabaseError {
  return refusal(`expected a JSON object, not ${shown(text)}`);
}

/** Objects that arguments hold; those of a long command are read before its turn comes. */
export class Objects {
  readonly #read = new Map<string, ValueMap | DatabaseError>();

  /** @throws DatabaseError `IllegalArgument` */
  of(text: string): ValueMap {
    const known = this.#read.get(text);
    if (known instanceof DatabaseError) throw known;
    return known ?? objectOf(text);
  }

  /** Reads the objects among the words, with pauses. */
  *prepare(words: readonly string[]): PausingWork<void> {
    for (const word of words) {
      if (!looksLikeObject(word) || this.#read.has(word)) continue;
      try {
        const value = yield* parsedInTurns(word);
        this.#read.set(word, isMap(value) ? value : noObject(word));
      } catch (error) {
        if (!(error instanceof DatabaseError)) throw error;
        this.#read.set(word, error);
      }
      yield;
    }
  }
}

/** The list that a composite key is. @throws DatabaseError `IllegalArgument` */
export function listOf(text: string): readonly Value[] {
  const value = parsed(text);
  if (Array.isArray(value)) return value;
  throw refusal(`the key of several properties is a JSON array, not ${shown(text)}`);
}

function parsed(text: string): Value {
  try {
    return parseJson(text);
  } catch (error) {
    const strict = toEnd(strictForm(text));
    if (strict === undefined || !(error instanceof DatabaseError)) throw error;
    try {
      return parseJson(strict);
    } catch {
      // The places of the first error are those of the text.
      throw error;
    }
  }
}

/** As `parsed`, with pauses. */
function* parsedInTurns(text: string): PausingWork<Value> {
  try {
    return yield* parseJsonInTurns(text, alwaysSpent);
  } catch (error) {
    const strict = yield* strictForm(text);
    if (strict === undefined || !(error instanceof DatabaseError)) throw error;
    try {
      return yield* parseJsonInTurns(strict, alwaysSpent);
    } catch {
      throw error;
    }
  }
}

/** Who carries the work out looks at the clock. */
const alwaysSpent: WorkMeter = { isSpent: () => true };
const unitsPerLook = 16 * 1024;

const doubleQuote = 34;
const singleQuote = 39;
const colon = 58;
const backslash = 92;

/** The text with its single quotes doubled and its bare keys quoted; undefined when there is nothing to change, or a text without end. */
function* strictForm(text: string): PausingWork<string | undefined> {
  const strict = new TextPieces();
  /** What is before it stands in `strict`. */
  let from = 0;
  let at = 0;
  let lookAt = unitsPerLook;
  while (at < text.length) {
    if (at > lookAt) {
      lookAt = at + unitsPerLook;
      yield;
    }
    const unit = text.charCodeAt(at);
    const start = at;
    if (unit === doubleQuote || unit === singleQuote) {
      at = endOfQuotes(text, at);
      if (at > text.length) return undefined;
      if (unit === doubleQuote) continue;
      strict.add(text.slice(from, start));
      strict.add(doubleQuoted(text.slice(start + 1, at - 1)));
      from = at;
    } else if (isNameStart(unit)) {
      at = endOfName(text, at);
      if (!isColonNext(text, at)) continue;
      strict.add(`${text.slice(from, start)}"${text.slice(start, at)}"`);
      from = at;
    } else at += 1;
  }
  return from === 0 ? undefined : strict.text() + text.slice(from);
}

/** Behind the quotes that open at `start`; beyond the text when they are not closed. */
function endOfQuotes(text: string, start: number): number {
  const quote = text.charCodeAt(start);
  let at = start + 1;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    at += unit === backslash ? 2 : 1;
    if (unit === quote) return at;
  }
  return text.length + 1;
}

function isNameStart(unit: number): boolean {
  // A to Z, a to z, `_`, `$`.
  return (unit >= 65 && unit <= 90) || (unit >= 97 && unit <= 122) || unit === 95 || unit === 36;
}

function endOfName(text: string, start: number): number {
  let at = start + 1;
  for (let unit = text.charCodeAt(at); isInName(unit); ) unit = text.charCodeAt(++at);
  return at;
}

function isInName(unit: number): boolean {
  // Digits and `-`, too.
  return isNameStart(unit) || (unit >= 48 && unit <= 57) || unit === 45;
}

function isColonNext(text: string, from: number): boolean {
  let at = from;
  for (let unit = text.charCodeAt(at); unit === 32 || (unit >= 9 && unit <= 13); )
    unit = text.charCodeAt(++at);
  return text.charCodeAt(at) === colon;
}

/** The inside of a text in single quotes as a text in double ones. */
function doubleQuoted(inside: string): string {
  if (!/["\\]/.test(inside)) return `"${inside}"`;
  const text = inside.replace(/\\'|"/g, (part) => (part === '"' ? '\\"' : "'"));
  return `"${text}"`;
}
