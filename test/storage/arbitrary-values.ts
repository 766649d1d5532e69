import fc from 'fast-check';
import { Decimal } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import { makeRid } from '#core/value/rid.ts';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import { double, EmbeddedDocument, Float, integer, type Value } from '#core/value/value.ts';

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });

/** Any rid that a record can have. */
export const arbitraryRid = fc
  .tuple(fc.nat({ max: 65_535 }), fc.nat({ max: 2 ** 31 }), fc.nat({ max: 63 }))
  .map(([bucket, low, high]) => makeRid(bucket, high * 2 ** 31 + low));

const decimal = fc
  .tuple(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.nat({ max: 40 }))
  .map(([unscaled, scale]) => new Decimal(unscaled, scale));

const dateTime = fc
  .tuple(
    fc.integer({ min: -8.64e15, max: 8.64e15 }),
    fc.nat({ max: 999_999 }),
    fc.constantFrom('second' as const, 'millis' as const, 'micros' as const, 'nanos' as const),
    fc.boolean(),
  )
  .map(([ms, nanos, precision, whole]) => new DateTime(ms, whole ? 0 : nanos, precision));

const duration = fc
  .tuple(fc.maxSafeInteger(), fc.nat({ max: 999_999_999 }))
  .map(([seconds, nanos]) => new Duration(seconds, nanos));

/** Names with everything that could be special to an object, a path or JSON. */
export const arbitraryName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'name', 'age', 'since') },
  fc.constantFrom('__proto__', 'constructor', '', '@rid', 'a.b', '"', 'Ω'),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
);

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'grapheme', maxLength: 80 }),
  fc.string({ minLength: 500, maxLength: 1500 }),
);

export const arbitraryScalar: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.maxSafeInteger(),
  int64.map(integer),
  fc.double().map((n) => double(n)),
  fc.integer().map((n) => new Float(n)),
  fc.constant(new Float(-0)),
  text,
  fc.uint8Array({ maxLength: 700 }),
  decimal,
  fc.integer({ min: -1e8, max: 1e8 }).map((day) => new LocalDate(day)),
  dateTime,
  duration,
  arbitraryRid.map((rid) => new Link(rid)),
);

export const arbitraryValue: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    arbitraryScalar,
    fc.array(tie('value'), { maxLength: 6 }),
    fc.array(fc.double({ noNaN: false }).map(double), { maxLength: 8 }),
    fc.array(fc.integer(), { maxLength: 8 }),
    fc.array(fc.tuple(arbitraryName, tie('value')), { maxLength: 4 }).map((e) => new Map(e)),
    fc
      .tuple(arbitraryName, fc.array(fc.tuple(arbitraryName, tie('value')), { maxLength: 3 }))
      .map(([name, entries]) => new EmbeddedDocument(name, new Map(entries))),
  ),
})).value;

export const arbitraryProperties = fc
  .array(fc.tuple(arbitraryName, arbitraryValue), { maxLength: 12 })
  .map((entries) => new Map(entries));
