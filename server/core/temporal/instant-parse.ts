import {
  dayOfCalendar,
  dayOfOrdinalDate,
  dayOfQuarterDate,
  dayOfWeekDate,
  invalid,
  requirePart,
} from './calendar.ts';
import { durationOfParts, type Scaled, scaledText } from './cypher-duration.ts';
import type { CypherDuration } from './instants.ts';
import { parseOffset, parseZone, type ZoneChoice } from './zones.ts';

/** ISO 8601 texts and their relatives (cypher.md 8.1): dates, times, zones and durations. Omitted parts are the lowest. */

const dateShape =
  /^(?:([+-]\d{1,9}(?=-|$))|([+-]?\d{4}))(?:-?W(\d{2})(?:-?(\d))?|-?Q(\d)(?:-?(\d{1,2}))?|-(\d{3})|-?(\d{3})(?!\d)|-(\d{1,2})(?:-(\d{1,2}))?|(\d{2})(\d{2})?)?$/;

/** Longer texts are none of these. */
const textLengthMax = 200;

/** Epoch day of a date. */
export function parseIsoDate(text: string): number {
  const match = text.length > textLengthMax ? null : dateShape.exec(text);
  if (match === null) throw unreadable(text, 'a date');
  const year = Number(match[1] ?? match[2]);
  const [week, weekDay, quarter, ofQuarter] = match.slice(3, 7);
  if (week !== undefined) return dayOfWeekDate(year, Number(week), Number(weekDay ?? 1));
  if (quarter !== undefined) return dayOfQuarterDate(year, Number(quarter), Number(ofQuarter ?? 1));
  const ordinal = match[7] ?? match[8];
  if (ordinal !== undefined) return dayOfOrdinalDate(year, Number(ordinal));
  return dayOfCalendar(
    year,
    Number(match[9] ?? match[11] ?? 1),
    Number(match[10] ?? match[12] ?? 1),
  );
}

const timeShape =
  /^(\d{1,2})(?:(?::(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,9}))?)?)|(?:(\d{2})(?:(\d{2})(?:[.,](\d{1,9}))?)?))?$/;

/** Nanoseconds of the day of a time without zone. */
export function parseIsoTime(text: string): number {
  const match = timeShape.exec(text);
  if (match === null) throw unreadable(text, 'a time');
  const hour = requirePart('hour', Number(match[1]), 0, 23);
  const minute = requirePart('minute', Number(match[2] ?? match[5] ?? 0), 0, 59);
  const second = requirePart('second', Number(match[3] ?? match[6] ?? 0), 0, 59);
  const nanos = Number((match[4] ?? match[7] ?? '').padEnd(9, '0'));
  return ((hour * 60 + minute) * 60 + second) * 1_000_000_000 + nanos;
}

const zoneShape = /(Z|z|[+-]\d{2}(?::?\d{2}(?::?\d{2})?)?)?(?:\[([^\]]*)\])?$/;

export interface ZonedText {
  readonly text: string;
  readonly offsetSeconds: number | undefined;
  readonly named: ZoneChoice | undefined;
}

/** Cuts offset and zone name off the end of a time. */
export function splitZone(text: string): ZonedText {
  const match = zoneShape.exec(text);
  if (match === null) return { text, offsetSeconds: undefined, named: undefined };
  const [all, offset, name] = match;
  return {
    text: text.slice(0, text.length - all.length),
    offsetSeconds: offset === undefined ? undefined : parseOffset(offset),
    named: name === undefined ? undefined : parseZone(name),
  };
}

/** Date and time around the `T`; the time may be absent. */
export function splitDateTime(text: string): { readonly date: string; readonly time: string } {
  const at = text.indexOf('T');
  return at < 0
    ? { date: text, time: '' }
    : { date: text.slice(0, at), time: text.slice(at + 1) || '?' };
}

const durationShape = /^([+-]?)P(?=[\dT+-])([^T]*)(?:T(?=[\d+-])(.*))?$/;
const amountShape = /([+-]?)(\d{1,19})(?:[.,](\d{1,30}))?([A-Z])/y;
const dateUnits = 'YQMWD';
const timeUnits = 'HMS';
const dateTimeDurationShape =
  /^([+-]?)P(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,9}))?$/;

/** `P1Y2M10DT2H30M`, `P2.5W`, `PT-0.5S`, `P2012-02-02T14:37:21.545` */
export function parseIsoDuration(text: string): CypherDuration {
  const match = text.length > textLengthMax ? null : durationShape.exec(text);
  if (match === null) throw unreadable(text, 'a duration');
  const [, prefix, dateText = '', timeText = ''] = match;
  const date = amountsOf(dateText, dateUnits);
  const time = amountsOf(timeText, timeUnits);
  if (date === undefined || time === undefined) return parseDateTimeDuration(text);
  const sign = prefix === '-' ? -1n : 1n;
  const count = (amounts: ReadonlyMap<string, Scaled>, unit: string) =>
    sign * (amounts.get(unit) ?? 0n);
  return durationOfParts({
    months: count(date, 'Y') * 12n + count(date, 'Q') * 3n + count(date, 'M'),
    days: count(date, 'W') * 7n + count(date, 'D'),
    seconds: count(time, 'H') * 3_600n + count(time, 'M') * 60n + count(time, 'S'),
    nanos: 0n,
  });
}

/** Amounts by unit, each at most once and in the order of the units; undefined for other texts. */
function amountsOf(text: string, units: string): ReadonlyMap<string, Scaled> | undefined {
  const amounts = new Map<string, Scaled>();
  let last = -1;
  amountShape.lastIndex = 0;
  for (let at = 0; at < text.length; at = amountShape.lastIndex) {
    const match = amountShape.exec(text);
    if (match === null) return undefined;
    const [, sign, whole = '', fraction = '', unit = ''] = match;
    const place = units.indexOf(unit);
    if (place <= last) return undefined;
    last = place;
    const size = scaledText(whole, fraction);
    amounts.set(unit, sign === '-' ? -size : size);
  }
  return amounts;
}

function parseDateTimeDuration(text: string): CypherDuration {
  const match = text.length > textLengthMax ? null : dateTimeDurationShape.exec(text);
  if (match === null) throw unreadable(text, 'a duration');
  const sign = match[1] === '-' ? -1n : 1n;
  const count = (at: number) => scaledText(match[at] ?? '0', '') * sign;
  return durationOfParts({
    months: count(2) * 12n + count(3),
    days: count(4),
    seconds: count(5) * 3_600n + count(6) * 60n + count(7),
    nanos: scaledText((match[8] ?? '').padEnd(9, '0'), '') * sign,
  });
}

export function unreadable(text: string, what: string) {
  return invalid(`'${text.slice(0, 60)}' is not ${what}`);
}
