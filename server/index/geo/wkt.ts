import { DatabaseError } from '#core/errors.ts';
import { pointSystems } from '#core/value/point.ts';
import type { Value } from '#core/value/value.ts';
import {
  closeRing,
  type Geometry,
  type GeometryKind,
  lineGeometry,
  type Point,
  pointGeometry,
  polygonGeometry,
  rectangleGeometry,
  type Ring,
} from './geometry.ts';

/** Texts with more coordinates are not read. Predicates compare every segment with every other one. */
export const coordinateCountMax = 10_000;
const nestingMax = 8;

/**
 * Reads well-known text, upper or lower case, `EMPTY` and further ordinates (ignored) included.
 * @returns undefined for anything that is no geometry
 */
export function parseWkt(text: string): Geometry | undefined {
  if (text.startsWith('POINT')) return readPoint(text) ?? readWkt(text);
  if (text.length > rememberedMax) return readWkt(text);
  if (last.text === text) return last.geometry;
  const known = lastButOne.text === text ? lastButOne : { text, geometry: readWkt(text) };
  lastButOne = last;
  last = known;
  return known.geometry;
}

/** The area of a search is asked about every candidate, after the shape of that one: two are remembered. */
interface Read {
  readonly text: string;
  readonly geometry: Geometry | undefined;
}

const rememberedMax = 2 ** 20;
let last: Read = { text: '', geometry: undefined };
let lastButOne = last;

/** A point as most texts have it, at one go. */
function readPoint(text: string): Geometry | undefined {
  const found = pointShape.exec(text);
  return found === null ? undefined : pointGeometry({ x: Number(found[1]), y: Number(found[2]) });
}

const pointShape = /^POINT ?\((-?\d{1,18}(?:\.\d{1,18})?) (-?\d{1,18}(?:\.\d{1,18})?)\)$/;

function readWkt(text: string): Geometry | undefined {
  const reader = new WktReader(text);
  const geometry = reader.geometry(0);
  return geometry && reader.atEnd() ? geometry : undefined;
}

/** Why `parseWkt` does not read the text; undefined: it does. */
export function wktFault(text: string): string | undefined {
  const reader = new WktReader(text);
  if (reader.geometry(0) !== undefined && reader.atEnd()) return undefined;
  return reader.isTooLong ? tooLong : 'is no WKT';
}

const tooLong = `has more than ${coordinateCountMax.toLocaleString('en')} coordinates, the limit of geometries`;

/** Whether the text would be a geometry if it were shorter. */
export function isOverlong(value: Value): boolean {
  // `0 0,` is the shortest of them.
  if (typeof value !== 'string' || value.length <= 4 * coordinateCountMax) return false;
  const reader = new WktReader(value);
  return reader.geometry(0) === undefined && reader.isTooLong;
}

/**
 * The geometry of a text in well-known form, or of a point with longitude and latitude.
 * @throws DatabaseError `IllegalArgument` for one of too many coordinates: what is related to it is not known
 */
export function geometryOf(value: Value): Geometry | undefined {
  const geometry = geometryIn(value);
  if (geometry === undefined && isOverlong(value))
    throw new DatabaseError('IllegalArgument', `a geometry ${tooLong}`);
  return geometry;
}

/** As `geometryOf`; one of too many coordinates is none. */
export function geometryIn(value: Value): Geometry | undefined {
  if (typeof value === 'string') return parseWkt(value);
  if (!(value instanceof Object) || !('valueKind' in value) || value.valueKind !== 'point')
    return undefined;
  return pointSystems[value.srid].isGeographic
    ? pointGeometry({ x: value.x, y: value.y })
    : undefined;
}

/** `POINT (1 2)`, `POLYGON ((0 0, 2 0, 2 2, 0 0))`. */
export function formatWkt(geometry: Geometry): string {
  const { kind, points, lines, polygons } = geometry;
  const count = points.length + lines.length + polygons.length;
  if (count === 0) return `${kind} EMPTY`;
  switch (kind) {
    case 'POINT':
    case 'LINESTRING':
      return `${kind} (${path(points.length > 0 ? points : (lines[0] ?? []))})`;
    case 'POLYGON':
      return `${kind} ${ringsText(polygons[0] ?? [])}`;
    case 'MULTIPOINT':
      return `${kind} (${points.map((point) => `(${path([point])})`).join(', ')})`;
    case 'MULTILINESTRING':
      return `${kind} (${lines.map((line) => `(${path(line)})`).join(', ')})`;
    case 'MULTIPOLYGON':
      return `${kind} (${polygons.map(ringsText).join(', ')})`;
    case 'GEOMETRYCOLLECTION':
      return `${kind} (${piecesOf(geometry).map(formatWkt).join(', ')})`;
  }
}

/** The simple geometries that a collection consists of: points first, then lines, then polygons. */
export function piecesOf(geometry: Geometry): Geometry[] {
  return [
    ...geometry.points.map(pointGeometry),
    ...geometry.lines.map(lineGeometry),
    ...geometry.polygons.map(polygonGeometry),
  ];
}

function path(points: readonly Point[]): string {
  return points.map((point) => `${point.x} ${point.y}`).join(', ');
}

function ringsText(rings: readonly Ring[]): string {
  return `(${rings.map((ring) => `(${path(ring)})`).join(', ')})`;
}

const numberShape = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const wordShape = /[A-Za-z]+/y;

class WktReader {
  readonly #text: string;
  #at = 0;
  #coordinateCount = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isTooLong(): boolean {
    return this.#coordinateCount > coordinateCountMax;
  }

  atEnd(): boolean {
    this.#skipSpace();
    return this.#at === this.#text.length;
  }

  geometry(depth: number): Geometry | undefined {
    if (depth > nestingMax) return undefined;
    let kind = this.#word();
    if (kind?.endsWith('ZM')) kind = kind.slice(0, -2);
    const ordinates = this.#peekWord();
    if (ordinates === 'Z' || ordinates === 'M' || ordinates === 'ZM') this.#word();
    if (this.#peekWord() === 'EMPTY') {
      this.#word();
      return isKind(kind) ? { kind, points: [], lines: [], polygons: [] } : undefined;
    }
    switch (kind) {
      case 'POINT': {
        const points = this.#path();
        return points?.length === 1 ? pointGeometry(points[0] as Point) : undefined;
      }
      case 'LINESTRING': {
        const points = this.#path();
        return points && points.length > 1 ? lineGeometry(points) : undefined;
      }
      case 'POLYGON': {
        const rings = this.#rings();
        return rings && polygonGeometry(rings);
      }
      case 'MULTIPOINT': {
        const points = this.#list(() => this.#loosePoint());
        return points && { kind, points, lines: [], polygons: [] };
      }
      case 'MULTILINESTRING': {
        const lines = this.#list(() => this.#path());
        return lines && { kind, points: [], lines, polygons: [] };
      }
      case 'MULTIPOLYGON': {
        const polygons = this.#list(() => this.#rings());
        return polygons && { kind, points: [], lines: [], polygons };
      }
      case 'GEOMETRYCOLLECTION': {
        const parts = this.#list(() => this.geometry(depth + 1));
        return parts && collection(parts);
      }
      case 'ENVELOPE':
        return this.#envelope();
      default:
        return undefined;
    }
  }

  /** `ENVELOPE (minX, maxX, maxY, minY)`. */
  #envelope(): Geometry | undefined {
    const numbers = this.#list(() => this.#number());
    if (numbers?.length !== 4) return undefined;
    const [minX, maxX, maxY, minY] = numbers as [number, number, number, number];
    return rectangleGeometry({ minX, minY, maxX, maxY });
  }

  #rings(): Ring[] | undefined {
    return this.#list(() => {
      const points = this.#path();
      const ring = points && closeRing(points);
      return ring && ring.length >= 4 ? ring : undefined;
    });
  }

  #path(): Point[] | undefined {
    return this.#list(() => this.#point());
  }

  /** In MULTIPOINT the parentheses around each point are optional. */
  #loosePoint(): Point | undefined {
    if (!this.#take('(')) return this.#point();
    const point = this.#point();
    return point && this.#take(')') ? point : undefined;
  }

  #point(): Point | undefined {
    if (++this.#coordinateCount > coordinateCountMax) return undefined;
    const x = this.#number();
    const y = this.#number();
    if (x === undefined || y === undefined) return undefined;
    if (this.#number() !== undefined) this.#number();
    return { x, y };
  }

  #list<T>(item: () => T | undefined): T[] | undefined {
    if (!this.#take('(')) return undefined;
    const items: T[] = [];
    do {
      const one = item();
      if (one === undefined) return undefined;
      items.push(one);
    } while (this.#take(','));
    return this.#take(')') ? items : undefined;
  }

  #take(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #number(): number | undefined {
    const text = this.#match(numberShape);
    if (text === undefined) return undefined;
    const number = Number(text);
    return Number.isFinite(number) ? number : undefined;
  }

  #word(): string | undefined {
    return this.#match(wordShape)?.toUpperCase();
  }

  #peekWord(): string | undefined {
    const at = this.#at;
    const word = this.#word();
    this.#at = at;
    return word;
  }

  #match(shape: RegExp): string | undefined {
    this.#skipSpace();
    shape.lastIndex = this.#at;
    const found = shape.exec(this.#text);
    if (!found) return undefined;
    this.#at = shape.lastIndex;
    return found[0];
  }

  #skipSpace(): void {
    while (this.#at < this.#text.length && this.#text.charCodeAt(this.#at) <= 32) this.#at++;
  }
}

const kinds: ReadonlySet<string> = new Set<GeometryKind>([
  'POINT',
  'LINESTRING',
  'POLYGON',
  'MULTIPOINT',
  'MULTILINESTRING',
  'MULTIPOLYGON',
  'GEOMETRYCOLLECTION',
]);

function isKind(kind: string | undefined): kind is GeometryKind {
  return kind !== undefined && kinds.has(kind);
}

function collection(parts: readonly Geometry[]): Geometry {
  return {
    kind: 'GEOMETRYCOLLECTION',
    points: parts.flatMap((part) => part.points),
    lines: parts.flatMap((part) => part.lines),
    polygons: parts.flatMap((part) => part.polygons),
  };
}
