import { defaultNumberLimits, type NumberLimits, oversizeOf } from '#core/value/number-text.ts';
import { double, int64Max, int64Min, integer, type Value } from '#core/value/value.ts';

/** What literals mean (cypher.md 2.1). Faults are given back: the parser knows where they stand. */
export type Decoded<T> =
  | { readonly value: T }
  | { readonly detail: string; readonly problem: string };

const simpleEscapes = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
  ['`', '`'],
  // Kept as they are, for regular expressions.
  ['/', '\\/'],
]);

/** The value of a string token, quotes included in `source`. */
export function decodeString(source: string): Decoded<string> {
  const body = source.slice(1, -1);
  if (!body.includes('\\')) return wellFormed(body);
  let value = '';
  let from = 0;
  for (let at = body.indexOf('\\'); at >= 0; at = body.indexOf('\\', from)) {
    value += body.slice(from, at);
    const letter = body[at + 1] ?? '';
    const digitCount = letter === 'u' ? 4 : letter === 'U' ? 8 : 0;
    if (digitCount > 0) {
      const hex = body.slice(at + 2, at + 2 + digitCount);
      const code = Number.parseInt(hex, 16);
      if (!/^[0-9a-fA-F]+$/.test(hex) || hex.length < digitCount || code > 0x10ffff)
        return { detail: 'InvalidUnicodeLiteral', problem: `'\\${letter}${hex}' is no character` };
      value += digitCount === 4 ? String.fromCharCode(code) : String.fromCodePoint(code);
      from = at + 2 + digitCount;
      continue;
    }
    const simple = simpleEscapes.get(letter);
    if (simple === undefined)
      return { detail: 'UnexpectedSyntax', problem: `unknown escape '\\${letter}'` };
    value += simple;
    from = at + 2;
  }
  return wellFormed(value + body.slice(from));
}

function wellFormed(value: string): Decoded<string> {
  return value.isWellFormed()
    ? { value }
    : { detail: 'InvalidUnicodeLiteral', problem: 'half of a character (lone surrogate)' };
}

/** The name between back-ticks; a doubled one is one. */
export function decodeQuotedName(source: string): Decoded<string> {
  const name = source.slice(1, -1).replaceAll('``', '`');
  // limits.md row 12: NUL is data in values and refused in names, as are the other control characters.
  return /[\u0000-\u001f\u007f-\u009f]/.test(name)
    ? { detail: 'UnexpectedSyntax', problem: 'control character in a name' }
    : { value: name };
}

/** The integer that a token spells, negated when a minus stands right before it. */
export function decodeInteger(
  source: string,
  isNegative: boolean,
  limits: NumberLimits = defaultNumberLimits,
): Decoded<Value> {
  const digits = source.replaceAll('_', '');
  const isDecimal = !/^0[xXoO]/.test(digits);
  if (isDecimal) {
    const tooLong = oversizeOf(digits.length, 0, limits);
    if (tooLong !== undefined) return { detail: 'IntegerOverflow', problem: tooLong };
  } else if (digits.length > 80) return overflow(source);
  const magnitude = BigInt(digits.toLowerCase());
  const value = isNegative ? -magnitude : magnitude;
  if (value > int64Max || value < int64Min) return overflow(source);
  return { value: integer(value) };
}

function overflow(source: string): Decoded<Value> {
  const shown = source.length > 40 ? `${source.slice(0, 40)}...` : source;
  return { detail: 'IntegerOverflow', problem: `integer '${shown}' is beyond 64 bits` };
}

export function decodeFloat(
  source: string,
  isNegative: boolean,
  limits: NumberLimits = defaultNumberLimits,
): Decoded<Value> {
  const digits = source.replaceAll('_', '');
  const exponent = Number(/[eE]([+-]?\d+)$/.exec(digits)?.[1] ?? 0);
  const problem = oversizeOf(digits.length, exponent, limits);
  if (problem !== undefined) return { detail: 'FloatingPointOverflow', problem };
  const magnitude = Number(digits);
  if (!Number.isFinite(magnitude))
    return {
      detail: 'FloatingPointOverflow',
      problem: `float '${source.slice(0, 40)}' is out of range`,
    };
  // There is no negative zero among the literals.
  return { value: double(isNegative && magnitude !== 0 ? -magnitude : magnitude) };
}
