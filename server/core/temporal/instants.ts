import { msPerDay } from './temporal.ts';

/**
 * Times of day, moments and durations of openCypher and GQL (cypher.md 8), with nanoseconds, offsets and zones, of the years
 * -999,999,999 to 999,999,999. Days and nanoseconds of the day are kept apart, as together they leave the exact integers.
 * `LocalDate` is the date of all languages; `DateTime` and `Duration` are those of SQL (temporal.ts).
 */

/** A time of day without offset; nanoseconds since midnight. */
export class LocalTime {
  readonly valueKind = 'localTime';
  readonly nanosOfDay: number;
  constructor(nanosOfDay: number) {
    this.nanosOfDay = nanosOfDay;
  }
}

/** A time of day, as the clock shows it, and the offset of that clock from UTC. */
export class ZonedTime {
  readonly valueKind = 'zonedTime';
  readonly nanosOfDay: number;
  readonly offsetSeconds: number;
  constructor(nanosOfDay: number, offsetSeconds: number) {
    this.nanosOfDay = nanosOfDay;
    this.offsetSeconds = offsetSeconds;
  }
}

/** What a calendar and a clock show, anywhere. */
export class LocalDateTime {
  readonly valueKind = 'localDateTime';
  readonly epochDay: number;
  readonly nanosOfDay: number;
  constructor(epochDay: number, nanosOfDay: number) {
    this.epochDay = epochDay;
    this.nanosOfDay = nanosOfDay;
  }
}

/** A moment as calendar and clock of a place show it. `zone` is the name of a time zone, or empty when only the offset is known. */
export class ZonedDateTime {
  readonly valueKind = 'zonedDateTime';
  readonly epochDay: number;
  readonly nanosOfDay: number;
  readonly offsetSeconds: number;
  readonly zone: string;
  constructor(epochDay: number, nanosOfDay: number, offsetSeconds: number, zone = '') {
    this.epochDay = epochDay;
    this.nanosOfDay = nanosOfDay;
    this.offsetSeconds = offsetSeconds;
    this.zone = zone;
  }
}

/**
 * Four independent counts; only nanoseconds are brought into 0..999,999,999, so a negative length of half a second has -1
 * seconds. Months and days are safe integers; make them with `makeCypherDuration` (cypher-duration.ts).
 */
export class CypherDuration {
  readonly valueKind = 'cypherDuration';
  readonly months: number;
  readonly days: number;
  /** Of 64 bits, as integers are: a bigint beyond the safe ones. */
  readonly seconds: number | bigint;
  readonly nanos: number;
  constructor(months: number, days: number, seconds: number | bigint, nanos: number) {
    this.months = months;
    this.days = days;
    this.seconds = seconds;
    this.nanos = nanos;
  }
}

export type Instant = LocalTime | ZonedTime | LocalDateTime | ZonedDateTime;

export const nanosPerSecond = 1_000_000_000;
export const secondsPerDay = msPerDay / 1_000;
export const nanosPerDay = secondsPerDay * nanosPerSecond;

/** Offsets from UTC that a value may have, either way. */
export const offsetSecondsMax = 18 * 3_600;

/** The day and nanosecond of the day in UTC. */
export function utcOf(moment: ZonedDateTime): LocalDateTime {
  return shiftedClock(moment.epochDay, moment.nanosOfDay, -moment.offsetSeconds);
}

/** What a clock shows that is ahead of another by some seconds, less than a day. */
export function shiftedClock(epochDay: number, nanosOfDay: number, seconds: number): LocalDateTime {
  const nanos = nanosOfDay + seconds * nanosPerSecond;
  if (nanos < 0) return new LocalDateTime(epochDay - 1, nanos + nanosPerDay);
  if (nanos >= nanosPerDay) return new LocalDateTime(epochDay + 1, nanos - nanosPerDay);
  return new LocalDateTime(epochDay, nanos);
}

/** Nanoseconds since midnight in UTC; below 0 or above a day when the day differs. */
export function utcNanosOf(time: ZonedTime): number {
  return time.nanosOfDay - time.offsetSeconds * nanosPerSecond;
}

/** Order of two values of one kind: by the instant, then by the offset, then by the name of the zone. */
export function compareInstants(a: Instant, b: Instant): number {
  switch (a.valueKind) {
    case 'localTime':
      return a.nanosOfDay - (b as LocalTime).nanosOfDay;
    case 'zonedTime': {
      const other = b as ZonedTime;
      return utcNanosOf(a) - utcNanosOf(other) || a.offsetSeconds - other.offsetSeconds;
    }
    case 'localDateTime':
      return compareClocks(a, b as LocalDateTime);
    case 'zonedDateTime': {
      const other = b as ZonedDateTime;
      return (
        compareClocks(utcOf(a), utcOf(other)) ||
        a.offsetSeconds - other.offsetSeconds ||
        (a.zone < other.zone ? -1 : a.zone > other.zone ? 1 : 0)
      );
    }
  }
}

function compareClocks(a: LocalDateTime, b: LocalDateTime): number {
  return a.epochDay - b.epochDay || a.nanosOfDay - b.nanosOfDay;
}

const daysPerMonth = 30.436875;

/**
 * A total order of durations that agrees with equality: by their length with months of 30.436875 days, then by months, days,
 * seconds. For ORDER BY and keys; the language itself does not say which of two is longer.
 */
export function compareCypherDurations(a: CypherDuration, b: CypherDuration): number {
  return (
    averageSeconds(a) - averageSeconds(b) ||
    a.months - b.months ||
    a.days - b.days ||
    compareSeconds(a.seconds, b.seconds) ||
    a.nanos - b.nanos
  );
}

function compareSeconds(a: number | bigint, b: number | bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The rounded length in seconds; the same arithmetic for everyone, so that keys and comparisons agree. */
export function averageSeconds(length: CypherDuration): number {
  return (length.months * daysPerMonth + length.days) * secondsPerDay + Number(length.seconds);
}

export function isInstant(value: { readonly valueKind: string }): value is Instant {
  switch (value.valueKind) {
    case 'localTime':
    case 'zonedTime':
    case 'localDateTime':
    case 'zonedDateTime':
      return true;
    default:
      return false;
  }
}
