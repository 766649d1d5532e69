import { DateTime, LocalDate, withPrecision } from '#core/temporal/temporal.ts';
import { dateToDateTime } from '#core/temporal/format.ts';
import type { Value } from '#core/value/value.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { describe, exactIntegerArgument, refusal, textArgument } from '../arguments.ts';
import { scalar } from '../define.ts';

/** `ts.timeBucket(interval, t)` (sql-functions.md 5.1). */
export const timeBucketFunctions: readonly ScalarFunction[] = [
  scalar('ts.timeBucket(interval, t)', [2, 2], (args, context) => {
    const [interval, time] = args as [Value, Value];
    if (interval === null || time === null) return null;
    const stepMs = intervalMs(textArgument(interval, 'ts.timeBucket()'));
    if (time instanceof LocalDate) {
      const { epochMs } = dateToDateTime(time, context.formats);
      return new DateTime(Math.floor(epochMs / stepMs) * stepMs);
    }
    if (time instanceof DateTime) {
      const start = Math.floor(time.epochMs / stepMs) * stepMs;
      return withPrecision(new DateTime(start), time.precision);
    }
    return Math.floor(exactIntegerArgument(time, 'ts.timeBucket()') / stepMs) * stepMs;
  }),
];

const msPerLetter: ReadonlyMap<string, number> = new Map([
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
]);

/** @throws DatabaseError `IllegalArgument` for a count of 0 or another unit */
function intervalMs(text: string): number {
  const match = /^(\d{1,9})([a-zA-Z])$/.exec(text.trim());
  const unit = match && msPerLetter.get((match[2] as string).toLowerCase());
  const count = Number(match?.[1]);
  if (!unit || !(count > 0))
    throw refusal(
      `ts.timeBucket(): ${describe(text)} is no interval; use a positive number and s, m, h, d or w`,
    );
  return count * unit;
}
