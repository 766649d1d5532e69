import { defaultNumberLimits, type NumberLimits, oversizeOf } from '#core/value/number-text.ts';
import { parseRid, type Rid } from '#core/value/rid.ts';
import { double, int64Max, int64Min, integer, type Value } from '#core/value/value.ts';

/** What literals of the text mean (sql.md 3.2 to 3.4). Faults are returned as text; the parser knows where they stand. */
export type Decoded<T> = { readonly value: T } | { readonly fault: string };

const simpleEscapes = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['/', '/'],
  // Kept for LIKE, backslash included.
  ['%', '\\%'],
  ['_', '\\_'],
  ['?', '\\?'],
]);

/** The value of a string token, quotes included in `source`. */
export function decodeString(source: string): Decoded<string> {
  const body = source.slice(1, -1);
  if (!body.includes('\\')) return { value: body };
  let value = '';
  let from = 0;
  for (let at = body.indexOf('\\'); at >= 0; at = body.indexOf('\\', from)) {
    value += body.slice(from, at);
    const letter = body[at + 1] ?? '';
    const simple = simpleEscapes.get(letter);
    if (simple !== undefined) {
      value += simple;
      from = at + 2;
      continue;
    }
    const hex = letter === 'u' ? /^[0-9a-fA-F]{4}$/.exec(body.slice(at + 2, at + 6)) : null;
    if (!hex) return { fault: `unknown escape '\\${letter}'` };
    value += String.fromCharCode(Number.parseInt(hex[0], 16));
    from = at + 6;
  }
  value += body.slice(from);
  return value.isWellFormed() ? { value } : { fault: 'half of a character (lone surrogate)' };
}

/** The name between back-ticks: a backslash makes the next character literal. */
export function decodeQuotedName(source: string): Decoded<string> {
  const name = source.slice(1, -1).replace(/\\([\s\S])/g, '$1');
  // limits.md row 12: NUL is data in values and refused in names, as are the other control characters.
  if (/[\u0000-\u001f\u007f-\u009f]/.test(name)) return { fault: 'control character in a name' };
  return { value: name };
}

const decimalShape = /^(\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?([lLdDfF]?)$/;
const hexFloatShape = /^0[xX]([0-9a-fA-F]+)(?:\.([0-9a-fA-F]+))?[pP]([+-]?\d+)[dDfF]?$/;

/** The number that a token spells, negated when a minus was folded into it. */
export function decodeNumber(
  source: string,
  isNegative: boolean,
  limits: NumberLimits = defaultNumberLimits,
): Decoded<Value> {
  if (source.length <= 15 && isDigits(source)) {
    const value = Number(source);
    return { value: isNegative && value !== 0 ? -value : value };
  }
  const tooLong = oversizeOf(source.length, 0, limits);
  if (tooLong !== undefined) return { fault: tooLong };
  const hex = hexFloatShape.exec(source);
  if (hex) return hexFloat(hex, isNegative, limits);
  const parts = decimalShape.exec(source);
  if (!parts) return { fault: `Invalid integer: ${source}` };
  const [, whole = '', fraction, exponent, suffix = ''] = parts;
  const isInteger = fraction === undefined && exponent === undefined && !/[dDfF]/.test(suffix);
  if (isInteger) return integerLiteral(whole, isNegative, source);
  const tooLarge = oversizeOf(0, Number(exponent ?? 0), limits);
  if (tooLarge !== undefined) return { fault: tooLarge };
  return doubleLiteral(
    Number(/[dDfF]$/.test(source) ? source.slice(0, -1) : source),
    isNegative,
    source,
  );
}

function isDigits(source: string): boolean {
  for (let at = 0; at < source.length; at += 1) {
    const code = source.charCodeAt(at);
    if (code < 48 || code > 57) return false;
  }
  return source.length > 0;
}

function integerLiteral(digits: string, isNegative: boolean, source: string): Decoded<Value> {
  const small = Number(digits);
  // No negative zero among the integers.
  if (Number.isSafeInteger(small)) return { value: isNegative && small !== 0 ? -small : small };
  const value = isNegative ? -BigInt(digits) : BigInt(digits);
  if (value > int64Max || value < int64Min) {
    const shown = source.length > 40 ? `${source.slice(0, 40)}...` : source;
    return { fault: `Invalid integer: ${isNegative ? '-' : ''}${shown}` };
  }
  return { value: integer(value) };
}

function hexFloat(
  parts: RegExpExecArray,
  isNegative: boolean,
  limits: NumberLimits,
): Decoded<Value> {
  const [source, whole = '', fraction = '', exponent = '0'] = parts;
  const tooLarge = oversizeOf(0, Number(exponent), limits);
  if (tooLarge !== undefined) return { fault: tooLarge };
  let mantissa = 0;
  for (const digit of whole + fraction) mantissa = mantissa * 16 + Number.parseInt(digit, 16);
  return doubleLiteral(
    mantissa * 2 ** (Number(exponent) - 4 * fraction.length),
    isNegative,
    source,
  );
}

function doubleLiteral(magnitude: number, isNegative: boolean, source: string): Decoded<Value> {
  if (!Number.isFinite(magnitude)) {
    const shown = source.length > 40 ? `${source.slice(0, 40)}...` : source;
    return { fault: `number out of range: ${shown}` };
  }
  return { value: double(isNegative ? -magnitude : magnitude) };
}

/** The record id that `#12:0` or `12:0` spells; ids outside the formats are ids that no record has. */
export function decodeRid(source: string): Rid | undefined {
  return parseRid(source.startsWith('#') ? source : `#${source}`);
}
