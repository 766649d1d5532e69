import {
  dateToDateTime,
  formatDateBy,
  formatDateTimeBy,
  momentOf,
  parseDateTimeBy,
} from '#core/temporal/format.ts';
import {
  civilFromDays,
  DateTime,
  dayOfWeek,
  daysFromCivil,
  LocalDate,
  msPerDay,
} from '#core/temporal/temporal.ts';
import { timeZone } from '#core/temporal/time-zone.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import {
  describe,
  exactIntegerArgument,
  numberArgument,
  refusal,
  requireExact,
  textArgument,
} from '../arguments.ts';
import { nullSafe, scalar, volatileScalar } from '../define.ts';
import { parseIsoMoment } from './iso-moment.ts';

/** `date.*` (sql-functions.md 9): moments are epoch milliseconds; datetimes are taken too. Fields are those in the database's zone. */
export const namespacedDateFunctions: readonly ScalarFunction[] = [
  volatileScalar('date.currentTimestamp()', [0, 0], (_, { runtime }) => runtime.clock.now()),
  scalar('date.systemTimezone()', [0, 0], (_, { formats }) => formats.zone),
  nullSafe('date.add(ts, n, unit)', [3, 3], (args, context) => {
    if (args[1] === null) return null;
    const count = numberArgument(args[1], 'date.add()');
    const ms = msArgument(args[0], 'date.add()', context);
    const sum = ms + count * msPerUnit(args[2], 'date.add()');
    return requireExact(Math.trunc(sum) + 0, 'date.add()');
  }),
  nullSafe('date.convert(n, from, to)', [3, 3], (args) => {
    const ms = numberArgument(args[0], 'date.convert()') * msPerUnit(args[1], 'date.convert()');
    const converted = Math.trunc(ms / msPerUnit(args[2], 'date.convert()')) + 0;
    return requireExact(converted, 'date.convert()');
  }),
  nullSafe('date.field(ts, name)', [2, 2], (args, context) => {
    const name = textArgument(args[1], 'date.field()').toLowerCase();
    const fields = fieldsOf(msArgument(args[0], 'date.field()', context), context.formats.zone);
    for (const [key, value] of fields)
      if (key.toLowerCase() === name || `${key.toLowerCase()}s` === name) return value;
    throw refusal(
      `date.field(): unknown field '${name.slice(0, 40)}'; use one of ${[...fields.keys()].join(', ')}`,
    );
  }),
  nullSafe('date.fields(ts | text [, pattern [, zone]])', [1, 3], (args, context) => {
    const zone = textArgument(args[2] ?? context.formats.zone, 'date.fields()');
    const value = args[0] as Value;
    if (typeof value !== 'string')
      return fieldsOf(msArgument(value, 'date.fields()', context), zone);
    return fieldsOf(parsed(value, args[1] ?? null, zone, 'date.fields()'), zone);
  }),
  nullSafe('date.format(ts [, unit [, pattern [, zone]]])', [1, 4], (args, context) => {
    const { unitMs, pattern, zone } = formatArguments(args, 'date.format()', context);
    const ms =
      typeof args[0] === 'number'
        ? args[0] * unitMs
        : msArgument(args[0], 'date.format()', context);
    const moment = momentOf(ms);
    if (moment === undefined) throw refusal(`date.format(): ${ms} is out of range`);
    return formatDateTimeBy(moment, pattern ?? 'yyyy-MM-dd HH:mm:ss', zone);
  }),
  nullSafe("date.parse(text [, unit='ms' [, pattern [, zone]]])", [1, 4], (args, context) => {
    const { unitMs, pattern, zone } = formatArguments(args, 'date.parse()', context);
    const text = textArgument(args[0], 'date.parse()');
    return Math.floor(parsed(text, pattern, zone, 'date.parse()') / unitMs);
  }),
  nullSafe('date.fromISO8601(text)', [1, 1], (args, context) =>
    parsed(
      textArgument(args[0], 'date.fromISO8601()'),
      null,
      context.formats.zone,
      'date.fromISO8601()',
    ),
  ),
  nullSafe('date.toISO8601(ts)', [1, 1], (args, context) => {
    const ms = msArgument(args[0], 'date.toISO8601()', context);
    const moment = momentOf(ms);
    if (moment === undefined) throw refusal(`date.toISO8601(): ${ms} is out of range`);
    return formatDateTimeBy(moment, "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", 'UTC');
  }),
];

const units: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['milli', 1],
  ['millis', 1],
  ['millisecond', 1],
  ['milliseconds', 1],
  ['s', 1000],
  ['sec', 1000],
  ['second', 1000],
  ['seconds', 1000],
  ['m', 60_000],
  ['min', 60_000],
  ['minute', 60_000],
  ['minutes', 60_000],
  ['h', 3_600_000],
  ['hour', 3_600_000],
  ['hours', 3_600_000],
  ['d', msPerDay],
  ['day', msPerDay],
  ['days', msPerDay],
]);

function msPerUnit(value: Value | undefined, what: string): number {
  const name = textArgument(value, what);
  const ms = units.get(name.toLowerCase());
  if (ms === undefined)
    throw refusal(`${what}: unknown unit '${name.slice(0, 40)}'; use ms, s, m, h or d`);
  return ms;
}

function msArgument(value: Value | undefined, what: string, context: EvaluationContext): number {
  if (value instanceof DateTime) return value.epochMs;
  if (value instanceof LocalDate) return dateToDateTime(value, context.formats).epochMs;
  return exactIntegerArgument(value, what);
}

interface FormatArguments {
  readonly unitMs: number;
  readonly pattern: string | null;
  readonly zone: string;
}

/** The unit may be left out before a pattern. */
function formatArguments(
  args: readonly Value[],
  what: string,
  context: EvaluationContext,
): FormatArguments {
  const rest = args.slice(1).filter((argument) => argument !== null) as Value[];
  const first = rest[0];
  const hasUnit = typeof first === 'string' && units.has(first.toLowerCase());
  const [pattern, zone] = hasUnit ? rest.slice(1) : rest;
  return {
    unitMs: hasUnit ? msPerUnit(first, what) : 1,
    pattern: pattern === undefined ? null : textArgument(pattern, what),
    zone: zone === undefined ? context.formats.zone : textArgument(zone, what),
  };
}

/** @throws DatabaseError `IllegalArgument` for text that does not match */
function parsed(text: string, pattern: Value, zone: string, what: string): number {
  const ms =
    pattern === null
      ? parseIsoMoment(text, timeZone(zone))
      : parseDateTimeBy(text, textArgument(pattern, what), zone)?.epochMs;
  if (ms === undefined)
    throw refusal(
      `${what}: ${describe(text)} does not match ${pattern === null ? 'ISO 8601' : describe(pattern)}`,
    );
  return ms;
}

function fieldsOf(ms: number, zoneId: string): Map<string, Value> {
  const zone = timeZone(zoneId);
  const localMs = ms + zone.offsetAt(ms);
  const epochDay = Math.floor(localMs / msPerDay);
  const msOfDay = localMs - epochDay * msPerDay;
  const { year, month, day } = civilFromDays(epochDay);
  const date = new LocalDate(epochDay);
  return new Map<string, Value>([
    ['year', year],
    ['month', month],
    ['day', day],
    ['hour', Math.floor(msOfDay / 3_600_000)],
    ['minute', Math.floor(msOfDay / 60_000) % 60],
    ['second', Math.floor(msOfDay / 1000) % 60],
    ['millisecond', msOfDay % 1000],
    ['dayOfWeek', dayOfWeek(epochDay)],
    ['dayOfYear', epochDay - daysFromCivil(year, 1, 1) + 1],
    ['weekOfYear', Number(formatDateBy(date, 'w'))],
    ['weekBasedYear', Number(formatDateBy(date, 'YYYY'))],
    ['timezone', zoneId],
  ]);
}
