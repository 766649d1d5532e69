import { civilFromDays, daysFromCivil, daysInMonth, msPerDay } from './temporal.ts';
import { monthNames, shorten, weekdayNames } from './pattern.ts';
import type { NumberField, TemporalPattern, TextField } from './pattern.ts';

/** Date and time of day on a local clock, without a zone. */
export interface LocalFields {
  readonly epochDay: number;
  /** Milliseconds since midnight; 0 when the text had no time. */
  readonly msOfDay: number;
  readonly nanosOfMs: number;
}

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
  /** The text names a week-year, a week or a quarter, which alone name no day. */
  isRough: boolean;
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
    isRough: false,
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
    // These say nothing that a year, month and day do not say; they are read and dropped.
    case 'weekYear':
    case 'week':
    case 'quarter':
      into.isRough = true;
      return true;
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
  if (Number.isNaN(parsed.year) && parsed.isRough) return undefined;
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
