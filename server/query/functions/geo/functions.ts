import { double, isList, isMap, type Value } from '#core/value/value.ts';
import type { WorkMeter } from '#core/pausing-work.ts';
import type { LongWork } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { canPause, pausingValue } from '../../evaluate/turns/long-calls.ts';
import {
  describe,
  listArgument,
  numberArgument,
  optionsArgument,
  refusal,
  textArgument,
  wordArgument,
} from '../arguments.ts';
import { alias, method, nullSafe, scalar } from '../define.ts';
import { bufferOf, type BufferStyle, circleAround } from './buffer.ts';
import {
  closeRing,
  envelopeOf,
  lineGeometry,
  type Point,
  pointGeometry,
  polygonGeometry,
  rectangleGeometry,
} from '#index/geo/geometry.ts';
import { geoJsonOf } from './geo-json.ts';
import { areaOf, centreOf, greatCircleKm, unitsPerKm } from '#index/geo/measure.ts';
import { distance, type PredicateName, predicates, relateInTurns, relations } from './relate.ts';
import { formatWkt, geometryOf, parseWkt, wktFault } from '#index/geo/wkt.ts';

/**
 * Geometries as WKT texts (sql-functions.md 7). A null or unparsable geometry gives null, except in constructors, which
 * refuse text that is no geometry. Predicates are computed here; an index only finds candidates.
 */
const constructors: readonly ScalarFunction[] = [
  nullSafe('geo.point(x, y)', [2, 2], (args) => {
    if (args[1] === null) return null;
    return formatWkt(pointGeometry(pointAt(args, 0, 'geo.point()')));
  }),
  nullSafe('geo.lineString([[x, y], ...])', [1, 1], (args) => {
    const points = pointsArgument(args[0] as Value, 'geo.lineString()');
    if (points.length < 2) throw refusal('geo.lineString() requires at least two points');
    return formatWkt(lineGeometry(points));
  }),
  nullSafe('geo.polygon([[x, y], ...])', [1, 1], (args) => {
    const ring = closeRing(pointsArgument(args[0] as Value, 'geo.polygon()'));
    if (ring.length < 4) throw refusal('geo.polygon() requires at least three points');
    return formatWkt(polygonGeometry([ring]));
  }),
  nullSafe('geo.geomFromText(wkt)', [1, 1], (args) => {
    const text = textArgument(args[0], 'geo.geomFromText()');
    const geometry = parseWkt(text);
    if (geometry === undefined)
      throw refusal(`geo.geomFromText(): ${describe(text)} ${wktFault(text) ?? ''}`);
    return formatWkt(geometry);
  }),
  nullSafe('circle(x, y, r)', [3, 3], (args) => {
    const radius = numberArgument(args[2], 'circle()');
    if (!(radius >= 0 && radius < Infinity))
      throw refusal(`circle() requires a finite radius of at least 0, not ${radius}`);
    return formatWkt(circleAround(pointAt(args, 0, 'circle()'), radius, circleSegments));
  }),
  nullSafe('rectangle(x1, y1, x2, y2)', [4, 4], (args) => {
    const a = pointAt(args, 0, 'rectangle()');
    const b = pointAt(args, 2, 'rectangle()');
    return formatWkt(
      rectangleGeometry({
        minX: Math.min(a.x, b.x),
        minY: Math.min(a.y, b.y),
        maxX: Math.max(a.x, b.x),
        maxY: Math.max(a.y, b.y),
      }),
    );
  }),
];

const circleSegments = 32;

const measures: readonly ScalarFunction[] = [
  nullSafe('geo.buffer(g, distanceDegrees [, {options}])', [2, 3], (args) => {
    const geometry = geometryOf(args[0] as Value);
    if (geometry === undefined || args[1] === null) return null;
    const style = bufferStyle(args[2] ?? null);
    return formatWkt(bufferOf(geometry, numberArgument(args[1], 'geo.buffer()'), style));
  }),
  nullSafe('geo.envelope(g)', [1, 1], (args) => {
    const geometry = geometryOf(args[0] as Value);
    const envelope = geometry && envelopeOf(geometry);
    if (geometry === undefined || envelope === undefined) return null;
    return formatWkt(geometry.kind === 'POINT' ? geometry : rectangleGeometry(envelope));
  }),
  nullSafe("geo.distance(p1, p2 [, unit='m'])", [2, 3], (args) => {
    const unit = textArgument(args[2] ?? 'm', 'geo.distance()');
    const factor = unitsPerKm.get(unit.toLowerCase());
    if (factor === undefined)
      throw refusal(`geo.distance(): unknown unit '${unit.slice(0, 20)}'; use m, km, mi or nmi`);
    const a = centreIn(args[0] as Value);
    const b = centreIn(args[1] as Value);
    return a && b ? double(greatCircleKm(a, b) * factor) : null;
  }),
  nullSafe('geo.area(g)', [1, 1], (args) => {
    const geometry = geometryOf(args[0] as Value);
    return geometry ? double(areaOf(geometry)) : null;
  }),
  nullSafe('geo.x(p)', [1, 1], (args) => coordinate(args[0] as Value, 'x')),
  nullSafe('geo.y(p)', [1, 1], (args) => coordinate(args[0] as Value, 'y')),
  nullSafe('geo.asText(g)', [1, 1], (args) => {
    const geometry = geometryOf(args[0] as Value);
    return geometry ? formatWkt(geometry) : null;
  }),
  nullSafe('geo.asGeoJson(g)', [1, 1], (args) => {
    const geometry = geometryOf(args[0] as Value);
    return geometry ? geoJsonOf(geometry) : null;
  }),
  scalar('geo.dWithin(g, s, degrees)', [3, 3], (args) => {
    const a = centreIn(args[0] as Value);
    const b = centreIn(args[1] as Value);
    if (!a || !b || args[2] === null) return null;
    return distance(a, b) <= numberArgument(args[2], 'geo.dWithin()');
  }),
];

const predicateFunctions: readonly ScalarFunction[] = (
  Object.keys(predicates) as PredicateName[]
).map((name) =>
  relating(
    scalar(`geo.${name}(g, s)`, [2, 2], (args) => related(args, name)),
    name,
  ),
);

export const geoFunctions: readonly ScalarFunction[] = [
  ...constructors,
  ...measures,
  ...predicateFunctions,
  ...(
    [
      ['point', 'geo.point'],
      ['linestring', 'geo.lineString'],
      ['polygon', 'geo.polygon'],
      ['distance', 'geo.distance'],
    ] as const
  ).map(([name, of]) => aliasOf(name, of)),
];

export const geoMethods: readonly ScalarFunction[] = [
  relating(
    method('isWithin(shape)', [1, 1], (args) => related(args, 'within')),
    'within',
  ),
  relating(
    method('intersectsWith(shape)', [1, 1], (args) => related(args, 'intersects')),
    'intersects',
  ),
];

/** The work grows with the product of the numbers of coordinates, so texts of some hundred of them take turns. */
function relating(definition: ScalarFunction, name: PredicateName): ScalarFunction {
  const { evaluate } = definition;
  return {
    ...definition,
    worksInTurns: true,
    evaluate(args, context) {
      const [a, b] = args;
      if (typeof a !== 'string' || typeof b !== 'string') return evaluate(args, context);
      if (a.length + b.length < shortGeometries || !canPause(context))
        return evaluate(args, context);
      return pausingValue(context, definition, (meter) => relatedInTurns(a, b, name, meter));
    },
  };
}

const shortGeometries = 2_048;

function* relatedInTurns(a: string, b: string, name: PredicateName, meter: WorkMeter): LongWork {
  const first = geometryOf(a);
  const second = geometryOf(b);
  if (first === undefined || second === undefined) return null;
  const relation = yield* name === 'contains'
    ? relateInTurns(second, first, meter)
    : relateInTurns(first, second, meter);
  return relations[name](relation);
}

function aliasOf(name: string, of: string): ScalarFunction {
  const original = [...constructors, ...measures].find((definition) => definition.name === of);
  return alias(name, original as ScalarFunction);
}

function related(args: readonly Value[], name: PredicateName): Value {
  const a = geometryOf(args[0] as Value);
  const b = geometryOf(args[1] as Value);
  if (a === undefined || b === undefined) return null;
  return predicates[name](a, b);
}

function centreIn(value: Value): Point | undefined {
  const geometry = geometryOf(value);
  return geometry && centreOf(geometry);
}

function coordinate(value: Value, axis: 'x' | 'y'): Value {
  const geometry = geometryOf(value);
  const point = geometry?.kind === 'POINT' ? geometry.points[0] : undefined;
  return point ? double(point[axis]) : null;
}

function pointAt(args: readonly Value[], at: number, what: string): Point {
  const x = numberArgument(args[at], what);
  const y = numberArgument(args[at + 1], what);
  if (!Number.isFinite(x) || !Number.isFinite(y)) throw refusal(`${what} requires finite numbers`);
  return { x, y };
}

/** Points as pairs of numbers, maps `{x, y}` or WKT points. */
function pointsArgument(value: Value, what: string): readonly Point[] {
  return listArgument(value, what).map((element) => {
    if (isList(element) && element.length === 2) return pointAt(element, 0, what);
    if (isMap(element))
      return pointAt([element.get('x') ?? null, element.get('y') ?? null], 0, what);
    const point = centreIn(element);
    if (point === undefined)
      throw refusal(`${what} requires pairs of numbers, not ${describe(element)}`);
    return point;
  });
}

function bufferStyle(value: Value): BufferStyle {
  const what = 'geo.buffer()';
  if (value === null) return { quadrantSegments: 8, endCapStyle: 'ROUND', joinStyle: 'ROUND' };
  const options = optionsArgument(value, what, ['quadrantSegments', 'endCapStyle', 'joinStyle']);
  const quadrantSegments = numberArgument(options.get('quadrantSegments') ?? 8, what);
  if (!(quadrantSegments >= 1 && quadrantSegments <= 1000))
    throw refusal(`${what}: quadrantSegments must be from 1 to 1000, not ${quadrantSegments}`);
  return {
    quadrantSegments: Math.floor(quadrantSegments),
    endCapStyle: wordArgument(options.get('endCapStyle') ?? 'ROUND', what, [
      'ROUND',
      'FLAT',
      'SQUARE',
    ]),
    joinStyle: wordArgument(options.get('joinStyle') ?? 'ROUND', what, ['ROUND', 'MITRE', 'BEVEL']),
  };
}
