import { parseJson } from '#core/json-value.ts';
import { shortestFloat32 } from '#core/float32.ts';
import { double, isList, type Value } from '#core/value.ts';
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
  if (isList(value)) return Float64Array.from(value, (component) => componentOf(component, what));
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

function componentOf(value: Value, what: string): number {
  if (!isNumeric(value)) throw refusal(`${what} requires numbers, not ${describe(value)}`);
  return toDouble(value);
}

function parseVector(text: string, what: string): Vector {
  const trimmed = text.trim();
  const parsed = trimmed.startsWith('[')
    ? parseJson(trimmed)
    : trimmed.split(/[\s,]+/).map((part) => (part === '' ? Number.NaN : Number(part)));
  if (!isList(parsed)) throw refusal(`${what}: ${describe(text)} is no vector`);
  return Float64Array.from(parsed, (component) => {
    const number = isNumeric(component) ? toDouble(component) : Number.NaN;
    if (Number.isNaN(number)) throw refusal(`${what}: ${describe(text)} is no vector`);
    return number;
  });
}

/** A computed vector as a list of float32 numbers, each by its shortest text. */
export function vectorValue(vector: ArrayLike<number>): Value {
  const components: Value[] = new Array(vector.length);
  for (let i = 0; i < vector.length; i++)
    components[i] = double(shortestFloat32(Math.fround(vector[i] as number)));
  return components;
}
