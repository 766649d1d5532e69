import {
  coordinatesOf,
  envelopeOf,
  type Geometry,
  type Point,
  polygonGeometry,
  rectangleGeometry,
  type Ring,
  samePoint,
  segmentsOf,
} from '#index/geo/geometry.ts';
import { refusal } from '../arguments.ts';
import { signedArea } from '#index/geo/measure.ts';
import { predicates } from './relate.ts';
import { unionOf } from './union.ts';

export interface BufferStyle {
  /** Straight pieces of a quarter circle. */
  readonly quadrantSegments: number;
  readonly endCapStyle: 'ROUND' | 'FLAT' | 'SQUARE';
  readonly joinStyle: 'ROUND' | 'MITRE' | 'BEVEL';
}

/** Sides of all parts before they are united; the work grows with their square, and a call keeps everyone waiting. */
const sideCountMax = 5_000;

/**
 * Everything within `radius` degrees, as one or more polygons with counter-clockwise outlines: the union of the polygons,
 * of a strip along every segment and of what joins the strips. A negative radius gives what is farther than that from the
 * outside of polygons; of points and lines nothing is left.
 *
 * @throws DatabaseError `IllegalArgument` for NaN and when the geometry has too many segments for a circle of so many
 * corners around each
 */
export function bufferOf(geometry: Geometry, radius: number, style: BufferStyle): Geometry {
  if (!Number.isFinite(radius)) throw refusal('geo.buffer() requires a finite distance');
  if (radius === 0) return geometry;
  if (radius < 0) return shrunk(geometry, -radius, style);
  const { points, lines, polygons } = geometry;
  const [point] = points;
  const [line] = lines;
  const [rings] = polygons;
  if (geometry.kind === 'POINT' && point) return aroundPoint(point, radius, style);
  if (geometry.kind === 'LINESTRING' && line?.length === 2)
    return aroundSegment(line[0] as Point, line[1] as Point, radius, style);
  if (geometry.kind === 'POLYGON' && rings?.length === 1 && isConvex(rings[0] as Ring))
    return aroundConvex(rings[0] as Ring, radius, style);
  requireSides(coordinatesOf(geometry).length * (style.quadrantSegments * 4 + 4));
  const parts: (readonly Ring[])[] = points.flatMap(
    (centre) => aroundPoint(centre, radius, style).polygons,
  );
  for (const path of lines)
    alongPath(
      path,
      radius,
      style,
      samePoint(path[0] as Point, path[path.length - 1] as Point),
      parts,
    );
  for (const polygon of polygons) {
    parts.push(polygon);
    for (const ring of polygon) alongPath(ring, radius, style, true, parts);
  }
  return unionOf(parts);
}

/** What stays when the outside, a frame around the polygon and its holes, grows by `radius`. */
function shrunk(geometry: Geometry, radius: number, style: BufferStyle): Geometry {
  const corners = geometry.polygons.flat().reduce((sum, ring) => sum + ring.length, 0);
  requireSides(corners * (style.quadrantSegments * 4 + 4));
  const polygons = geometry.polygons.flatMap((rings) => {
    const box = envelopeOf(polygonGeometry(rings));
    if (box === undefined) return [];
    const margin = radius + 1;
    const frame = rectangleGeometry({
      minX: box.minX - margin,
      minY: box.minY - margin,
      maxX: box.maxX + margin,
      maxY: box.maxY + margin,
    }).polygons[0] as readonly Ring[];
    const parts: (readonly Ring[])[] = [[...frame, rings[0] as Ring]];
    for (const hole of rings.slice(1)) parts.push([hole]);
    for (const ring of rings) alongPath(ring, radius, style, true, parts);
    return complement(unionOf(parts).polygons);
  });
  const kind = polygons.length > 1 ? 'MULTIPOLYGON' : 'POLYGON';
  return { kind, points: [], lines: [], polygons };
}

/** The gaps of the largest polygon, which is the first, without the others. */
function complement([outside, ...islands]: readonly (readonly Ring[])[]): (readonly Ring[])[] {
  const gaps = (outside ?? []).slice(1).map((ring) => polygonGeometry([ring.toReversed()]));
  return gaps.map((gap) => {
    const inner = islands.filter(([outline]) =>
      predicates.within(polygonGeometry([outline as Ring]), gap),
    );
    return [
      ...(gap.polygons[0] as readonly Ring[]),
      ...inner.map(([outline]) => (outline as Ring).toReversed()),
    ];
  });
}

function requireSides(sideCount: number): void {
  if (sideCount > sideCountMax)
    throw refusal(
      `geo.buffer() would unite ${sideCount} sides, more than ${sideCountMax}; use fewer points or quadrantSegments`,
    );
}

/** Strips along the segments, joins at the corners, caps at the ends of an open path. */
function alongPath(
  path: readonly Point[],
  radius: number,
  style: BufferStyle,
  isClosed: boolean,
  parts: (readonly Ring[])[],
): void {
  const segments = segmentsOf(path);
  segments.forEach(({ a, b }, i) => {
    const isFirst = !isClosed && i === 0;
    const isLast = !isClosed && i === segments.length - 1;
    const angle = Math.atan2(b.y - a.y, b.x - a.x);
    const reach = style.endCapStyle === 'SQUARE' ? radius : 0;
    const from = onCircle(a, isFirst ? -reach : 0, angle);
    const to = onCircle(b, isLast ? reach : 0, angle);
    parts.push(...aroundSegment(from, to, radius, { ...style, endCapStyle: 'FLAT' }).polygons);
    if (style.endCapStyle === 'ROUND' && isFirst)
      parts.push(...circleAround(a, radius, style.quadrantSegments).polygons);
    if (style.endCapStyle === 'ROUND' && isLast)
      parts.push(...circleAround(b, radius, style.quadrantSegments).polygons);
    const next = segments[i + 1] ?? (isClosed ? segments[0] : undefined);
    if (next === undefined) return;
    const turned = Math.atan2(next.b.y - next.a.y, next.b.x - next.a.x);
    parts.push(cornerBetween(b, radius, angle, turned, style));
  });
}

/** What lies between two strips on the outer side of a corner. */
function cornerBetween(
  at: Point,
  radius: number,
  before: number,
  after: number,
  style: BufferStyle,
): readonly Ring[] {
  if (style.joinStyle === 'ROUND')
    return circleAround(at, radius, style.quadrantSegments).polygons[0] as readonly Ring[];
  let turn = after - before;
  while (turn > Math.PI) turn -= 2 * Math.PI;
  while (turn < -Math.PI) turn += 2 * Math.PI;
  const isLeft = turn > 0;
  const from = isLeft ? before - Math.PI / 2 : before + Math.PI / 2 + turn;
  const outline: Point[] = [at];
  join(at, radius, { from, to: from + Math.abs(turn) }, style, outline);
  if (outline.length === 2)
    outline.splice(
      1,
      1,
      onCircle(at, radius, from),
      outline[1] as Point,
      onCircle(at, radius, from + Math.abs(turn)),
    );
  outline.push(at);
  return [outline];
}

/** A regular polygon of four times `quadrantSegments` corners, starting in the east. */
export function circleAround(centre: Point, radius: number, quadrantSegments: number): Geometry {
  const corners = quadrantSegments * 4;
  const ring: Point[] = [];
  for (let i = 0; i < corners; i++)
    ring.push(onCircle(centre, radius, (i / corners) * 2 * Math.PI));
  ring.push(ring[0] as Point);
  return polygonGeometry([ring]);
}

/** A point has no direction: a flat cap leaves nothing of it, a square one the square around the circle. */
function aroundPoint({ x, y }: Point, radius: number, style: BufferStyle): Geometry {
  switch (style.endCapStyle) {
    case 'ROUND':
      return circleAround({ x, y }, radius, style.quadrantSegments);
    case 'SQUARE':
      return rectangleGeometry({
        minX: x - radius,
        minY: y - radius,
        maxX: x + radius,
        maxY: y + radius,
      });
    case 'FLAT':
      return { kind: 'POLYGON', points: [], lines: [], polygons: [] };
  }
}

function onCircle(centre: Point, radius: number, angle: number): Point {
  return {
    x: rounded(centre.x + radius * Math.cos(angle)),
    y: rounded(centre.y + radius * Math.sin(angle)),
  };
}

/** Hides the noise of trigonometry: that cos(pi / 2) is 6e-17. A degree has 111 km, so this is far below an atom. */
function rounded(degrees: number): number {
  return Math.round(degrees * 1e15) === 0 ? 0 : Number(degrees.toPrecision(15));
}

function aroundSegment(a: Point, b: Point, radius: number, style: BufferStyle): Geometry {
  const angle = Math.atan2(b.y - a.y, b.x - a.x);
  const { endCapStyle, quadrantSegments } = style;
  const ring: Point[] = [];
  const half = Math.PI / 2;
  if (endCapStyle === 'ROUND') {
    arc(b, radius, angle - half, angle + half, quadrantSegments, ring);
    arc(a, radius, angle + half, angle + 3 * half, quadrantSegments, ring);
  } else {
    const reach = endCapStyle === 'SQUARE' ? radius : 0;
    const far = onCircle(b, reach, angle);
    const near = onCircle(a, -reach, angle);
    ring.push(onCircle(far, radius, angle - half), onCircle(far, radius, angle + half));
    ring.push(onCircle(near, radius, angle + half), onCircle(near, radius, angle - half));
  }
  ring.push(ring[0] as Point);
  return polygonGeometry([ring]);
}

function arc(
  centre: Point,
  radius: number,
  from: number,
  to: number,
  quadrantSegments: number,
  ring: Point[],
): void {
  const steps = Math.max(1, Math.ceil(((to - from) / (Math.PI / 2)) * quadrantSegments - 1e-9));
  for (let i = 0; i <= steps; i++)
    ring.push(onCircle(centre, radius, from + ((to - from) * i) / steps));
}

function isConvex(ring: Ring): boolean {
  const corners = ring.slice(0, -1);
  let sign = 0;
  for (let i = 0; i < corners.length; i++) {
    const turn = turnAt(corners, i);
    if (turn === 0) continue;
    if (sign !== 0 && Math.sign(turn) !== sign) return false;
    sign = Math.sign(turn);
  }
  return sign !== 0;
}

function turnAt(corners: readonly Point[], i: number): number {
  const before = corners[(i + corners.length - 1) % corners.length] as Point;
  const at = corners[i] as Point;
  const after = corners[(i + 1) % corners.length] as Point;
  return (at.x - before.x) * (after.y - at.y) - (at.y - before.y) * (after.x - at.x);
}

function aroundConvex(ring: Ring, radius: number, style: BufferStyle): Geometry {
  const corners = ring.slice(0, -1);
  if (signedArea(ring) < 0) corners.reverse();
  const outline: Point[] = [];
  for (let i = 0; i < corners.length; i++) {
    if (turnAt(corners, i) === 0) continue;
    const before = corners[(i + corners.length - 1) % corners.length] as Point;
    const at = corners[i] as Point;
    const after = corners[(i + 1) % corners.length] as Point;
    const from = Math.atan2(at.y - before.y, at.x - before.x) - Math.PI / 2;
    let to = Math.atan2(after.y - at.y, after.x - at.x) - Math.PI / 2;
    if (to < from) to += 2 * Math.PI;
    join(at, radius, { from, to }, style, outline);
  }
  outline.push(outline[0] as Point);
  return polygonGeometry([outline]);
}

/** Beyond this a mitre is cut to a bevel, as in other libraries. */
const mitreLimit = 5;

function join(
  at: Point,
  radius: number,
  { from, to }: { readonly from: number; readonly to: number },
  { joinStyle, quadrantSegments }: BufferStyle,
  outline: Point[],
): void {
  const stretch = 1 / Math.cos((to - from) / 2);
  if (joinStyle === 'ROUND') arc(at, radius, from, to, quadrantSegments, outline);
  else if (joinStyle === 'MITRE' && stretch <= mitreLimit)
    outline.push(onCircle(at, radius * stretch, (from + to) / 2));
  else outline.push(onCircle(at, radius, from), onCircle(at, radius, to));
}
