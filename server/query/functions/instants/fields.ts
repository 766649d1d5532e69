import {
  dayOfCalendar,
  dayOfOrdinalDate,
  dayOfQuarterDate,
  dayOfWeekDate,
  invalid,
  requirePart,
} from '#core/temporal/calendar.ts';
import { dayOfQuarter, quarterOf } from '#core/temporal/components.ts';
import { nanosPerSecond } from '#core/temporal/instants.ts';
import { weekOf } from '#core/temporal/print.ts';
import { civilFromDays, dayOfWeek } from '#core/temporal/temporal.ts';
import type { ValueMap } from '#core/value/value.ts';
import { kindName } from '../../evaluate/cypher-failures.ts';

/** Dates and times of day from maps of components, on top of a base where there is one (cypher.md 8.1). */

const dateNames = [
  'year',
  'month',
  'day',
  'week',
  'dayOfWeek',
  'quarter',
  'dayOfQuarter',
  'ordinalDay',
] as const;
const timeNames = ['hour', 'minute', 'second', 'millisecond', 'microsecond', 'nanosecond'] as const;
const otherNames = ['date', 'time', 'datetime', 'timezone', 'epochSeconds', 'epochMillis'] as const;

type DateName = (typeof dateNames)[number];
type TimeName = (typeof timeNames)[number];

const knownNames: ReadonlySet<string> = new Set([...dateNames, ...timeNames, ...otherNames]);

/** @throws DatabaseError `IllegalArgument` for a component that there is not */
export function requireKnownFields(fields: ValueMap, refused: readonly string[]): void {
  for (const name of fields.keys())
    if (!knownNames.has(name) || refused.includes(name))
      throw invalid(`'${name.slice(0, 60)}' is no component of such a value`);
}

/** An integer component; undefined when it is not given. */
export function integerField(fields: ValueMap, name: string): number | undefined {
  const value = fields.get(name);
  if (value === undefined) return undefined;
  if (typeof value === 'bigint') throw invalid(`${name} ${value} is out of range`);
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw invalid(`${name} must be an integer, not ${kindName(value)}`);
  return value;
}

export function textField(fields: ValueMap, name: string): string | undefined {
  const value = fields.get(name);
  if (value === undefined) return undefined;
  if (typeof value !== 'string') throw invalid(`${name} must be a string, not ${kindName(value)}`);
  return value;
}

export function hasDateField(fields: ValueMap): boolean {
  return dateNames.some((name) => fields.has(name));
}

/** Epoch day of what the map says; components that it leaves out come from the base, or are the lowest. */
export function dayOfFields(fields: ValueMap, base: number | undefined): number {
  const given = (name: DateName) => integerField(fields, name);
  if (fields.has('week') || fields.has('dayOfWeek')) {
    requireAlone(fields, ['year', 'week', 'dayOfWeek']);
    const baseWeek = base === undefined ? undefined : weekOf(base);
    const year = required('year', given('year') ?? baseWeek?.year);
    const week = required('week', given('week') ?? baseWeek?.week);
    const weekDay = given('dayOfWeek') ?? (base === undefined ? 1 : dayOfWeek(base));
    return dayOfWeekDate(year, week, weekDay);
  }
  const baseYear = base === undefined ? undefined : civilFromDays(base).year;
  const year = required('year', given('year') ?? baseYear);
  if (fields.has('quarter') || fields.has('dayOfQuarter')) {
    requireAlone(fields, ['year', 'quarter', 'dayOfQuarter']);
    const baseQuarter = base === undefined ? undefined : quarterOf(base);
    const quarter = required('quarter', given('quarter') ?? baseQuarter);
    const ofQuarter = given('dayOfQuarter') ?? (base === undefined ? 1 : dayOfQuarter(base));
    return dayOfQuarterDate(year, quarter, ofQuarter);
  }
  if (fields.has('ordinalDay')) {
    requireAlone(fields, ['year', 'ordinalDay']);
    return dayOfOrdinalDate(year, given('ordinalDay') ?? 1);
  }
  const civil = base === undefined ? undefined : civilFromDays(base);
  const day = given('day');
  const month = given('month') ?? civil?.month;
  if (month === undefined && day !== undefined) throw missing('month');
  return dayOfCalendar(year, month ?? 1, day ?? civil?.day ?? 1);
}

function requireAlone(fields: ValueMap, names: readonly DateName[]): void {
  for (const name of dateNames)
    if (fields.has(name) && !names.includes(name))
      throw invalid(`${name} does not go together with ${names.slice(1).join(' and ')}`);
}

function required(name: string, n: number | undefined): number {
  if (n === undefined) throw missing(name);
  return n;
}

function missing(name: string) {
  return invalid(`${name} must be specified`);
}

export interface TimeBase {
  readonly nanosOfDay: number;
  /** A given fraction of the second is added to that of the base, as below the unit of a truncation. */
  readonly addsFraction?: boolean;
}

/** Nanoseconds of the day of what the map says, as `dayOfFields`. */
export function nanosOfFields(fields: ValueMap, base: TimeBase | undefined): number {
  if (base === undefined) requireLarger(fields);
  const baseSecond = Math.floor((base?.nanosOfDay ?? 0) / nanosPerSecond);
  const baseNanos = (base?.nanosOfDay ?? 0) - baseSecond * nanosPerSecond;
  const given = (name: TimeName, max: number, otherwise: number) =>
    requirePart(name, integerField(fields, name) ?? otherwise, 0, max);
  const hour = given('hour', 23, Math.floor(baseSecond / 3_600));
  const minute = given('minute', 59, Math.floor(baseSecond / 60) % 60);
  const second = given('second', 59, baseSecond % 60);
  const fraction = fractionOf(fields);
  const nanos =
    fraction === undefined ? baseNanos : fraction + (base?.addsFraction ? baseNanos : 0);
  if (nanos >= nanosPerSecond) throw invalid('the fraction of the second is a second or more');
  return ((hour * 60 + minute) * 60 + second) * nanosPerSecond + nanos;
}

function requireLarger(fields: ValueMap): void {
  const fractions = ['millisecond', 'microsecond', 'nanosecond'] as const;
  if (fractions.some((name) => fields.has(name)) && !fields.has('second')) throw missing('second');
  if (fields.has('second') && !fields.has('minute')) throw missing('minute');
  if (fields.has('minute') && !fields.has('hour')) throw missing('hour');
}

/** Parts of the second add up; each is what the next larger one leaves. */
function fractionOf(fields: ValueMap): number | undefined {
  const millis = integerField(fields, 'millisecond');
  const micros = integerField(fields, 'microsecond');
  const nanos = integerField(fields, 'nanosecond');
  if (millis === undefined && micros === undefined && nanos === undefined) return undefined;
  const microsMax = millis === undefined ? 999_999 : 999;
  const nanosMax = micros !== undefined ? 999 : millis !== undefined ? 999_999 : 999_999_999;
  return (
    requirePart('millisecond', millis ?? 0, 0, 999) * 1_000_000 +
    requirePart('microsecond', micros ?? 0, 0, microsMax) * 1_000 +
    requirePart('nanosecond', nanos ?? 0, 0, nanosMax)
  );
}

/** True when the map says nothing but a zone: the current instant there. */
export function isZoneOnly(fields: ValueMap): boolean {
  return fields.size === 1 && fields.has('timezone');
}
