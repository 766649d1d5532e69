import { parseIsoDuration } from '#core/temporal/instant-parse.ts';
import { durationOfParts, scaledNumber } from '#core/temporal/cypher-duration.ts';
import { type DurationGroup, durationBetweenInstants } from '#core/temporal/instant-arithmetic.ts';
import type { LocalDateTime } from '#core/temporal/instants.ts';
import { invalid } from '#core/temporal/calendar.ts';
import { asCypherDuration, asInstant } from '#core/temporal/sql-kinds.ts';
import { clockOfEpoch, inZone, parseZone, utc } from '#core/temporal/zones.ts';
import { Float, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { kindName, notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { alias, scalar, volatileScalar } from '../define.ts';
import { statementMoment } from './clock.ts';
import { construct, current, type InstantKind, momentOfMillis } from './construct.ts';
import { integerField } from './fields.ts';
import { truncate } from './truncate.ts';

/**
 * The temporal functions of openCypher (cypher.md 8 and 9.6), under `#cypher.<name>`:
 *
 *     date localtime time localdatetime datetime   ()  (text)  (map)  (temporal value)
 *       <name>.transaction .statement .realtime    ([timezone])
 *       <name>.truncate                            (unit [, value [, overrides]])
 *     datetime.fromepoch(seconds, nanoseconds)     datetime.fromepochmillis(milliseconds)
 *     duration                                     (text)  (map)  (duration)
 *     duration.between .inMonths .inDays .inSeconds   (from, to)
 *     local_time zoned_time local_datetime zoned_datetime duration_between: the same under their other names
 *
 * Components (`x.year`) are properties and `+ - * /` are arithmetic of dialect cypher; both are in `evaluate`.
 */

const noFields: ValueMap = new Map();

function isMissing(value: Value | undefined): value is null | undefined {
  return value === null || value === undefined;
}

function instantFunctions(name: string, kind: InstantKind): readonly ScalarFunction[] {
  const clocked = (
    clock: string,
    define: typeof scalar,
    momentOf: (context: EvaluationContext) => LocalDateTime,
  ) =>
    define(`#cypher.${name}.${clock}([timezone])`, [0, 1], ([zone], context) => {
      if (zone === null) return null;
      if (zone === undefined) return current(kind, momentOf(context));
      const named = isMap(zone) ? (zone.get('timezone') ?? null) : zone;
      if (typeof named !== 'string') throw notA('the name of a time zone', named);
      return current(kind, momentOf(context), parseZone(named));
    });
  return [
    scalar(`#cypher.${name}([value])`, [0, 1], ([value], context) => {
      if (value === undefined) return current(kind, statementMoment(context));
      return value === null ? null : construct(kind, value, () => statementMoment(context));
    }),
    clocked('transaction', scalar, statementMoment),
    clocked('statement', scalar, statementMoment),
    clocked('realtime', volatileScalar, (context) => momentOfMillis(context.runtime.clock.now())),
    scalar(
      `#cypher.${name}.truncate(unit [, value [, overrides]])`,
      [1, 3],
      ([unit, value, overrides], context) => {
        if (isMissing(unit) || value === null || overrides === null) return null;
        if (typeof unit !== 'string') throw notA('the name of a unit', unit);
        const fields = overrides ?? noFields;
        if (!isMap(fields)) throw notA('a map of components', fields);
        const source =
          value === undefined ? inZone(statementMoment(context), utc) : asInstant(value);
        if (source === undefined) throw notA('a temporal value', value ?? null);
        return truncate(kind, unit, source, fields);
      },
    ),
  ];
}

const dateTimeFunctions: readonly ScalarFunction[] = [
  scalar('#cypher.datetime.fromepoch(seconds, nanoseconds)', [2, 2], ([seconds, nanos]) => {
    if (isMissing(seconds) || isMissing(nanos)) return null;
    const fields = new Map([
      ['seconds', seconds],
      ['nanoseconds', nanos],
    ]);
    const moment = clockOfEpoch(
      integerField(fields, 'seconds') ?? 0,
      integerField(fields, 'nanoseconds') ?? 0,
    );
    return inZone(moment, utc);
  }),
  scalar('#cypher.datetime.fromepochmillis(milliseconds)', [1, 1], ([millis]) => {
    if (isMissing(millis)) return null;
    const fields = new Map([['milliseconds', millis]]);
    return inZone(momentOfMillis(integerField(fields, 'milliseconds') ?? 0), utc);
  }),
];

/** Months, days, seconds and nanoseconds in one unit of a name. */
const durationUnits: Readonly<Record<string, readonly [bigint, bigint, bigint, bigint]>> = {
  years: [12n, 0n, 0n, 0n],
  quarters: [3n, 0n, 0n, 0n],
  months: [1n, 0n, 0n, 0n],
  weeks: [0n, 7n, 0n, 0n],
  days: [0n, 1n, 0n, 0n],
  hours: [0n, 0n, 3_600n, 0n],
  minutes: [0n, 0n, 60n, 0n],
  seconds: [0n, 0n, 1n, 0n],
  milliseconds: [0n, 0n, 0n, 1_000_000n],
  microseconds: [0n, 0n, 0n, 1_000n],
  nanoseconds: [0n, 0n, 0n, 1n],
};

function durationOf(value: Value): Value {
  if (value === null) return null;
  if (typeof value === 'string') return parseIsoDuration(value.trim());
  const same = asCypherDuration(value);
  if (same !== undefined) return same;
  if (!isMap(value)) throw notA('a string or a map', value);
  if (value.size === 0) throw invalid('a duration needs at least one component');
  const sums: [bigint, bigint, bigint, bigint] = [0n, 0n, 0n, 0n];
  for (const [name, amount] of value) {
    const unit = Object.hasOwn(durationUnits, name) ? durationUnits[name] : undefined;
    if (unit === undefined) throw invalid(`'${name.slice(0, 60)}' is no component of a duration`);
    const count = amount instanceof Float ? amount.number : amount;
    if (typeof count !== 'number' && typeof count !== 'bigint')
      throw invalid(`${name} must be a number, not ${kindName(amount)}`);
    const scaled = scaledNumber(count);
    unit.forEach((factor, at) => {
      sums[at] = (sums[at] ?? 0n) + factor * scaled;
    });
  }
  const [months, days, seconds, nanos] = sums;
  return durationOfParts({ months, days, seconds, nanos });
}

function between(name: string, group: DurationGroup): ScalarFunction {
  return scalar(`#cypher.duration.${name}(from, to)`, [2, 2], ([from, to]) => {
    if (isMissing(from) || isMissing(to)) return null;
    return durationBetweenInstants(requireInstant(from), requireInstant(to), group);
  });
}

function requireInstant(value: Value) {
  const instant = asInstant(value);
  if (instant === undefined) throw notA('a temporal value', value);
  return instant;
}

const betweenFunction = between('between', 'all');

const families = [
  ...instantFunctions('date', 'date'),
  ...instantFunctions('localtime', 'localTime'),
  ...instantFunctions('time', 'zonedTime'),
  ...instantFunctions('localdatetime', 'localDateTime'),
  ...instantFunctions('datetime', 'zonedDateTime'),
];

const otherNames: ReadonlyMap<string, string> = new Map([
  ['localtime', 'local_time'],
  ['time', 'zoned_time'],
  ['localdatetime', 'local_datetime'],
  ['datetime', 'zoned_datetime'],
]);

/** `local_time.truncate` beside `localtime.truncate`, and so on. */
function underOtherNames(definitions: readonly ScalarFunction[]): readonly ScalarFunction[] {
  return definitions.flatMap((definition) => {
    const [, prefix = '', ...rest] = definition.name.split('.');
    const other = otherNames.get(prefix);
    return other === undefined ? [] : [alias(['#cypher', other, ...rest].join('.'), definition)];
  });
}

export const instantsFunctions: readonly ScalarFunction[] = [
  ...families,
  ...underOtherNames([...families, ...dateTimeFunctions]),
  ...dateTimeFunctions,
  scalar('#cypher.duration(value)', [1, 1], ([value]) => durationOf(value ?? null)),
  betweenFunction,
  alias('#cypher.duration_between', betweenFunction),
  between('inMonths', 'months'),
  between('inDays', 'days'),
  between('inSeconds', 'seconds'),
];
