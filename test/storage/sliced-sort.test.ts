import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { sortedInSlices } from '#storage/sliced-sort.ts';

const timers = { yield: async () => {} };

test('a sort in slices gives the order of a stable sort', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0, 1, 100, 2048, 2049, 5000, 10_000),
      fc.integer({ min: 1, max: 500 }),
      fc.integer(),
      async (count, keyCount, seed) => {
        const items = Array.from({ length: count }, (_, at) => ({
          key: Math.abs((at * 7919 + seed) % keyCount),
          at,
        }));
        const byKey = (a: { key: number }, b: { key: number }) => a.key - b.key;
        assert.deepEqual(await sortedInSlices(items, byKey, timers), items.toSorted(byKey));
      },
    ),
    { numRuns: 30 },
  );
});

test('a sort in slices gives others a turn', async () => {
  let turnCount = 0;
  const items = Array.from({ length: 20_000 }, (_, at) => (at * 7919) % 20_011);
  await sortedInSlices(items, (a, b) => a - b, {
    yield: async () => {
      turnCount += 1;
    },
  });
  assert.ok(turnCount >= 20, `${turnCount} turns`);
});
