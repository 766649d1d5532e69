import { DatabaseError } from '../errors.ts';

/** Coordinate reference systems of points, by their number in the EPSG register. */
export const pointSystems = {
  4326: { name: 'wgs-84', isGeographic: true, hasHeight: false },
  4979: { name: 'wgs-84-3d', isGeographic: true, hasHeight: true },
  7203: { name: 'cartesian', isGeographic: false, hasHeight: false },
  9157: { name: 'cartesian-3d', isGeographic: false, hasHeight: true },
} as const;

export type PointSystem = keyof typeof pointSystems;

/** A place; x and y are longitude and latitude in a geographic system. `z` is 0 in systems of two dimensions. */
export class Point {
  readonly valueKind = 'point';
  readonly srid: PointSystem;
  readonly x: number;
  readonly y: number;
  readonly z: number;
  constructor(srid: PointSystem, x: number, y: number, z = 0) {
    this.srid = srid;
    this.x = x;
    this.y = y;
    this.z = z;
  }
}

export function isPointSystem(srid: number): srid is PointSystem {
  return Object.hasOwn(pointSystems, srid);
}

/** @throws DatabaseError `IllegalArgument` for coordinates that are no finite numbers, and for places outside of the globe */
export function makePoint(srid: PointSystem, x: number, y: number, z: number): Point {
  if (!Number.isFinite(x) || !Number.isFinite(y) || !Number.isFinite(z))
    throw new DatabaseError('IllegalArgument', 'a point has finite coordinates');
  if (pointSystems[srid].isGeographic) {
    if (Math.abs(x) > 180)
      throw new DatabaseError('IllegalArgument', `longitude ${x} is not within -180 and 180`);
    if (Math.abs(y) > 90)
      throw new DatabaseError('IllegalArgument', `latitude ${y} is not within -90 and 90`);
  }
  // -0 and 0 are one place.
  return new Point(srid, x + 0, y + 0, z + 0);
}

/** By system, then by coordinates. */
export function comparePoints(a: Point, b: Point): number {
  return a.srid - b.srid || a.x - b.x || a.y - b.y || a.z - b.z;
}

/** `point({x: 1.0, y: 2.0, crs: 'cartesian'})` */
export function pointText(point: Point): string {
  const { name, isGeographic, hasHeight } = pointSystems[point.srid];
  const names = isGeographic ? ['longitude', 'latitude', 'height'] : ['x', 'y', 'z'];
  const coordinates = hasHeight ? [point.x, point.y, point.z] : [point.x, point.y];
  const parts = coordinates.map((n, i) => `${names[i]}: ${coordinateText(n)}`);
  return `point({${parts.join(', ')}, crs: '${name}'})`;
}

/** The shortest text, with a point or an exponent. */
export function coordinateText(n: number): string {
  const text = String(n);
  return Number.isInteger(n) && !text.includes('e') ? `${text}.0` : text;
}
