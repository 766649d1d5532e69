import {
  DateTime,
  LocalDate,
  epochDayMax,
  epochMsMax,
  makeDateTime,
  msPerDay,
} from './temporal.ts';
import { isoDate as isoDateText } from './instant-text.ts';
import { parsePattern, parsePatternPrefix } from './parse.ts';
import type { LocalFields } from './parse.ts';
import { compilePattern } from './pattern.ts';
import { fractionDigits, printPattern } from './print.ts';
import { timeZone } from './time-zone.ts';
import type { TimeZone } from './time-zone.ts';

/** How one database writes and reads dates (sql.md 2.4): letter patterns and a zone id. */
export interface TemporalFormats {
  readonly dateFormat: string;
  readonly dateTimeFormat: string;
  /** IANA name or fixed offset. */
  readonly zone: string;
}

export const defaultTemporalFormats: TemporalFormats = {
  dateFormat: 'yyyy-MM-dd',
  dateTimeFormat: 'yyyy-MM-dd HH:mm:ss',
  zone: 'UTC',
};

const utc = timeZone('UTC');

/** Text of a calendar date by the database's date format. */
export function formatDate(date: LocalDate, formats: TemporalFormats): string {
  return formatDateBy(date, formats.dateFormat);
}

/** Text of a calendar date by any pattern; time fields show midnight. @throws DatabaseError `IllegalArgument` */
export function formatDateBy(date: LocalDate, pattern: string): string {
  // Milliseconds of days beyond are no exact numbers.
  if (Math.abs(date.epochDay) > epochDayMax) return isoDateText(date.epochDay);
  const moment = { epochMs: date.epochDay * msPerDay, nanosOfMs: 0 };
  return printPattern(compilePattern(pattern), moment, utc);
}

const fractionWidth = { second: 0, millis: 3, micros: 6, nanos: 9 } as const;

/**
 * Text of a moment by the database's datetime format in its zone, followed by the fraction of the second when that is not
 * zero: 3 digits, 6 for micros, 9 for nanos, none for seconds. A format with fraction letters is used as it is (sql.md 2.4.4).
 */
export function formatDateTime(moment: DateTime, formats: TemporalFormats): string {
  const pattern = compilePattern(formats.dateTimeFormat);
  const text = printPattern(pattern, moment, timeZone(formats.zone));
  if (pattern.hasFraction) return text;
  const width = fractionWidth[moment.precision];
  if (width === 0) return text;
  const msOfSecond = ((moment.epochMs % 1_000) + 1_000) % 1_000;
  if (msOfSecond === 0 && moment.nanosOfMs === 0) return text;
  const digits = fractionDigits(msOfSecond, moment.nanosOfMs, width);
  return Number(digits) === 0 ? text : `${text}.${digits}`;
}

/** Text of a moment by any pattern, in any zone. @throws DatabaseError `IllegalArgument` for a wrong pattern or zone */
export function formatDateTimeBy(moment: DateTime, pattern: string, zone: string): string {
  return printPattern(compilePattern(pattern), moment, timeZone(zone));
}

const integerText = /^[+-]?\d{1,18}$/;
const isoDateTime =
  /^([+-]?\d{4,9})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:[Zz]|[+-]\d{2}(?::?\d{2}){0,2})?(?:\[[\w/+\-:]+\])?$/;
const isoDate = /^([+-]?\d{4,9})-(\d{2})-(\d{2})(?:[Zz]|[+-]\d{2}:\d{2})?$/;

/**
 * A moment from text, in the order of sql.md 2.4.2: epoch milliseconds, ISO 8601 (a zone in it is dropped, the local fields
 * are kept), the datetime format with an optional fraction of 1 to 9 digits, the date format and the ISO date at midnight.
 * @returns undefined when the text is none of these; the precision is what the fraction needs
 */
export function parseDateTime(text: string, formats: TemporalFormats): DateTime | undefined {
  if (integerText.test(text)) return momentOf(Number(text));
  const fields =
    parseIsoDateTime(text) ??
    parseWithFraction(text, formats.dateTimeFormat) ??
    parsePattern(compilePattern(formats.dateFormat), text) ??
    parseIsoDate(text);
  return fields && localToDateTime(fields, timeZone(formats.zone));
}

/**
 * A calendar date from text: days since the epoch, the datetime format, the date format (sql.md 2.4.3), ISO 8601.
 * @returns undefined when the text is none of these
 */
export function parseDate(text: string, formats: TemporalFormats): LocalDate | undefined {
  if (integerText.test(text)) return dateOf(Number(text));
  const fields =
    parseWithFraction(text, formats.dateTimeFormat) ??
    parsePattern(compilePattern(formats.dateFormat), text) ??
    parseIsoDate(text) ??
    parseIsoDateTime(text);
  return fields && dateOf(fields.epochDay);
}

/**
 * A moment from text by any pattern; fields that the pattern lacks are those of 1970-01-01T00:00. An offset or zone in the
 * text is dropped: the local fields are those of `zone`.
 * @returns undefined when the text does not match
 * @throws DatabaseError `IllegalArgument` for a wrong pattern or zone
 */
export function parseDateTimeBy(text: string, pattern: string, zone: string): DateTime | undefined {
  const compiled = compilePattern(pattern);
  const where = timeZone(zone);
  const fields = compiled.hasFraction
    ? parsePattern(compiled, text)
    : (parsePattern(compiled, text) ?? parseWithFraction(text, pattern));
  return fields && localToDateTime(fields, where);
}

/** A calendar date from text by any pattern. @returns undefined when the text does not match */
export function parseDateBy(text: string, pattern: string): LocalDate | undefined {
  const fields = parsePattern(compilePattern(pattern), text);
  return fields && dateOf(fields.epochDay);
}

/** Midnight of a calendar date in the database's zone. */
export function dateToDateTime(date: LocalDate, formats: TemporalFormats): DateTime {
  return new DateTime(timeZone(formats.zone).fromLocal(date.epochDay * msPerDay));
}

/** The calendar date that the database's clock shows at a moment. */
export function dateTimeToDate(moment: DateTime, formats: TemporalFormats): LocalDate {
  const localMs = moment.epochMs + timeZone(formats.zone).offsetAt(moment.epochMs);
  return new LocalDate(Math.floor(localMs / msPerDay));
}

/** A moment from epoch milliseconds; undefined outside the range that `DateTime` can hold. */
export function momentOf(epochMs: number): DateTime | undefined {
  const whole = Math.trunc(epochMs);
  return Math.abs(whole) <= epochMsMax ? new DateTime(whole + 0) : undefined;
}

/** A date from days since the epoch; undefined outside the range that `LocalDate` can hold. */
export function dateOf(epochDay: number): LocalDate | undefined {
  const whole = Math.trunc(epochDay);
  return Math.abs(whole) <= epochDayMax ? new LocalDate(whole + 0) : undefined;
}

function localToDateTime(fields: LocalFields, zone: TimeZone): DateTime | undefined {
  const localMs = fields.epochDay * msPerDay + fields.msOfDay;
  if (Math.abs(localMs) > epochMsMax) return undefined;
  return makeDateTime(zone.fromLocal(localMs), fields.nanosOfMs);
}

const fractionBehind = /^[.,](\d{1,9})$/;

/** By pattern, then perhaps a fraction, unless the pattern has fraction letters of its own or no time. */
function parseWithFraction(text: string, pattern: string): LocalFields | undefined {
  const compiled = compilePattern(pattern);
  const match = parsePatternPrefix(compiled, text);
  if (match === undefined) return undefined;
  if (match.end === text.length) return match.fields;
  if (compiled.hasFraction || !compiled.hasTime) return undefined;
  const fraction = fractionBehind.exec(text.slice(match.end));
  if (!fraction) return undefined;
  return withFraction(match.fields.epochDay, match.fields.msOfDay, fraction[1] ?? '');
}

function withFraction(epochDay: number, msOfDay: number, digits: string): LocalFields {
  const nanos = Number(digits.padEnd(9, '0'));
  const ms = Math.floor(nanos / 1_000_000);
  return { epochDay, msOfDay: msOfDay + ms, nanosOfMs: nanos - ms * 1_000_000 };
}

const isoDatePattern = compilePattern('uuuu-MM-dd');
const isoTimePattern = compilePattern('uuuu-MM-dd HH:mm:ss');

function parseIsoDate(text: string): LocalFields | undefined {
  const match = isoDate.exec(text);
  return match ? parsePattern(isoDatePattern, `${match[1]}-${match[2]}-${match[3]}`) : undefined;
}

function parseIsoDateTime(text: string): LocalFields | undefined {
  const match = isoDateTime.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second = '00', fraction = '0'] = match;
  const fields = parsePattern(
    isoTimePattern,
    `${year}-${month}-${day} ${hour}:${minute}:${second}`,
  );
  return fields && withFraction(fields.epochDay, fields.msOfDay, fraction);
}
