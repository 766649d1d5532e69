import fc from 'fast-check';
import { Decimal } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import { makeRid } from '#core/value/rid.ts';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import { EmbeddedDocument, double, integer, type Value } from '#core/value/value.ts';

/** Numbers of every type, biased toward those that meet: integers as integers, doubles and decimals, neighbours of 2^53. */
export function arbitraryNumber(): fc.Arbitrary<Value> {
  const small = fc.integer({ min: -40, max: 40 });
  return fc.oneof(
    small,
    small.map((n) => double(n / 4)),
    small.map((n) => new Decimal(BigInt(n) * 25n, 2)),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(integer),
    fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 9n }).map(integer),
    fc.integer({ min: -3, max: 9 }).map((n) => double(2 ** 53 + n * 2)),
    fc.double().map(double),
    fc
      .tuple(fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), fc.nat({ max: 12 }))
      .map(([unscaled, scale]) => new Decimal(unscaled, scale)),
  );
}

/** Any text without lone surrogates, biased toward characters whose UTF-8 and UTF-16 orders differ. */
export function arbitraryText(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.string({
      unit: fc.constantFrom('a', '\u0000', '\uffff', '\u{10000}', '\ud7ff', 'é'),
      maxLength: 4,
    }),
  );
}

export function arbitraryScalar(): fc.Arbitrary<Value> {
  return fc.oneof(
    fc.constantFrom<Value>(null, false, true),
    arbitraryNumber(),
    arbitraryText(),
    fc.integer({ min: 1, max: 50 }).map((day) => new LocalDate(day)),
    fc
      .tuple(fc.integer({ min: -5, max: 5 }), fc.constantFrom(0, 1, 1_000))
      .map(([ms, nanos]) => new DateTime(ms, nanos)),
    fc
      .tuple(fc.integer({ min: -5, max: 5 }), fc.constantFrom(0, 1, 999_999_999))
      .map(([seconds, nanos]) => new Duration(seconds, nanos)),
    fc.uint8Array({ maxLength: 3 }),
    fc
      .tuple(fc.nat({ max: 3 }), fc.nat({ max: 3 }))
      .map(([bucket, position]) => new Link(makeRid(bucket, position))),
  );
}

/** Scalars, and lists, maps and embedded documents of them. */
export function arbitraryValue(): fc.Arbitrary<Value> {
  const inner = arbitraryScalar();
  const map = fc
    .array(fc.tuple(fc.constantFrom('a', 'b', '__proto__', ''), inner), { maxLength: 3 })
    .map((entries) => new Map(entries));
  return fc.oneof(
    { weight: 4, arbitrary: inner },
    { weight: 1, arbitrary: fc.array(inner, { maxLength: 3 }) },
    { weight: 1, arbitrary: map },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('A', 'B'), map)
        .map(([typeName, properties]) => new EmbeddedDocument(typeName, properties)),
    },
    { weight: 1, arbitrary: fc.array(fc.array(inner, { maxLength: 2 }), { maxLength: 2 }) },
  );
}
