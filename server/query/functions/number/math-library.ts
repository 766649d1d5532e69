import { DatabaseError } from '#core/errors.ts';
import { double, int64Max, int64Min, integer, type Value } from '#core/value/value.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { describe, isNumeric, refusal, toDouble } from '../arguments.ts';
import { scalar, volatileScalar } from '../define.ts';

/**
 * `math_<f>`: the static functions of java.lang.Math (sql-functions.md 2). The overload goes by the arguments: integers
 * stay integers where Java has an overload for them, everything else is computed in doubles. Null gives null; text and
 * other kinds match no overload and are refused.
 */
export const mathLibrary: readonly ScalarFunction[] = [
  ...Object.entries({
    acos: Math.acos,
    asin: Math.asin,
    atan: Math.atan,
    cbrt: Math.cbrt,
    ceil: Math.ceil,
    cos: Math.cos,
    cosh: Math.cosh,
    exp: Math.exp,
    expm1: Math.expm1,
    floor: Math.floor,
    log: Math.log,
    log10: Math.log10,
    log1p: Math.log1p,
    rint: roundHalfEven,
    signum: Math.sign,
    sin: Math.sin,
    sinh: Math.sinh,
    sqrt: Math.sqrt,
    tan: Math.tan,
    tanh: Math.tanh,
    toDegrees: (x: number) => (x * 180) / Math.PI,
    toRadians: (x: number) => (x / 180) * Math.PI,
    ulp: unitInLastPlace,
  }).map(([name, compute]) => ofDouble(name, compute)),
  ofDoubles('atan2', Math.atan2),
  ofDoubles('hypot', Math.hypot),
  ofDoubles('pow', (x, y) => x ** y),
  ofDoubles(
    'copySign',
    (x, sign) => (Object.is(Math.sign(sign), -0) || sign < 0 ? -1 : 1) * Math.abs(x),
  ),
  ofDoubles('IEEEremainder', (x, y) => x - y * roundHalfEven(x / y)),
  ofNumber('abs', (n) => (n < 0n ? -n : n), Math.abs),
  ofNumbers('max', largerOf, Math.max),
  ofNumbers('min', (a, b) => -largerOf(-a, -b), Math.min),
  ofIntegers('floorDiv', floorDivision),
  ofIntegers('floorMod', (a, b) => a - floorDivision(a, b) * b),
  ofIntegers('addExact', (a, b) => a + b),
  ofIntegers('subtractExact', (a, b) => a - b),
  ofIntegers('multiplyExact', (a, b) => a * b),
  scalar('math_negateExact(n)', [1, 1], ([n]) =>
    n === null ? null : inRange(-wholeArgument(n as Value, 'math_negateExact')),
  ),
  scalar('math_round(x)', [1, 1], ([x]) => {
    if (x === null) return null;
    const rounded = Math.floor(numberArgument(x as Value, 'math_round') + 0.5);
    if (Number.isNaN(rounded)) return 0;
    if (Number.isSafeInteger(rounded)) return rounded + 0;
    return rounded > 0 ? integer(clamped(rounded, int64Max)) : integer(clamped(rounded, int64Min));
  }),
  volatileScalar('math_random()', [0, 0], (_, { runtime }) => {
    const high = runtime.random.uint32() >>> 5;
    return double((high * 2 ** 26 + (runtime.random.uint32() >>> 6)) / 2 ** 53);
  }),
];

function ofDouble(name: string, compute: (x: number) => number): ScalarFunction {
  return scalar(`math_${name}(x)`, [1, 1], ([x]) =>
    x === null ? null : double(compute(numberArgument(x as Value, `math_${name}`))),
  );
}

function ofDoubles(name: string, compute: (x: number, y: number) => number): ScalarFunction {
  return scalar(`math_${name}(x, y)`, [2, 2], ([x, y]) => {
    if (x === null || y === null) return null;
    const first = numberArgument(x as Value, `math_${name}`);
    return double(compute(first, numberArgument(y as Value, `math_${name}`)));
  });
}

function ofNumber(
  name: string,
  computeWhole: (n: bigint) => bigint,
  compute: (x: number) => number,
): ScalarFunction {
  return scalar(`math_${name}(x)`, [1, 1], ([x]) => {
    if (x === null) return null;
    const whole = wholeOf(x as Value);
    if (whole !== undefined) return inRange(computeWhole(whole));
    return double(compute(numberArgument(x as Value, `math_${name}`)));
  });
}

function ofNumbers(
  name: string,
  computeWhole: (a: bigint, b: bigint) => bigint,
  compute: (x: number, y: number) => number,
): ScalarFunction {
  return scalar(`math_${name}(x, y)`, [2, 2], ([x, y]) => {
    if (x === null || y === null) return null;
    const a = wholeOf(x as Value);
    const b = wholeOf(y as Value);
    if (a !== undefined && b !== undefined) return inRange(computeWhole(a, b));
    const first = numberArgument(x as Value, `math_${name}`);
    return double(compute(first, numberArgument(y as Value, `math_${name}`)));
  });
}

function ofIntegers(name: string, compute: (a: bigint, b: bigint) => bigint): ScalarFunction {
  return scalar(`math_${name}(x, y)`, [2, 2], ([x, y]) => {
    if (x === null || y === null) return null;
    const a = wholeArgument(x as Value, `math_${name}`);
    return inRange(compute(a, wholeArgument(y as Value, `math_${name}`)));
  });
}

function wholeOf(value: Value): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : undefined;
}

function wholeArgument(value: Value, what: string): bigint {
  const whole = wholeOf(value);
  if (whole === undefined) throw refusal(`${what}() requires integers, not ${describe(value)}`);
  return whole;
}

function numberArgument(value: Value, what: string): number {
  if (!isNumeric(value)) throw refusal(`${what}() requires numbers, not ${describe(value)}`);
  return toDouble(value);
}

function inRange(n: bigint): Value {
  if (n > int64Max || n < int64Min) throw new DatabaseError('Arithmetic', 'long overflow');
  return integer(n);
}

function clamped(rounded: number, limit: bigint): bigint {
  if (!Number.isFinite(rounded)) return limit;
  const exact = BigInt(rounded);
  return exact > int64Max || exact < int64Min ? limit : exact;
}

/** `Math.max` takes no bigint. */
function largerOf(a: bigint, b: bigint): bigint {
  const isFirst = a > b;
  return isFirst ? a : b;
}

function floorDivision(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new DatabaseError('Arithmetic', '/ by zero');
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

/** The nearest integer, ties to the even one. */
export function roundHalfEven(x: number): number {
  const rounded = Math.round(x);
  return Math.abs(x - Math.trunc(x)) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

function unitInLastPlace(x: number): number {
  if (!Number.isFinite(x)) return Math.abs(x);
  const size = Math.abs(x);
  if (size < 2 ** -1022) return Number.MIN_VALUE;
  return 2 ** (Math.floor(Math.log2(size)) - 52);
}
