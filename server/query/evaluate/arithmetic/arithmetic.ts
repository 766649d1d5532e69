import {
  addDecimals,
  decimalOfDouble,
  decimalOfInteger,
  decimalToNumber,
  divideDecimals,
  multiplyDecimals,
  negateDecimal,
  remainderOfDecimals,
  subtractDecimals,
} from '#core/value/decimal.ts';
import type { Decimal } from '#core/value/decimal.ts';
import { DatabaseError } from '#core/errors.ts';
import { makeDuration } from '#core/temporal/temporal.ts';
import { textOf } from '#core/text/text-form.ts';
import { double, int64Max, int64Min, integer } from '#core/value/value.ts';
import type { Value } from '#core/value/value.ts';
import type { NumberValue } from '#core/value/value-order.ts';
import type { ArithmeticOperator } from '../../algebra/expression.ts';
import {
  addCollections,
  subtractFromCollection,
  subtractInTurns,
} from './collection-arithmetic.ts';
import type { EvaluationContext } from '../context.ts';
import { isLarge } from '../turns/large.ts';
import { canPause, pausingValue, rememberedValue } from '../turns/long-calls.ts';
import { addTemporal, isTemporal, subtractTemporal } from './temporal-arithmetic.ts';
import { joinedText } from '../turns/value-size.ts';

/**
 * SQL arithmetic (sql.md 5.3): any null gives null; integers are int64 and overflow is an error; mixed types widen along
 * integer < double < decimal. Start with `arithmeticOf`.
 */
export type BinaryOperation = (left: Value, right: Value, context: EvaluationContext) => Value;

/** The function of an operator; also what `+=` and its kin do. */
export function arithmeticOf(operator: ArithmeticOperator): BinaryOperation {
  return operations[operator];
}

export const add: BinaryOperation = (left, right, context) => {
  if (typeof left === 'number' && typeof right === 'number') return addPlain(left, right);
  if (left === null || right === null) return null;
  if (typeof left === 'string' && typeof right === 'string')
    return joinedText(left, right, context);
  if (isNumber(left) && isNumber(right)) return addNumbers(left, right);
  const collection = isLarge(left)
    ? rememberedValue(context, add, () => addCollections(left, right, context))
    : addCollections(left, right, context);
  if (collection !== undefined) return collection;
  if (isTemporal(left) || isTemporal(right)) {
    const moment = addTemporal(left, right, context.formats);
    if (moment !== undefined) return moment;
  }
  return joinedText(textOf(left, context.formats), textOf(right, context.formats), context);
};

export const subtract: BinaryOperation = (left, right, context) => {
  if (typeof left === 'number' && typeof right === 'number') return subtractPlain(left, right);
  if (left === null || right === null) return null;
  if (isNumber(left) && isNumber(right)) return subtractNumbers(left, right);
  if (isTemporal(left)) return subtractTemporal(left, right, context.formats) ?? null;
  if (isLarge(left) && isLarge(right) && canPause(context))
    return pausingValue(context, subtract, (meter) => subtractInTurns(left, right, meter));
  return subtractFromCollection(left, right) ?? null;
};

export const multiply: BinaryOperation = (left, right) => {
  if (left === null || right === null || !isNumber(left) || !isNumber(right)) return null;
  return combine(left, right, multiplication);
};

export const divide: BinaryOperation = (left, right) => {
  if (left === null || right === null || !isNumber(left) || !isNumber(right)) return null;
  return combine(left, right, division);
};

export const remainder: BinaryOperation = (left, right) => {
  if (left === null || right === null || !isNumber(left) || !isNumber(right)) return null;
  return combine(left, right, modulo);
};

const operations: Readonly<Record<ArithmeticOperator, BinaryOperation>> = {
  '+': add,
  '-': subtract,
  '*': multiply,
  '/': divide,
  '%': remainder,
  '<<': (left, right) => shift(left, right, (n, count) => n << count),
  '>>': (left, right) => shift(left, right, (n, count) => n >> count),
  '>>>': (left, right) => shift(left, right, (n, count) => BigInt.asUintN(64, n) >> count),
  '&': (left, right) => bitwise(left, right, (a, b) => a & b),
  '^': (left, right) => bitwise(left, right, (a, b) => a ^ b),
  '|': (left, right) => bitwise(left, right, (a, b) => a | b),
};

/** `0 - x`: null for null and for what is no number; a duration changes its direction. */
export function negate(value: Value): Value {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return 0 - value;
  if (value === null) return null;
  if (isNumber(value)) {
    if (typeof value === 'object' && value.valueKind === 'decimal') return negateDecimal(value);
    return subtractNumbers(0, value);
  }
  if (typeof value === 'object' && 'valueKind' in value && value.valueKind === 'duration')
    return makeDuration(-value.seconds, -value.nanos);
  return null;
}

export function isNumber(value: Value): value is NumberValue {
  if (typeof value === 'number' || typeof value === 'bigint') return true;
  if (typeof value !== 'object' || value === null || !('valueKind' in value)) return false;
  return value.valueKind === 'float' || value.valueKind === 'decimal';
}

function isInteger(value: Value): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
}

function checkedInteger(n: bigint): number | bigint {
  if (n > int64Max || n < int64Min) throw new DatabaseError('Arithmetic', 'long overflow');
  return integer(n);
}

function addPlain(a: number, b: number): Value {
  const sum = a + b;
  if (Number.isInteger(a) && Number.isInteger(b))
    return Number.isSafeInteger(sum) ? sum : checkedInteger(BigInt(a) + BigInt(b));
  return double(sum);
}

function subtractPlain(a: number, b: number): Value {
  const difference = a - b;
  if (Number.isInteger(a) && Number.isInteger(b))
    return Number.isSafeInteger(difference) ? difference : checkedInteger(BigInt(a) - BigInt(b));
  return double(difference);
}

/** The sum of two numbers of any type, as `+` and `sum()` make it. @throws DatabaseError `Arithmetic` `long overflow` */
export function addNumbers(a: NumberValue, b: NumberValue): Value {
  return typeof a === 'number' && typeof b === 'number' ? addPlain(a, b) : combine(a, b, addition);
}

export function subtractNumbers(a: NumberValue, b: NumberValue): Value {
  return typeof a === 'number' && typeof b === 'number'
    ? subtractPlain(a, b)
    : combine(a, b, subtraction);
}

/** One operation in each of the three number domains. */
interface NumberOperation {
  readonly integers: (a: number | bigint, b: number | bigint) => Value;
  readonly doubles: (a: number, b: number) => number;
  readonly decimals: (a: Decimal, b: Decimal) => Decimal;
}

const addition: NumberOperation = {
  integers: (a, b) => checkedInteger(BigInt(a) + BigInt(b)),
  doubles: (a, b) => a + b,
  decimals: addDecimals,
};

const subtraction: NumberOperation = {
  integers: (a, b) => checkedInteger(BigInt(a) - BigInt(b)),
  doubles: (a, b) => a - b,
  decimals: subtractDecimals,
};

const multiplication: NumberOperation = {
  integers: (a, b) => {
    if (typeof a === 'number' && typeof b === 'number') {
      const product = a * b;
      // An integer has no negative zero.
      if (Number.isSafeInteger(product)) return product + 0;
    }
    return checkedInteger(BigInt(a) * BigInt(b));
  },
  doubles: (a, b) => a * b,
  decimals: multiplyDecimals,
};

const division: NumberOperation = {
  integers: divideIntegers,
  doubles: (a, b) => a / b,
  decimals: divideDecimals,
};

function divideIntegers(a: number | bigint, b: number | bigint): Value {
  if (b === 0) throw new DatabaseError('Arithmetic', '/ by zero');
  if (typeof a === 'number' && typeof b === 'number')
    return a % b === 0 ? a / b + 0 : double(a / b);
  const dividend = BigInt(a);
  const divisor = BigInt(b);
  if (dividend % divisor === 0n) return checkedInteger(dividend / divisor);
  return double(Number(dividend) / Number(divisor));
}

const modulo: NumberOperation = {
  integers: (a, b) => {
    if (b === 0) throw new DatabaseError('Arithmetic', '% by zero');
    if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0;
    return integer(BigInt(a) % BigInt(b));
  },
  doubles: (a, b) => a % b,
  decimals: remainderOfDecimals,
};

/** Widens to the common type and computes there. A decimal beside NaN or an infinity is computed as doubles. */
function combine(a: NumberValue, b: NumberValue, operation: NumberOperation): Value {
  if (isInteger(a) && isInteger(b)) return operation.integers(a, b);
  const aIsDecimal = typeof a === 'object' && a.valueKind === 'decimal';
  const bIsDecimal = typeof b === 'object' && b.valueKind === 'decimal';
  if (aIsDecimal || bIsDecimal) {
    const x = widenToDecimal(a);
    const y = widenToDecimal(b);
    if (x && y) return operation.decimals(x, y);
  }
  return double(operation.doubles(widenToDouble(a), widenToDouble(b)));
}

function widenToDecimal(n: NumberValue): Decimal | undefined {
  if (typeof n === 'bigint') return decimalOfInteger(n);
  if (typeof n === 'number') return Number.isInteger(n) ? decimalOfInteger(n) : decimalOfDouble(n);
  return n.valueKind === 'decimal' ? n : decimalOfDouble(n.number);
}

function widenToDouble(n: NumberValue): number {
  if (typeof n === 'number') return n;
  if (typeof n === 'bigint') return Number(n);
  return n.valueKind === 'float' ? n.number : decimalToNumber(n);
}

function bitwise(left: Value, right: Value, apply: (a: bigint, b: bigint) => bigint): Value {
  if (!isInteger(left) || !isInteger(right)) return null;
  return integer(BigInt.asIntN(64, apply(BigInt(left), BigInt(right))));
}

function shift(left: Value, right: Value, apply: (n: bigint, count: bigint) => bigint): Value {
  if (!isInteger(left) || !isInteger(right)) return null;
  if (right < 0 || right > 63)
    throw new DatabaseError('Arithmetic', `shift count ${right} is outside 0..63`);
  return integer(BigInt.asIntN(64, apply(BigInt(left), BigInt(right))));
}
