import { integer, type Value } from '../value/value.ts';
import { isoOffset } from './instant-text.ts';
import {
  type CypherDuration,
  type Instant,
  nanosPerSecond,
  secondsPerDay,
  utcOf,
  type ZonedDateTime,
} from './instants.ts';
import { weekOf } from './print.ts';
import { civilFromDays, dayOfWeek, daysFromCivil, type LocalDate } from './temporal.ts';

/** What `x.year`, `x.epochMillis`, `x.hours` and the like of a temporal value are (cypher.md 8.3); undefined for other names. */

export function instantComponent(value: Instant | LocalDate, name: string): Value | undefined {
  switch (value.valueKind) {
    case 'date':
      return dateComponent(value.epochDay, name);
    case 'localTime':
      return timeComponent(value.nanosOfDay, name);
    case 'zonedTime':
      return timeComponent(value.nanosOfDay, name) ?? offsetComponent(value, name);
    case 'localDateTime':
      return dateComponent(value.epochDay, name) ?? timeComponent(value.nanosOfDay, name);
    case 'zonedDateTime':
      return (
        dateComponent(value.epochDay, name) ??
        timeComponent(value.nanosOfDay, name) ??
        offsetComponent(value, name) ??
        epochComponent(value, name)
      );
  }
}

function dateComponent(epochDay: number, name: string): number | undefined {
  switch (name) {
    case 'year':
      return civilFromDays(epochDay).year;
    case 'quarter':
      return quarterOf(epochDay);
    case 'month':
      return civilFromDays(epochDay).month;
    case 'week':
      return weekOf(epochDay).week;
    case 'weekYear':
      return weekOf(epochDay).year;
    case 'day':
      return civilFromDays(epochDay).day;
    case 'ordinalDay':
      return epochDay - daysFromCivil(civilFromDays(epochDay).year, 1, 1) + 1;
    case 'weekDay':
    case 'dayOfWeek':
      return dayOfWeek(epochDay);
    case 'dayOfQuarter':
      return dayOfQuarter(epochDay);
    default:
      return undefined;
  }
}

export function quarterOf(epochDay: number): number {
  return Math.ceil(civilFromDays(epochDay).month / 3);
}

export function dayOfQuarter(epochDay: number): number {
  const { year } = civilFromDays(epochDay);
  return epochDay - daysFromCivil(year, quarterOf(epochDay) * 3 - 2, 1) + 1;
}

function timeComponent(nanosOfDay: number, name: string): number | undefined {
  const second = Math.floor(nanosOfDay / nanosPerSecond);
  const nanos = nanosOfDay - second * nanosPerSecond;
  switch (name) {
    case 'hour':
      return Math.floor(second / 3_600);
    case 'minute':
      return Math.floor(second / 60) % 60;
    case 'second':
      return second % 60;
    case 'millisecond':
      return Math.floor(nanos / 1_000_000);
    case 'microsecond':
      return Math.floor(nanos / 1_000);
    case 'nanosecond':
      return nanos;
    default:
      return undefined;
  }
}

function offsetComponent(
  value: { readonly offsetSeconds: number; readonly zone?: string },
  name: string,
): Value | undefined {
  switch (name) {
    case 'timezone':
      return value.zone === undefined || value.zone === ''
        ? isoOffset(value.offsetSeconds)
        : value.zone;
    case 'offset':
      return isoOffset(value.offsetSeconds);
    case 'offsetMinutes':
      return Math.trunc(value.offsetSeconds / 60) + 0;
    case 'offsetSeconds':
      return value.offsetSeconds;
    default:
      return undefined;
  }
}

function epochComponent(value: ZonedDateTime, name: string): Value | undefined {
  if (name !== 'epochMillis' && name !== 'epochSeconds') return undefined;
  const { epochDay, nanosOfDay } = utcOf(value);
  const perSecond = name === 'epochMillis' ? 1_000 : 1;
  const ofDay = Math.floor(nanosOfDay / (nanosPerSecond / perSecond));
  // Far years leave the exact doubles.
  return integer(BigInt(epochDay) * BigInt(secondsPerDay * perSecond) + BigInt(ofDay));
}

/** Whole counts of each group, and what is left of them in the next larger unit. */
export function durationComponent(length: CypherDuration, name: string): Value | undefined {
  const { months, days, seconds } = length;
  switch (name) {
    case 'years':
      return toward0(months, 12);
    case 'quarters':
      return toward0(months, 3);
    case 'months':
      return months;
    case 'weeks':
      return toward0(days, 7);
    case 'days':
      return days;
    case 'hours':
      return integer(BigInt(seconds) / 3_600n);
    case 'minutes':
      return integer(BigInt(seconds) / 60n);
    case 'seconds':
      return seconds;
    case 'quartersOfYear':
      return toward0(months % 12, 3);
    case 'monthsOfYear':
      return (months % 12) + 0;
    case 'monthsOfQuarter':
      return (months % 3) + 0;
    case 'daysOfWeek':
      return (days % 7) + 0;
    case 'minutesOfHour':
      return toward0(Number(BigInt(seconds) % 3_600n), 60);
    case 'secondsOfMinute':
      return Number(BigInt(seconds) % 60n) + 0;
    default:
      return fractionComponent(length, name);
  }
}

function fractionComponent(length: CypherDuration, name: string): Value | undefined {
  const { seconds, nanos } = length;
  const total = () => BigInt(seconds) * 1_000_000_000n + BigInt(nanos);
  switch (name) {
    case 'milliseconds':
      return integer(floorOver(total(), 1_000_000n));
    case 'microseconds':
      return integer(floorOver(total(), 1_000n));
    case 'nanoseconds':
      return integer(total());
    case 'millisecondsOfSecond':
      return Math.floor(nanos / 1_000_000);
    case 'microsecondsOfSecond':
      return Math.floor(nanos / 1_000);
    case 'nanosecondsOfSecond':
      return nanos;
    default:
      return undefined;
  }
}

function floorOver(n: bigint, divisor: bigint): bigint {
  return n >= 0n || n % divisor === 0n ? n / divisor : n / divisor - 1n;
}

function toward0(n: number, divisor: number): number {
  return Math.trunc(n / divisor) + 0;
}
