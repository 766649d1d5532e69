import { Decimal, decimalOfDouble, decimalText, setDecimalScale } from '#core/value/decimal.ts';
import { textOf } from '#core/text/text-form.ts';
import { kindOf, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { describe, isNumeric, refusal, toDouble } from '../arguments.ts';
import { boundedText, requireBytes } from '../number/bounds.ts';
import { charactersBetween } from './characters.ts';
import { printfDate } from './printf-date.ts';

/**
 * `format(fmt, args...)`: the conversions of java.util.Formatter, `%[index$][flags][width][.precision]conversion`:
 * `%s %S %d %x %X %o %f %e %E %g %G %c %C %b %B %h %n %%` and dates as `%tY`. Unlike there, `%f` takes integers and `%d`
 * integral doubles. Rounding is HALF_UP on the decimal text of the number.
 *
 * @throws DatabaseError `IllegalArgument` for a wrong format or an argument of another kind, naming the specifier
 */
export function printf(format: string, args: readonly Value[], context: EvaluationContext): string {
  let text = '';
  let at = 0;
  let ordinary = 0;
  let last = -1;
  for (;;) {
    const percent = format.indexOf('%', at);
    if (percent < 0) return boundedText(text + format.slice(at), context);
    text += format.slice(at, percent);
    const specifier = readSpecifier(format, percent);
    at = percent + specifier.text.length;
    if (specifier.conversion === '%' || specifier.conversion === 'n') {
      text += specifier.conversion === 'n' ? '\n' : padded('%', specifier, context);
      continue;
    }
    if (specifier.index !== undefined) last = specifier.index - 1;
    else if (!specifier.repeatsLast) last = ordinary++;
    const argument = args[last];
    if (argument === undefined)
      throw refusal(`format(): the format has no argument for '${specifier.text}'`);
    text += converted(argument, specifier, context);
    requireBytes(text.length, context);
  }
}

export interface Specifier {
  readonly text: string;
  /** One-based. */
  readonly index: number | undefined;
  readonly repeatsLast: boolean;
  readonly flags: string;
  readonly width: number;
  readonly precision: number | undefined;
  readonly conversion: string;
}

const specifierShape =
  /%(?:(\d{1,9})\$|(<))?([-#+ 0,(]*)(\d+)?(?:\.(\d+))?([tT][A-Za-z]|[A-Za-z%])/y;
/** Fraction digits beyond this are refused: no number has more (limits.md 11). */
const precisionMax = 10_000;

function readSpecifier(format: string, at: number): Specifier {
  specifierShape.lastIndex = at;
  const match = specifierShape.exec(format);
  if (!match) throw refusal(`format(): '${format.slice(at, at + 12)}' is no format specifier`);
  const [text, index, repeat, flags = '', width = '0', precision, conversion = ''] = match;
  if (width.length > 9 || (precision !== undefined && Number(precision) > precisionMax))
    throw refusal(`format(): width or precision of '${text.slice(0, 24)}' is too large`);
  if ((flags.includes('-') || flags.includes('0')) && Number(width) === 0)
    throw refusal(`format(): '${text}' has a flag that needs a width`);
  return {
    text,
    index: index === undefined ? undefined : Number(index),
    repeatsLast: repeat !== undefined,
    flags,
    width: Number(width),
    precision: precision === undefined ? undefined : Number(precision),
    conversion,
  };
}

function converted(value: Value, specifier: Specifier, context: EvaluationContext): string {
  const { conversion } = specifier;
  const kind = conversion.charAt(0);
  if (kind === 't' || kind === 'T') return dateText(value, specifier, context);
  const text = bodyOf(value, specifier, context);
  return padded(kind >= 'A' && kind <= 'Z' ? text.toUpperCase() : text, specifier, context);
}

function bodyOf(value: Value, specifier: Specifier, context: EvaluationContext): string {
  switch (specifier.conversion) {
    case 's':
    case 'S':
      return cut(textOf(value, context.formats), specifier);
    case 'b':
    case 'B':
      return cut(String(typeof value === 'boolean' ? value : value !== null), specifier);
    case 'c':
    case 'C':
      return value === null ? 'null' : character(value, specifier);
    case 'd':
      return value === null ? 'null' : decimalInteger(value, specifier);
    case 'x':
    case 'X':
    case 'o':
      return value === null ? 'null' : radixInteger(value, specifier);
    case 'h':
    case 'H':
      return value === null ? 'null' : cut(hashCode(value, specifier).toString(16), specifier);
    case 'f':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
      return value === null ? 'null' : real(value, specifier);
    default:
      throw refusal(`format(): '${specifier.text}' has an unknown conversion`);
  }
}

function dateText(value: Value, specifier: Specifier, context: EvaluationContext): string {
  const suffix = specifier.conversion.charAt(1);
  const text = value === null ? 'null' : printfDate(value, suffix, context.formats);
  if (text === undefined) throw mismatch(value, specifier);
  return padded(
    specifier.conversion.startsWith('T') ? text.toUpperCase() : text,
    specifier,
    context,
  );
}

function cut(text: string, { precision }: Specifier): string {
  return precision === undefined ? text : charactersBetween(text, 0, precision);
}

function padded(text: string, { width, flags }: Specifier, context: EvaluationContext): string {
  if (text.length >= width) return text;
  requireBytes(width, context);
  return flags.includes('-') ? text.padEnd(width) : text.padStart(width);
}

function mismatch(value: Value, { text }: Specifier) {
  return refusal(`format(): '${text}' does not take ${describe(value)}`);
}

function character(value: Value, specifier: Specifier): string {
  if (typeof value === 'string' && [...value.slice(0, 3)].length === 1) return value;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0x10ffff) {
    const isHalfOfPair = value >= 0xd800 && value <= 0xdfff;
    if (!isHalfOfPair) return String.fromCodePoint(value);
  }
  throw mismatch(value, specifier);
}

function integerOf(value: Value, specifier: Specifier): bigint {
  if (typeof value === 'bigint') return value;
  if (kindOf(value) === 'decimal') {
    const decimal = value as Decimal;
    if (decimal.scale === 0) return decimal.unscaled;
  } else if (isNumeric(value)) {
    const number = toDouble(value);
    if (Number.isInteger(number)) return BigInt(number);
  }
  throw mismatch(value, specifier);
}

function decimalInteger(value: Value, specifier: Specifier): string {
  const number = integerOf(value, specifier);
  if (specifier.precision !== undefined)
    throw refusal(`format(): '${specifier.text}' has a precision, which integers have not`);
  return signed(String(number < 0n ? -number : number), number < 0n, specifier);
}

/** Negative numbers show their two's complement in 32 bits, or in 64 beyond that range. */
function radixInteger(value: Value, specifier: Specifier): string {
  const number = integerOf(value, specifier);
  const unsigned = number >= 0n ? number : BigInt.asUintN(number >= -(2n ** 31n) ? 32 : 64, number);
  const isOctal = specifier.conversion === 'o';
  let digits = unsigned.toString(isOctal ? 8 : 16);
  const prefix = specifier.flags.includes('#') ? (isOctal ? '0' : '0x') : '';
  if (specifier.flags.includes('0'))
    digits = digits.padStart(Math.min(specifier.width, precisionMax) - prefix.length, '0');
  return prefix + digits;
}

/** The hash that Java gives texts and integers. */
function hashCode(value: Value, specifier: Specifier): number {
  if (typeof value === 'boolean') return value ? 1231 : 1237;
  if (typeof value === 'number' && Number.isInteger(value) && (value | 0) === value)
    return value >>> 0;
  if (typeof value !== 'string') throw mismatch(value, specifier);
  let hash = 0;
  for (let i = 0; i < value.length; i++) hash = (hash * 31 + value.charCodeAt(i)) | 0;
  return hash >>> 0;
}

function real(value: Value, specifier: Specifier): string {
  if (!isNumeric(value)) throw mismatch(value, specifier);
  const decimal = decimalOf(value);
  if (decimal === undefined) {
    const number = toDouble(value);
    if (Number.isNaN(number)) return 'NaN';
    return number > 0
      ? specifier.flags.includes('+')
        ? '+Infinity'
        : 'Infinity'
      : specifier.flags.includes('(')
        ? '(Infinity)'
        : '-Infinity';
  }
  const isNegative = decimal.unscaled < 0n || Object.is(toDouble(value), -0);
  const size = isNegative ? new Decimal(-decimal.unscaled, decimal.scale) : decimal;
  return signed(unsignedReal(size, specifier), isNegative, specifier);
}

function decimalOf(value: Value): Decimal | undefined {
  if (typeof value === 'bigint') return new Decimal(value, 0);
  return kindOf(value) === 'decimal' ? (value as Decimal) : decimalOfDouble(toDouble(value));
}

function unsignedReal(size: Decimal, { conversion, precision = 6 }: Specifier): string {
  if (conversion === 'f') return decimalText(setDecimalScale(size, precision));
  if (conversion === 'e' || conversion === 'E') return scientific(size, precision);
  const digits = precision === 0 ? 1 : precision;
  const rounded = roundedTo(size, digits);
  const exponent = exponentOf(rounded);
  const isPlain = rounded.unscaled === 0n || (exponent >= -4 && exponent < digits);
  if (isPlain) return decimalText(setDecimalScale(rounded, Math.max(0, digits - 1 - exponent)));
  return scientific(rounded, digits - 1);
}

/** Position of the first digit: 3 for 1234, -2 for 0.012; 0 for zero. */
function exponentOf(size: Decimal): number {
  return size.unscaled === 0n ? 0 : String(size.unscaled).length - 1 - size.scale;
}

/** Rounded to so many significant digits. */
function roundedTo(size: Decimal, digits: number): Decimal {
  const scale = digits - 1 - exponentOf(size);
  if (scale >= 0) return setDecimalScale(size, scale);
  const shifted = setDecimalScale(new Decimal(size.unscaled, size.scale - scale), 0);
  return new Decimal(shifted.unscaled * 10n ** BigInt(-scale), 0);
}

function scientific(size: Decimal, precision: number): string {
  const rounded = roundedTo(size, precision + 1);
  const exponent = exponentOf(rounded);
  const digits = String(rounded.unscaled)
    .padEnd(precision + 1, '0')
    .slice(0, precision + 1);
  const mantissa = precision === 0 ? digits : `${digits.charAt(0)}.${digits.slice(1)}`;
  const places = String(Math.abs(exponent)).padStart(2, '0');
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${places}`;
}

/** Grouping, sign and zeros in front. */
function signed(digits: string, isNegative: boolean, { flags, width }: Specifier): string {
  const body = flags.includes(',') ? grouped(digits) : digits;
  const isBracketed = isNegative && flags.includes('(');
  const plus = flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '';
  const before = isNegative ? (isBracketed ? '(' : '-') : plus;
  const after = isBracketed ? ')' : '';
  const room = Math.min(width, precisionMax) - before.length - after.length;
  return before + (flags.includes('0') ? body.padStart(room, '0') : body) + after;
}

/** `1,234,567.5`. */
export function grouped(digits: string): string {
  const point = digits.search(/[.e]/);
  const whole = point < 0 ? digits : digits.slice(0, point);
  return whole.replace(/\B(?=(?:\d{3})+$)/g, ',') + (point < 0 ? '' : digits.slice(point));
}
