import { DatabaseError } from '../errors.ts';

/**
 * An exact decimal: `unscaled / 10^scale`. The scale is kept as given (`10.50` has scale 2) and never negative.
 */
export class Decimal {
  readonly valueKind = 'decimal';
  readonly unscaled: bigint;
  readonly scale: number;
  constructor(unscaled: bigint, scale: number) {
    this.unscaled = unscaled;
    this.scale = scale;
  }
}

/** limits.md 11: digits of a number, before and after the point. */
export const decimalDigitsMax = 10_000;
/** limits.md 11: exponent of a number text, either way. */
export const decimalExponentMax = 6_144;

const unscaledMax = 10n ** BigInt(decimalDigitsMax);
const powers: bigint[] = [];

/** 10^exponent; powers up to 64 are kept. */
function powerOfTen(exponent: number): bigint {
  if (exponent > 64) return 10n ** BigInt(exponent);
  let power = powers[exponent];
  if (power === undefined) {
    power = 10n ** BigInt(exponent);
    powers[exponent] = power;
  }
  return power;
}

const decimalShape = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$/;

/**
 * Reads `-12.50`, `.5`, `1e3`. The scale is the number of fraction digits, less the exponent, at least 0.
 * @returns undefined when the text is no number, has more than 10,000 digits or an exponent beyond 6,144
 */
export function parseDecimal(text: string): Decimal | undefined {
  const match = decimalShape.exec(text);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = '', exponentText = '0'] = match;
  const digits = whole + fraction;
  const exponent = Number(exponentText);
  if (digits.length === 0 || digits.length > decimalDigitsMax) return undefined;
  if (Math.abs(exponent) > decimalExponentMax) return undefined;
  const magnitude = BigInt(digits);
  const unscaled = sign === '-' ? -magnitude : magnitude;
  const scale = fraction.length - exponent;
  const decimal =
    scale >= 0 ? new Decimal(unscaled, scale) : new Decimal(unscaled * powerOfTen(-scale), 0);
  return isInRange(decimal) ? decimal : undefined;
}

function isInRange(decimal: Decimal): boolean {
  return (
    decimal.scale <= decimalDigitsMax &&
    decimal.unscaled < unscaledMax &&
    decimal.unscaled > -unscaledMax
  );
}

function checked(unscaled: bigint, scale: number): Decimal {
  const decimal = new Decimal(unscaled, scale);
  if (!isInRange(decimal))
    throw new DatabaseError(
      'Arithmetic',
      `decimal overflow: the result has more than ${decimalDigitsMax} digits`,
    );
  return decimal;
}

/** Plain text without exponent, all digits of the scale: `10.50`. */
export function decimalText(decimal: Decimal): string {
  const { unscaled, scale } = decimal;
  if (scale === 0) return unscaled.toString();
  const isNegative = unscaled < 0n;
  const digits = (isNegative ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${isNegative ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** The nearest double; infinite beyond its range. */
export function decimalToNumber(decimal: Decimal): number {
  return decimal.scale === 0 ? Number(decimal.unscaled) : Number(decimalText(decimal));
}

/** The exact decimal of an integer. */
export function decimalOfInteger(n: number | bigint): Decimal {
  return new Decimal(BigInt(n), 0);
}

/** The decimal that a double's shortest text names: 0.1 is 0.1. @returns undefined for NaN and infinities */
export function decimalOfDouble(n: number): Decimal | undefined {
  return Number.isFinite(n) ? parseDecimal(String(n)) : undefined;
}

/**
 * What a double is worth beside decimals and integers: an integral one its exact value, a fraction its shortest text. Keeps
 * the order of doubles. @returns undefined for NaN and infinities
 */
export function exactDecimalOfDouble(n: number): Decimal | undefined {
  return Number.isInteger(n) ? decimalOfInteger(n) : decimalOfDouble(n);
}

/** The integer part, toward zero. */
export function decimalToBigint(decimal: Decimal): bigint {
  return decimal.scale === 0 ? decimal.unscaled : decimal.unscaled / powerOfTen(decimal.scale);
}

/** The same value with trailing zeros of the fraction removed. */
export function normalizeDecimal(decimal: Decimal): Decimal {
  let { unscaled, scale } = decimal;
  if (unscaled === 0n) return new Decimal(0n, 0);
  while (scale > 0 && unscaled % 10n === 0n) {
    unscaled /= 10n;
    scale--;
  }
  return new Decimal(unscaled, scale);
}

function rescaled(decimal: Decimal, scale: number): bigint {
  return scale === decimal.scale
    ? decimal.unscaled
    : decimal.unscaled * powerOfTen(scale - decimal.scale);
}

/** By value: 1.0 and 1.00 are equal. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale);
  const x = rescaled(a, scale);
  const y = rescaled(b, scale);
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Exact, at the larger scale. @throws DatabaseError `Arithmetic` beyond 10,000 digits, as the other operations */
export function addDecimals(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return checked(rescaled(a, scale) + rescaled(b, scale), scale);
}

/** Exact, at the larger scale. */
export function subtractDecimals(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return checked(rescaled(a, scale) - rescaled(b, scale), scale);
}

/** Exact, at the sum of the scales. */
export function multiplyDecimals(a: Decimal, b: Decimal): Decimal {
  return checked(a.unscaled * b.unscaled, a.scale + b.scale);
}

/** HALF_UP at the dividend's scale (sql.md 5.3). @throws DatabaseError `Arithmetic`: `/ by zero` */
export function divideDecimals(a: Decimal, b: Decimal): Decimal {
  if (b.unscaled === 0n) throw new DatabaseError('Arithmetic', '/ by zero');
  return checked(divideHalfUp(a.unscaled * powerOfTen(b.scale), b.unscaled), a.scale);
}

/** Remainder with the dividend's sign, at the larger scale. @throws DatabaseError `Arithmetic`: `% by zero` */
export function remainderOfDecimals(a: Decimal, b: Decimal): Decimal {
  if (b.unscaled === 0n) throw new DatabaseError('Arithmetic', '% by zero');
  const scale = Math.max(a.scale, b.scale);
  return checked(rescaled(a, scale) % rescaled(b, scale), scale);
}

export function negateDecimal(a: Decimal): Decimal {
  return new Decimal(-a.unscaled, a.scale);
}

/** The value at another scale, HALF_UP when digits are lost. */
export function setDecimalScale(a: Decimal, scale: number): Decimal {
  if (scale >= a.scale) return checked(rescaled(a, scale), scale);
  return new Decimal(divideHalfUp(a.unscaled, powerOfTen(a.scale - scale)), scale);
}

/** The quotient rounded to the nearest integer, ties away from zero. */
function divideHalfUp(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  const remainder = dividend % divisor;
  const twice = (remainder < 0n ? -remainder : remainder) * 2n;
  if (twice < (divisor < 0n ? -divisor : divisor)) return quotient;
  return dividend < 0n === divisor < 0n ? quotient + 1n : quotient - 1n;
}
