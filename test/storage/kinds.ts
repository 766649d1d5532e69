import fc from 'fast-check';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import { Decimal } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import { makeRid } from '#core/value/rid.ts';
import { double, EmbeddedDocument, type Value, type ValueKind } from '#core/value/value.ts';
import {
  arbitraryCypherDuration,
  arbitraryLocalDateTime,
  arbitraryLocalTime,
  arbitraryPath,
  arbitraryPoint,
  arbitraryZonedDateTime,
  arbitraryZonedTime,
} from '../core/arbitrary-extended.ts';
import { recordForRoundTrips } from './record-for-round-trips.ts';

const small = fc.integer({ min: -5, max: 5 });

/** Values of every kind: a new kind fails to compile until it stands here. */
export const kinds = {
  null: fc.constant(null),
  boolean: fc.boolean(),
  integer: fc.oneof(small, fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n })),
  double: fc.oneof(fc.double().map(double), fc.constantFrom(double(4), double(NaN), double(-0))),
  // Of so few digits that each has an index key of its own; ordered-key.test.ts has the others.
  decimal: fc
    .tuple(fc.integer(), fc.nat({ max: 6 }))
    .map(([n, scale]) => new Decimal(BigInt(n), scale)),
  string: fc.string({ unit: 'binary', maxLength: 8 }),
  bytes: fc.uint8Array({ maxLength: 8 }).map((bytes) => new Uint8Array(bytes)),
  date: fc.oneof(small, fc.integer({ min: -1e8, max: 1e8 })).map((day) => new LocalDate(day)),
  datetime: fc.tuple(small, fc.nat({ max: 3 })).map(([ms, n]) => new DateTime(ms, n, 'nanos')),
  duration: fc.tuple(small, fc.nat({ max: 3 })).map(([s, n]) => new Duration(s, n)),
  link: fc.tuple(fc.nat(3), fc.nat(3)).map(([b, p]) => new Link(makeRid(b, p))),
  record: fc.tuple(fc.nat(3), fc.nat(3)).map(([b, p]) => recordForRoundTrips(makeRid(b, p))),
  embedded: fc
    .dictionary(fc.constantFrom('a', '__proto__'), small)
    .map((entries) => new EmbeddedDocument('T', new Map(Object.entries(entries)))),
  list: fc.array(small, { maxLength: 5 }),
  map: fc
    .array(fc.tuple(fc.constantFrom('a', 'b', '__proto__'), small), { maxLength: 3 })
    .map((entries) => new Map(entries)),
  localTime: arbitraryLocalTime,
  zonedTime: arbitraryZonedTime,
  localDateTime: arbitraryLocalDateTime,
  zonedDateTime: arbitraryZonedDateTime,
  cypherDuration: arbitraryCypherDuration,
  point: arbitraryPoint,
  path: arbitraryPath,
} satisfies Record<ValueKind, fc.Arbitrary<Value>>;
