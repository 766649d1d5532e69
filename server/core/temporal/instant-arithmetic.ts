import { invalid, plusMonths, requireDay } from './calendar.ts';
import { makeCypherDuration } from './cypher-duration.ts';
import {
  type CypherDuration,
  type Instant,
  LocalDateTime,
  LocalTime,
  nanosPerDay,
  type ZonedDateTime,
  ZonedTime,
  utcOf,
} from './instants.ts';
import { civilFromDays, LocalDate } from './temporal.ts';
import { atZone, inZone, type ZoneChoice, zoneOf } from './zones.ts';

/** Instants and durations in `+`, `-` and `duration.between` (cypher.md 8.4). */

const secondsPerDay = 86_400n;

/** @throws DatabaseError `IllegalArgument` for dates beyond the years that there are */
export function plusDuration<T extends Instant | LocalDate>(
  value: T,
  length: CypherDuration,
  sign: 1 | -1,
): Instant | LocalDate {
  const instant = value as Instant | LocalDate;
  switch (instant.valueKind) {
    case 'date': {
      const days = BigInt(length.days) + BigInt(length.seconds) / secondsPerDay;
      return new LocalDate(
        plusDays(plusMonths(instant.epochDay, sign * length.months), days, sign),
      );
    }
    case 'localTime':
      return new LocalTime(plusNanos(0, instant.nanosOfDay, length, sign).nanosOfDay);
    case 'zonedTime': {
      const { nanosOfDay } = plusNanos(0, instant.nanosOfDay, length, sign);
      return new ZonedTime(nanosOfDay, instant.offsetSeconds);
    }
    case 'localDateTime': {
      const day = plusWholeDays(instant.epochDay, length, sign);
      const shifted = plusNanos(day, instant.nanosOfDay, length, sign);
      requireDay(shifted.epochDay);
      return shifted;
    }
    case 'zonedDateTime': {
      const day = plusWholeDays(instant.epochDay, length, sign);
      const zone = zoneOf(instant);
      const there = utcOf(atZone(day, instant.nanosOfDay, zone, instant.offsetSeconds));
      const shifted = plusNanos(there.epochDay, there.nanosOfDay, length, sign);
      requireDay(shifted.epochDay);
      return inZone(shifted, zone);
    }
  }
}

function plusWholeDays(epochDay: number, length: CypherDuration, sign: 1 | -1): number {
  return plusDays(plusMonths(epochDay, sign * length.months), BigInt(length.days), sign);
}

function plusDays(epochDay: number, days: bigint, sign: 1 | -1): number {
  return requireDay(epochDay + sign * Number(days));
}

/** The seconds and nanoseconds of a duration later; the day may be beyond all years. */
function plusNanos(
  epochDay: number,
  nanosOfDay: number,
  length: CypherDuration,
  sign: 1 | -1,
): LocalDateTime {
  const seconds = BigInt(sign) * BigInt(length.seconds);
  const days = seconds / secondsPerDay;
  const nanos =
    nanosOfDay + Number(seconds - days * secondsPerDay) * 1_000_000_000 + sign * length.nanos;
  const carry = Math.floor(nanos / nanosPerDay);
  return new LocalDateTime(epochDay + Number(days) + carry, nanos - carry * nanosPerDay);
}

export type DurationGroup = 'months' | 'days' | 'seconds' | 'all';

/**
 * The time from `from` to `to`: largest possible months, then days, then seconds, or one group of them alone. What one side lacks, a
 * date, a time or a zone, it takes from the other; without two dates only times count.
 */
export function durationBetweenInstants(
  from: Instant | LocalDate,
  to: Instant | LocalDate,
  group: DurationGroup,
): CypherDuration {
  const haveDates = dayOf(from) !== undefined && dayOf(to) !== undefined;
  let start = completed(from, to);
  const end = completed(to, from);
  const target = endInZoneOf(start, end);
  let months = 0;
  let days = 0;
  if (haveDates && (group === 'all' || group === 'months')) {
    months = monthsUntil(start, target);
    if (group === 'all') start = moved(start, plusMonths(start.epochDay, months));
  }
  if (haveDates && (group === 'all' || group === 'days')) {
    days = daysUntil(start, target);
    if (group === 'all') start = moved(start, start.epochDay + days);
  }
  if (group === 'months') return makeCypherDuration(BigInt(months), 0n, 0n, 0n);
  if (group === 'days') return makeCypherDuration(0n, BigInt(days), 0n, 0n);
  const seconds = nanosUntil(start, end);
  return makeCypherDuration(BigInt(months), BigInt(days), 0n, seconds);
}

type Clock = LocalDateTime | ZonedDateTime;

function dayOf(value: Instant | LocalDate): number | undefined {
  return 'epochDay' in value ? value.epochDay : undefined;
}

/** With the date and the zone of the other where it has none, and at midnight where it has no time. */
function completed(value: Instant | LocalDate, other: Instant | LocalDate): Clock {
  const day = dayOf(value) ?? dayOf(other) ?? 0;
  const nanos = 'nanosOfDay' in value ? value.nanosOfDay : 0;
  const zone = zoneIn(value) ?? zoneIn(other);
  if (zone === undefined) return new LocalDateTime(day, nanos);
  const preferred = value.valueKind === 'zonedDateTime' ? value.offsetSeconds : undefined;
  return atZone(day, nanos, zone, preferred);
}

function zoneIn(value: Instant | LocalDate): ZoneChoice | undefined {
  if (value.valueKind === 'zonedDateTime') return zoneOf(value);
  return value.valueKind === 'zonedTime'
    ? { zone: '', offsetSeconds: value.offsetSeconds }
    : undefined;
}

function endInZoneOf(start: Clock, end: Clock): Clock {
  if (start.valueKind !== 'zonedDateTime' || end.valueKind !== 'zonedDateTime') return end;
  return inZone(utcOf(end), zoneOf(start));
}

function moved(start: Clock, epochDay: number): Clock {
  if (start.valueKind === 'localDateTime') return new LocalDateTime(epochDay, start.nanosOfDay);
  return atZone(epochDay, start.nanosOfDay, zoneOf(start), start.offsetSeconds);
}

/** Days from one to the other, less one when the time of day is not yet reached. */
function daysUntil(start: Clock, end: Clock): number {
  return lastDay(start, end) - start.epochDay;
}

function lastDay(start: Clock, end: Clock): number {
  const day = end.epochDay;
  if (day > start.epochDay && end.nanosOfDay < start.nanosOfDay) return day - 1;
  if (day < start.epochDay && end.nanosOfDay > start.nanosOfDay) return day + 1;
  return day;
}

function monthsUntil(start: Clock, end: Clock): number {
  const a = civilFromDays(start.epochDay);
  const b = civilFromDays(lastDay(start, end));
  const difference = ((b.year - a.year) * 12 + b.month - a.month) * 32 + b.day - a.day;
  return Math.trunc(difference / 32);
}

function nanosUntil(start: Clock, end: Clock): bigint {
  const a = start.valueKind === 'zonedDateTime' ? utcOf(start) : start;
  const b = end.valueKind === 'zonedDateTime' ? utcOf(end) : end;
  return (
    BigInt(b.epochDay - a.epochDay) * BigInt(nanosPerDay) + BigInt(b.nanosOfDay - a.nanosOfDay)
  );
}

/** Refuses `instant - instant`, which has no meaning. */
export function noDifference(): Error {
  return invalid('the difference of two instants is duration.between(a, b)');
}
