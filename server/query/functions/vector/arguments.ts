import { parseJson } from '#core/value/json-value.ts';
import { shortestFloat32 } from '#core/value/float32.ts';
import type { DatabaseError } from '#core/errors.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import { double, isList, type Value } from '#core/value/value.ts';
import { describe, isNumeric, refusal, toDouble } from '../arguments.ts';
import type { Vector } from './arithmetic.ts';

/**
 * A vector from a list of numbers, bytes, or text such as `[1, 2.5]` or `1 2.5`.
 * @throws DatabaseError `IllegalArgument` for null, an empty vector and anything else
 */
export function vectorArgument(value: Value | undefined, what: string): Vector {
  const vector = vectorOf(value, what);
  if (vector.length === 0) throw refusal(`${what}: the vector cannot be empty`);
  return vector;
}

/** As `vectorArgument`, empty vectors allowed. */
export function vectorOf(value: Value | undefined, what: string): Vector {
  if (value === null || value === undefined) throw refusal(`${what}: the vector cannot be null`);
  if (isList(value)) return componentsOf(value, what);
  if (value instanceof Uint8Array) return Float64Array.from(new Int8Array(value));
  if (typeof value === 'string') return parseVector(value, what);
  throw refusal(`${what} requires a vector, not ${describe(value)}`);
}

/** Two vectors of one length. */
export function vectorPair(
  args: readonly Value[],
  what: string,
): { readonly a: Vector; readonly b: Vector } {
  const a = vectorArgument(args[0], what);
  const b = vectorArgument(args[1], what);
  requireSameLength(a, b, what);
  return { a, b };
}

export function requireSameLength(a: Vector, b: Vector, what: string): void {
  if (a.length !== b.length)
    throw refusal(`${what} requires vectors of one length, not ${a.length} and ${b.length}`);
}

function componentsOf(list: readonly Value[], what: string): Vector {
  const vector = new Float64Array(list.length);
  for (let i = 0; i < list.length; i += 1) {
    const value = list[i] as Value;
    if (typeof value !== 'number' && !isNumeric(value))
      throw refusal(`${what} requires numbers, not ${describe(value)}`);
    vector[i] = typeof value === 'number' ? value : toDouble(value);
  }
  return vector;
}

function parseVector(text: string, what: string): Vector {
  const trimmed = text.trim();
  if (!trimmed.startsWith('[')) return parseWords(trimmed, text, what);
  const parsed = parseJson(trimmed);
  if (!isList(parsed)) throw noVector(text, what);
  const vector = new Float64Array(parsed.length);
  for (let i = 0; i < parsed.length; i += 1) {
    const component = parsed[i] as Value;
    const number = isNumeric(component) ? toDouble(component) : Number.NaN;
    if (Number.isNaN(number)) throw noVector(text, what);
    vector[i] = number;
  }
  return vector;
}

/** Numbers between white space and commas, read one by one, so that a text that is none is refused at its first word. */
function parseWords(trimmed: string, text: string, what: string): Vector {
  const numbers: number[] = [];
  const between = /[\s,]+/g;
  let from = 0;
  for (;;) {
    const found = between.exec(trimmed);
    const word = trimmed.slice(from, found?.index ?? trimmed.length);
    const number = word === '' || word.length > wordLengthMax ? Number.NaN : Number(word);
    if (Number.isNaN(number)) throw noVector(text, what);
    numbers.push(number);
    if (found === null) return Float64Array.from(numbers);
    from = between.lastIndex;
  }
}

/** No number is written longer. */
const wordLengthMax = 10_000;

function noVector(text: string, what: string): DatabaseError {
  return refusal(`${what}: ${describe(text)} is no vector`);
}

/** As `vectorValue`, in turns. */
export function* vectorValueInTurns(
  vector: ArrayLike<number>,
  meter: WorkMeter,
): PausingWork<Value> {
  const components: Value[] = [];
  for (let i = 0; i < vector.length; i += 1) {
    components.push(double(shortestFloat32(Math.fround(vector[i] as number))));
    if ((i & 255) === 255 && meter.isSpent(256)) yield;
  }
  return components;
}

/** A computed vector as a list of float32 numbers, each by its shortest text. */
export function vectorValue(vector: ArrayLike<number>): Value {
  const components: Value[] = new Array(vector.length);
  for (let i = 0; i < vector.length; i++)
    components[i] = double(shortestFloat32(Math.fround(vector[i] as number)));
  return components;
}
