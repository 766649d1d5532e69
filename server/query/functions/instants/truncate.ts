import { firstMonday, invalid, yearMax } from '#core/temporal/calendar.ts';
import { nanosPerDay, nanosPerSecond } from '#core/temporal/instants.ts';
import { weekOf } from '#core/temporal/print.ts';
import { civilFromDays, dayOfWeek, daysFromCivil } from '#core/temporal/temporal.ts';
import { parseZone } from '#core/temporal/zones.ts';
import type { ValueMap } from '#core/value/value.ts';
import { type AnyInstant, assemble, type InstantKind, partsOf } from './construct.ts';
import {
  dayOfFields,
  hasDateField,
  nanosOfFields,
  requireKnownFields,
  textField,
} from './fields.ts';

/** `date.truncate(unit, value, overrides)` and its kin (cypher.md 8.2). */

const yearUnits: Readonly<Record<string, number>> = {
  millennium: 1_000,
  century: 100,
  decade: 10,
  year: 1,
};

const nanosOfUnit: Readonly<Record<string, number>> = {
  day: nanosPerDay,
  hour: 3_600 * nanosPerSecond,
  minute: 60 * nanosPerSecond,
  second: nanosPerSecond,
  millisecond: 1_000_000,
  microsecond: 1_000,
};

/** Epoch day at which the unit of this day begins; undefined for other units. */
function firstDayOf(unit: string, epochDay: number): number | undefined {
  const { year, month } = civilFromDays(epochDay);
  switch (unit) {
    case 'millennium':
    case 'century':
    case 'decade':
    case 'year': {
      const years = yearUnits[unit] ?? 1;
      return daysFromCivil(Math.max(-yearMax, Math.floor(year / years) * years), 1, 1);
    }
    case 'weekyear':
      return firstMonday(weekOf(epochDay).year);
    case 'quarter':
      return daysFromCivil(year, month - ((month - 1) % 3), 1);
    case 'month':
      return daysFromCivil(year, month, 1);
    case 'week':
      return epochDay - dayOfWeek(epochDay) + 1;
    case 'day':
      return epochDay;
    default:
      return undefined;
  }
}

/** @throws DatabaseError `IllegalArgument` for units that the kind or the value does not have */
export function truncate(
  kind: InstantKind,
  unitText: string,
  value: AnyInstant,
  overrides: ValueMap,
): AnyInstant {
  requireKnownFields(overrides, ['date', 'time', 'datetime', 'epochSeconds', 'epochMillis']);
  const unit = unitText.toLowerCase();
  const parts = partsOf(value);
  const isTime = kind === 'localTime' || kind === 'zonedTime';
  const size = kind === 'date' && unit !== 'day' ? undefined : nanosOfUnit[unit];
  const first =
    parts.epochDay === undefined || isTime ? undefined : firstDayOf(unit, parts.epochDay);
  if (size === undefined && (isTime || first === undefined)) throw unknownUnit(unitText);
  if (!isTime && parts.epochDay === undefined) throw invalid('a time of day has no date');
  if (isTime && parts.nanosOfDay === undefined) throw invalid('a date has no time of day');
  const day = isTime ? parts.epochDay : (first ?? parts.epochDay);
  const time = first !== undefined || size === undefined ? 0 : (parts.nanosOfDay ?? 0);
  const nanos = size === undefined ? 0 : time - (time % size);
  const timezone = textField(overrides, 'timezone');
  return assemble(kind, {
    epochDay: isTime || !hasDateField(overrides) ? day : dayOfFields(overrides, day),
    nanosOfDay: nanosOfFields(overrides, { nanosOfDay: nanos, addsFraction: true }),
    zone: timezone === undefined ? parts.zone : parseZone(timezone),
  });
}

function unknownUnit(unit: string) {
  return invalid(`'${unit.slice(0, 60)}' is no unit that such a value can be truncated to`);
}
