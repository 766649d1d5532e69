import { negateDuration } from '#core/temporal/cypher-duration.ts';
import { CypherDuration } from '#core/temporal/instants.ts';
import { isoDate } from '#core/temporal/instant-text.ts';
import { Duration, LocalDate } from '#core/temporal/temporal.ts';
import { toNumber } from '#core/value/conversion.ts';
import { DatabaseError } from '#core/errors.ts';
import { textOf } from '#core/text/text-form.ts';
import { double, integer } from '#core/value/value.ts';
import type { Value } from '#core/value/value.ts';
import type { ArithmeticOperator } from '../../algebra/expression.ts';
import { add, divide, isNumber, multiply, negate, remainder, subtract } from './arithmetic.ts';
import type { BinaryOperation } from './arithmetic.ts';
import type { EvaluationContext } from '../context.ts';
import { appendToList } from './collection-arithmetic.ts';
import { kindName, typeError } from '../cypher-failures.ts';
import { overNumber, plusOrMinus, timesNumber } from './instant-arithmetic.ts';
import { isLarge } from '../turns/large.ts';
import { rememberedValue } from '../turns/long-calls.ts';
import { boundedGrowth, joinedText } from '../turns/value-size.ts';

/**
 * Arithmetic of openCypher where it differs from SQL: integer division truncates, `^` is a power with a double result, lists
 * take elements on both sides, and operands of a wrong type are an error instead of null.
 * @throws DatabaseError `NotSupported` for the bit operators, which the language does not have
 */
export function cypherArithmeticOf(operator: ArithmeticOperator): BinaryOperation {
  const operation = operations[operator];
  if (!operation)
    throw new DatabaseError('NotSupported', `not supported: '${operator}' in dialect cypher`);
  return operation;
}

const operations: Partial<Record<ArithmeticOperator, BinaryOperation>> = {
  '+': (left, right, context) => {
    if (typeof left === 'number' && typeof right === 'number') return add(left, right, context);
    if (left === null || right === null) return null;
    return isLarge(left) || isLarge(right)
      ? rememberedValue(context, plus, () => plus(left, right, context))
      : plus(left, right, context);
  },
  '-': (left, right, context) => {
    if (left === null || right === null) return null;
    if (isNumber(left) && isNumber(right)) return subtract(left, right, context);
    const difference = plusOrMinus(left, right, -1);
    if (difference !== undefined) return difference;
    return (
      requireNumbers('-', left, right, areDurations(left, right)) && subtract(left, right, context)
    );
  },
  '*': (left, right, context) => {
    if (left === null || right === null) return null;
    if (isNumber(left) && isNumber(right)) return multiply(left, right, context);
    const product = timesNumber(left, right);
    return product ?? (requireNumbers('*', left, right, false) && null);
  },
  '/': (left, right, context) => {
    if (left === null || right === null) return null;
    const quotient = typeof left === 'object' ? overNumber(left, right) : undefined;
    if (quotient !== undefined) return quotient;
    requireNumbers('/', left, right, false);
    return isInteger(left) && isInteger(right)
      ? divideTruncating(left, right)
      : divide(left, right, context);
  },
  '%': (left, right, context) => {
    if (left === null || right === null) return null;
    return requireNumbers('%', left, right, false) && remainder(left, right, context);
  },
  '^': (left, right) => {
    if (left === null || right === null) return null;
    requireNumbers('^', left, right, false);
    return double((toNumber(left) ?? Number.NaN) ** (toNumber(right) ?? Number.NaN));
  },
};

function plus(
  left: Exclude<Value, null>,
  right: Exclude<Value, null>,
  context: EvaluationContext,
): Value {
  if (Array.isArray(left)) return appendToList(left, right, context);
  if (Array.isArray(right)) return boundedGrowth([left as Value].concat(right), context);
  if (typeof left === 'string' || typeof right === 'string')
    return joinedText(isoTextOf(left, context), isoTextOf(right, context), context);
  if (isNumber(left) && isNumber(right)) return add(left, right, context);
  const sum = plusOrMinus(left, right, 1);
  if (sum !== undefined) return sum;
  return requireNumbers('+', left, right, areDurations(left, right)) && add(left, right, context);
}

/** `-x` */
export function cypherNegate(value: Value): Value {
  if (value === null) return null;
  if (value instanceof CypherDuration) return negateDuration(value);
  if (isNumber(value) || value instanceof Duration) {
    const negated = negate(value);
    if (negated !== null) return negated;
  }
  throw typeError('InvalidArgumentType', `'-' of ${kindName(value)}`);
}

/** `a || b`: two texts or two lists. */
export function cypherConcatenate(left: Value, right: Value, context: EvaluationContext): Value {
  if (left === null || right === null) return null;
  return isLarge(left) || isLarge(right)
    ? rememberedValue(context, cypherConcatenate, () => concatenated(left, right, context))
    : concatenated(left, right, context);
}

function concatenated(
  left: Exclude<Value, null>,
  right: Exclude<Value, null>,
  context: EvaluationContext,
): Value {
  if (typeof left === 'string' && typeof right === 'string')
    return joinedText(left, right, context);
  if (Array.isArray(left) && Array.isArray(right)) return appendToList(left, right, context);
  throw typeError('InvalidArgumentType', `'||' between ${kindName(left)} and ${kindName(right)}`);
}

/** Dates are written as the language writes them, whatever the format of the database. */
function isoTextOf(value: Value, context: EvaluationContext): string {
  if (value instanceof LocalDate) return isoDate(value.epochDay);
  return textOf(value, context.formats);
}

/** Two of SQL, which are added as they are there. */
function areDurations(left: Value, right: Value): boolean {
  return left instanceof Duration && right instanceof Duration;
}

function isInteger(value: Value): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
}

function divideTruncating(a: number | bigint, b: number | bigint): Value {
  if (b === 0) throw new DatabaseError('Arithmetic', '/ by zero');
  if (typeof a === 'number' && typeof b === 'number') return Math.trunc(a / b) + 0;
  const quotient = BigInt(a) / BigInt(b);
  if (quotient === 2n ** 63n) throw new DatabaseError('Arithmetic', 'long overflow');
  return integer(quotient);
}

function requireNumbers(
  operator: string,
  left: Exclude<Value, null>,
  right: Exclude<Value, null>,
  isAllowedOtherwise: boolean,
): true {
  if (!isAllowedOtherwise && !(isNumber(left) && isNumber(right)))
    throw typeError(
      'InvalidArgumentType',
      `'${operator}' between ${kindName(left)} and ${kindName(right)}`,
    );
  return true;
}
