import { instantText } from '#core/temporal/instant-text.ts';
import { compilePattern } from '#core/temporal/pattern.ts';
import { printPattern } from '#core/temporal/print.ts';
import { msPerDay } from '#core/temporal/temporal.ts';
import { timeZone } from '#core/temporal/time-zone.ts';
import { textOf } from '#core/text/text-form.ts';
import type { Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import { notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { textArgument } from '../arguments.ts';
import { ANY_NUMBER, nullSafe } from '../define.ts';
import { printf } from '../text/printf.ts';
import { cypherPrefix } from './arguments.ts';

/** `format()` of openCypher (cypher.md 9.2): dates and times by a letter pattern. Of a text it is that of SQL. */

const nanosPerMs = 1_000_000;

function formatted([value = null, ...rest]: readonly Value[], context: EvaluationContext): Value {
  if (typeof value === 'string') return printf(value, rest, context);
  const moment = momentOf(value);
  if (moment === undefined) throw notA('a date, a time or a text', value);
  const [pattern = null] = rest;
  if (pattern === null) return moment.text(context);
  const { epochDay, nanosOfDay, zone } = moment;
  const nanosOfMs = nanosOfDay % nanosPerMs;
  const localMs = epochDay * msPerDay + (nanosOfDay - nanosOfMs) / nanosPerMs;
  const place = timeZone(zone);
  const epochMs = localMs - (moment.offsetSeconds ?? 0) * 1000;
  return printPattern(
    compilePattern(textArgument(pattern, 'format()')),
    { epochMs, nanosOfMs },
    place,
  );
}

interface Moment {
  readonly epochDay: number;
  readonly nanosOfDay: number;
  readonly offsetSeconds?: number;
  readonly zone: string;
  text(context: EvaluationContext): string;
}

function momentOf(value: Value): Moment | undefined {
  if (value === null || typeof value !== 'object' || !('valueKind' in value)) return undefined;
  switch (value.valueKind) {
    case 'date':
      return {
        epochDay: value.epochDay,
        nanosOfDay: 0,
        zone: 'UTC',
        text: ({ formats }) => textOf(value, formats),
      };
    case 'localTime':
      return {
        epochDay: 0,
        nanosOfDay: value.nanosOfDay,
        zone: 'UTC',
        text: () => instantText(value),
      };
    case 'zonedTime': {
      const { nanosOfDay, offsetSeconds } = value;
      const zone = offsetId(offsetSeconds);
      return { epochDay: 0, nanosOfDay, offsetSeconds, zone, text: () => instantText(value) };
    }
    case 'localDateTime': {
      const { epochDay, nanosOfDay } = value;
      return { epochDay, nanosOfDay, zone: 'UTC', text: () => instantText(value) };
    }
    case 'zonedDateTime': {
      const { epochDay, nanosOfDay, offsetSeconds } = value;
      const zone = value.zone === '' ? offsetId(offsetSeconds) : value.zone;
      return { epochDay, nanosOfDay, offsetSeconds, zone, text: () => instantText(value) };
    }
    default:
      return undefined;
  }
}

/** `+01:00`, with seconds where there are some. */
function offsetId(offsetSeconds: number): string {
  if (offsetSeconds === 0) return 'UTC';
  const all = Math.abs(offsetSeconds);
  const two = (n: number) => String(n).padStart(2, '0');
  const seconds = all % 60 === 0 ? '' : `:${two(all % 60)}`;
  return `${offsetSeconds < 0 ? '-' : '+'}${two(Math.trunc(all / 3600))}:${two(Math.trunc(all / 60) % 60)}${seconds}`;
}

export const formatting: readonly ScalarFunction[] = [
  nullSafe(`${cypherPrefix}format(value [, pattern])`, [1, ANY_NUMBER], formatted),
];
