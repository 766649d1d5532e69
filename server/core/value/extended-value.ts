import { cypherDurationText, instantText } from '../temporal/instant-text.ts';
import {
  compareCypherDurations,
  compareInstants,
  CypherDuration,
  type Instant,
  LocalDateTime,
  LocalTime,
  ZonedDateTime,
  ZonedTime,
} from '../temporal/instants.ts';
import { comparePaths, Path, pathElements, pathRids } from './path.ts';
import { comparePoints, Point, pointText } from './point.ts';
import { formatRid } from './rid.ts';
import type { Value } from './value.ts';

/**
 * The kinds of values that openCypher and GQL brought: times, moments and durations (instants.ts), points, paths. Every dispatch
 * over kinds asks for the common ones first and hands what is left to the functions here.
 */
export type ExtendedValue = Instant | CypherDuration | Point | Path;
export type ExtendedKind = ExtendedValue['valueKind'];

export function isExtended(value: Value): value is ExtendedValue {
  return (
    value instanceof ZonedDateTime ||
    value instanceof LocalDateTime ||
    value instanceof CypherDuration ||
    value instanceof Point ||
    value instanceof ZonedTime ||
    value instanceof LocalTime ||
    value instanceof Path
  );
}

/** Places of the kinds in the order of all values, after all others; also tags of index keys and stored values follow it. */
const places = {
  localTime: 0,
  zonedTime: 1,
  localDateTime: 2,
  zonedDateTime: 3,
  cypherDuration: 4,
  point: 5,
  path: 6,
} as const satisfies Record<ExtendedKind, number>;

export function placeOfExtended(value: ExtendedValue): number {
  return places[value.valueKind];
}

/** A total order of all values of these kinds, in which equal ones are 0. */
export function compareExtended(a: ExtendedValue, b: ExtendedValue): number {
  const difference = places[a.valueKind] - places[b.valueKind];
  if (difference !== 0) return difference;
  switch (a.valueKind) {
    case 'cypherDuration':
      return compareCypherDurations(a, b as CypherDuration);
    case 'point':
      return comparePoints(a, b as Point);
    case 'path':
      return comparePaths(a, b as Path);
    default:
      return compareInstants(a, b as Instant);
  }
}

/** Text that tells all values of these kinds apart, for hash tables. */
export function keyOfExtended(value: ExtendedValue): string {
  switch (value.valueKind) {
    case 'localTime':
      return `lt${value.nanosOfDay};`;
    case 'zonedTime':
      return `zt${value.nanosOfDay},${value.offsetSeconds};`;
    case 'localDateTime':
      return `ld${value.epochDay},${value.nanosOfDay};`;
    case 'zonedDateTime':
      return `zd${value.epochDay},${value.nanosOfDay},${value.offsetSeconds},${value.zone};`;
    case 'cypherDuration':
      return `cd${value.months},${value.days},${value.seconds},${value.nanos};`;
    case 'point':
      return `pt${value.srid},${value.x},${value.y},${value.z};`;
    case 'path':
      return `pa${pathRids(value).join(',')};`;
  }
}

/** The text form, which is also that of JSON for all but points and paths. */
export function textOfExtended(value: ExtendedValue): string {
  switch (value.valueKind) {
    case 'cypherDuration':
      return cypherDurationText(value);
    case 'point':
      return pointText(value);
    case 'path':
      return `[${pathElements(value)
        .map(({ rid }) => formatRid(rid))
        .join(', ')}]`;
    default:
      return instantText(value);
  }
}
