import { double, isList, type Value } from '#core/value/value.ts';
import { isNumber } from '../../evaluate/arithmetic/arithmetic.ts';
import { argumentError, notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { toDouble } from '../arguments.ts';
import { nullForNull, text } from './arguments.ts';

/** Vectors as lists of numbers (cypher.md 9.7). */

function vectorIn(value: Value | undefined): readonly number[] {
  if (value === undefined || value === null || !isList(value))
    throw notA('a list of numbers', value ?? null);
  return value.map((item) => {
    if (item === null || !isNumber(item)) throw notA('a number', item);
    return toDouble(item);
  });
}

type Pair = (a: readonly number[], b: readonly number[]) => number;

function ofPair(name: string, compute: Pair): ScalarFunction {
  return nullForNull(`${name}(a, b)`, [2, 2], ([a, b]) => double(measured(a, b, compute)));
}

function measured(a: Value | undefined, b: Value | undefined, compute: Pair): number {
  const left = vectorIn(a);
  const right = vectorIn(b);
  if (left.length !== right.length)
    throw argumentError(
      'InvalidArgumentValue',
      `vectors of ${left.length} and ${right.length} dimensions`,
    );
  return compute(left, right);
}

function dot(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] as number) * (b[at] as number);
  return sum;
}

function squaredDistance(a: readonly number[], b: readonly number[]): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += ((a[at] as number) - (b[at] as number)) ** 2;
  return sum;
}

function cosine(a: readonly number[], b: readonly number[]): number {
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

const euclidean: Pair = (a, b) => Math.sqrt(squaredDistance(a, b));
const manhattan: Pair = (a, b) => {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += Math.abs((a[at] as number) - (b[at] as number));
  return sum;
};
const cosineDistance: Pair = (a, b) => 1 - cosine(a, b);

const metrics = new Map<string, Pair>([
  ['EUCLIDEAN', euclidean],
  ['EUCLIDEAN_SQUARED', squaredDistance],
  ['MANHATTAN', manhattan],
  ['COSINE', cosineDistance],
  ['DOT', (a, b) => -dot(a, b)],
]);

function distance([a, b, metric]: readonly Value[]): Value {
  const name = metric === undefined ? 'EUCLIDEAN' : text(metric).toUpperCase();
  const compute = metrics.get(name);
  if (compute === undefined)
    throw argumentError(
      'InvalidArgumentValue',
      `'${name}' is none of ${[...metrics.keys()].join(', ')}`,
    );
  return double(measured(a, b, compute));
}

/** Bits of whole coordinates, by the name of their type. */
const wholeTypes = new Map<string, number>([
  ['INTEGER', 64],
  ['INT64', 64],
  ['INT', 32],
  ['INT32', 32],
  ['INT16', 16],
  ['INT8', 8],
]);

const floatTypes: ReadonlySet<string> = new Set(['FLOAT', 'FLOAT64', 'FLOAT32']);

/** A coordinate as one of the type: whole ones are cut towards zero. */
function coordinate(value: number, type: string): Value {
  if (type === 'FLOAT32') return double(Math.fround(value));
  const bits = wholeTypes.get(type);
  if (bits === undefined) return double(value);
  const half = 2 ** (bits - 1);
  const whole = Math.trunc(value);
  if (!(whole >= -half && whole < half))
    throw argumentError('InvalidArgumentValue', `${value} is outside the range of ${type}`);
  // Zero has no sign among integers.
  return Number.isSafeInteger(whole) ? whole + 0 : BigInt(whole);
}

function vector([list, dimensions, typeName]: readonly Value[]): Value {
  const numbers = vectorIn(list);
  if (dimensions !== undefined && numbers.length !== Number(dimensions))
    throw argumentError(
      'InvalidArgumentValue',
      `${numbers.length} numbers, not ${String(dimensions)}`,
    );
  if (typeName === undefined) return list as Value;
  const type = text(typeName).toUpperCase();
  if (!floatTypes.has(type) && !wholeTypes.has(type))
    throw argumentError(
      'InvalidArgumentValue',
      `'${type}' is none of ${[...floatTypes, ...wholeTypes.keys()].join(', ')}`,
    );
  return numbers.map((number) => coordinate(number, type));
}

export const cypherVectors: readonly ScalarFunction[] = [
  nullForNull('vector(list [, dimension [, type]])', [1, 3], vector),
  // Both are similarities: from 0 to 1, higher is closer.
  ofPair('vector.similarity.cosine', (a, b) => (1 + cosine(a, b)) / 2),
  ofPair('vector.similarity.euclidean', (a, b) => 1 / (1 + squaredDistance(a, b))),
  nullForNull('vector.distance(a, b [, metric])', [2, 3], distance),
  ofPair('vector.distance.euclidean', euclidean),
  ofPair('vector.distance.manhattan', manhattan),
  ofPair('vector.distance.cosine', cosineDistance),
  nullForNull('vector.norm(a)', [1, 1], ([a]) => {
    const numbers = vectorIn(a);
    return double(Math.sqrt(dot(numbers, numbers)));
  }),
  nullForNull('vector.dimension.count(a)', [1, 1], ([a]) => vectorIn(a).length),
];
