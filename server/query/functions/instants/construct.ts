import { invalid, requireDay } from '#core/temporal/calendar.ts';
import {
  parseIsoDate,
  parseIsoTime,
  splitDateTime,
  splitZone,
  unreadable,
} from '#core/temporal/instant-parse.ts';
import {
  type Instant,
  LocalDateTime,
  LocalTime,
  nanosPerDay,
  nanosPerSecond,
  utcOf,
  type ZonedDateTime,
  ZonedTime,
} from '#core/temporal/instants.ts';
import { asInstant } from '#core/temporal/sql-kinds.ts';
import { LocalDate } from '#core/temporal/temporal.ts';
import {
  atZone,
  clockOfEpoch,
  inZone,
  parseZone,
  utc,
  type ZoneChoice,
  zoneOf,
} from '#core/temporal/zones.ts';
import { isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { notA } from '../../evaluate/cypher-failures.ts';
import {
  dayOfFields,
  hasDateField,
  integerField,
  isZoneOnly,
  nanosOfFields,
  requireKnownFields,
  textField,
} from './fields.ts';

/**
 * Dates, times and moments from texts, maps and other ones (cypher.md 8.1). Whatever comes in is taken apart into a day, a time
 * of day and a zone, of which each may be missing, and put together again as the kind that is asked for.
 */
export type InstantKind = 'date' | 'localTime' | 'zonedTime' | 'localDateTime' | 'zonedDateTime';
export type AnyInstant = Instant | LocalDate;

/** The zone of values that name none. */
const defaultZone: ZoneChoice = utc;

export interface Parts {
  readonly epochDay?: number | undefined;
  readonly nanosOfDay?: number | undefined;
  readonly zone?: ZoneChoice | undefined;
}

/** An instant of this kind from a value that is not null. `now` is asked for maps of a zone alone. */
export function construct(kind: InstantKind, value: Value, now: () => LocalDateTime): AnyInstant {
  if (typeof value === 'string') return fromText(kind, value.trim());
  if (isMap(value)) {
    if (isZoneOnly(value))
      return current(kind, now(), parseZone(textField(value, 'timezone') ?? ''));
    return fromFields(kind, value);
  }
  const source = asInstant(value);
  if (source === undefined) throw notA('a string, a map or a temporal value', value);
  return assemble(kind, partsOf(source));
}

export function current(kind: InstantKind, now: LocalDateTime, zone?: ZoneChoice): AnyInstant {
  return assemble(kind, partsOf(inZone(now, zone ?? defaultZone)));
}

export function partsOf(value: AnyInstant): Parts {
  switch (value.valueKind) {
    case 'date':
      return { epochDay: value.epochDay };
    case 'localTime':
      return { nanosOfDay: value.nanosOfDay };
    case 'zonedTime':
      return {
        nanosOfDay: value.nanosOfDay,
        zone: { zone: '', offsetSeconds: value.offsetSeconds },
      };
    case 'localDateTime':
      return { epochDay: value.epochDay, nanosOfDay: value.nanosOfDay };
    case 'zonedDateTime':
      return { epochDay: value.epochDay, nanosOfDay: value.nanosOfDay, zone: zoneOf(value) };
  }
}

/** @throws DatabaseError `IllegalArgument` when a part is missing that this kind cannot do without */
export function assemble(kind: InstantKind, parts: Parts): AnyInstant {
  switch (kind) {
    case 'date':
      return new LocalDate(requireDay(dayIn(parts)));
    case 'localTime':
      return new LocalTime(timeIn(parts));
    case 'zonedTime': {
      const time = timeIn(parts);
      const zone = parts.zone ?? defaultZone;
      if (zone.zone === '') return new ZonedTime(time, zone.offsetSeconds);
      if (parts.epochDay === undefined)
        throw invalid(`a time without a date has an offset, not the zone '${zone.zone}'`);
      const moment = atZone(parts.epochDay, time, zone, zone.offsetSeconds);
      return new ZonedTime(moment.nanosOfDay, moment.offsetSeconds);
    }
    case 'localDateTime':
      return new LocalDateTime(requireDay(dayIn(parts)), parts.nanosOfDay ?? 0);
    case 'zonedDateTime': {
      const zone = parts.zone ?? defaultZone;
      return atZone(dayIn(parts), parts.nanosOfDay ?? 0, zone, zone.offsetSeconds);
    }
  }
}

function dayIn(parts: Parts): number {
  if (parts.epochDay === undefined) throw invalid('a time of day has no date');
  return parts.epochDay;
}

function timeIn(parts: Parts): number {
  if (parts.nanosOfDay === undefined) throw invalid('a date has no time of day');
  return parts.nanosOfDay;
}

function fromText(kind: InstantKind, text: string): AnyInstant {
  switch (kind) {
    case 'date':
      return new LocalDate(parseIsoDate(text));
    case 'localTime':
      return new LocalTime(parseIsoTime(withoutT(text)));
    case 'zonedTime': {
      const { text: time, offsetSeconds, named } = splitZone(withoutT(text));
      if (named !== undefined && (named.zone !== '' || offsetSeconds !== undefined))
        throw unreadable(text, 'a time with an offset');
      return new ZonedTime(parseIsoTime(time), offsetSeconds ?? named?.offsetSeconds ?? 0);
    }
    case 'localDateTime': {
      const { date, time } = splitDateTime(text);
      return new LocalDateTime(parseIsoDate(date), time === '' ? 0 : parseIsoTime(time));
    }
    case 'zonedDateTime':
      return zonedFromText(text);
  }
}

function withoutT(text: string): string {
  return text.startsWith('T') ? text.slice(1) : text;
}

function zonedFromText(text: string): ZonedDateTime {
  const { date, time } = splitDateTime(text);
  const bracket = date.indexOf('[');
  if (time === '' && bracket < 0) return atZone(parseIsoDate(date), 0, defaultZone);
  if (time === '')
    return atZone(parseIsoDate(date.slice(0, bracket)), 0, zoneInBrackets(date.slice(bracket)));
  const { text: clock, offsetSeconds, named } = splitZone(time);
  const day = parseIsoDate(date);
  const nanos = parseIsoTime(clock);
  if (named === undefined || named.zone === '') {
    const zone = named ?? { zone: '', offsetSeconds: offsetSeconds ?? 0 };
    if (offsetSeconds !== undefined && zone.offsetSeconds !== offsetSeconds) throw notThere(text);
    return atZone(day, nanos, zone);
  }
  if (offsetSeconds === undefined) return atZone(day, nanos, named);
  const moment = atZone(day, nanos, named, offsetSeconds);
  if (moment.offsetSeconds !== offsetSeconds) throw notThere(text);
  return moment;
}

function zoneInBrackets(text: string): ZoneChoice {
  if (!text.endsWith(']')) throw unreadable(text, 'a time zone');
  return parseZone(text.slice(1, -1));
}

function notThere(text: string) {
  return invalid(`the offset in '${text.slice(0, 60)}' is not that of its time zone`);
}

function fromFields(kind: InstantKind, fields: ValueMap): AnyInstant {
  requireKnownFields(fields, refusedFields[kind]);
  if (fields.has('epochSeconds') || fields.has('epochMillis')) return fromEpochFields(fields);
  const whole = selected(fields, 'datetime');
  const dateSource = selected(fields, 'date') ?? whole;
  const timeSource = selected(fields, 'time') ?? whole;
  const hasDate = kind !== 'localTime' && kind !== 'zonedTime';
  const timezone = textField(fields, 'timezone');
  const target = timezone === undefined ? undefined : parseZone(timezone);
  const epochDay = hasDate
    ? dayOfFields(fields, dateSource === undefined ? undefined : dayIn(partsOf(dateSource)))
    : timeSource && partsOf(timeSource).epochDay;
  if (kind === 'date') return assemble(kind, { epochDay });
  const base = timeSource === undefined ? undefined : partsOf(timeSource);
  if (!hasDate && base === undefined && !fields.has('hour'))
    throw invalid('hour must be specified');
  const nanosOfDay = nanosOfFields(
    fields,
    base === undefined ? undefined : { nanosOfDay: base.nanosOfDay ?? 0 },
  );
  if (kind === 'localTime' || kind === 'localDateTime')
    return assemble(kind, { epochDay, nanosOfDay });
  if (base?.zone === undefined || target === undefined)
    return assemble(kind, { epochDay, nanosOfDay, zone: target ?? base?.zone });
  return converted(kind, { epochDay, nanosOfDay, zone: base.zone }, target);
}

const refusedFields: Readonly<Record<InstantKind, readonly string[]>> = {
  date: [
    'hour',
    'minute',
    'second',
    'millisecond',
    'microsecond',
    'nanosecond',
    'time',
    'timezone',
    'epochSeconds',
    'epochMillis',
  ],
  localTime: [...timelessNames(), 'timezone'],
  zonedTime: timelessNames(),
  localDateTime: ['timezone', 'epochSeconds', 'epochMillis'],
  zonedDateTime: [],
};

function timelessNames(): readonly string[] {
  return [
    'year',
    'month',
    'day',
    'week',
    'dayOfWeek',
    'quarter',
    'dayOfQuarter',
    'ordinalDay',
    'date',
    'epochSeconds',
    'epochMillis',
  ];
}

/** The moment of a zoned source, as the zone that was asked for shows it. */
function converted(kind: InstantKind, parts: Parts, target: ZoneChoice): AnyInstant {
  const source = parts.zone ?? defaultZone;
  if (parts.epochDay === undefined) {
    if (target.zone !== '')
      throw invalid(`a time without a date has an offset, not the zone '${target.zone}'`);
    const shift = (target.offsetSeconds - source.offsetSeconds) * nanosPerSecond;
    const nanos = (((timeIn(parts) + shift) % nanosPerDay) + nanosPerDay) % nanosPerDay;
    return new ZonedTime(nanos, target.offsetSeconds);
  }
  const moment = atZone(parts.epochDay, timeIn(parts), source, source.offsetSeconds);
  const shown = inZone(utcOf(moment), target);
  return kind === 'zonedTime' ? new ZonedTime(shown.nanosOfDay, shown.offsetSeconds) : shown;
}

function selected(fields: ValueMap, name: string): AnyInstant | undefined {
  const value = fields.get(name);
  if (value === undefined) return undefined;
  const instant = asInstant(value);
  if (instant === undefined) throw notA(`a temporal value as '${name}'`, value);
  const parts = partsOf(instant);
  if (name !== 'time' && parts.epochDay === undefined) throw invalid(`'${name}' has no date`);
  if (name !== 'date' && parts.nanosOfDay === undefined) throw invalid(`'${name}' has no time`);
  return instant;
}

function fromEpochFields(fields: ValueMap): AnyInstant {
  if (hasDateField(fields) || fields.has('date') || fields.has('time') || fields.has('datetime'))
    throw invalid('epochSeconds and epochMillis do not go together with other components');
  const seconds = integerField(fields, 'epochSeconds');
  const millis = integerField(fields, 'epochMillis') ?? 0;
  const nanos = integerField(fields, 'nanosecond') ?? 0;
  if (seconds !== undefined && fields.has('epochMillis'))
    throw invalid('epochSeconds does not go together with epochMillis');
  const timezone = textField(fields, 'timezone');
  const moment =
    seconds !== undefined ? clockOfEpoch(seconds, nanos) : momentOfMillis(millis, nanos);
  return inZone(moment, timezone === undefined ? defaultZone : parseZone(timezone));
}

export function momentOfMillis(millis: number, nanos = 0): LocalDateTime {
  const second = Math.floor(millis / 1_000);
  return clockOfEpoch(second, (millis - second * 1_000) * 1_000_000 + nanos);
}
