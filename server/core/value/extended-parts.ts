import { int64Max, int64Min, integer, type Value } from './value.ts';
import {
  CypherDuration,
  LocalDateTime,
  LocalTime,
  ZonedDateTime,
  ZonedTime,
} from '../temporal/instants.ts';
import type { ExtendedValue } from './extended-value.ts';
import { Path, pathElements } from './path.ts';
import { isPointSystem, makePoint } from './point.ts';
import { Link } from './record.ts';
import { formatRid, noRid, parseRid, type Rid } from './rid.ts';

/** Kind and parts of a value as JSON has them: how exports and the schema write the kinds of `extended-value.ts`. */
export function partsOfExtended(value: ExtendedValue): readonly (string | number)[] {
  switch (value.valueKind) {
    case 'localTime':
      return ['localTime', value.nanosOfDay];
    case 'zonedTime':
      return ['zonedTime', value.nanosOfDay, value.offsetSeconds];
    case 'localDateTime':
      return ['localDateTime', value.epochDay, value.nanosOfDay];
    case 'zonedDateTime':
      return ['zonedDateTime', value.epochDay, value.nanosOfDay, value.offsetSeconds, value.zone];
    case 'cypherDuration':
      // 64 bits are no number of JSON.
      return ['cypherDuration', value.months, value.days, String(value.seconds), value.nanos];
    case 'point':
      // As texts, since 4 and 4.0 are two numbers to us.
      return ['point', value.srid, String(value.x), String(value.y), String(value.z)];
    case 'path':
      return ['path', ...pathElements(value).map(({ rid }) => formatRid(rid))];
  }
}

/** The reverse; undefined for anything that `partsOfExtended` does not write. */
export function extendedOfParts(parts: readonly Value[]): ExtendedValue | undefined {
  const [kind, ...rest] = parts;
  if (kind === 'path') return pathOf(rest);
  const [a, b, c, d] = rest;
  if (!isInteger(a)) return undefined;
  switch (kind) {
    case 'localTime':
      return new LocalTime(a);
    case 'zonedTime':
      return isInteger(b) ? new ZonedTime(a, b) : undefined;
    case 'localDateTime':
      return isInteger(b) ? new LocalDateTime(a, b) : undefined;
    case 'zonedDateTime':
      if (!isInteger(b) || !isInteger(c) || typeof d !== 'string') return undefined;
      return new ZonedDateTime(a, b, c, d);
    case 'cypherDuration': {
      if (!isInteger(b) || typeof c !== 'string' || !isInteger(d)) return undefined;
      const seconds = /^-?\d{1,19}$/.test(c) ? BigInt(c) : undefined;
      if (seconds === undefined || seconds > int64Max || seconds < int64Min) return undefined;
      return new CypherDuration(a, b, integer(seconds), d);
    }
    case 'point': {
      const [x, y, z] = [b, c, d].map((n) => (typeof n === 'string' ? Number(n) : Number.NaN));
      if (!isPointSystem(a)) return undefined;
      return makePoint(a, x ?? Number.NaN, y ?? Number.NaN, z ?? Number.NaN);
    }
    default:
      return undefined;
  }
}

function isInteger(value: Value | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

function pathOf(parts: readonly Value[]): Path | undefined {
  if (parts.length % 2 !== 1) return undefined;
  const rids: Rid[] = [];
  for (const part of parts) {
    const rid = typeof part === 'string' ? parseRid(part) : undefined;
    if (rid === undefined || rid === noRid) return undefined;
    rids.push(rid);
  }
  const links = rids.map((rid) => new Link(rid));
  return new Path(
    links.filter((_, at) => at % 2 === 0),
    links.filter((_, at) => at % 2 === 1),
  );
}
