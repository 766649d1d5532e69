import { DatabaseError } from '#core/errors.ts';
import { type Geometry, type Point, polygonGeometry, type Ring } from './geometry.ts';
import { refusal } from '../arguments.ts';
import { signedArea } from './measure.ts';

export interface BufferStyle {
  /** Straight pieces of a quarter circle. */
  readonly quadrantSegments: number;
  readonly endCapStyle: 'ROUND' | 'FLAT' | 'SQUARE';
  readonly joinStyle: 'ROUND' | 'MITRE' | 'BEVEL';
}

/**
 * Everything within `radius` degrees of a point, of a line of one segment or of a convex polygon without holes, as a
 * polygon with counter-clockwise ring.
 *
 * @throws DatabaseError `NotSupported` for other geometries and for negative distances, `IllegalArgument` for NaN
 */
export function bufferOf(geometry: Geometry, radius: number, style: BufferStyle): Geometry {
  if (!Number.isFinite(radius)) throw refusal('geo.buffer() requires a finite distance');
  if (radius === 0) return geometry;
  if (radius < 0) throw new DatabaseError('NotSupported', 'not supported yet: negative geo.buffer');
  const [point] = geometry.points;
  const [line] = geometry.lines;
  const [rings] = geometry.polygons;
  if (geometry.kind === 'POINT' && point)
    return circleAround(point, radius, style.quadrantSegments);
  if (geometry.kind === 'LINESTRING' && line?.length === 2)
    return aroundSegment(line[0] as Point, line[1] as Point, radius, style);
  if (geometry.kind === 'POLYGON' && rings?.length === 1 && isConvex(rings[0] as Ring))
    return aroundConvex(rings[0] as Ring, radius, style);
  throw new DatabaseError(
    'NotSupported',
    `not supported yet: geo.buffer of a ${geometry.kind} other than a point, a segment or a convex polygon`,
  );
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
