import { DatabaseError } from '#core/errors.ts';
import { double, integer, int64Max, type Value } from '#core/value/value.ts';
import { isNumber } from '../../evaluate/arithmetic/arithmetic.ts';
import { argumentError, notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { toDouble } from '../arguments.ts';
import { volatileScalar } from '../define.ts';
import { type RoundingMode, roundDouble, roundingModes } from '../namespaced/rounding.ts';
import { cypherPrefix, nullForNull, text, withAliases } from './arguments.ts';

/** Functions of openCypher on numbers (cypher.md 9.3): null gives null, out of the domain NaN, what is no number is an error. */

function numberIn(value: Value | undefined): number {
  if (value === undefined || value === null || !isNumber(value))
    throw notA('a number', value ?? null);
  return toDouble(value);
}

function ofDouble(name: string, compute: (x: number) => number): ScalarFunction {
  return nullForNull(`${name}(x)`, [1, 1], ([x]) => double(compute(numberIn(x))));
}

function isIntegral(value: Value | undefined): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
}

function abs([x]: readonly Value[]): Value {
  if (!isIntegral(x)) return double(Math.abs(numberIn(x)));
  if (typeof x === 'number') return Math.abs(x);
  const magnitude = x < 0n ? -x : x;
  if (magnitude > int64Max)
    throw new DatabaseError('Arithmetic', 'integer overflow: abs() of the smallest integer');
  return integer(magnitude);
}

function sign([x]: readonly Value[]): Value {
  const number = numberIn(x);
  return number > 0 ? 1 : number < 0 ? -1 : 0;
}

/** Halves go up, as floor(x + 0.5) would, but for what that rounds wrongly. */
function halfUp(x: number): number {
  const floor = Math.floor(x);
  return x - floor >= 0.5 ? floor + 1 : floor;
}

function round([x, digits, mode]: readonly Value[]): Value {
  const number = numberIn(x);
  if (!Number.isFinite(number) || digits === undefined) return double(halfUp(number));
  if (!isIntegral(digits)) throw notA('an integer', digits);
  if (digits < 0 || digits > 300)
    throw argumentError('NumberOutOfRange', `the precision of round() is 0 to 300, not ${digits}`);
  if (mode === undefined && Number(digits) === 0) return double(halfUp(number));
  return double(roundDouble(number, Number(digits), modeOf(mode)));
}

function modeOf(mode: Value | undefined): RoundingMode {
  const name = mode === undefined ? 'HALF_UP' : text(mode).toUpperCase();
  const known = roundingModes.find((candidate) => candidate === name);
  if (known === undefined)
    throw argumentError('InvalidArgumentValue', `'${name}' is none of ${roundingModes.join(', ')}`);
  return known;
}

function constant(name: string, value: number): ScalarFunction {
  return nullForNull(`${name}()`, [0, 0], () => value);
}

export const cypherNumbers: readonly ScalarFunction[] = [
  nullForNull('abs(x)', [1, 1], abs),
  nullForNull('sign(x)', [1, 1], sign),
  ...withAliases(ofDouble('ceil', Math.ceil), 'ceiling'),
  ofDouble('floor', Math.floor),
  nullForNull('round(x [, precision [, mode]])', [1, 3], round),
  ofDouble('sqrt', Math.sqrt),
  ofDouble('exp', Math.exp),
  ...withAliases(ofDouble('log', Math.log), 'ln'),
  ofDouble('log10', Math.log10),
  ofDouble('sin', Math.sin),
  ofDouble('cos', Math.cos),
  ofDouble('tan', Math.tan),
  ofDouble('cot', (x) => 1 / Math.tan(x)),
  ofDouble('asin', Math.asin),
  ofDouble('acos', Math.acos),
  ofDouble('atan', Math.atan),
  nullForNull('atan2(y, x)', [2, 2], ([y, x]) => double(Math.atan2(numberIn(y), numberIn(x)))),
  ofDouble('degrees', (x) => (x * 180) / Math.PI),
  ofDouble('radians', (x) => (x * Math.PI) / 180),
  ofDouble('haversin', (x) => (1 - Math.cos(x)) / 2),
  ofDouble('sinh', Math.sinh),
  ofDouble('cosh', Math.cosh),
  ofDouble('tanh', Math.tanh),
  ofDouble('coth', (x) => 1 / Math.tanh(x)),
  nullForNull('isNaN(x)', [1, 1], ([x]) => Number.isNaN(numberIn(x))),
  constant('pi', Math.PI),
  constant('e', Math.E),
  volatileScalar(`${cypherPrefix}rand()`, [0, 0], (_, { runtime }) =>
    double(((runtime.random.uint32() >>> 6) * 2 ** 27 + (runtime.random.uint32() >>> 5)) / 2 ** 53),
  ),
];
