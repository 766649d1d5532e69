/** A position in degrees: x is the longitude, y the latitude. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Closed: the first point is repeated at the end. */
export type Ring = readonly Point[];

/** One or more pieces of one kind each; an empty geometry has no pieces. */
export interface Geometry {
  readonly kind: GeometryKind;
  readonly points: readonly Point[];
  readonly lines: readonly (readonly Point[])[];
  /** Per polygon the outer ring, then its holes. */
  readonly polygons: readonly (readonly Ring[])[];
}

export type GeometryKind =
  | 'POINT'
  | 'LINESTRING'
  | 'POLYGON'
  | 'MULTIPOINT'
  | 'MULTILINESTRING'
  | 'MULTIPOLYGON'
  | 'GEOMETRYCOLLECTION';

/** One straight piece of a line or a ring. */
export interface Segment {
  readonly a: Point;
  readonly b: Point;
}

export interface Envelope {
  readonly minX: number;
  readonly minY: number;
  readonly maxX: number;
  readonly maxY: number;
}

const none: readonly never[] = [];

export function pointGeometry(point: Point): Geometry {
  return { kind: 'POINT', points: [point], lines: none, polygons: none };
}

export function lineGeometry(points: readonly Point[]): Geometry {
  return { kind: 'LINESTRING', points: none, lines: [points], polygons: none };
}

export function polygonGeometry(rings: readonly Ring[]): Geometry {
  return { kind: 'POLYGON', points: none, lines: none, polygons: [rings] };
}

export function samePoint(a: Point, b: Point): boolean {
  return a.x === b.x && a.y === b.y;
}

/** The ring with its first point repeated at the end, unless it is there already. */
export function closeRing(points: readonly Point[]): Ring {
  const first = points[0];
  const last = points[points.length - 1];
  if (!first || !last || samePoint(first, last)) return points;
  return [...points, first];
}

/** All vertices, in order. Cost: one array. */
export function coordinatesOf(geometry: Geometry): readonly Point[] {
  const all: Point[] = [...geometry.points];
  for (const line of geometry.lines) for (const point of line) all.push(point);
  for (const rings of geometry.polygons)
    for (const ring of rings) for (const point of ring) all.push(point);
  return all;
}

/** undefined for an empty geometry. */
export function envelopeOf(geometry: Geometry): Envelope | undefined {
  const all = coordinatesOf(geometry);
  if (all.length === 0) return undefined;
  let minX = Infinity;
  let minY = Infinity;
  let maxX = -Infinity;
  let maxY = -Infinity;
  for (const { x, y } of all) {
    if (x < minX) minX = x;
    if (x > maxX) maxX = x;
    if (y < minY) minY = y;
    if (y > maxY) maxY = y;
  }
  return { minX, minY, maxX, maxY };
}

export function rectangleGeometry({ minX, minY, maxX, maxY }: Envelope): Geometry {
  return polygonGeometry([
    [
      { x: minX, y: minY },
      { x: maxX, y: minY },
      { x: maxX, y: maxY },
      { x: minX, y: maxY },
      { x: minX, y: minY },
    ],
  ]);
}

/** Straight pieces of a path of points; none for a single point. */
export function segmentsOf(path: readonly Point[]): Segment[] {
  const segments: Segment[] = [];
  for (let i = 1; i < path.length; i++) {
    const a = path[i - 1] as Point;
    const b = path[i] as Point;
    if (!samePoint(a, b)) segments.push({ a, b });
  }
  return segments;
}
