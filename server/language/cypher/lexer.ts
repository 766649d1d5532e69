/**
 * Splits a text into tokens on demand and keeps where they stand in columns of numbers, so that the parser can look ahead and go
 * back at no cost. Lexical faults become tokens of kind `invalid`, so that a fault behind the first syntax error is not reported
 * before it. The arrows of patterns are put together by the parser from `<`, `-` and `>`.
 */

export const tokenKinds = [
  'end',
  'word',
  'quoted',
  'string',
  'integer',
  'float',
  'parameter',
  'invalid',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ';',
  ':',
  '::',
  '.',
  '..',
  '|',
  '||',
  '+',
  '+=',
  '-',
  '*',
  '/',
  '%',
  '^',
  '=',
  '=~',
  '!=',
  '<>',
  '<',
  '<=',
  '>',
  '>=',
  '!',
  '&',
  '$',
  '?',
] as const; // prettier-ignore
export type TokenKind = (typeof tokenKinds)[number];

const codeOf = new Map<TokenKind, number>(tokenKinds.map((kind, code) => [kind, code]));

/** Longest first where one sign begins another. */
const signs: readonly TokenKind[] = [
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ';',
  '::',
  ':',
  '..',
  '.',
  '||',
  '|',
  '+=',
  '+',
  '-',
  '*',
  '/',
  '%',
  '^',
  '=~',
  '=',
  '!=',
  '!',
  '<>',
  '<=',
  '<',
  '>=',
  '>',
  '&',
  '$',
  '?',
]; // prettier-ignore
const signsByFirst = new Map<string, TokenKind[]>();
for (const sign of signs) {
  const first = sign.charAt(0);
  const known = signsByFirst.get(first);
  if (known === undefined) signsByFirst.set(first, [sign]);
  else known.push(sign);
}

/** Signs that begin no other. */
const loneSigns: ReadonlyMap<number, TokenKind> = new Map(
  (['(', ')', '[', ']', '{', '}', ',', ';'] as const).map((sign) => [sign.charCodeAt(0), sign]),
);

const blank = /[\s\u001c-\u001f\u180e]*/uy;
const word = /[\p{L}\p{Nl}\p{Pc}][\p{L}\p{Nl}\p{N}\p{Mn}\p{Mc}\p{Pc}]*/uy;
const number =
  /0[xX][0-9a-zA-Z_]*|0[oO][0-9a-zA-Z_]*|(?:\d[\d_]*)?\.\d[\d_]*(?:[eE][+-]?\d+)?|\d[\d_]*(?:[eE][+-]?\d+)?/y;
const digits = /\d+/y;
/** Units of one token between two places to pause: a millisecond or two. */
const unitsPerStep = 250_000;
/** Longer numbers are refused without being read to their ends; their digits are fewer anyway (service.queryMaxNumberDigits). */
const numberLengthMax = 32 * 1024;
/** Other dashes look like a minus and are none. */
const dashes = /[\u00ad\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/u;

export class Tokens {
  readonly text: string;
  #kinds = new Uint8Array(64);
  #starts = new Int32Array(64);
  #ends = new Int32Array(64);
  #count = 0;
  #at = 0;
  /** Of the first backslash behind the beginning of the last string. */
  #escapeAt = -1;
  readonly #faults = new Map<number, { readonly detail: string; readonly problem: string }>();

  readonly #interrupt: ((token: number) => never) | undefined;
  /** Of the token that was being read at a pause: where it begins, and what is read next. */
  #interrupted: { readonly start: number; readonly at: number } | undefined;

  /** @param interrupt throws, and has the same token asked for again in another turn; absent: all is read at once */
  constructor(text: string, interrupt?: (token: number) => never) {
    this.text = text;
    this.#interrupt = interrupt;
  }

  kind(index: number): TokenKind {
    this.#reach(index);
    return tokenKinds[this.#kinds[index] as number] as TokenKind;
  }

  start(index: number): number {
    this.#reach(index);
    return this.#starts[index] as number;
  }

  end(index: number): number {
    this.#reach(index);
    return this.#ends[index] as number;
  }

  source(index: number): string {
    return this.text.slice(this.start(index), this.end(index));
  }

  /** Of an `invalid` token. */
  fault(index: number): { readonly detail: string; readonly problem: string } {
    return this.#faults.get(index) ?? { detail: 'UnexpectedSyntax', problem: 'unexpected text' };
  }

  #reach(index: number): void {
    while (this.#count <= index) this.#read();
  }

  #add(kind: TokenKind, start: number, end: number): TokenKind {
    if (this.#count === this.#kinds.length) this.#grow();
    this.#kinds[this.#count] = codeOf.get(kind) as number;
    this.#starts[this.#count] = start;
    this.#ends[this.#count] = end;
    this.#count += 1;
    this.#at = end;
    return kind;
  }

  /** Where the token that begins at `start` goes on, when it was begun before a pause. */
  #resumed(start: number): number | undefined {
    return this.#interrupted?.start === start ? this.#interrupted.at : undefined;
  }

  /** A long token is read up to `at`. */
  #pause(start: number, at: number): void {
    if (this.#interrupt === undefined) return;
    this.#interrupted = { start, at };
    this.#interrupt(this.#count);
  }

  #grow(): void {
    const size = this.#count * 2;
    const kinds = new Uint8Array(size);
    kinds.set(this.#kinds);
    this.#kinds = kinds;
    const starts = new Int32Array(size);
    starts.set(this.#starts);
    this.#starts = starts;
    const ends = new Int32Array(size);
    ends.set(this.#ends);
    this.#ends = ends;
  }

  #invalid(start: number, end: number, problem: string, detail = 'UnexpectedSyntax'): TokenKind {
    this.#faults.set(this.#count, { detail, problem });
    return this.#add('invalid', start, end);
  }

  #read(): TokenKind {
    const { text } = this;
    const start = this.#skipBlanks();
    if (start >= text.length) return this.#add('end', text.length, text.length);
    const code = text.charCodeAt(start);
    if (isDigit(code) || (code === 46 && isDigit(text.charCodeAt(start + 1))))
      return this.#number(start);
    if (code === 39 || code === 34) return this.#string(start, code);
    if (code === 96) return this.#quoted(start);
    const sign = loneSigns.get(code);
    if (sign !== undefined) return this.#add(sign, start, start + 1);
    word.lastIndex = start;
    if (word.test(text)) return this.#add('word', start, word.lastIndex);
    if (code === 36) return this.#parameter(start);
    for (const sign of signsByFirst.get(text.charAt(start)) ?? [])
      if (text.startsWith(sign, start)) return this.#add(sign, start, start + sign.length);
    const character = String.fromCodePoint(text.codePointAt(start) as number);
    const end = start + character.length;
    if (dashes.test(character))
      return this.#invalid(
        start,
        end,
        `'${character}' is no minus sign`,
        'InvalidUnicodeCharacter',
      );
    if (text.startsWith('/*', start)) return this.#invalid(start, end, 'comment without end');
    return this.#invalid(start, end, `unexpected '${character}'`);
  }

  #skipBlanks(): number {
    const { text } = this;
    let at = this.#at;
    for (;;) {
      at = behindSpaces(text, at);
      const code = text.charCodeAt(at);
      // Most tokens begin here.
      if (code > 32 && code < 127 && code !== 47) return at;
      at = behindPlainBlanks(text, at);
      blank.lastIndex = at;
      blank.test(text);
      at = blank.lastIndex;
      if (text.startsWith('//', at)) {
        const newline = text.indexOf('\n', at);
        at = newline < 0 ? text.length : newline + 1;
      } else if (text.startsWith('/*', at)) {
        const close = text.indexOf('*/', at + 2);
        if (close < 0) return at;
        at = close + 2;
      } else return at;
    }
  }

  #number(start: number): TokenKind {
    const { text } = this;
    const whole = endOfDigits(text, start);
    const isLongWhole = whole - start > numberLengthMax;
    const isLong = isLongWhole || endOfNumber(text, whole) - start > numberLengthMax;
    if (isLong)
      return this.#invalid(
        start,
        start + numberLengthMax,
        `number with more than ${numberLengthMax} characters (service.queryMaxNumberDigits)`,
        isLongWhole ? 'IntegerOverflow' : 'FloatingPointOverflow',
      );
    if (
      isPlainEnd(text.charCodeAt(whole)) &&
      (whole === start + 1 || text.charCodeAt(start) !== 48)
    )
      return this.#add('integer', start, whole);
    number.lastIndex = start;
    number.test(text);
    let end = number.lastIndex;
    const source = text.slice(start, end);
    word.lastIndex = end;
    const isGlued = word.test(text);
    if (isGlued) end = word.lastIndex;
    const isHex = /^0[xX]/.test(source);
    const isOctal = /^0[oO]/.test(source);
    const isWhole = isHex || isOctal || !/[.eE]/.test(source);
    const isWellFormed = isHex
      ? /^0[xX][0-9a-fA-F]+(?:_[0-9a-fA-F]+)*$/.test(source)
      : isOctal
        ? /^0[oO][0-7]+(?:_[0-7]+)*$/.test(source)
        : !/__|_$|_[.eE]|\._/.test(source) && !/^0\d/.test(isWhole ? source : '');
    if (isGlued || !isWellFormed)
      return this.#invalid(
        start,
        end,
        `'${text.slice(start, Math.min(end, start + 40))}' is no number`,
        'InvalidNumberLiteral',
      );
    return this.#add(isWhole ? 'integer' : 'float', start, end);
  }

  #string(start: number, quote: number): TokenKind {
    const { text } = this;
    const close = text.indexOf(quote === 39 ? "'" : '"', start + 1);
    if (this.#escapeAt <= start) {
      const next = text.indexOf('\\', start + 1);
      this.#escapeAt = next < 0 ? text.length : next;
    }
    if (close >= 0 && close < this.#escapeAt) return this.#add('string', start, close + 1);
    // Looked for one by one, thousands of escapes would take longer.
    const from = this.#resumed(start) ?? this.#escapeAt;
    let pauseAt = from + unitsPerStep;
    for (let at = from; at < text.length; at += 1) {
      if (at >= pauseAt) {
        this.#pause(start, at);
        pauseAt = at + unitsPerStep;
      }
      const code = text.charCodeAt(at);
      if (code === 92) at += 1;
      else if (code === quote) return this.#add('string', start, at + 1);
    }
    return this.#invalid(start, text.length, 'string without end');
  }

  #quoted(start: number): TokenKind {
    const { text } = this;
    const close = text.indexOf('`', start + 1);
    for (let at = close < 0 ? text.length : close; at < text.length; at += 1) {
      if (text.charCodeAt(at) !== 96) continue;
      if (text.charCodeAt(at + 1) === 96) at += 1;
      else if (at === start + 1) return this.#invalid(start, at + 1, 'empty name');
      else return this.#add('quoted', start, at + 1);
    }
    return this.#invalid(start, text.length, 'name without end');
  }

  #parameter(start: number): TokenKind {
    const { text } = this;
    const next = start + 1;
    word.lastIndex = next;
    if (word.test(text)) return this.#add('parameter', start, word.lastIndex);
    digits.lastIndex = next;
    if (digits.test(text)) return this.#add('parameter', start, digits.lastIndex);
    if (text.charAt(next) === '`') {
      const close = text.indexOf('`', next + 1);
      if (close > next + 1) return this.#add('parameter', start, close + 1);
    }
    return this.#add('$', start, next);
  }
}

const spacesAtOnce = ' '.repeat(4_096);
/** After so many there may be megabytes of them. */
const fewSpaces = 64;

function behindSpaces(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === 32) {
    at += 1;
    if (at - from === fewSpaces)
      while (text.startsWith(spacesAtOnce, at)) at += spacesAtOnce.length;
  }
  return at;
}

/** Nearly all blanks are these; megabytes of them take ten times as long by an expression. */
function behindPlainBlanks(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return at;
    at += 1;
  }
}

/** Looks no farther than a number may be long. */
function endOfDigits(text: string, start: number): number {
  const last = start + numberLengthMax;
  let at = start;
  while (at <= last && isDigit(text.charCodeAt(at))) at += 1;
  return at;
}

/** Behind digits, letters and points, and the signs of exponents; as far as `endOfDigits`. */
function endOfNumber(text: string, start: number): number {
  const last = start + numberLengthMax;
  let at = start;
  for (; at <= last; at += 1) {
    const code = text.charCodeAt(at);
    const isSign = (code === 43 || code === 45) && (text.charCodeAt(at - 1) | 32) === 101;
    if (!isSign && !isNumberUnit(code)) return at;
  }
  return at;
}

function isNumberUnit(code: number): boolean {
  if (isDigit(code) || code === 46 || code === 95) return true;
  return (code | 32) >= 97 && (code | 32) <= 122;
}

/** What ends a whole number whatever follows: a blank, a comma, a closing bracket. */
function isPlainEnd(code: number): boolean {
  return code === 32 || code === 44 || code === 41 || code === 93 || code === 125;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}
