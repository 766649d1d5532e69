import { DatabaseError } from '#core/errors.ts';
import { Float, type Value } from '#core/value/value.ts';
import { Decimal } from '#core/value/decimal.ts';
import { describeValue } from '../record-identity.ts';

/**
 * The number of rows that LIMIT or SKIP names. Negative means no bound for LIMIT and nothing for SKIP; fractions are dropped,
 * huge values saturate.
 *
 * @param clause `LIMIT` or `SKIP`, for the message
 * @throws DatabaseError `IllegalArgument` when it is no number
 */
export function rowCountOf(value: Value, clause: 'LIMIT' | 'SKIP'): number {
  const number = numberOf(value);
  if (number === undefined || Number.isNaN(number))
    throw new DatabaseError(
      'IllegalArgument',
      `Invalid value for ${clause}: ${describeValue(value)}`,
    );
  if (number < 0) return clause === 'LIMIT' ? Number.POSITIVE_INFINITY : 0;
  return number >= Number.MAX_SAFE_INTEGER ? Number.POSITIVE_INFINITY : Math.trunc(number);
}

function numberOf(value: Value): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Float) return value.number;
  if (value instanceof Decimal) return Number(value.unscaled) / 10 ** value.scale;
  return undefined;
}
