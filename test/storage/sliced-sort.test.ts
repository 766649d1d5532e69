import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { orderInSlices } from '#storage/bulk/sliced-sort.ts';

const timers = { yield: async () => {} };

test('a sort in slices gives the order of a stable sort', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0, 1, 100, 2048, 2049, 5000, 10_000),
      fc.integer({ min: 1, max: 500 }),
      fc.integer(),
      async (count, keyCount, seed) => {
        const keys = Array.from({ length: count }, (_, at) =>
          Math.abs((at * 7919 + seed) % keyCount),
        );
        const byKey = (a: number, b: number) => (keys[a] as number) - (keys[b] as number);
        const order = await orderInSlices(count, byKey, timers);
        assert.deepEqual([...order], [...keys.keys()].toSorted(byKey));
      },
    ),
    { numRuns: 30 },
  );
});

test('a sort in slices gives others a turn', async () => {
  let turnCount = 0;
  const keys = Array.from({ length: 20_000 }, (_, at) => (at * 7919) % 20_011);
  await orderInSlices(keys.length, (a, b) => (keys[a] as number) - (keys[b] as number), {
    yield: async () => {
      turnCount += 1;
    },
  });
  assert.ok(turnCount >= 20, `${turnCount} turns`);
});

test('what is in order already is looked at twice and not sorted', async () => {
  let comparisonCount = 0;
  const order = await orderInSlices(
    100_000,
    (a, b) => {
      comparisonCount += 1;
      return a - b;
    },
    timers,
  );
  assert.deepEqual([order[0], order[99_999]], [0, 99_999]);
  assert.ok(comparisonCount < 200_000, `${comparisonCount} comparisons`);
});
