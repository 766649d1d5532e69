import { dateToDateTime, formatDateTimeBy, momentOf } from '#core/temporal/format.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { DateTime, LocalDate } from '#core/temporal/temporal.ts';
import type { Value } from '#core/value/value.ts';

/** The date pattern that each `%t` suffix of java.util.Formatter stands for; `Q` and `s` are numbers. */
const patterns: ReadonlyMap<string, string> = new Map([
  ['Y', 'yyyy'],
  ['y', 'yy'],
  ['m', 'MM'],
  ['B', 'MMMM'],
  ['b', 'MMM'],
  ['h', 'MMM'],
  ['d', 'dd'],
  ['e', 'd'],
  ['A', 'EEEE'],
  ['a', 'EEE'],
  ['j', 'DDD'],
  ['H', 'HH'],
  ['k', 'H'],
  ['I', 'hh'],
  ['l', 'h'],
  ['M', 'mm'],
  ['S', 'ss'],
  ['L', 'SSS'],
  ['N', 'SSSSSSSSS'],
  ['p', 'a'],
  ['z', 'Z'],
  ['Z', 'z'],
  ['R', 'HH:mm'],
  ['T', 'HH:mm:ss'],
  ['r', 'hh:mm:ss a'],
  ['D', 'MM/dd/yy'],
  ['F', 'yyyy-MM-dd'],
  ['c', 'EEE MMM dd HH:mm:ss z yyyy'],
]);

/**
 * A date or time by one suffix of `%t`; integers are epoch milliseconds.
 * @returns undefined for a value that is no date or an unknown suffix
 */
export function printfDate(
  value: Value,
  suffix: string,
  formats: TemporalFormats,
): string | undefined {
  const moment = momentIn(value, formats);
  if (moment === undefined) return undefined;
  if (suffix === 'Q') return String(moment.epochMs);
  if (suffix === 's') return String(Math.floor(moment.epochMs / 1000));
  const pattern = patterns.get(suffix);
  if (pattern === undefined) return undefined;
  const text = formatDateTimeBy(moment, pattern, formats.zone);
  return suffix === 'p' ? text.toLowerCase() : text;
}

function momentIn(value: Value, formats: TemporalFormats): DateTime | undefined {
  if (value instanceof DateTime) return value;
  if (value instanceof LocalDate) return dateToDateTime(value, formats);
  return typeof value === 'number' && Number.isInteger(value) ? momentOf(value) : undefined;
}
