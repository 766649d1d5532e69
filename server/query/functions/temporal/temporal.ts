import {
  dateToDateTime,
  formatDateBy,
  formatDateTimeBy,
  momentOf,
  parseDateTime,
  parseDateTimeBy,
  type TemporalFormats,
} from '#core/temporal/format.ts';
import { DateTime, LocalDate, makeDuration, withPrecision } from '#core/temporal/temporal.ts';
import { timeZone } from '#core/temporal/time-zone.ts';
import { isList, isMap, type Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import {
  describe,
  isNumeric,
  numberArgument,
  optionsArgument,
  refusal,
  textArgument,
  toDouble,
} from '../arguments.ts';
import { method, nullSafe, volatileScalar } from '../define.ts';
import { printf } from '../text/printf.ts';

/** Dates and durations (sql-functions.md 5, `.format` and `.precision` of 11.2). */
export const temporalFunctions: readonly ScalarFunction[] = [
  volatileScalar('sysdate([zone])', [0, 1], (args, context) => {
    const now = context.runtime.clock.now();
    if (args[0] === undefined || args[0] === null) return new DateTime(now);
    return shownIn(now, textArgument(args[0], 'sysdate()'), context.formats);
  }),
  volatileScalar('date([millis | text [, format [, zone]]])', [0, 3], (args, context) => {
    if (args.length === 0) return new DateTime(context.runtime.clock.now());
    return dateOf(args, context);
  }),
  nullSafe('duration(n, unit)', [2, 2], (args) => {
    if (args[1] === null) return null;
    const nanos = nanosOfUnit(textArgument(args[1], 'duration()'));
    return durationOf(numberArgument(args[0], 'duration()'), nanos);
  }),
];

export const temporalMethods: readonly ScalarFunction[] = [
  method('format(fmt [, zone])', [1, 2], (args, context) => {
    if (args[1] === null) return null;
    const format = textArgument(args[1], 'format()');
    const zone = args[2] === undefined || args[2] === null ? undefined : args[2];
    return formatted(
      args[0] as Value,
      format,
      zone === undefined ? context.formats.zone : textArgument(zone, 'format()'),
      context,
    );
  }),
  method('precision(unit)', [1, 1], (args, context) => {
    const value = args[0] as Value;
    const unit = textArgument(args[1], 'precision()').toLowerCase();
    if (value instanceof LocalDate) return value;
    if (!(value instanceof DateTime))
      throw refusal(`precision() requires a datetime, not ${describe(value)}`);
    return truncated(value, unit, context.formats);
  }),
];

/**
 * What the clock of `zone` shows now, as a datetime of the database: a zone is a way to read the clock, and a stored
 * datetime keeps local fields, not the zone they came from (sql.md 2.4.2).
 */
function shownIn(now: number, zone: string, formats: TemporalFormats): DateTime {
  const localMs = now + timeZone(zone).offsetAt(now);
  return new DateTime(timeZone(formats.zone).fromLocal(localMs));
}

function dateOf(args: readonly Value[], context: EvaluationContext): Value {
  const value = args[0] as Value;
  if (value === null || value instanceof DateTime) return value;
  if (value instanceof LocalDate) return dateToDateTime(value, context.formats);
  if (isNumeric(value)) return momentOf(toDouble(value)) ?? null;
  const text = textArgument(value, 'date()');
  const { format, zone } = patternOf(args, context.formats);
  if (format === null) return dateByLength(text, zone, context.formats);
  return parseDateTimeBy(text, format, zone) ?? null;
}

/** Pattern and zone, given as two texts or as one map. */
function patternOf(
  args: readonly Value[],
  formats: TemporalFormats,
): { readonly format: string | null; readonly zone: string } {
  let format = args[1] ?? null;
  let zone = args[2] ?? null;
  if (isMap(format)) {
    const options = optionsArgument(format, 'date()', ['format', 'timezone']);
    format = options.get('format') ?? null;
    zone = options.get('timezone') ?? zone;
  }
  return {
    format: format === null ? null : textArgument(format, 'date()'),
    zone: zone === null ? formats.zone : textArgument(zone, 'date()'),
  };
}

/** The text's length tells the date format from the datetime format; a fraction behind the latter is not counted. */
function dateByLength(text: string, zone: string, formats: TemporalFormats): Value {
  const zoned = { ...formats, zone };
  const withoutFraction = text.replace(/[.,]\d{1,9}$/, '');
  const lengths = [text.length, withoutFraction.length];
  if (lengths.includes(textLength(formats.dateTimeFormat)))
    return parseDateTime(text, zoned) ?? null;
  if (text.length === textLength(formats.dateFormat))
    return parseDateTimeBy(text, formats.dateFormat, zone) ?? null;
  return null;
}

/** Length of the texts that a pattern prints, quotes not counted. */
function textLength(pattern: string): number {
  return pattern.replaceAll("''", '\u0000').replaceAll("'", '').length;
}

const nanosPerUnit: ReadonlyMap<string, number> = new Map([
  ['nanosecond', 1],
  ['nanos', 1],
  ['microsecond', 1e3],
  ['micros', 1e3],
  ['millisecond', 1e6],
  ['millis', 1e6],
  ['second', 1e9],
  ['minute', 60e9],
  ['hour', 3600e9],
  ['day', 86_400e9],
  ['week', 604_800e9],
]);

function nanosOfUnit(unit: string): number {
  const name = unit.toLowerCase();
  const nanos = nanosPerUnit.get(name) ?? nanosPerUnit.get(name.replace(/s$/, ''));
  if (nanos === undefined)
    throw refusal(
      `duration(): unknown unit '${unit.slice(0, 40)}'; use nanosecond, microsecond, millisecond, second, minute, hour, day or week`,
    );
  return nanos;
}

/** `count` units; whole counts are exact, fractions are rounded to nanoseconds. */
function durationOf(count: number, nanosPerCount: number): Value {
  const wholeCount = Math.trunc(count);
  if (!Number.isSafeInteger(wholeCount)) throw refusal(`duration(): ${count} is out of range`);
  const fractionNanos = BigInt(Math.round((count - wholeCount) * nanosPerCount));
  const nanos = BigInt(wholeCount) * BigInt(nanosPerCount) + fractionNanos;
  const seconds = Number(nanos / 1_000_000_000n);
  if (!Number.isSafeInteger(seconds)) throw refusal(`duration(): ${count} is out of range`);
  return makeDuration(seconds, Number(nanos % 1_000_000_000n));
}

function formatted(value: Value, format: string, zone: string, context: EvaluationContext): Value {
  if (value instanceof DateTime) return formatDateTimeBy(value, format, zone);
  if (value instanceof LocalDate) return formatDateBy(value, format);
  if (isList(value) && value.length > 0 && value.every(isDateOrNull))
    return value.map((element) => formatted(element, format, zone, context));
  return value === null ? null : printf(format, [value], context);
}

function isDateOrNull(value: Value): boolean {
  return value === null || value instanceof DateTime || value instanceof LocalDate;
}

const msPerTruncation: ReadonlyMap<string, number> = new Map([
  ['minute', 60_000],
  ['hour', 3_600_000],
  ['day', 86_400_000],
]);

function truncated(moment: DateTime, unit: string, formats: TemporalFormats): DateTime {
  const name = unit.replace(/s$/, '');
  switch (name) {
    case 'nanosecond':
    case 'nano':
      return withPrecision(moment, 'nanos');
    case 'microsecond':
    case 'micro':
      return withPrecision(moment, 'micros');
    case 'millisecond':
    case 'milli':
      return withPrecision(moment, 'millis');
    case 'second':
      return withPrecision(moment, 'second');
    default:
      break;
  }
  const step = msPerTruncation.get(name);
  if (step === undefined) throw refusal(`precision(): unknown unit '${unit.slice(0, 40)}'`);
  const zone = timeZone(formats.zone);
  const localMs = moment.epochMs + zone.offsetAt(moment.epochMs);
  return new DateTime(zone.fromLocal(Math.floor(localMs / step) * step), 0, 'second');
}
