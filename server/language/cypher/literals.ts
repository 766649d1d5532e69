import { type PausingWork, toEnd } from '#core/pausing-work.ts';
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
  if (body.length >= longBody) return toEnd(decodedLong(body));
  let value = '';
  let from = 0;
  for (let at = body.indexOf('\\'); at >= 0; at = body.indexOf('\\', from)) {
    value += body.slice(from, at);
    const letter = body[at + 1] ?? '';
    const digitCount = letter === 'u' ? 4 : letter === 'U' ? 8 : 0;
    const code = digitCount === 0 ? 0 : hexadecimal(body, at + 2, digitCount);
    const decoded = digitCount === 0 ? simpleEscapes.get(letter) : characterOf(code);
    if (decoded === undefined) return noEscape(body, at);
    value += decoded;
    from = at + 2 + digitCount;
  }
  return wellFormed(value + body.slice(from));
}

/** As `decodeString`, with places to pause. */
export function* decodeStringInSteps(source: string): PausingWork<Decoded<string>> {
  const body = source.slice(1, -1);
  return body.includes('\\') ? yield* decodedLong(body) : wellFormed(body);
}

function characterOf(code: number): string | undefined {
  return code < 0 || code > 0x10ffff ? undefined : String.fromCodePoint(code);
}

/** What is wrong with the escape that begins at `at`. */
function noEscape(body: string, at: number): Decoded<string> {
  const letter = body[at + 1] ?? '';
  const digitCount = letter === 'u' ? 4 : letter === 'U' ? 8 : 0;
  if (digitCount === 0)
    return { detail: 'UnexpectedSyntax', problem: `unknown escape '\\${letter}'` };
  const hex = body.slice(at + 2, at + 2 + digitCount);
  return { detail: 'InvalidUnicodeLiteral', problem: `'\\${letter}${hex}' is no character` };
}

/** From so many characters on pieces of text cost more than a buffer. */
const longBody = 4_096;
/** Between two places to pause: a millisecond or two. */
const unitsPerStep = 500_000;
const backslash = 92;
const oneByteMax = 0xff;

/** Of `simpleEscapes` by their letters, the last unit of each; 0 for none. Two million of them took 40 ms by the map. */
const simpleUnits = new Uint16Array(128);
for (const [letter, simple] of simpleEscapes)
  simpleUnits[letter.charCodeAt(0)] = simple.charCodeAt(simple.length - 1);
const slash = 47;

/** As the loop of `decodeString`, ten times as fast. */
function* decodedLong(body: string): PausingWork<Decoded<string>> {
  const units = new Uint16Array(body.length);
  let length = 0;
  let all = 0;
  let pauseAt = unitsPerStep;
  for (let at = 0; at < body.length; at += 1) {
    if (at >= pauseAt) {
      yield;
      pauseAt = at + unitsPerStep;
    }
    let unit = body.charCodeAt(at);
    if (unit === backslash) {
      const escapeAt = at;
      at += 1;
      const letter = body.charCodeAt(at);
      const digitCount = letter === 117 ? 4 : letter === 85 ? 8 : 0;
      if (digitCount > 0) {
        const code = hexadecimal(body, at + 1, digitCount);
        if (code < 0 || code > 0x10ffff) return noEscape(body, escapeAt);
        at += digitCount;
        unit = code;
        if (code > 0xffff) {
          unit = 0xdc00 + (code & 0x3ff);
          units[length] = 0xd800 + ((code - 0x10000) >> 10);
          length += 1;
        }
      } else {
        unit = simpleUnits[letter] ?? 0;
        if (unit === 0) return noEscape(body, escapeAt);
        if (letter === slash) {
          units[length] = backslash;
          length += 1;
        }
      }
    }
    units[length] = unit;
    length += 1;
    all |= unit;
  }
  const used = units.subarray(0, length);
  yield;
  return wellFormed(
    all <= oneByteMax
      ? Buffer.from(used).toString('latin1')
      : Buffer.from(units.buffer, 0, 2 * length).toString('utf16le'),
  );
}

/** Negative for what is no number of so many digits. */
function hexadecimal(body: string, from: number, digitCount: number): number {
  let code = 0;
  for (let at = from; at < from + digitCount; at += 1) {
    const unit = body.charCodeAt(at) | 0x20;
    const digit = unit >= 97 && unit <= 102 ? unit - 87 : unit >= 48 && unit <= 57 ? unit - 48 : -1;
    if (digit < 0 || body.charCodeAt(at) < 48) return -1;
    code = code * 16 + digit;
  }
  return code;
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

const plainDigits = /^[1-9]\d*$|^0$/;
/** Fewer digits than a double holds. */
const plainDigitsMax = 15;

/** The integer that a token spells, negated when a minus stands right before it. */
export function decodeInteger(
  source: string,
  isNegative: boolean,
  limits: NumberLimits = defaultNumberLimits,
): Decoded<Value> {
  if (source.length <= plainDigitsMax && plainDigits.test(source))
    return { value: isNegative && source !== '0' ? -Number(source) : Number(source) };
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
