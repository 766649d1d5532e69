import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import {
  coordinatesOf,
  type Geometry,
  type Point,
  type Ring,
  samePoint,
  type Segment,
  segmentsOf,
} from '#index/geo/geometry.ts';

/**
 * The dimensionally extended nine-intersection model (DE-9IM, OGC Simple Features 6.1.15): of every pair out of
 * interior, boundary and exterior of two geometries the dimension of what they share, -1 for nothing.
 *
 * Method: every line and ring of one geometry is split where it meets the other one, and each piece is placed by its
 * middle; areas are placed by a point a little to the side of a piece. Coordinates closer than a ten-thousand-millionth
 * of the extent are the same. Cost: O(n * m) for n and m segments.
 */
export interface Relation {
  readonly matrix: readonly number[];
  readonly dimensionA: number;
  readonly dimensionB: number;
}

type Place = 0 | 1 | 2;
const INTERIOR = 0;
const BOUNDARY = 1;
const EXTERIOR = 2;

export function relate(a: Geometry, b: Geometry): Relation {
  const work = relateInTurns(a, b, { isSpent: () => false });
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** As `relate`, in turns: pauses between segments, each of which is compared with all of the other geometry. */
export function* relateInTurns(a: Geometry, b: Geometry, meter: WorkMeter): PausingWork<Relation> {
  const ofPoint = pointInArea(a, b) ?? transposed(pointInArea(b, a));
  if (ofPoint !== undefined) return ofPoint;
  const matrix = [-1, -1, -1, -1, -1, -1, -1, -1, 2];
  const tolerance = extentOf(a, b) * 1e-10;
  const placeA = new Locator(a, tolerance);
  const placeB = new Locator(b, tolerance);
  const pace: Pace = {
    meter,
    unitsPerSegment: 1 + (placeA.segmentCount + placeB.segmentCount) / 8,
  };
  yield* placePieces(
    a,
    placeA,
    placeB,
    (own, other, dimension) => raise(matrix, own * 3 + other, dimension),
    pace,
  );
  yield* placePieces(
    b,
    placeB,
    placeA,
    (own, other, dimension) => raise(matrix, other * 3 + own, dimension),
    pace,
  );
  return { matrix, dimensionA: dimensionOf(a), dimensionB: dimensionOf(b) };
}

/** The relation of one point to one polygon, which is where the point lies; undefined for other geometries. */
function pointInArea(point: Geometry, area: Geometry): Relation | undefined {
  const [place] = point.points;
  if (point.kind !== 'POINT' || area.kind !== 'POLYGON' || place === undefined) return undefined;
  const extent = Math.max(partsOf(area).extent, Math.abs(place.x), Math.abs(place.y), 1e-6);
  const matrix = [-1, -1, -1, -1, -1, -1, 2, 1, 2];
  matrix[INTERIOR * 3 + new Locator(area, extent * 1e-10).place(place)] = 0;
  return { matrix, dimensionA: 0, dimensionB: 2 };
}

function transposed(relation: Relation | undefined): Relation | undefined {
  if (relation === undefined) return undefined;
  const { matrix, dimensionA, dimensionB } = relation;
  const turned = matrix.map((_, at) => matrix[(at % 3) * 3 + Math.floor(at / 3)] as number);
  return { matrix: turned, dimensionA: dimensionB, dimensionB: dimensionA };
}

function raise(matrix: number[], at: number, dimension: number): void {
  if ((matrix[at] as number) < dimension) matrix[at] = dimension;
}

/** What each predicate asks of the relation of its arguments; `contains` is asked of that of the second to the first. */
export const relations = {
  disjoint: ({ matrix }: Relation): boolean => !meets(matrix),
  intersects: ({ matrix }: Relation): boolean => meets(matrix),
  within: ({ matrix }: Relation): boolean => isWithin(matrix),
  contains: ({ matrix }: Relation): boolean => isWithin(matrix),
  equals: ({ matrix }: Relation): boolean =>
    isWithin(matrix) && !at(matrix, EXTERIOR, INTERIOR) && !at(matrix, EXTERIOR, BOUNDARY),
  touches: ({ matrix }: Relation): boolean => !at(matrix, INTERIOR, INTERIOR) && meets(matrix),
  crosses: ({ matrix, dimensionA, dimensionB }: Relation): boolean => {
    if (!at(matrix, INTERIOR, INTERIOR)) return false;
    if (dimensionA < dimensionB) return at(matrix, INTERIOR, EXTERIOR);
    if (dimensionA > dimensionB) return at(matrix, EXTERIOR, INTERIOR);
    return dimensionA === 1 && matrix[0] === 0;
  },
  overlaps: ({ matrix, dimensionA, dimensionB }: Relation): boolean => {
    if (dimensionA !== dimensionB) return false;
    const shared = dimensionA === 1 ? matrix[0] === 1 : at(matrix, INTERIOR, INTERIOR);
    return shared && at(matrix, INTERIOR, EXTERIOR) && at(matrix, EXTERIOR, INTERIOR);
  },
} as const;

export type PredicateName = keyof typeof relations;

/** The predicates at once. */
export const predicates = {
  disjoint: (a: Geometry, b: Geometry): boolean => relations.disjoint(relate(a, b)),
  intersects: (a: Geometry, b: Geometry): boolean => relations.intersects(relate(a, b)),
  within: (a: Geometry, b: Geometry): boolean => relations.within(relate(a, b)),
  contains: (a: Geometry, b: Geometry): boolean => relations.contains(relate(b, a)),
  equals: (a: Geometry, b: Geometry): boolean => relations.equals(relate(a, b)),
  touches: (a: Geometry, b: Geometry): boolean => relations.touches(relate(a, b)),
  crosses: (a: Geometry, b: Geometry): boolean => relations.crosses(relate(a, b)),
  overlaps: (a: Geometry, b: Geometry): boolean => relations.overlaps(relate(a, b)),
} as const;

function at(matrix: readonly number[], own: Place, other: Place): boolean {
  return (matrix[own * 3 + other] as number) >= 0;
}

function meets(matrix: readonly number[]): boolean {
  return (
    at(matrix, INTERIOR, INTERIOR) ||
    at(matrix, INTERIOR, BOUNDARY) ||
    at(matrix, BOUNDARY, INTERIOR) ||
    at(matrix, BOUNDARY, BOUNDARY)
  );
}

function isWithin(matrix: readonly number[]): boolean {
  return (
    at(matrix, INTERIOR, INTERIOR) &&
    !at(matrix, INTERIOR, EXTERIOR) &&
    !at(matrix, BOUNDARY, EXTERIOR)
  );
}

function dimensionOf(geometry: Geometry): number {
  if (geometry.polygons.length > 0) return 2;
  if (geometry.lines.length > 0) return 1;
  return geometry.points.length > 0 ? 0 : -1;
}

function extentOf(a: Geometry, b: Geometry): number {
  return Math.max(partsOf(a).extent, partsOf(b).extent, 1e-6);
}

/** What relations ask of one geometry, made once: the area of a search is related to every candidate. */
interface Parts {
  /** The largest coordinate. */
  readonly extent: number;
  readonly segments: readonly Segment[];
  readonly lineSegments: readonly Segment[];
  readonly rings: readonly { readonly polygon: number; readonly segments: readonly Segment[] }[];
  readonly lineEnds: readonly Point[];
}

const knownParts = new WeakMap<Geometry, Parts>();

function partsOf(geometry: Geometry): Parts {
  let parts = knownParts.get(geometry);
  if (parts !== undefined) return parts;
  let extent = 0;
  for (const { x, y } of coordinatesOf(geometry))
    extent = Math.max(extent, Math.abs(x), Math.abs(y));
  const lineSegments = geometry.lines.flatMap(segmentsOf);
  const rings = geometry.polygons.flatMap((own, polygon) =>
    own.map((ring) => ({ polygon, segments: segmentsOf(ring) })),
  );
  const segments = [...lineSegments, ...rings.flatMap((ring) => ring.segments)];
  parts = { extent, segments, lineSegments, rings, lineEnds: boundaryPoints(geometry.lines) };
  knownParts.set(geometry, parts);
  return parts;
}

interface Pace {
  readonly meter: WorkMeter;
  readonly unitsPerSegment: number;
}

type Report = (own: Place, other: Place, dimension: number) => void;

function* placePieces(
  geometry: Geometry,
  own: Locator,
  other: Locator,
  report: Report,
  pace: Pace,
): PausingWork<void> {
  const { meter, unitsPerSegment } = pace;
  for (const point of geometry.points) {
    report(INTERIOR, other.place(point), 0);
    if (meter.isSpent(unitsPerSegment)) yield;
  }
  for (const line of geometry.lines) {
    for (const segment of segmentsOf(line)) {
      const cuts = other.cut(segment);
      for (let i = 0; i < cuts.length; i++) {
        const node = cuts[i] as Point;
        report(own.placeOnLines(node), other.place(node), 0);
        const next = cuts[i + 1];
        if (next) report(INTERIOR, other.place(middle(node, next)), 1);
      }
      if (meter.isSpent(unitsPerSegment)) yield;
    }
  }
  for (const rings of geometry.polygons)
    for (const ring of rings) yield* placeRing(ring, own, other, report, pace);
  if (geometry.polygons.length > 0 && !other.hasArea) report(INTERIOR, EXTERIOR, 2);
}

function* placeRing(
  ring: Ring,
  own: Locator,
  other: Locator,
  report: Report,
  { meter, unitsPerSegment }: Pace,
): PausingWork<void> {
  for (const segment of segmentsOf(ring)) {
    const cuts = other.cut(segment);
    for (let i = 0; i < cuts.length; i++) {
      const node = cuts[i] as Point;
      report(BOUNDARY, other.place(node), 0);
      const next = cuts[i + 1];
      if (!next) continue;
      const centre = middle(node, next);
      report(BOUNDARY, other.place(centre), 1);
      placeSides(segment, centre, distance(node, next), own, other, report);
    }
    if (meter.isSpent(unitsPerSegment * cuts.length)) yield;
  }
}

/** What lies to the left and to the right of a piece of a ring, told by one point on each side. */
function placeSides(
  { a, b }: Segment,
  centre: Point,
  pieceLength: number,
  own: Locator,
  other: Locator,
  report: Report,
): void {
  const step = Math.min(pieceLength * 1e-3, own.tolerance * 1e3);
  if (step <= own.tolerance * 2) return;
  const length = distance(a, b);
  const dx = (-(b.y - a.y) / length) * step;
  const dy = ((b.x - a.x) / length) * step;
  placeSide({ x: centre.x + dx, y: centre.y + dy }, own, other, report);
  placeSide({ x: centre.x - dx, y: centre.y - dy }, own, other, report);
}

function placeSide(point: Point, own: Locator, other: Locator, report: Report): void {
  const placeOwn = own.placeInAreas(point);
  const placeOther = other.placeInAreas(point);
  if (placeOwn !== BOUNDARY && placeOther !== BOUNDARY && placeOwn + placeOther < 4)
    report(placeOwn, placeOther, 2);
}

/** Tells where points lie relative to one geometry. */
class Locator {
  readonly tolerance: number;
  readonly hasArea: boolean;
  readonly #geometry: Geometry;
  readonly #segments: Parts['segments'];
  readonly #lineSegments: Parts['lineSegments'];
  readonly #rings: Parts['rings'];
  readonly #lineEnds: Parts['lineEnds'];

  constructor(geometry: Geometry, tolerance: number) {
    this.#geometry = geometry;
    this.tolerance = tolerance;
    this.hasArea = geometry.polygons.length > 0;
    const { segments, lineSegments, rings, lineEnds } = partsOf(geometry);
    this.#segments = segments;
    this.#lineSegments = lineSegments;
    this.#rings = rings;
    this.#lineEnds = lineEnds;
  }

  get segmentCount(): number {
    return this.#segments.length;
  }

  place(point: Point): Place {
    const inAreas = this.placeInAreas(point);
    if (inAreas === INTERIOR) return INTERIOR;
    const onLines = this.placeOnLines(point);
    if (onLines === INTERIOR) return INTERIOR;
    for (const own of this.#geometry.points)
      if (distance(own, point) <= this.tolerance) return INTERIOR;
    return inAreas === BOUNDARY || onLines === BOUNDARY ? BOUNDARY : EXTERIOR;
  }

  /** EXTERIOR also when the geometry has no lines. */
  placeOnLines(point: Point): Place {
    for (const end of this.#lineEnds) if (distance(end, point) <= this.tolerance) return BOUNDARY;
    for (const segment of this.#lineSegments)
      if (distanceToSegment(point, segment) <= this.tolerance) return INTERIOR;
    return EXTERIOR;
  }

  placeInAreas(point: Point): Place {
    let polygon = -1;
    let isInside = false;
    let isOnBoundary = false;
    for (const ring of this.#rings) {
      if (ring.polygon !== polygon) {
        if (isInside) return INTERIOR;
        polygon = ring.polygon;
        isInside = false;
      }
      for (const segment of ring.segments) {
        // Most segments are neither near nor at the height of the point.
        const { a, b } = segment;
        const high = point.y + this.tolerance;
        const low = point.y - this.tolerance;
        if ((a.y > high && b.y > high) || (a.y < low && b.y < low)) continue;
        if (distanceToSegment(point, segment) <= this.tolerance) isOnBoundary = true;
        if (crossesRay(point, segment)) isInside = !isInside;
      }
    }
    if (isOnBoundary) return BOUNDARY;
    return isInside ? INTERIOR : EXTERIOR;
  }

  /** The ends of `segment` and between them, in order, the points where it meets this geometry. */
  cut(segment: Segment): readonly Point[] {
    const { a, b } = segment;
    const lengthSquared = (b.x - a.x) ** 2 + (b.y - a.y) ** 2;
    const fractions: number[] = [];
    for (const other of this.#segments)
      meet(segment, other, lengthSquared, this.tolerance, fractions);
    for (const point of this.#geometry.points)
      if (distanceToSegment(point, segment) <= this.tolerance)
        fractions.push(
          ((point.x - a.x) * (b.x - a.x) + (point.y - a.y) * (b.y - a.y)) / lengthSquared,
        );
    fractions.sort((left, right) => left - right);
    const cuts = [a];
    const least = this.tolerance * 2;
    for (const fraction of fractions) {
      const point = { x: a.x + fraction * (b.x - a.x), y: a.y + fraction * (b.y - a.y) };
      if (distance(point, cuts[cuts.length - 1] as Point) > least && distance(point, b) > least)
        cuts.push(point);
    }
    cuts.push(b);
    return cuts;
  }
}

/** Ends that an odd number of lines share (the mod-2 rule of OGC). */
function boundaryPoints(lines: readonly (readonly Point[])[]): Point[] {
  const ends: { point: Point; count: number }[] = [];
  for (const line of lines) {
    for (const point of [line[0] as Point, line[line.length - 1] as Point]) {
      const known = ends.find((end) => samePoint(end.point, point));
      if (known) known.count++;
      else ends.push({ point, count: 1 });
    }
  }
  return ends.filter((end) => end.count % 2 === 1).map((end) => end.point);
}

/** Adds where along `own` (0..1) it meets `other`; both ends of a shared piece. */
function meet(
  own: Segment,
  other: Segment,
  lengthSquared: number,
  tolerance: number,
  fractions: number[],
): void {
  const { a, b } = own;
  const { a: c, b: d } = other;
  if (
    Math.max(a.x, b.x) + tolerance < Math.min(c.x, d.x) ||
    Math.max(c.x, d.x) + tolerance < Math.min(a.x, b.x) ||
    Math.max(a.y, b.y) + tolerance < Math.min(c.y, d.y) ||
    Math.max(c.y, d.y) + tolerance < Math.min(a.y, b.y)
  )
    return;
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  for (const point of [c, d])
    if (distanceToSegment(point, own) <= tolerance)
      fractions.push(clamp(((point.x - a.x) * dx + (point.y - a.y) * dy) / lengthSquared));
  const ex = d.x - c.x;
  const ey = d.y - c.y;
  const cross = dx * ey - dy * ex;
  if (Math.abs(cross) < 1e-14 * Math.sqrt(lengthSquared * (ex * ex + ey * ey))) return;
  const t = ((c.x - a.x) * ey - (c.y - a.y) * ex) / cross;
  const u = ((c.x - a.x) * dy - (c.y - a.y) * dx) / cross;
  if (t >= 0 && t <= 1 && u >= 0 && u <= 1) fractions.push(t);
}

function clamp(fraction: number): number {
  return Math.min(1, Math.max(0, fraction));
}

function middle(a: Point, b: Point): Point {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}

export function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

export function distanceToSegment(point: Point, { a, b }: Segment): number {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const t = clamp(((point.x - a.x) * dx + (point.y - a.y) * dy) / (dx * dx + dy * dy));
  return Math.hypot(point.x - a.x - t * dx, point.y - a.y - t * dy);
}

/** A ray to the right of `point`; half-open, so that a shared vertex counts once. */
function crossesRay(point: Point, { a, b }: Segment): boolean {
  if (a.y > point.y === b.y > point.y) return false;
  return point.x < a.x + ((point.y - a.y) / (b.y - a.y)) * (b.x - a.x);
}
