import { Decimal } from '#core/value/decimal.ts';
import { DatabaseError } from '#core/errors.ts';
import { Duration, makeDuration } from '#core/temporal/temporal.ts';
import { double, Float, int64Min, integer, type Value } from '#core/value/value.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { describe, isNumeric, numberArgument, refusal } from '../arguments.ts';
import { nullSafe, scalar, volatileScalar } from '../define.ts';
import { randomBelow } from './random.ts';

/** Numbers (sql-functions.md 2). */
export const mathFunctions: readonly ScalarFunction[] = [
  nullSafe('abs(n)', [1, 1], (args) => absolute(args[0] as Value)),
  scalar('pow(n, p)', [2, 2], (args) => {
    if (args[0] === null || args[1] === null) return null;
    const power = numberArgument(args[0], 'pow()') ** numberArgument(args[1], 'pow()');
    return Number.isNaN(power) ? null : double(power);
  }),
  nullSafe('sqrt(n)', [1, 1], (args) => {
    const number = numberArgument(args[0], 'sqrt()');
    return number >= 0 ? double(Math.sqrt(number)) : null;
  }),
  volatileScalar('randomInt(max)', [1, 1], (args, context) => {
    if (args[0] === null) return null;
    const max = Math.floor(numberArgument(args[0], 'randomInt()'));
    if (!(max >= 1 && max <= Number.MAX_SAFE_INTEGER))
      throw refusal(
        `randomInt() requires a maximum of at least 1, not ${describe(args[0] ?? null)}`,
      );
    return randomBelow(max, context.runtime.random);
  }),
];

function absolute(value: Value): Value {
  if (typeof value === 'number') return Math.abs(value);
  if (typeof value === 'bigint') {
    if (value === int64Min) throw new DatabaseError('Arithmetic', 'long overflow');
    return integer(value < 0n ? -value : value);
  }
  if (value instanceof Float) return new Float(Math.abs(value.number));
  if (value instanceof Decimal)
    return value.unscaled < 0n ? new Decimal(-value.unscaled, value.scale) : value;
  if (value instanceof Duration)
    return value.seconds < 0 ? makeDuration(-value.seconds, -value.nanos) : value;
  if (isNumeric(value)) return value;
  throw refusal(`abs() requires a number or a duration, not ${describe(value)}`);
}
