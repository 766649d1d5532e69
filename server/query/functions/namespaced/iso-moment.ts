import { parseDateTimeBy } from '#core/temporal/format.ts';
import type { TimeZone } from '#core/temporal/time-zone.ts';

const shape =
  /^(\d{4,6}-\d{2}-\d{2})(?:[Tt ](\d{2}:\d{2})(:\d{2})?(?:[.,](\d{1,9}))?)?(Z|z|[+-]\d{2}(?::?\d{2})?)?$/;

/**
 * Epoch milliseconds of ISO 8601 text. Unlike datetimes of the database, which drop it, the offset in the text counts;
 * without one the time is that of `zone`.
 * @returns undefined when the text is something else or no such day exists
 */
export function parseIsoMoment(text: string, zone: TimeZone): number | undefined {
  const match = shape.exec(text.trim());
  if (!match) return undefined;
  const [, day, time = '00:00', seconds = ':00', fraction = '', offset] = match;
  const local = parseDateTimeBy(`${day} ${time}${seconds}`, 'uuuu-MM-dd HH:mm:ss', 'UTC');
  if (local === undefined) return undefined;
  const localMs = local.epochMs + Number(fraction.padEnd(3, '0').slice(0, 3));
  return offset === undefined ? zone.fromLocal(localMs) : localMs - offsetMs(offset);
}

function offsetMs(offset: string): number {
  if (offset === 'Z' || offset === 'z') return 0;
  const digits = offset.replace(/\D/g, '').padEnd(4, '0');
  const minutes = Number(digits.slice(0, 2)) * 60 + Number(digits.slice(2));
  return (offset.startsWith('-') ? -minutes : minutes) * 60_000;
}
