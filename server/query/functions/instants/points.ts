import { invalid } from '#core/temporal/calendar.ts';
import {
  isPointSystem,
  makePoint,
  Point,
  pointSystems,
  type PointSystem,
} from '#core/value/point.ts';
import { double, Float, isMap, type Value, type ValueMap } from '#core/value/value.ts';
import { kindName, notA } from '../../evaluate/cypher-failures.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { alias, scalar } from '../define.ts';

/**
 * Points of openCypher (cypher.md 9.7), under `#cypher.<name>`: `point(map)`, `point.distance(a, b)` (also `distance`),
 * `point.withinBBox(point, lowerLeft, upperRight)`. Coordinates (`p.x`) are properties.
 */

const names = ['x', 'y', 'z', 'longitude', 'latitude', 'height'] as const;
const known: ReadonlySet<string> = new Set([...names, 'crs', 'srid']);

function pointOf(value: Value): Value {
  if (value === null || value instanceof Point) return value;
  if (!isMap(value)) throw notA('a map of coordinates', value);
  for (const name of value.keys())
    if (!known.has(name)) throw invalid(`'${name.slice(0, 60)}' is no component of a point`);
  if ([...value.values()].includes(null)) return null;
  const isGeographic = value.has('longitude') || value.has('latitude');
  const x = coordinate(value, isGeographic ? 'longitude' : 'x');
  const y = coordinate(value, isGeographic ? 'latitude' : 'y');
  const zName = value.has('height') ? 'height' : 'z';
  const z = value.has(zName) ? coordinate(value, zName) : undefined;
  const srid = systemOf(value, { isGeographic, hasHeight: z !== undefined });
  const system = pointSystems[srid];
  if (system.hasHeight !== (z !== undefined))
    throw invalid(`a point of ${system.name} has ${system.hasHeight ? 3 : 2} coordinates`);
  if (isGeographic && !system.isGeographic)
    throw invalid(`a point of ${system.name} has x and y, not longitude and latitude`);
  return makePoint(srid, x, y, z ?? 0);
}

function coordinate(map: ValueMap, name: string): number {
  const value = map.get(name);
  if (value === undefined) throw invalid(`a point needs ${name}`);
  const n = value instanceof Float ? value.number : value;
  if (typeof n === 'number' || typeof n === 'bigint') return Number(n);
  throw invalid(`${name} must be a number, not ${kindName(value)}`);
}

function systemOf(
  map: ValueMap,
  { isGeographic, hasHeight }: { readonly isGeographic: boolean; readonly hasHeight: boolean },
): PointSystem {
  const srid = map.get('srid');
  const crs = map.get('crs');
  if (srid !== undefined && crs !== undefined) throw invalid('a point has crs or srid, not both');
  if (srid !== undefined) {
    if (typeof srid === 'number' && isPointSystem(srid)) return srid;
    throw invalid('srid is one of 4326, 4979, 7203, 9157');
  }
  if (crs !== undefined) {
    const name = typeof crs === 'string' ? crs.toLowerCase() : '';
    for (const [id, system] of Object.entries(pointSystems))
      if (system.name === name) return Number(id) as PointSystem;
    throw invalid("crs is one of 'wgs-84', 'wgs-84-3d', 'cartesian', 'cartesian-3d'");
  }
  if (isGeographic || map.has('height')) return hasHeight ? 4979 : 4326;
  return hasHeight ? 9157 : 7203;
}

const earthRadius = 6_378_140;

/** Metres on the sphere with differences of height, or the length of the straight line; null between systems. */
function distance(a: Value, b: Value): Value {
  if (a === null || b === null) return null;
  if (!(a instanceof Point)) throw notA('a point', a);
  if (!(b instanceof Point)) throw notA('a point', b);
  if (a.srid !== b.srid) return null;
  if (!pointSystems[a.srid].isGeographic)
    return double(Math.hypot(a.x - b.x, a.y - b.y, a.z - b.z));
  const radians = Math.PI / 180;
  const [p, q] = [a.y * radians, b.y * radians];
  const h =
    Math.sin((q - p) / 2) ** 2 +
    Math.cos(p) * Math.cos(q) * Math.sin(((b.x - a.x) * radians) / 2) ** 2;
  const ground = 2 * (earthRadius + (a.z + b.z) / 2) * Math.asin(Math.min(1, Math.sqrt(h)));
  return double(Math.hypot(ground, a.z - b.z));
}

/** Bounds belong to the box; one whose lower longitude is the larger goes over the date line. */
function isWithin(point: Value, low: Value, high: Value): Value {
  if (point === null || low === null || high === null) return null;
  for (const value of [point, low, high])
    if (!(value instanceof Point)) throw notA('a point', value);
  const [p, a, b] = [point as Point, low as Point, high as Point];
  if (p.srid !== a.srid || p.srid !== b.srid) return null;
  const wraps = pointSystems[p.srid].isGeographic && a.x > b.x;
  const isBetween = wraps ? p.x >= a.x || p.x <= b.x : p.x >= a.x && p.x <= b.x;
  return isBetween && p.y >= a.y && p.y <= b.y && p.z >= a.z && p.z <= b.z;
}

const distanceFunction = scalar('#cypher.point.distance(a, b)', [2, 2], ([a, b]) =>
  distance(a ?? null, b ?? null),
);

export const pointFunctions: readonly ScalarFunction[] = [
  scalar('#cypher.point(map)', [1, 1], ([map]) => pointOf(map ?? null)),
  distanceFunction,
  alias('#cypher.distance', distanceFunction),
  scalar('#cypher.point.withinBBox(point, lowerLeft, upperRight)', [3, 3], ([p, a, b]) =>
    isWithin(p ?? null, a ?? null, b ?? null),
  ),
];
