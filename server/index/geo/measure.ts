import { envelopeOf, type Geometry, type Point, type Ring } from './geometry.ts';

/** Units of `geo.distance` in one kilometre. */
export const unitsPerKm: ReadonlyMap<string, number> = new Map([
  ['m', 1000],
  ['km', 1],
  ['mi', 1 / 1.609344],
  ['nmi', 1 / 1.852],
]);

export const earthRadiusKm = 6371;

/** Kilometres along the great circle (haversine on a sphere of 6371 km) between two positions in degrees. */
export function greatCircleKm(a: Point, b: Point): number {
  const radians = Math.PI / 180;
  const halfLatitude = Math.sin(((b.y - a.y) * radians) / 2);
  const halfLongitude = Math.sin(((b.x - a.x) * radians) / 2);
  const h =
    halfLatitude * halfLatitude +
    Math.cos(a.y * radians) * Math.cos(b.y * radians) * halfLongitude * halfLongitude;
  return 2 * earthRadiusKm * Math.atan2(Math.sqrt(h), Math.sqrt(Math.max(0, 1 - h)));
}

/** Square degrees of all polygons, holes taken off. */
export function areaOf(geometry: Geometry): number {
  let area = 0;
  for (const rings of geometry.polygons)
    for (let i = 0; i < rings.length; i++)
      area += (i === 0 ? 1 : -1) * Math.abs(signedArea(rings[i] as Ring));
  return area;
}

/** Positive for a counter-clockwise ring. */
export function signedArea(ring: Ring): number {
  const origin = ring[0];
  if (!origin) return 0;
  let twice = 0;
  for (let i = 1; i < ring.length; i++) {
    const a = ring[i - 1] as Point;
    const b = ring[i] as Point;
    twice += (a.x - origin.x) * (b.y - origin.y) - (b.x - origin.x) * (a.y - origin.y);
  }
  return twice / 2;
}

/** The point itself, or the middle of the envelope; undefined for an empty geometry. */
export function centreOf(geometry: Geometry): Point | undefined {
  const envelope = envelopeOf(geometry);
  return (
    envelope && {
      x: (envelope.minX + envelope.maxX) / 2,
      y: (envelope.minY + envelope.maxY) / 2,
    }
  );
}
