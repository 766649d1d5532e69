import { convertValue } from '#core/value/conversion.ts';
import { dateToDateTime } from '#core/temporal/format.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import {
  addDurations,
  durationBetween,
  makeDuration,
  shiftDateTime,
} from '#core/temporal/temporal.ts';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import type { Value } from '#core/value/value.ts';

/** Dates, moments and durations in `+` and `-` (sql.md 5.3). */
export type Temporal = DateTime | LocalDate | Duration;

export function isTemporal(value: Value): value is Temporal {
  return value instanceof DateTime || value instanceof LocalDate || value instanceof Duration;
}

/**
 * A moment or date and a duration give a moment, two durations a duration; a date with anything else that names a moment
 * gives the duration of both timestamps added.
 * @returns undefined when there is no such sum, so that the texts are concatenated
 */
export function addTemporal(
  left: Value,
  right: Value,
  formats: TemporalFormats,
): Value | undefined {
  if (left instanceof Duration) {
    if (right instanceof Duration) return addDurations(left, right, 1);
    const moment = asMoment(right, formats);
    return moment && shiftDateTime(moment, left, 1);
  }
  if (right instanceof Duration) {
    const moment = asMoment(left, formats);
    return moment && shiftDateTime(moment, right, 1);
  }
  const a = asTimestamp(left, formats);
  const b = asTimestamp(right, formats);
  if (a === undefined || b === undefined) return undefined;
  return sumOfTimestamps(a, b);
}

/** @returns undefined when there is no such difference */
export function subtractTemporal(
  left: Temporal,
  right: Value,
  formats: TemporalFormats,
): Value | undefined {
  if (left instanceof Duration)
    return right instanceof Duration ? addDurations(left, right, -1) : undefined;
  if (right instanceof Duration) {
    const moment = asMoment(left, formats);
    return moment && shiftDateTime(moment, right, -1);
  }
  if (left instanceof LocalDate && right instanceof LocalDate)
    return makeDuration((left.epochDay - right.epochDay) * 86_400, 0);
  const from = asMoment(right, formats);
  const to = asMoment(left, formats);
  return from && to && durationBetween(from, to);
}

function asMoment(value: Value, formats: TemporalFormats): DateTime | undefined {
  if (value instanceof DateTime) return value;
  return value instanceof LocalDate ? dateToDateTime(value, formats) : undefined;
}

/** A moment, or what converts to one: a number of milliseconds, a text with a date in it. */
function asTimestamp(value: Value, formats: TemporalFormats): DateTime | undefined {
  const moment = convertValue(value, 'DATETIME_NANOS', formats);
  return moment instanceof DateTime ? moment : undefined;
}

function sumOfTimestamps(a: DateTime, b: DateTime): Duration {
  const ms = a.epochMs + b.epochMs;
  const seconds = Math.floor(ms / 1_000);
  return makeDuration(seconds, (ms - seconds * 1_000) * 1_000_000 + a.nanosOfMs + b.nanosOfMs);
}
