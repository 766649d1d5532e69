import { type Geometry, type Point, type Ring, segmentsOf } from '#index/geo/geometry.ts';
import { signedArea } from '#index/geo/measure.ts';
import { distanceToSegment } from './relate.ts';

/**
 * The union of polygons, by the arrangement of their sides: every side is cut where it meets another polygon, a piece
 * stays when it lies inside no other polygon, and the pieces that stay are joined to rings. Sides that two polygons share
 * stay once when their insides lie on the same side, and vanish when they lie on opposite ones.
 *
 * Coordinates closer than a thousand-millionth of the extent are the same. Cost: O(n^2) for n sides, less where the
 * polygons are apart.
 */
export function unionOf(polygons: readonly (readonly Ring[])[]): Geometry {
  const shapes = polygons.map((rings, order) => shapeOf(rings, order));
  const tolerance = extentOf(shapes) * 1e-9;
  const pieces: Piece[] = [];
  shapes.forEach((shape, at) => {
    const others = shapes.filter((other, i) => i !== at && boxesMeet(shape, other, tolerance));
    for (const side of shape.sides) {
      const cuts = cutsOf(side, others, tolerance);
      for (let i = 1; i < cuts.length; i++) {
        const piece = { a: cuts[i - 1] as Point, b: cuts[i] as Point };
        if (stays(piece, shape, others, tolerance)) pieces.push(piece);
      }
    }
  });
  return polygonsOf(joinedRings(pieces, tolerance));
}

/** A directed part of a side; the inside of its polygon lies on the left. */
interface Piece {
  readonly a: Point;
  readonly b: Point;
}

interface Shape {
  readonly order: number;
  readonly sides: readonly Piece[];
  readonly minX: number;
  readonly minY: number;
  readonly maxX: number;
  readonly maxY: number;
}

function shapeOf(rings: readonly Ring[], order: number): Shape {
  const sides: Piece[] = [];
  let [minX, minY, maxX, maxY] = [Infinity, Infinity, -Infinity, -Infinity];
  rings.forEach((ring, i) => {
    const isOuter = i === 0;
    const isLeft = signedArea(ring) > 0 === isOuter;
    sides.push(...segmentsOf(isLeft ? ring : ring.toReversed()));
    for (const { x, y } of ring) {
      minX = Math.min(minX, x);
      minY = Math.min(minY, y);
      maxX = Math.max(maxX, x);
      maxY = Math.max(maxY, y);
    }
  });
  return { order, sides, minX, minY, maxX, maxY };
}

function extentOf(shapes: readonly Shape[]): number {
  let extent = 1e-6;
  for (const { minX, minY, maxX, maxY } of shapes)
    extent = Math.max(extent, Math.abs(minX), Math.abs(minY), Math.abs(maxX), Math.abs(maxY));
  return extent;
}

function boxesMeet(a: Shape, b: Shape, tolerance: number): boolean {
  return (
    a.minX <= b.maxX + tolerance &&
    b.minX <= a.maxX + tolerance &&
    a.minY <= b.maxY + tolerance &&
    b.minY <= a.maxY + tolerance
  );
}

function cutsOf(side: Piece, others: readonly Shape[], tolerance: number): readonly Point[] {
  const { a, b } = side;
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const lengthSquared = dx * dx + dy * dy;
  const fractions: number[] = [];
  for (const other of others)
    for (const { a: c, b: d } of other.sides) {
      for (const point of [c, d])
        if (distanceToSegment(point, side) <= tolerance)
          fractions.push(((point.x - a.x) * dx + (point.y - a.y) * dy) / lengthSquared);
      const ex = d.x - c.x;
      const ey = d.y - c.y;
      const cross = dx * ey - dy * ex;
      if (Math.abs(cross) < 1e-14 * Math.sqrt(lengthSquared * (ex * ex + ey * ey))) continue;
      const t = ((c.x - a.x) * ey - (c.y - a.y) * ex) / cross;
      const u = ((c.x - a.x) * dy - (c.y - a.y) * dx) / cross;
      if (t > 0 && t < 1 && u >= 0 && u <= 1) fractions.push(t);
    }
  fractions.sort((left, right) => left - right);
  const cuts = [a];
  for (const fraction of fractions) {
    if (!(fraction > 0 && fraction < 1)) continue;
    const point = { x: a.x + fraction * dx, y: a.y + fraction * dy };
    const last = cuts[cuts.length - 1] as Point;
    if (apart(point, last, tolerance) && apart(point, b, tolerance)) cuts.push(point);
  }
  cuts.push(b);
  return cuts;
}

function stays(piece: Piece, own: Shape, others: readonly Shape[], tolerance: number): boolean {
  const middle = { x: (piece.a.x + piece.b.x) / 2, y: (piece.a.y + piece.b.y) / 2 };
  for (const other of others) {
    const side = other.sides.find((one) => distanceToSegment(middle, one) <= tolerance);
    if (side === undefined) {
      if (isInside(middle, other)) return false;
      continue;
    }
    const isSameWay =
      (piece.b.x - piece.a.x) * (side.b.x - side.a.x) +
        (piece.b.y - piece.a.y) * (side.b.y - side.a.y) >
      0;
    // Of two polygons that share a side the first one keeps it.
    if (!isSameWay || other.order < own.order) return false;
  }
  return true;
}

function isInside(point: Point, shape: Shape): boolean {
  if (point.x < shape.minX || point.x > shape.maxX) return false;
  if (point.y < shape.minY || point.y > shape.maxY) return false;
  let inside = false;
  for (const { a, b } of shape.sides)
    if (a.y > point.y !== b.y > point.y)
      if (point.x < a.x + ((point.y - a.y) / (b.y - a.y)) * (b.x - a.x)) inside = !inside;
  return inside;
}

function apart(a: Point, b: Point, tolerance: number): boolean {
  return Math.hypot(a.x - b.x, a.y - b.y) > tolerance;
}

/** Points that are the same within the tolerance are one object. */
class PointIndex {
  readonly #cell: number;
  readonly #tolerance: number;
  readonly #points = new Map<string, Point[]>();

  constructor(tolerance: number) {
    this.#tolerance = tolerance * 2;
    this.#cell = tolerance * 4;
  }

  canonical(point: Point): Point {
    const x = Math.floor(point.x / this.#cell);
    const y = Math.floor(point.y / this.#cell);
    for (let dx = -1; dx <= 1; dx++)
      for (let dy = -1; dy <= 1; dy++)
        for (const known of this.#points.get(`${x + dx},${y + dy}`) ?? [])
          if (!apart(known, point, this.#tolerance)) return known;
    const key = `${x},${y}`;
    const cell = this.#points.get(key);
    if (cell) cell.push(point);
    else this.#points.set(key, [point]);
    return point;
  }
}

/** Where several pieces start, the ring turns as far left as it can, so that rings that touch stay apart. */
function joinedRings(pieces: readonly Piece[], tolerance: number): Ring[] {
  const index = new PointIndex(tolerance);
  const starts = new Map<Point, Piece[]>();
  for (const { a, b } of pieces) {
    const piece = { a: index.canonical(a), b: index.canonical(b) };
    if (piece.a === piece.b) continue;
    const known = starts.get(piece.a);
    if (known) known.push(piece);
    else starts.set(piece.a, [piece]);
  }
  const rings: Ring[] = [];
  for (const [start, waiting] of starts) {
    while (waiting.length > 0) {
      const ring = followed(start, starts);
      if (ring) rings.push(ring);
    }
  }
  return rings;
}

function followed(start: Point, starts: ReadonlyMap<Point, Piece[]>): Ring | undefined {
  const ring = [start];
  let before: Piece | undefined;
  for (;;) {
    const here = ring[ring.length - 1] as Point;
    const piece = leftmost(starts.get(here) ?? [], before);
    // Rounding can leave a piece without a partner; what was found so far is no ring then.
    if (piece === undefined) return undefined;
    ring.push(piece.b);
    if (piece.b === start) return ring;
    before = piece;
  }
}

/** Takes a piece out of those that start at one point. */
function leftmost(candidates: Piece[], before: Piece | undefined): Piece | undefined {
  let best = 0;
  let bestTurn = -Infinity;
  candidates.forEach((piece, i) => {
    const turn = before === undefined ? 0 : turnOf(before, piece);
    if (turn > bestTurn) {
      best = i;
      bestTurn = turn;
    }
  });
  return candidates.splice(best, 1)[0];
}

/** Angle from one direction to the next, from -pi (back to the right) to pi (back to the left). */
function turnOf(before: Piece, after: Piece): number {
  const ux = before.b.x - before.a.x;
  const uy = before.b.y - before.a.y;
  const vx = after.b.x - after.a.x;
  const vy = after.b.y - after.a.y;
  return Math.atan2(ux * vy - uy * vx, ux * vx + uy * vy);
}

/** Counter-clockwise rings are outlines, clockwise ones holes in the smallest outline around them. */
function polygonsOf(rings: readonly Ring[]): Geometry {
  const outlines = rings
    .filter((ring) => signedArea(ring) > 0)
    .map((ring) => ({ ring, area: signedArea(ring), rings: [ring] }))
    .sort((a, b) => a.area - b.area);
  for (const hole of rings) {
    const area = -signedArea(hole);
    if (area <= 0) continue;
    const corner = hole[0] as Point;
    const around = outlines.find(
      (outline) => outline.area > area && isInside(corner, shapeOf([outline.ring], 0)),
    );
    around?.rings.push(hole);
  }
  const polygons = outlines.map((outline) => outline.rings).reverse();
  return {
    kind: polygons.length === 1 ? 'POLYGON' : 'MULTIPOLYGON',
    points: [],
    lines: [],
    polygons,
  };
}
