import type { BucketId, Rid } from '#core/value/rid.ts';
import type { PausingWork, WorkMeter } from '#core/pausing-work.ts';
import type { Value } from '#core/value/value.ts';
import { placedCount, recordsNear } from '#index/geo/geo-search.ts';
import { type Envelope, envelopeOf, type Point } from '#index/geo/geometry.ts';
import { centreOf, earthRadiusKm, greatCircleKm } from '#index/geo/measure.ts';
import { geometryOf } from '#index/geo/wkt.ts';
import type { EvaluationContext, LongWork } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { longScalar } from '../define.ts';
import { indexNamed } from './index-named.ts';

/** Record ids, as numbers, whose geometry may be related to the one given: `(indexName, wkt)`. The predicate is checked on each. */
export const nearFunction = '#geo_near';
/** The first `count` record ids by distance from a place, nearest first: `(count, indexName, wkt, typeName)`. */
export const nearestFunction = '#geo_nearest';

export const geoSearchFunctions: readonly ScalarFunction[] = [
  longScalar(`${nearFunction}(index, wkt)`, [2, 2], function* (args, context, meter): LongWork {
    const { index } = indexNamed(context.view.catalog, args[0], 'GEOSPATIAL', 'a geo predicate');
    const geometry = geometryOf(args[1] ?? null);
    // Of no geometry every predicate is null.
    if (geometry === undefined) return [];
    const { entries } = context.view.index(index.id);
    const found = yield* recordsNear(entries, envelopeOf(geometry), meter);
    // In order, since who reads the records wants them so, and numbers are quickly sorted.
    return Array.from(Float64Array.from(found).sort());
  }),
  longScalar(
    `${nearestFunction}(count, index, wkt, type)`,
    [4, 4],
    function* (args, context, meter): LongWork {
      return yield* nearestRecords(args, context, meter);
    },
  ),
];

/** Degrees of latitude of the first ring; each next one is twice as wide. */
const firstRadiusDegrees = 0.05;

function* nearestRecords(
  args: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<Value> {
  const { index } = indexNamed(context.view.catalog, args[1], 'GEOSPATIAL', 'geo.distance()');
  const count = typeof args[0] === 'number' ? args[0] : -1;
  const geometry = geometryOf(args[2] ?? null);
  const centre = geometry && centreOf(geometry);
  const { entries } = context.view.index(index.id);
  const property = index.components[0]?.property ?? '';
  const distances = new Map<Rid, number>();
  // What has no distance comes first, so every record must have one.
  const recordCount = countOf(args[3] ?? null, context);
  const isWhole =
    centre !== undefined && !entries.hasOwn && recordCount === (yield* placedCount(entries, meter));
  if (!isWhole) return yield* allRecords(args[3] ?? null, property, centre, context, meter);
  for (let radius = firstRadiusDegrees; ; radius *= 2) {
    const isAll = radius > 180 || count < 0;
    for (const area of isAll ? [globe] : areasAround(centre, radius)) {
      for (const rid of yield* recordsNear(entries, area, meter)) {
        if (distances.has(rid)) continue;
        const value = entries.record(rid)?.get(property) ?? null;
        const own = geometryOf(value);
        const place = own && centreOf(own);
        if (place) distances.set(rid, greatCircleKm(centre, place));
        if (meter.isSpent(8)) yield;
      }
    }
    const limitKm = isAll ? Infinity : (radius * Math.PI * earthRadiusKm) / 180;
    const sure = [...distances].filter(([, distance]) => distance <= limitKm);
    if (!isAll && sure.length < count) continue;
    sure.sort((a, b) => a[1] - b[1] || a[0] - b[0]);
    return (count < 0 ? sure : sure.slice(0, count)).map(([rid]) => rid);
  }
}

function bucketsOf(typeName: Value, { view }: EvaluationContext): readonly BucketId[] {
  const type = typeof typeName === 'string' ? view.catalog.typeNamed(typeName) : undefined;
  if (type === undefined) return [];
  return view.catalog.withSubtypes(type.id).flatMap((id) => view.catalog.typeWithId(id).buckets);
}

function countOf(typeName: Value, context: EvaluationContext): number {
  return bucketsOf(typeName, context).reduce((sum, id) => sum + context.view.recordCount(id), 0);
}

/** All records of the type, those without a distance first. */
function* allRecords(
  typeName: Value,
  property: string,
  centre: Point | undefined,
  context: EvaluationContext,
  meter: WorkMeter,
): PausingWork<Value> {
  const found: { readonly rid: Rid; readonly distance: number }[] = [];
  for (const bucket of bucketsOf(typeName, context)) {
    const scan = context.view.scan(bucket, 'ascending');
    for (let record = scan.next(); record !== undefined; record = scan.next()) {
      const value = record.get(property) ?? null;
      const own = geometryOf(value);
      const place = own && centreOf(own);
      const distance = place && centre ? greatCircleKm(centre, place) : -1;
      found.push({ rid: record.rid, distance });
      if (meter.isSpent(2)) yield;
    }
  }
  found.sort((a, b) => a.distance - b.distance || a.rid - b.rid);
  return found.map(({ rid }) => rid);
}

/** What lies outside of the globe counts as at its edge (`cells.ts`), so this holds everything. */
const globe: Envelope = { minX: -180, minY: -90, maxX: 180, maxY: 90 };

/** Areas that hold all places so many degrees of a great circle away: two of them across the antimeridian, all longitudes at a pole. */
function areasAround({ x, y }: Point, radius: number): readonly Envelope[] {
  // A little more, since sums of angles are rounded.
  const reach = radius * 1.001;
  const minY = y - reach;
  const maxY = y + reach;
  if (minY <= -90 || maxY >= 90 || Math.abs(x) > 180 || Math.abs(y) > 90)
    return [{ minX: -180, maxX: 180, minY, maxY }];
  const inRadians = Math.PI / 180;
  const width =
    Math.asin(Math.min(1, Math.sin(reach * inRadians) / Math.cos(y * inRadians))) / inRadians;
  const minX = x - width;
  const maxX = x + width;
  if (minX < -180)
    return [
      { minX: -180, maxX, minY, maxY },
      { minX: minX + 360, maxX: 180, minY, maxY },
    ];
  if (maxX > 180)
    return [
      { minX, maxX: 180, minY, maxY },
      { minX: -180, maxX: maxX - 360, minY, maxY },
    ];
  return [{ minX, maxX, minY, maxY }];
}
