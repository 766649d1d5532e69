import { DatabaseError } from '../errors.ts';

/**
 * Letter patterns of dates and times (table in sql-functions.md 5), compiled once per text and used for both printing and
 * parsing (temporal-print.ts, temporal-parse.ts). Names are English. Start with `compilePattern`; the letters are listed in
 * `fieldOf`.
 */
export interface TemporalPattern {
  readonly tokens: readonly Token[];
  /** It prints part of a second itself, so no fraction is added behind it. */
  readonly hasFraction: boolean;
  readonly hasTime: boolean;
  /** `yyyy-MM-dd HH:mm:ss` */
  readonly isPlainDateTime: boolean;
}

export type Token =
  | { readonly kind: 'literal'; readonly text: string }
  /** `adjacent`: the next token is a number too, so that parsing must take exactly `width` digits. */
  | {
      readonly kind: 'number';
      readonly field: NumberField;
      readonly width: number;
      readonly adjacent: boolean;
    }
  | { readonly kind: 'text'; readonly field: TextField; readonly width: number };

export type NumberField =
  | 'year'
  | 'weekYear'
  | 'week'
  | 'quarter'
  | 'month'
  | 'day'
  | 'dayOfYear'
  | 'dayOfWeek'
  | 'hour'
  | 'hour12'
  | 'hour24'
  | 'hour11'
  | 'minute'
  | 'second'
  | 'fraction'
  | 'nano'
  | 'milliOfDay';
export type TextField =
  | 'month'
  | 'weekday'
  | 'amPm'
  | 'era'
  | 'zoneName'
  | 'zoneId'
  | 'offsetX'
  | 'offsetx'
  | 'offsetZ';

const patterns = new Map<string, TemporalPattern>();
const patternCountMax = 1_000;
const patternLengthMax = 256;

/**
 * @throws DatabaseError `IllegalArgument` for an unknown letter, an open quote, or more than 256 characters
 */
export function compilePattern(text: string): TemporalPattern {
  const known = patterns.get(text);
  if (known) return known;
  if (text.length > patternLengthMax)
    throw new DatabaseError(
      'IllegalArgument',
      `date pattern longer than ${patternLengthMax} characters`,
    );
  const tokens = markAdjacent(tokenize(text));
  const pattern: TemporalPattern = {
    tokens,
    hasFraction: tokens.some(isFraction),
    hasTime: tokens.some(isTime),
    isPlainDateTime: text === 'yyyy-MM-dd HH:mm:ss',
  };
  if (patterns.size >= patternCountMax) patterns.clear();
  patterns.set(text, pattern);
  return pattern;
}

function isFraction(token: Token): boolean {
  return (
    token.kind === 'number' &&
    (token.field === 'fraction' || token.field === 'nano' || token.field === 'milliOfDay')
  );
}

const timeFields: ReadonlySet<string> = new Set<NumberField>([
  'hour',
  'hour12',
  'hour24',
  'hour11',
  'minute',
  'second',
  'fraction',
  'nano',
  'milliOfDay',
]);

function isTime(token: Token): boolean {
  return token.kind === 'number' && timeFields.has(token.field);
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let position = 0;
  while (position < text.length) {
    const char = text.charAt(position);
    if (char === "'") {
      const [literal, next] = quoted(text, position);
      pushLiteral(tokens, literal);
      position = next;
    } else if (/[A-Za-z]/.test(char)) {
      let end = position + 1;
      while (text.charAt(end) === char) end++;
      tokens.push(fieldOf(char, end - position, text));
      position = end;
    } else {
      pushLiteral(tokens, char);
      position++;
    }
  }
  return tokens;
}

function pushLiteral(tokens: Token[], text: string): void {
  const last = tokens.at(-1);
  if (last?.kind === 'literal')
    tokens[tokens.length - 1] = { kind: 'literal', text: last.text + text };
  else tokens.push({ kind: 'literal', text });
}

/** The text of a quoted run that opens at `start`, and the position behind it; `''` is a quote, inside and outside. */
function quoted(text: string, start: number): [string, number] {
  if (text.charAt(start + 1) === "'") return ["'", start + 2];
  let literal = '';
  let position = start + 1;
  while (position < text.length) {
    const char = text.charAt(position);
    if (char !== "'") {
      literal += char;
      position++;
    } else if (text.charAt(position + 1) === "'") {
      literal += "'";
      position += 2;
    } else {
      return [literal, position + 1];
    }
  }
  throw new DatabaseError(
    'IllegalArgument',
    `invalid date pattern '${text}': the quote is not closed`,
  );
}

const numberLetters: Readonly<Record<string, NumberField>> = {
  y: 'year',
  u: 'year',
  Y: 'weekYear',
  w: 'week',
  Q: 'quarter',
  q: 'quarter',
  d: 'day',
  D: 'dayOfYear',
  H: 'hour',
  h: 'hour12',
  k: 'hour24',
  K: 'hour11',
  m: 'minute',
  s: 'second',
  S: 'fraction',
  n: 'nano',
  A: 'milliOfDay',
};

const textLetters: Readonly<Record<string, TextField>> = {
  a: 'amPm',
  G: 'era',
  z: 'zoneName',
  V: 'zoneId',
  X: 'offsetX',
  x: 'offsetx',
  Z: 'offsetZ',
};

function fieldOf(letter: string, width: number, pattern: string): Token {
  if (letter === 'M' || letter === 'L')
    return width <= 2
      ? { kind: 'number', field: 'month', width, adjacent: false }
      : { kind: 'text', field: 'month', width };
  if (letter === 'E') return { kind: 'text', field: 'weekday', width };
  if (letter === 'e' || letter === 'c')
    return width <= 2
      ? { kind: 'number', field: 'dayOfWeek', width, adjacent: false }
      : { kind: 'text', field: 'weekday', width };
  const number = numberLetters[letter];
  if (number) return { kind: 'number', field: number, width, adjacent: false };
  const text = textLetters[letter];
  if (text) return { kind: 'text', field: text, width };
  throw new DatabaseError(
    'IllegalArgument',
    `invalid date pattern '${pattern}': unknown pattern letter '${letter}'`,
  );
}

function markAdjacent(tokens: readonly Token[]): Token[] {
  return tokens.map((token, i) =>
    token.kind === 'number' && tokens[i + 1]?.kind === 'number'
      ? { ...token, adjacent: true }
      : token,
  );
}

/** English names, and how many letters of them a field of some width shows. */
export const monthNames =
  'January February March April May June July August September October November December'.split(
    ' ',
  );
export const weekdayNames = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ');

/** The form of a name for a field of `width` letters: 1, 3 or all. */
export function shorten(name: string, width: number): string {
  if (width === 5) return name.slice(0, 1);
  return width <= 3 ? name.slice(0, 3) : name;
}
