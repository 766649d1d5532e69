import { Decimal, decimalText, setDecimalScale } from '#core/value/decimal.ts';
import { refusal } from '../arguments.ts';
import { grouped } from '../text/printf.ts';
import { roundDecimal } from './rounding.ts';

interface NumberPattern {
  readonly prefix: string;
  readonly suffix: string;
  readonly isGrouped: boolean;
  readonly wholeDigitsMin: number;
  readonly fractionDigitsMin: number;
  readonly fractionDigitsMax: number;
  /** 100 for percent, 1000 for per mille. */
  readonly factor: bigint;
}

const patternShape = /^([^#0,.;]*)([#,]*[0,]*)(?:\.(0*)(#*))?([^#0,.;]*)(?:;.*)?$/;
const patternLengthMax = 100;

/**
 * A number by a pattern of java.text.DecimalFormat: `#,##0.###`, `0.00`, `$#,##0.00`, `0%`. Rounded HALF_EVEN, grouped by
 * thousands, with a point for the fraction.
 *
 * @throws DatabaseError `IllegalArgument` for another pattern
 */
export function formatNumber(number: Decimal, pattern: string): string {
  const parts = parsePattern(pattern);
  const scaled = new Decimal(number.unscaled * parts.factor, number.scale);
  const size = scaled.unscaled < 0n ? new Decimal(-scaled.unscaled, scaled.scale) : scaled;
  const rounded = roundDecimal(size, parts.fractionDigitsMax, 'HALF_EVEN');
  const text = decimalText(setDecimalScale(rounded, parts.fractionDigitsMax));
  const [whole = '', fraction = ''] = text.split('.');
  let digits = whole === '0' && parts.wholeDigitsMin === 0 ? '' : whole;
  digits = digits.padStart(parts.wholeDigitsMin, '0');
  const places = trimmedFraction(fraction, parts.fractionDigitsMin);
  if (digits === '' && places === '') digits = '0';
  const body = (parts.isGrouped ? grouped(digits) : digits) + (places === '' ? '' : `.${places}`);
  const sign = scaled.unscaled < 0n && rounded.unscaled !== 0n ? '-' : '';
  return sign + parts.prefix + body + parts.suffix;
}

function trimmedFraction(fraction: string, least: number): string {
  let end = fraction.length;
  while (end > least && fraction.charAt(end - 1) === '0') end--;
  return fraction.slice(0, end);
}

function parsePattern(pattern: string): NumberPattern {
  const match = pattern.length <= patternLengthMax ? patternShape.exec(pattern) : null;
  if (!match) throw refusal(`number.format(): '${pattern.slice(0, 40)}' is no number pattern`);
  const [, prefix = '', whole = '', zeros = '', optional = '', suffix = ''] = match;
  const affixes = prefix + suffix;
  return {
    prefix: plain(prefix),
    suffix: plain(suffix),
    isGrouped: whole.includes(','),
    wholeDigitsMin: whole.replaceAll(/[^0]/g, '').length,
    fractionDigitsMin: zeros.length,
    fractionDigitsMax: zeros.length + optional.length,
    factor: affixes.includes('%') ? 100n : affixes.includes('\u2030') ? 1000n : 1n,
  };
}

/** Apostrophes quote in prefix and suffix. */
function plain(affix: string): string {
  return affix.replaceAll("''", '\u0000').replaceAll("'", '').replaceAll('\u0000', "'");
}
