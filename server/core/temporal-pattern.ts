import { DatabaseError } from './errors.ts';
import { civilFromDays, dayOfWeek, daysFromCivil, daysInMonth, msPerDay } from './temporal.ts';
import type { TimeZone } from './time-zone.ts';

/**
 * Letter patterns of dates and times (table in sql-functions.md 5), compiled once per text and used for both printing and
 * parsing. Printing never fails; parsing takes the whole text and refuses days that do not exist. Names are English.
 * Start with `compilePattern`; the letters are listed in `fieldOf`.
 */
export interface TemporalPattern {
  readonly tokens: readonly Token[];
  /** It prints part of a second itself, so no fraction is added behind it. */
  readonly hasFraction: boolean;
  readonly hasTime: boolean;
}

type Token =
  | { readonly kind: 'literal'; readonly text: string }
  /** `adjacent`: the next token is a number too, so that parsing must take exactly `width` digits. */
  | {
      readonly kind: 'number';
      readonly field: NumberField;
      readonly width: number;
      readonly adjacent: boolean;
    }
  | { readonly kind: 'text'; readonly field: TextField; readonly width: number };

type NumberField =
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
type TextField =
  | 'month'
  | 'weekday'
  | 'amPm'
  | 'era'
  | 'zoneName'
  | 'zoneId'
  | 'offsetX'
  | 'offsetx'
  | 'offsetZ';

/** Date and time of day on a local clock, without a zone. */
export interface LocalFields {
  readonly epochDay: number;
  /** Milliseconds since midnight; 0 when the text had no time. */
  readonly msOfDay: number;
  readonly nanosOfMs: number;
}

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

// ---------------------------------------------------------------- printing

const monthNames =
  'January February March April May June July August September October November December'.split(
    ' ',
  );
const weekdayNames = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ');

/** What a moment or a date looks like in `zone`; a date is printed as its midnight. Cost: one pass over the pattern. */
export function printPattern(
  pattern: TemporalPattern,
  moment: { readonly epochMs: number; readonly nanosOfMs: number },
  zone: TimeZone,
): string {
  const localMs = moment.epochMs + zone.offsetAt(moment.epochMs);
  const epochDay = Math.floor(localMs / msPerDay);
  const msOfDay = localMs - epochDay * msPerDay;
  const civil = civilFromDays(epochDay);
  const tokens = pattern.tokens;
  let text = '';
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] as Token;
    if (token.kind === 'literal') text += token.text;
    else if (token.kind === 'number') {
      const { field, width } = token;
      if (field === 'fraction') text += fractionDigits(msOfDay, moment.nanosOfMs, width);
      else if (field === 'year' || field === 'weekYear')
        text += yearText(field === 'year' ? civil.year : weekOf(epochDay).year, width);
      else {
        const n = numberFor(field, civil.month, civil.day, epochDay, msOfDay, moment.nanosOfMs);
        text += n < 10 && width === 2 ? `0${n}` : String(n).padStart(width, '0');
      }
    } else text += textFor(token, civil, epochDay, msOfDay, moment.epochMs, zone);
  }
  return text;
}

function yearText(year: number, width: number): string {
  if (width === 2) return String(((year % 100) + 100) % 100).padStart(2, '0');
  const digits = String(Math.abs(year)).padStart(width, '0');
  if (year < 0) return `-${digits}`;
  return width >= 4 && digits.length > width ? `+${digits}` : digits;
}

function numberFor(
  field: NumberField,
  month: number,
  day: number,
  epochDay: number,
  msOfDay: number,
  nanosOfMs: number,
): number {
  const hour = Math.floor(msOfDay / 3_600_000);
  switch (field) {
    case 'month':
      return month;
    case 'day':
      return day;
    case 'hour':
      return hour;
    case 'minute':
      return Math.floor(msOfDay / 60_000) % 60;
    case 'second':
      return Math.floor(msOfDay / 1_000) % 60;
    case 'hour12':
      return hour % 12 || 12;
    case 'hour11':
      return hour % 12;
    case 'hour24':
      return hour || 24;
    case 'quarter':
      return Math.ceil(month / 3);
    case 'dayOfYear':
      return epochDay - daysFromCivil(civilFromDays(epochDay).year, 1, 1) + 1;
    case 'dayOfWeek':
      return dayOfWeek(epochDay);
    case 'week':
      return weekOf(epochDay).week;
    case 'nano':
      return (msOfDay % 1_000) * 1_000_000 + nanosOfMs;
    case 'milliOfDay':
      return msOfDay;
    case 'year':
    case 'weekYear':
    case 'fraction':
      return 0; // printed by the caller, which knows the width
  }
}

/** The first `width` digits of the fraction of the second. */
export function fractionDigits(msOfDay: number, nanosOfMs: number, width: number): string {
  const nanos = (msOfDay % 1_000) * 1_000_000 + nanosOfMs;
  return String(nanos).padStart(9, '0').slice(0, width).padEnd(width, '0');
}

/** ISO 8601 week and its year. */
export function weekOf(epochDay: number): { readonly year: number; readonly week: number } {
  const thursday = epochDay - dayOfWeek(epochDay) + 4;
  const { year } = civilFromDays(thursday);
  return { year, week: Math.floor((thursday - daysFromCivil(year, 1, 1)) / 7) + 1 };
}

function textFor(
  token: { readonly field: TextField; readonly width: number },
  civil: { readonly year: number; readonly month: number },
  epochDay: number,
  msOfDay: number,
  epochMs: number,
  zone: TimeZone,
): string {
  switch (token.field) {
    case 'month':
      return shorten(monthNames[civil.month - 1] ?? '', token.width);
    case 'weekday':
      return shorten(weekdayNames[dayOfWeek(epochDay) - 1] ?? '', token.width);
    case 'amPm':
      return msOfDay < 43_200_000 ? 'AM' : 'PM';
    case 'era':
      return civil.year > 0 ? 'AD' : 'BC';
    case 'zoneName':
      return zone.nameAt(epochMs);
    case 'zoneId':
      return zone.id;
    default:
      return offsetText(token.field, token.width, zone.offsetAt(epochMs));
  }
}

function shorten(name: string, width: number): string {
  if (width === 5) return name.slice(0, 1);
  return width <= 3 ? name.slice(0, 3) : name;
}

/** `X` and `x`: 1 `+02`, 2 `+0200`, 3 `+02:00`; `Z`: 1-3 `+0200`, 4 `GMT+02:00`, 5 `+02:00`. `X` and `ZZZZZ` write `Z` for UTC. */
function offsetText(field: TextField, width: number, offsetMs: number): string {
  const isUtc = offsetMs === 0;
  if (isUtc && (field === 'offsetX' || (field === 'offsetZ' && width === 5))) return 'Z';
  const total = Math.abs(Math.trunc(offsetMs / 1_000));
  const sign = offsetMs < 0 ? '-' : '+';
  const hours = String(Math.floor(total / 3_600)).padStart(2, '0');
  const minutes = String(Math.floor(total / 60) % 60).padStart(2, '0');
  if (field === 'offsetZ') {
    if (width === 4) return isUtc ? 'GMT' : `GMT${sign}${hours}:${minutes}`;
    return width === 5 ? `${sign}${hours}:${minutes}` : `${sign}${hours}${minutes}`;
  }
  if (width === 1) return minutes === '00' ? `${sign}${hours}` : `${sign}${hours}${minutes}`;
  return width === 2 || width === 4 ? `${sign}${hours}${minutes}` : `${sign}${hours}:${minutes}`;
}

// ---------------------------------------------------------------- parsing

/** What a text says, field by field. */
interface Parsed {
  year: number;
  month: number;
  day: number;
  dayOfYear: number;
  hour: number;
  hour12: number;
  isPm: boolean | undefined;
  minute: number;
  second: number;
  nanos: number;
  milliOfDay: number;
}

function unparsed(): Parsed {
  return {
    year: Number.NaN,
    month: 1,
    day: 1,
    dayOfYear: Number.NaN,
    hour: 0,
    hour12: Number.NaN,
    isPm: undefined,
    minute: 0,
    second: 0,
    nanos: 0,
    milliOfDay: Number.NaN,
  };
}

/**
 * Reads the whole of `text` by `pattern`; a zone or an offset in the text is read and dropped.
 * @returns undefined when the text does not match, or names a day or time that does not exist
 */
export function parsePattern(pattern: TemporalPattern, text: string): LocalFields | undefined {
  const match = parsePatternPrefix(pattern, text);
  return match !== undefined && match.end === text.length ? match.fields : undefined;
}

/** As `parsePattern`, for a text that may go on after the pattern; `end` is where. */
export function parsePatternPrefix(
  pattern: TemporalPattern,
  text: string,
): { readonly fields: LocalFields; readonly end: number } | undefined {
  const parsed = unparsed();
  let position = 0;
  for (const token of pattern.tokens) {
    if (token.kind === 'literal') {
      if (!text.startsWith(token.text, position)) return undefined;
      position += token.text.length;
    } else if (token.kind === 'number') {
      position = parseNumber(token, text, position, parsed);
    } else {
      position = parseText(token, text, position, parsed);
    }
    if (position < 0) return undefined;
  }
  const fields = resolve(parsed);
  return fields && { fields, end: position };
}

const noMatch = -1;

function digitsAt(text: string, position: number, countMax: number): number {
  let end = position;
  while (end < text.length && end - position < countMax) {
    const code = text.charCodeAt(end);
    if (code < 48 || code > 57) break;
    end++;
  }
  return end - position;
}

/** @returns the position behind the number, or -1 */
function parseNumber(
  token: { readonly field: NumberField; readonly width: number; readonly adjacent: boolean },
  text: string,
  start: number,
  into: Parsed,
): number {
  const { field, width } = token;
  let position = start;
  let sign = 1;
  const isYear = field === 'year' || field === 'weekYear';
  if (isYear && width !== 2 && (text[position] === '-' || text[position] === '+')) {
    if (text[position] === '-') sign = -1;
    position++;
  }
  const isOpen = isYear ? width !== 2 : width === 1 || field === 'dayOfYear';
  const exact = token.adjacent || field === 'fraction' || !isOpen;
  const countMin = field === 'nano' ? 1 : width;
  const countMax =
    exact && field !== 'nano' ? width : isYear || field === 'nano' ? 9 : digitsMax(field);
  const count = digitsAt(text, position, countMax);
  if (count < countMin) return noMatch;
  const digits = text.slice(position, position + count);
  if (!store(field, sign * Number(digits), digits, width, into)) return noMatch;
  return position + count;
}

function digitsMax(field: NumberField): number {
  return field === 'dayOfYear' ? 3 : field === 'milliOfDay' ? 8 : 2;
}

function store(
  field: NumberField,
  n: number,
  digits: string,
  width: number,
  into: Parsed,
): boolean {
  switch (field) {
    case 'year':
      into.year = width === 2 ? 2_000 + n : n;
      return true;
    case 'month':
      into.month = n;
      return n >= 1 && n <= 12;
    case 'day':
      into.day = n;
      return n >= 1 && n <= 31;
    case 'dayOfYear':
      into.dayOfYear = n;
      return n >= 1 && n <= 366;
    case 'hour':
      into.hour = n;
      return n <= 23;
    case 'hour24':
      into.hour = n % 24;
      return n >= 1 && n <= 24;
    case 'hour12':
      into.hour12 = n % 12;
      return n >= 1 && n <= 12;
    case 'hour11':
      into.hour12 = n;
      return n <= 11;
    case 'minute':
      into.minute = n;
      return n <= 59;
    case 'second':
      into.second = n;
      return n <= 59;
    case 'fraction':
      into.nanos = Number(digits.slice(0, 9).padEnd(9, '0'));
      return true;
    case 'nano':
      into.nanos = n;
      return true;
    case 'milliOfDay':
      into.milliOfDay = n;
      return n < msPerDay;
    // These say nothing that the other fields do not say; they are read and dropped.
    case 'weekYear':
    case 'week':
    case 'quarter':
    case 'dayOfWeek':
      return true;
  }
}

function parseText(
  token: { readonly field: TextField; readonly width: number },
  text: string,
  start: number,
  into: Parsed,
): number {
  switch (token.field) {
    case 'month': {
      const index = nameAt(monthNames, token.width, text, start);
      if (index < 0) return noMatch;
      into.month = index + 1;
      return start + shorten(monthNames[index] ?? '', token.width).length;
    }
    case 'weekday': {
      const index = nameAt(weekdayNames, token.width, text, start);
      return index < 0 ? noMatch : start + shorten(weekdayNames[index] ?? '', token.width).length;
    }
    case 'amPm': {
      const word = text.slice(start, start + 2).toUpperCase();
      if (word !== 'AM' && word !== 'PM') return noMatch;
      into.isPm = word === 'PM';
      return start + 2;
    }
    case 'era':
      return text.startsWith('AD', start) || text.startsWith('BC', start) ? start + 2 : noMatch;
    case 'zoneName':
    case 'zoneId': {
      const zone = /[A-Za-z0-9_+\-/:]*/y;
      zone.lastIndex = start;
      const length = zone.exec(text)?.[0].length ?? 0;
      return length === 0 ? noMatch : start + length;
    }
    default: {
      const offset = /Z|(?:GMT)?[+-]\d{2}(?::?\d{2}){0,2}|GMT/y;
      offset.lastIndex = start;
      const length = offset.exec(text)?.[0].length ?? 0;
      return length === 0 ? noMatch : start + length;
    }
  }
}

function nameAt(names: readonly string[], width: number, text: string, start: number): number {
  return names.findIndex((name) => {
    const wanted = shorten(name, width);
    return text.slice(start, start + wanted.length).toLowerCase() === wanted.toLowerCase();
  });
}

function resolve(parsed: Parsed): LocalFields | undefined {
  const year = Number.isNaN(parsed.year) ? 1970 : parsed.year;
  let epochDay: number;
  if (!Number.isNaN(parsed.dayOfYear)) {
    epochDay = daysFromCivil(year, 1, 1) + parsed.dayOfYear - 1;
    if (civilFromDays(epochDay).year !== year) return undefined;
  } else {
    if (parsed.day > daysInMonth(year, parsed.month)) return undefined;
    epochDay = daysFromCivil(year, parsed.month, parsed.day);
  }
  const nanosOfMs = parsed.nanos % 1_000_000;
  if (!Number.isNaN(parsed.milliOfDay)) return { epochDay, msOfDay: parsed.milliOfDay, nanosOfMs };
  const hour = Number.isNaN(parsed.hour12)
    ? parsed.hour
    : parsed.hour12 + (parsed.isPm === true ? 12 : 0);
  const ms = Math.floor(parsed.nanos / 1_000_000);
  const msOfDay = hour * 3_600_000 + parsed.minute * 60_000 + parsed.second * 1_000 + ms;
  return { epochDay, msOfDay, nanosOfMs };
}
