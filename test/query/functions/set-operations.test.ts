import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { valueKey, valuesEqual } from '#core/value/equality.ts';
import { compareValues } from '#core/value/value-order.ts';
import { double, type Value } from '#core/value/value.ts';
import { subtractFromCollection } from '#query/evaluate/arithmetic/collection-arithmetic.ts';
import { ValueTable } from '#query/evaluate/comparison/value-table.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { sampleContext } from './sample-context.ts';

// Goal: functions of lists that find elements by their keys agree with comparing every element with every other one, for few
// elements and for so many that numbers have a table of their own.

const context = sampleContext();
const odd: Value[] = [
  ...[null, NaN, Infinity, true, 'a', '1', '\u0000a', 10n ** 18n, [1], [1, double(2)]],
  ...[double(1), double(NaN), new Map<string, Value>([['a', 1]]), Uint8Array.of(1)],
];
const element: fc.Arbitrary<Value> = fc.oneof(
  fc.nat(20),
  fc.nat(600),
  fc.nat(60).map((n) => n / 7 + 1e9),
  fc.nat(20).map((n) => `w${n}`),
  fc.constantFrom(...odd),
);
const lists = fc.oneof(
  { arbitrary: fc.array(element, { maxLength: 20 }), weight: 6 },
  fc.array(element, { minLength: 500, maxLength: 700, size: 'max' }),
  fc.array(fc.nat(2 ** 31), { minLength: 1_500, maxLength: 2_000, size: 'max' }),
);

function has(list: readonly Value[], value: Value): boolean {
  return list.some((other) => valuesEqual(other, value));
}

function distinct(list: readonly Value[]): readonly Value[] {
  const result: Value[] = [];
  for (const value of list) if (value !== null && !has(result, value)) result.push(value);
  return result;
}

function call(name: string, ...args: Value[]): Value {
  return functionRegistry.scalar(name)?.evaluate(args, context) ?? null;
}

test('operations on sets agree with comparing all elements', () => {
  fc.assert(
    fc.property(lists, lists, (a, b) => {
      const [left, right] = [distinct(a), distinct(b)];
      const more = right.filter((value) => !has(left, value));
      const rest = left.filter((value) => !has(right, value));
      assert.deepEqual(call('set', a, b), [...left, ...more]);
      assert.deepEqual(
        call('intersect', a, b),
        left.filter((value) => has(right, value)),
      );
      assert.deepEqual(call('difference', a, b), rest);
      assert.deepEqual(call('symmetricDifference', a, b), [...rest, ...more]);
    }),
    { numRuns: 60 },
  );
});

test('a list minus a list loses each of its elements once', () => {
  fc.assert(
    fc.property(lists, lists, (a, b) => {
      const expected = [...a];
      for (const value of b) {
        const at = expected.findIndex((other) => valuesEqual(other, value));
        if (at >= 0) expected.splice(at, 1);
      }
      // A list that is itself an element is removed as such.
      const own = a.findIndex((other) => valuesEqual(other, b));
      assert.deepEqual(subtractFromCollection(a, b), own < 0 ? expected : a.toSpliced(own, 1));
    }),
    { numRuns: 60 },
  );
});

test('keys have their numbers in the order in which they came', () => {
  fc.assert(
    fc.property(lists, lists, (a, b) => {
      const table = new ValueTable();
      const places = new Map<ReturnType<typeof valueKey>, number>();
      for (const value of a) {
        const key = valueKey(value);
        if (!places.has(key)) places.set(key, places.size);
        assert.equal(table.add(key), places.get(key));
        assert.equal(table.size, places.size);
      }
      for (const value of b) {
        const key = valueKey(value);
        assert.equal(table.find(key), places.get(key) ?? -1);
      }
    }),
    { numRuns: 60 },
  );
});

test('long lists of numbers are sorted as short ones are', () => {
  const number = fc.oneof(fc.integer(), fc.constantFrom(NaN, Infinity, -Infinity, 0.5, 0, -0));
  fc.assert(
    fc.property(fc.array(number, { minLength: 250, maxLength: 300, size: 'max' }), (list) => {
      const sorted = list.toSorted(compareValues);
      assert.deepEqual(call('.sort', list), sorted);
      assert.deepEqual(
        call('.sort', list, false),
        list.toSorted((a, b) => compareValues(b, a)),
      );
    }),
    { numRuns: 50 },
  );
});
