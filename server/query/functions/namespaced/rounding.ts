import { Decimal, decimalOfDouble, decimalToNumber } from '#core/value/decimal.ts';

export const roundingModes = [
  'UP',
  'DOWN',
  'CEILING',
  'FLOOR',
  'HALF_UP',
  'HALF_DOWN',
  'HALF_EVEN',
] as const;
export type RoundingMode = (typeof roundingModes)[number];

/**
 * Rounds the shortest decimal text of `x` to `digits` places behind the point (before it for negative ones).
 * NaN and infinities stay.
 */
export function roundDouble(x: number, digits: number, mode: RoundingMode): number {
  const decimal = decimalOfDouble(x);
  if (decimal === undefined || decimal.scale <= digits) return x;
  const rounded = decimalToNumber(roundDecimal(decimal, digits, mode));
  return x < 0 && rounded === 0 ? -0 : rounded;
}

/** Exact; the result has `digits` places, none when `digits` is negative. */
export function roundDecimal(decimal: Decimal, digits: number, mode: RoundingMode): Decimal {
  if (decimal.scale <= digits) return decimal;
  const divisor = 10n ** BigInt(decimal.scale - digits);
  let quotient = decimal.unscaled / divisor;
  const rest = decimal.unscaled % divisor;
  if (rest !== 0n && goesAway(quotient, rest, divisor, mode)) quotient += rest > 0n ? 1n : -1n;
  return digits >= 0
    ? new Decimal(quotient, digits)
    : new Decimal(quotient * 10n ** BigInt(-digits), 0);
}

/** True when a lost rest moves the quotient away from zero. */
function goesAway(quotient: bigint, rest: bigint, divisor: bigint, mode: RoundingMode): boolean {
  const twice = (rest < 0n ? -rest : rest) * 2n;
  switch (mode) {
    case 'UP':
      return true;
    case 'DOWN':
      return false;
    case 'CEILING':
      return rest > 0n;
    case 'FLOOR':
      return rest < 0n;
    case 'HALF_UP':
      return twice >= divisor;
    case 'HALF_DOWN':
      return twice > divisor;
    case 'HALF_EVEN':
      return twice > divisor || (twice === divisor && quotient % 2n !== 0n);
  }
}
