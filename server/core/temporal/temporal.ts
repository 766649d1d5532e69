/** A calendar date, as days since 1970-01-01 (proleptic Gregorian). */
export class LocalDate {
  readonly valueKind = 'date';
  readonly epochDay: number;
  constructor(epochDay: number) {
    this.epochDay = epochDay;
  }
}

export type TemporalPrecision = 'second' | 'millis' | 'micros' | 'nanos';

/**
 * A moment: milliseconds since the epoch and nanoseconds within the millisecond (0..999,999). The precision is that of
 * the declared type and rules how many fraction digits are printed.
 */
export class DateTime {
  readonly valueKind = 'datetime';
  readonly epochMs: number;
  readonly nanosOfMs: number;
  readonly precision: TemporalPrecision;
  constructor(epochMs: number, nanosOfMs = 0, precision: TemporalPrecision = 'millis') {
    this.epochMs = epochMs;
    this.nanosOfMs = nanosOfMs;
    this.precision = precision;
  }
}

/** An exact length of time; `nanos` 0..999,999,999, so a negative duration has a negative `seconds` and nanos above 0. */
export class Duration {
  readonly valueKind = 'duration';
  readonly seconds: number;
  readonly nanos: number;
  constructor(seconds: number, nanos = 0) {
    this.seconds = seconds;
    this.nanos = nanos;
  }
}

export const msPerSecond = 1_000;
export const msPerDay = 86_400_000;
const nanosPerMs = 1_000_000;
const nanosPerSecond = 1_000_000_000;

/**
 * Largest distance from the epoch that a moment or a day may have: 100,000,000 days either way, the range that the
 * platform's time zone tables accept (years -271,821 to 275,760).
 */
export const epochMsMax = 100_000_000 * msPerDay;
export const epochDayMax = 100_000_000;

/** Year, month 1..12 and day 1..31 of the proleptic Gregorian calendar. */
export interface CivilDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** Days since 1970-01-01 of a calendar date whose parts are valid. After H. Hinnant, "chrono-compatible date algorithms". */
export function daysFromCivil(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** The inverse of `daysFromCivil`. */
export function civilFromDays(epochDay: number): CivilDate {
  // From year 0 on everything is positive, and 32-bit arithmetic is several times faster.
  if (epochDay >= -719_468 && epochDay <= epochDayMax) return civilFromPositive(epochDay + 719_468);
  const shifted = epochDay + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

/** `shifted` counts days from 0000-03-01. */
function civilFromPositive(shifted: number): CivilDate {
  const era = (shifted / 146_097) | 0;
  const dayOfEra = shifted - era * 146_097;
  const century = (dayOfEra / 36_524) | 0;
  const leapDays = ((dayOfEra / 1_460) | 0) - century + ((dayOfEra / 146_096) | 0);
  const yearOfEra = ((dayOfEra - leapDays) / 365) | 0;
  const dayOfYear = dayOfEra - (365 * yearOfEra + (yearOfEra >> 2) - ((yearOfEra / 100) | 0));
  const shiftedMonth = ((5 * dayOfYear + 2) / 153) | 0;
  const day = dayOfYear - (((153 * shiftedMonth + 2) / 5) | 0) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

export function isLeapYear(year: number): boolean {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
}

const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

export function daysInMonth(year: number, month: number): number {
  return month === 2 && isLeapYear(year) ? 29 : (daysOfMonth[month - 1] ?? 0);
}

/** ISO day of the week, 1 = Monday to 7 = Sunday. */
export function dayOfWeek(epochDay: number): number {
  return ((((epochDay + 3) % 7) + 7) % 7) + 1;
}

/** A duration with its nanoseconds brought into 0..999,999,999. `nanos` may be any safe integer. */
export function makeDuration(seconds: number, nanos: number): Duration {
  const carry = Math.floor(nanos / nanosPerSecond);
  return new Duration(seconds + carry, nanos - carry * nanosPerSecond);
}

/** A moment from milliseconds and any number of further nanoseconds; the precision grows to what the value needs. */
export function makeDateTime(
  epochMs: number,
  nanos: number,
  precision: TemporalPrecision = 'millis',
): DateTime {
  const carry = Math.floor(nanos / nanosPerMs);
  const nanosOfMs = nanos - carry * nanosPerMs;
  return new DateTime(epochMs + carry, nanosOfMs, finer(precision, precisionFor(nanosOfMs)));
}

/** The coarsest precision, millis or finer, that holds this part of a millisecond. */
export function precisionFor(nanosOfMs: number): TemporalPrecision {
  if (nanosOfMs === 0) return 'second';
  return nanosOfMs % 1_000 === 0 ? 'micros' : 'nanos';
}

const fineness = { second: 0, millis: 1, micros: 2, nanos: 3 } as const;

function finer(a: TemporalPrecision, b: TemporalPrecision): TemporalPrecision {
  return fineness[a] >= fineness[b] ? a : b;
}

/** `moment` cut to what `precision` can hold, toward the past, and marked with it. */
export function withPrecision(moment: DateTime, precision: TemporalPrecision): DateTime {
  switch (precision) {
    case 'second':
      return new DateTime(Math.floor(moment.epochMs / msPerSecond) * msPerSecond, 0, precision);
    case 'millis':
      return new DateTime(moment.epochMs, 0, precision);
    case 'micros':
      return new DateTime(moment.epochMs, moment.nanosOfMs - (moment.nanosOfMs % 1_000), precision);
    case 'nanos':
      return new DateTime(moment.epochMs, moment.nanosOfMs, precision);
  }
}

/** `moment + sign * length`; a result with a finer fraction gets a finer precision. */
export function shiftDateTime(moment: DateTime, length: Duration, sign: 1 | -1): DateTime {
  const precision = moment.precision === 'second' ? 'millis' : moment.precision;
  const shifted = makeDateTime(
    moment.epochMs + sign * length.seconds * msPerSecond,
    moment.nanosOfMs + sign * length.nanos,
    precision,
  );
  // A moment of whole seconds stays one when the shift leaves it whole.
  if (
    moment.precision === 'second' &&
    shifted.epochMs % msPerSecond === 0 &&
    shifted.nanosOfMs === 0
  )
    return new DateTime(shifted.epochMs, 0, 'second');
  return shifted;
}

/** The exact time from `from` to `to`, negative when `to` is earlier. */
export function durationBetween(from: DateTime, to: DateTime): Duration {
  const ms = to.epochMs - from.epochMs;
  const seconds = Math.floor(ms / msPerSecond);
  const nanos = (ms - seconds * msPerSecond) * nanosPerMs + to.nanosOfMs - from.nanosOfMs;
  return makeDuration(seconds, nanos);
}

export function addDurations(a: Duration, b: Duration, sign: 1 | -1): Duration {
  return makeDuration(a.seconds + sign * b.seconds, a.nanos + sign * b.nanos);
}

export function compareDateTimes(a: DateTime, b: DateTime): number {
  return a.epochMs - b.epochMs || a.nanosOfMs - b.nanosOfMs;
}

export function compareDurations(a: Duration, b: Duration): number {
  return a.seconds - b.seconds || a.nanos - b.nanos;
}
