import type { Value } from '../value/value.ts';
import { makeCypherDuration } from './cypher-duration.ts';
import { CypherDuration, type Instant, isInstant, LocalDateTime } from './instants.ts';
import { DateTime, Duration, LocalDate, makeDateTime } from './temporal.ts';
import { clockOfEpoch } from './zones.ts';
import { secondsPerDay, utcOf } from './instants.ts';

/** What the temporal kinds of one language are in the other. */

/** A temporal value with a date or a time; a DATETIME of SQL is what its clock shows. Undefined for other kinds. */
export function asInstant(value: Value): Instant | LocalDate | undefined {
  if (typeof value !== 'object' || value === null || !('valueKind' in value)) return undefined;
  if (value instanceof LocalDate || isInstant(value)) return value;
  if (!(value instanceof DateTime)) return undefined;
  const second = Math.floor(value.epochMs / 1_000);
  return clockOfEpoch(second, (value.epochMs - second * 1_000) * 1_000_000 + value.nanosOfMs);
}

/** A duration; one of SQL has seconds and nanoseconds only. Undefined for other kinds. */
export function asCypherDuration(value: Value): CypherDuration | undefined {
  if (value instanceof CypherDuration) return value;
  if (!(value instanceof Duration)) return undefined;
  return makeCypherDuration(0n, 0n, BigInt(Math.trunc(value.seconds)), BigInt(value.nanos));
}

/** The DATETIME of SQL at a moment: of a zoned one its instant, of a local one what its clock shows. Undefined for times. */
export function asDateTime(value: Instant): DateTime | undefined {
  if (value.valueKind === 'localTime' || value.valueKind === 'zonedTime') return undefined;
  const clock = value instanceof LocalDateTime ? value : utcOf(value);
  return makeDateTime(clock.epochDay * secondsPerDay * 1_000, clock.nanosOfDay);
}
