import { decimalOfDouble, decimalOfInteger, type Decimal } from '#core/value/decimal.ts';
import { double, int64Max, int64Min, kindOf, type Value } from '#core/value/value.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import {
  describe,
  integerArgument,
  isNumeric,
  numberArgument,
  refusal,
  textArgument,
  toDouble,
  wordArgument,
} from '../arguments.ts';
import { nullSafe, scalar } from '../define.ts';
import { formatNumber } from './number-pattern.ts';
import { roundDouble, roundingModes } from './rounding.ts';

/** `math.*` and `number.*` (sql-functions.md 9). Results are doubles. */
export const namespacedMathFunctions: readonly ScalarFunction[] = [
  nullSafe('math.round(x [, digits [, mode]])', [1, 3], (args) => {
    const number = numberArgument(args[0], 'math.round()');
    const digits = integerArgument(args[1] ?? 0, 'math.round()');
    if (Math.abs(digits) > 400) throw refusal(`math.round(): ${digits} digits are too many`);
    const mode = wordArgument(args[2] ?? 'HALF_UP', 'math.round()', roundingModes);
    return double(roundDouble(number, digits, mode));
  }),
  ofNumber('sigmoid', sigmoid),
  ofNumber('sigmoidPrime', (x) => sigmoid(x) * (1 - sigmoid(x))),
  ofNumber('sinh', Math.sinh),
  ofNumber('cosh', Math.cosh),
  ofNumber('tanh', Math.tanh),
  scalar('math.maxLong()', [0, 0], () => int64Max),
  scalar('math.minLong()', [0, 0], () => int64Min),
  scalar('math.maxDouble()', [0, 0], () => double(Number.MAX_VALUE)),
  nullSafe('number.format(n [, pattern])', [1, 2], (args) => {
    const value = args[0] as Value;
    if (!isNumeric(value))
      throw refusal(`number.format() requires a number, not ${describe(value)}`);
    const pattern = textArgument(args[1] ?? '#,##0.###', 'number.format()');
    const decimal = exactly(value);
    return decimal === undefined ? String(toDouble(value)) : formatNumber(decimal, pattern);
  }),
];

function ofNumber(name: string, compute: (x: number) => number): ScalarFunction {
  return nullSafe(`math.${name}(x)`, [1, 1], (args) =>
    double(compute(numberArgument(args[0], `math.${name}()`))),
  );
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

function exactly(value: Value): Decimal | undefined {
  if (typeof value === 'bigint') return decimalOfInteger(value);
  return kindOf(value) === 'decimal' ? (value as Decimal) : decimalOfDouble(toDouble(value));
}
