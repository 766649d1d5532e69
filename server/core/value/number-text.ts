import { decimalDigitsMax, decimalExponentMax } from './decimal.ts';
import { DatabaseError } from '../errors.ts';
import { double, int64Max, int64Min, integer } from './value.ts';
import type { Value } from './value.ts';

/**
 * Number texts of statements and JSON (limits.md 11, sql.md 3.4): at most 10,000 digits, an exponent within +/-6144, a
 * value within the range of a double or of int64. Digits are decimal, also with leading zeros.
 */

/** How long numbers of statements and requests may be; settings may tighten the bounds of the formats. */
export interface NumberLimits {
  /** `queryMaxNumberDigits` */
  readonly digitsMax: number;
  /** `queryMaxNumberExponent`, in either direction. */
  readonly exponentMax: number;
}

export const defaultNumberLimits: NumberLimits = {
  digitsMax: decimalDigitsMax,
  exponentMax: decimalExponentMax,
};

/** What is wrong with the size of a number, naming the setting; undefined when nothing is. */
export function oversizeOf(
  digitCount: number,
  exponent: number,
  limits: NumberLimits,
): string | undefined {
  if (digitCount > limits.digitsMax)
    return `number with ${digitCount} digits, more than the limit of ${limits.digitsMax} (service.queryMaxNumberDigits)`;
  if (Math.abs(exponent) > limits.exponentMax)
    return `exponent ${exponent} is beyond the limit of ${limits.exponentMax} (service.queryMaxNumberExponent)`;
  return undefined;
}

/**
 * An integer literal, with an optional sign, as int64. @throws DatabaseError `Syntax` `Invalid integer: <text>` beyond int64
 */
export function parseIntegerLiteral(text: string): number | bigint {
  const n = parseInteger(text);
  if (n === undefined) throw new DatabaseError('Syntax', `Invalid integer: ${shortened(text)}`);
  return n;
}

/**
 * A literal with a fraction or an exponent, always a double. @throws DatabaseError `Syntax` beyond the limits
 */
export function parseDoubleLiteral(text: string): Value {
  const n = parseDouble(text);
  if (n === undefined) throw new DatabaseError('Syntax', `Invalid number: ${shortened(text)}`);
  return double(n);
}

const integerShape = /^[+-]?\d+$/;

/** @returns undefined when the text is no integer or lies outside int64. */
export function parseInteger(text: string): number | bigint | undefined {
  if (text.length > decimalDigitsMax || !integerShape.test(text)) return undefined;
  const n = Number(text);
  if (Number.isSafeInteger(n)) return n + 0;
  const exact = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return exact > int64Max || exact < int64Min ? undefined : integer(exact);
}

const doubleShape = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?$/;

/** @returns undefined when the text is no number, overflows a double or breaks a limit of limits.md 11. */
export function parseDouble(text: string): number | undefined {
  if (text.length > decimalDigitsMax + 16) return undefined;
  const match = doubleShape.exec(text);
  if (!match) return undefined;
  if (match[1] !== undefined && Math.abs(Number(match[1])) > decimalExponentMax) return undefined;
  const digitCount = text.replace(/[eE].*$|[^\d]/g, '').length;
  if (digitCount > decimalDigitsMax) return undefined;
  const n = Number(text);
  return Number.isFinite(n) ? n : undefined;
}

/** An integer when the text is one within int64, else a double. @returns undefined when it is no number. */
export function parseNumber(text: string): Value | undefined {
  const n = parseInteger(text);
  if (n !== undefined) return n;
  const d = parseDouble(text);
  return d === undefined ? undefined : double(d);
}

function shortened(text: string): string {
  return text.length <= 64 ? text : `${text.slice(0, 60)}... (${text.length} characters)`;
}
