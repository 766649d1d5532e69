import { civilFromDays, dayOfWeek, daysFromCivil, msPerDay } from './temporal.ts';
import { monthNames, shorten, weekdayNames } from './pattern.ts';
import type { NumberField, TemporalPattern, TextField, Token } from './pattern.ts';
import type { TimeZone } from './time-zone.ts';

/** What a moment or a date looks like in `zone`; a date is printed as its midnight. Cost: one pass over the pattern. */
export function printPattern(
  pattern: TemporalPattern,
  moment: { readonly epochMs: number; readonly nanosOfMs: number },
  zone: TimeZone,
): string {
  const localMs = moment.epochMs + zone.offsetAt(moment.epochMs);
  const epochDay = Math.floor(localMs / msPerDay);
  const msOfDay = localMs - epochDay * msPerDay;
  if (pattern.isPlainDateTime && epochDay >= plainDayMin && epochDay <= plainDayMax)
    return printPlain(epochDay, msOfDay);
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

const twoDigits = Array.from({ length: 100 }, (_, n) => String(n).padStart(2, '0'));

/** Days of the years 1000 to 9999, which have four digits. */
const plainDayMin = daysFromCivil(1_000, 1, 1);
const plainDayMax = daysFromCivil(9_999, 12, 31);
const dayTexts = new Map<number, string>();
const dayTextCountMax = 20_000;

/** `yyyy-MM-dd HH:mm:ss`, the format of most databases, which answers print for every DATETIME. */
function printPlain(epochDay: number, msOfDay: number): string {
  const seconds = (msOfDay / 1_000) | 0;
  const minutes = (seconds / 60) | 0;
  const time = `${twoDigits[(minutes / 60) | 0]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`;
  return `${dayText(epochDay)} ${time}`;
}

function dayText(epochDay: number): string {
  let text = dayTexts.get(epochDay);
  if (text === undefined) {
    const { year, month, day } = civilFromDays(epochDay);
    text = `${year}-${twoDigits[month]}-${twoDigits[day]}`;
    if (dayTexts.size >= dayTextCountMax) dayTexts.clear();
    dayTexts.set(epochDay, text);
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
