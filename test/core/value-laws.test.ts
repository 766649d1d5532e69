// Laws of equality, hash keys, order and text: whatever the values are, these hold. Concrete cases are in the other files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { valueKey, valuesEqual, valuesKey } from '#core/value/equality.ts';
import { compareForSort } from '#core/value/sort-order.ts';
import { compareText, compareValues } from '#core/value/value-order.ts';
import { Decimal } from '#core/value/decimal.ts';
import { DateTime, LocalDate } from '#core/temporal/temporal.ts';
import { Float, type Value } from '#core/value/value.ts';
import { arbitraryNumber, arbitraryText, arbitraryValue } from './arbitrary-value.ts';

test('the order of values is total: antisymmetric and transitive', () => {
  fc.assert(
    fc.property(arbitraryValue(), arbitraryValue(), arbitraryValue(), (a, b, c) => {
      assert.equal(Math.sign(compareValues(a, b)), -Math.sign(compareValues(b, a)) + 0);
      assert.equal(compareValues(a, a), 0);
      if (compareValues(a, b) <= 0 && compareValues(b, c) <= 0)
        assert.ok(compareValues(a, c) <= 0, 'transitive');
    }),
    { numRuns: 3_000 },
  );
});

test('the order of ORDER BY is total over values of all kinds, and that of indexes within one kind', () => {
  const word = fc.constantFrom(
    '',
    ' ',
    '!',
    '#1:0',
    '-',
    '-5',
    '.',
    '10',
    '2',
    '9x',
    'a',
    'f',
    'true',
    'z',
    '[',
    '{',
    '}',
  );
  const value = () => fc.oneof(arbitraryValue(), word);
  fc.assert(
    fc.property(value(), value(), value(), (a, b, c) => {
      assert.equal(Math.sign(compareForSort(a, b)), -Math.sign(compareForSort(b, a)) + 0);
      if (compareForSort(a, b) <= 0 && compareForSort(b, c) <= 0)
        assert.ok(compareForSort(a, c) <= 0, 'transitive');
      if (typeof a === 'string' && typeof b === 'string')
        assert.equal(compareForSort(a, b), compareText(a, b));
    }),
    { numRuns: 5_000 },
  );
});

test('the order of numbers is total across their types', () => {
  fc.assert(
    fc.property(arbitraryNumber(), arbitraryNumber(), arbitraryNumber(), (a, b, c) => {
      assert.equal(Math.sign(compareValues(a, b)), -Math.sign(compareValues(b, a)) + 0);
      if (compareValues(a, b) <= 0 && compareValues(b, c) <= 0)
        assert.ok(compareValues(a, c) <= 0, 'transitive');
    }),
    { numRuns: 3_000 },
  );
});

test('two values are equal exactly when they have the same key, and exactly when neither is before the other', () => {
  fc.assert(
    fc.property(arbitraryValue(), arbitraryValue(), (a, b) => {
      const equal = valuesEqual(a, b);
      assert.equal(Object.is(valueKey(a), valueKey(b)), equal, 'key');
      assert.equal(valuesKey([a, 1]) === valuesKey([b, 1]), equal, 'composite key');
      assert.equal(compareValues(a, b) === 0, equal, 'order');
    }),
    { numRuns: 5_000, examples: [[new Map([['a', null]]), new Map()]] },
  );
});

test('numbers are equal exactly when they have the same key', () => {
  fc.assert(
    fc.property(arbitraryNumber(), arbitraryNumber(), (a, b) => {
      assert.equal(
        valueKey(a) === valueKey(b) ||
          (Number.isNaN(valueKey(a) as number) && Number.isNaN(valueKey(b) as number)),
        valuesEqual(a, b),
      );
      assert.equal(compareValues(a, b) === 0, valuesEqual(a, b));
    }),
    { numRuns: 5_000 },
  );
});

test('the order of text is the order of its UTF-8 bytes', () => {
  fc.assert(
    fc.property(arbitraryText(), arbitraryText(), (a, b) => {
      const bytes = Buffer.compare(Buffer.from(a), Buffer.from(b));
      assert.equal(Math.sign(compareText(a, b)), bytes);
    }),
    { numRuns: 3_000 },
  );
});

test('kinds stand in the order of their index tags', () => {
  const ascending: Value[] = [
    null,
    false,
    true,
    -1.5,
    new Decimal(-15n, 2),
    0,
    new Float(1),
    2 ** 53 - 1,
    9_007_199_254_740_993n,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    new LocalDate(0),
    new DateTime(1),
    '',
    'a',
    '\uffff',
    '\u{10000}',
    new Uint8Array([0]),
  ];
  for (let i = 1; i < ascending.length; i++)
    assert.ok(compareValues(ascending[i - 1] as Value, ascending[i] as Value) < 0, `place ${i}`);
});

test('a date equals no moment, although they may stand side by side', () => {
  assert.equal(valuesEqual(new LocalDate(0), new DateTime(0)), false);
  assert.equal(compareValues(new LocalDate(0), new DateTime(0)), 0);
});
