import { type Point, pointSystems } from './point.ts';
import { double, type Value } from './value.ts';

/** What `p.x`, `p.longitude`, `p.crs` and the like are; undefined for names that it does not have. */
export function pointComponent(point: Point, name: string): Value | undefined {
  const { isGeographic, hasHeight, name: crs } = pointSystems[point.srid];
  switch (name) {
    case 'x':
      return double(point.x);
    case 'y':
      return double(point.y);
    case 'z':
      return hasHeight ? double(point.z) : undefined;
    case 'longitude':
      return isGeographic ? double(point.x) : undefined;
    case 'latitude':
      return isGeographic ? double(point.y) : undefined;
    case 'height':
      return isGeographic && hasHeight ? double(point.z) : undefined;
    case 'srid':
      return point.srid;
    case 'crs':
      return crs;
    default:
      return undefined;
  }
}

/** Coordinates and number of the system, as JSON shows them. */
export function pointFields(point: Point): ReadonlyMap<string, Value> {
  const { isGeographic, hasHeight } = pointSystems[point.srid];
  const fields = new Map<string, Value>([
    [isGeographic ? 'longitude' : 'x', double(point.x)],
    [isGeographic ? 'latitude' : 'y', double(point.y)],
  ]);
  if (hasHeight) fields.set(isGeographic ? 'height' : 'z', double(point.z));
  return fields.set('srid', point.srid);
}
