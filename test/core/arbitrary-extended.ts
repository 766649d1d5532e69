import fc from 'fast-check';
import { makeCypherDuration } from '#core/temporal/cypher-duration.ts';
import {
  type CypherDuration,
  LocalDateTime,
  LocalTime,
  nanosPerDay,
  type ZonedDateTime,
  ZonedTime,
} from '#core/temporal/instants.ts';
import { atZone } from '#core/temporal/zones.ts';
import { Path } from '#core/value/path.ts';
import { makePoint, type Point, type PointSystem } from '#core/value/point.ts';
import { Link } from '#core/value/record.ts';
import { makeRid } from '#core/value/rid.ts';

/** Values of the kinds of `extended-value.ts`, many of them near each other and at the ends of their ranges. */

const nanos = fc.oneof(
  fc.constantFrom(0, 1, 1_000, 1_000_000, 60_000_000_000, nanosPerDay - 1),
  fc.integer({ min: 0, max: nanosPerDay - 1 }),
);
const lastDay = 365_241_780_471;
const firstDay = -365_243_219_162;
const day = fc.oneof(
  fc.integer({ min: -2, max: 2 }),
  fc.integer({ min: firstDay, max: lastDay }),
  fc.constantFrom(firstDay, lastDay),
);
/** One day less at each end, so that no zone leaves the range. */
const zonedDay = day.map((n) => Math.max(firstDay + 1, Math.min(lastDay - 1, n)));
const offset = fc.oneof(
  fc.constantFrom(0, 3_600, -3_600, 64_800, -64_800, 3_208),
  fc.integer({ min: -64_800, max: 64_800 }),
);
const zone = fc.oneof(
  offset.map((offsetSeconds) => ({ zone: '', offsetSeconds })),
  fc
    .constantFrom('Europe/Stockholm', 'UTC', 'Pacific/Honolulu', 'Asia/Kolkata')
    .map((name) => ({ zone: name, offsetSeconds: 0 })),
);

export const arbitraryLocalTime = nanos.map((n) => new LocalTime(n));
export const arbitraryZonedTime = fc.tuple(nanos, offset).map(([n, o]) => new ZonedTime(n, o));
export const arbitraryLocalDateTime = fc.tuple(day, nanos).map(([d, n]) => new LocalDateTime(d, n));
export const arbitraryZonedDateTime: fc.Arbitrary<ZonedDateTime> = fc
  .tuple(zonedDay, nanos, zone)
  .map(([d, n, z]) => atZone(d, n, z));

const count = fc.oneof(
  fc.bigInt({ min: -3n, max: 3n }),
  fc.bigInt({ min: -(2n ** 53n) + 1n, max: 2n ** 53n - 1n }),
);
const seconds = fc.oneof(count, fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
export const arbitraryCypherDuration: fc.Arbitrary<CypherDuration> = fc
  .tuple(count, count, seconds, fc.bigInt({ min: 0n, max: 999_999_999n }))
  .map(([m, d, s, n]) => makeCypherDuration(m, d, s, n));

const ordinate = (max: number) =>
  fc.oneof(
    fc.constantFrom(0, 1, -1, max, -max),
    fc.double({ min: -max, max, noNaN: true, noDefaultInfinity: true }),
  );
export const arbitraryPoint: fc.Arbitrary<Point> = fc
  .tuple(
    fc.constantFrom<PointSystem>(4326, 4979, 7203, 9157),
    ordinate(180),
    ordinate(90),
    ordinate(1e9),
  )
  .map(([srid, x, y, z]) => makePoint(srid, x, y, srid === 4979 || srid === 9157 ? z : 0));

const link = fc
  .tuple(fc.nat({ max: 2 }), fc.nat({ max: 3 }))
  .map(([bucket, position]) => new Link(makeRid(bucket, position)));
export const arbitraryPath: fc.Arbitrary<Path> = fc
  .tuple(link, fc.array(fc.tuple(link, link), { maxLength: 3 }))
  .map(([first, steps]) => {
    const nodes = [first, ...steps.map(([, node]) => node)];
    return new Path(
      nodes,
      steps.map(([relationship]) => relationship),
    );
  });

export const arbitraryExtended = fc.oneof(
  arbitraryLocalTime,
  arbitraryZonedTime,
  arbitraryLocalDateTime,
  arbitraryZonedDateTime,
  arbitraryCypherDuration,
  arbitraryPoint,
  arbitraryPath,
);
