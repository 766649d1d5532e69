import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Decimal } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import { double, Float, integer, type Value } from '#core/value/value.ts';
import { compareValues } from '#core/value/value-order.ts';
import {
  encodeKey,
  keyAfterPrefix,
  keyBytesMax,
  OrderedKeyWriter,
} from '#storage/format/ordered-key.ts';
import { arbitraryRid } from './arbitrary-values.ts';

const edgeNumbers = fc.constantFrom<Value>(
  0,
  new Float(-0),
  1,
  new Float(1),
  0.1,
  new Decimal(1n, 1),
  new Decimal(11n, 1),
  1.1,
  2 ** 53 - 1,
  2n ** 53n,
  2n ** 53n + 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  new Float(2 ** 53),
  new Float(2 ** 63),
  new Decimal(2n ** 53n + 1n, 0),
  new Decimal(2n ** 60n * 10n + 5n, 1),
  new Decimal(10n ** 40n, 0),
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
  Number.MIN_VALUE,
);

const decimal = fc
  .tuple(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), fc.nat({ max: 30 }))
  .map(([unscaled, scale]) => new Decimal(unscaled, scale));

const shortText = fc.oneof(
  fc.string({ unit: fc.constantFrom('\0', '\u0001', 'a', 'b', 'é', '\uffee', '😀'), maxLength: 5 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
);

const scalar: fc.Arbitrary<Value> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  { weight: 3, arbitrary: edgeNumbers },
  fc.integer(),
  fc.double().map(double),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(integer),
  decimal,
  { weight: 3, arbitrary: shortText },
  fc.uint8Array({ maxLength: 6, max: 2 }),
  fc.integer({ min: -40_000, max: 40_000 }).map((day) => new LocalDate(day)),
  fc
    .tuple(fc.integer({ min: -4e12, max: 4e12 }), fc.nat({ max: 999_999 }))
    .map(([ms, nanos]) => new DateTime(ms, nanos, 'nanos')),
  fc.integer({ min: -3, max: 3 }).map((day) => new DateTime(day * 86_400_000)),
  fc.tuple(fc.integer(), fc.nat({ max: 9 })).map(([s, n]) => new Duration(s, n)),
  arbitraryRid.map((rid) => new Link(rid)),
);

const indexable: fc.Arbitrary<Value> = fc.oneof(
  { weight: 5, arbitrary: scalar },
  fc.array(scalar, { maxLength: 3 }),
);

function isExact(values: readonly Value[]): boolean {
  const writer = new OrderedKeyWriter();
  for (const value of values) writer.component(value);
  return writer.isExact;
}

test('key order is value order, and equal keys mean equal values unless they are inexact', () => {
  fc.assert(
    fc.property(indexable, indexable, (a, b) => {
      const order = Math.sign(compareValues(a, b));
      const keys = Math.sign(Buffer.compare(encodeKey([a]), encodeKey([b])));
      if (keys === 0 && order !== 0) assert.equal(isExact([a]) && isExact([b]), false);
      else assert.equal(keys, order);
    }),
    { numRuns: 5000 },
  );
});

test('composite keys order component by component, descending ones in reverse', () => {
  const composite = fc.tuple(scalar, scalar);
  const key = (values: readonly Value[], descending: readonly boolean[]) => {
    const writer = new OrderedKeyWriter();
    values.forEach((value, i) => {
      writer.component(value, descending[i]);
    });
    return writer.take();
  };
  fc.assert(
    fc.property(composite, composite, fc.boolean(), fc.boolean(), (a, b, d0, d1) => {
      if (!isExact(a) || !isExact(b)) return;
      const first = Math.sign(compareValues(a[0], b[0])) * (d0 ? -1 : 1);
      const second = Math.sign(compareValues(a[1], b[1])) * (d1 ? -1 : 1);
      const keys = Math.sign(Buffer.compare(key(a, [d0, d1]), key(b, [d0, d1])));
      assert.equal(keys, (first || second) + 0);
    }),
    { numRuns: 2000 },
  );
});

test('the keys of texts with a prefix are the byte range of the prefix', () => {
  fc.assert(
    fc.property(shortText, shortText, (prefix, text) => {
      const writer = new OrderedKeyWriter();
      writer.textPrefix(prefix);
      const low = writer.take();
      const key = encodeKey([text]);
      const isInside =
        Buffer.compare(key, low) >= 0 && Buffer.compare(key, keyAfterPrefix(low)) < 0;
      assert.equal(isInside, Buffer.from(text).indexOf(Buffer.from(prefix)) === 0 || prefix === '');
    }),
    { numRuns: 1000 },
  );
});

test('long texts are cut, stay apart and are marked as inexact', () => {
  const long = 'x'.repeat(600);
  const writer = new OrderedKeyWriter();
  writer.component(`${long}a`);
  assert.equal(writer.isExact, false);
  const key = writer.take();
  assert.ok(key.length < 512);
  assert.notDeepEqual(key, encodeKey([`${long}b`]));
  assert.deepEqual(key, encodeKey([`${long}a`]));
  assert.equal(isExact(['x'.repeat(500)]), true);
});

test('a key above the limit is refused by name', () => {
  const values = Array.from({ length: 4 }, (_, i) => `${'x'.repeat(700)}${i}`);
  assert.throws(() => encodeKey(values), {
    code: 'SchemaLimit',
    message: new RegExp(`limit of ${keyBytesMax} bytes`),
  });
});
