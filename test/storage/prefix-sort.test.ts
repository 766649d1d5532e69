import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Rid } from '#core/value/rid.ts';
import { EntryRun } from '#storage/bulk/entry-runs.ts';
import { orderByPrefix } from '#storage/bulk/prefix-sort.ts';

const timers = { yield: async () => {} };

test('a sort by prefixes gives the order of a stable sort', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(0, 1, 100, 2048, 2049, 5000, 40_000),
      fc.constantFrom(1, 3, 100, 2 ** 20, 2 ** 53),
      fc.integer({ min: 1, max: 50 }),
      fc.nat(),
      async (count, prefixCount, restCount, seed) => {
        const prefixes = Float64Array.from({ length: count + 10 }, (_, at) =>
          Math.floor(((Math.imul(at + seed, 2_654_435_761) >>> 0) / 2 ** 32) * prefixCount),
        );
        const rest = Array.from({ length: count }, (_, at) => (at * 7919 + seed) % restCount);
        const compareRest = (a: number, b: number) => (rest[a] as number) - (rest[b] as number);
        const order = await orderByPrefix({ count, prefixes, compareRest }, timers);
        const wanted = [...rest.keys()].toSorted(
          (a, b) => (prefixes[a] as number) - (prefixes[b] as number) || compareRest(a, b),
        );
        assert.deepEqual([...order], wanted);
      },
    ),
    { numRuns: 30 },
  );
});

test('entries of a run come in the order of their bytes, shorter ones first', async () => {
  await fc.assert(
    fc.asyncProperty(
      // Few different bytes: most keys begin alike, many are the beginning of others.
      fc.array(fc.array(fc.constantFrom(0, 1, 7, 8, 255), { maxLength: 12 }), {
        minLength: 1,
        maxLength: 60,
      }),
      fc.constantFrom(1, 100),
      async (keys, times) => {
        const run = new EntryRun({ id: 1 as never, isUnique: false, isBuilding: false });
        const wanted: Buffer[] = [];
        for (let at = 0; at < times; at += 1)
          for (const [i, key] of keys.entries()) run.add(Uint8Array.from(key), (at + i) as Rid);
        await run.sort(timers);
        for (let place = 0; place < run.count; place += 1)
          wanted.push(Buffer.from(run.componentsAt(place)));
        assert.deepEqual(wanted, wanted.toSorted(Buffer.compare));
        assert.equal(wanted.length, keys.length * times);
      },
    ),
    { numRuns: 40 },
  );
});

test('what is in order is not sorted again, and others have their turn', async () => {
  let turnCount = 0;
  let comparisonCount = 0;
  const count = 100_000;
  const order = await orderByPrefix(
    {
      count,
      prefixes: Float64Array.from({ length: count }, (_, at) => at >>> 3),
      compareRest: (a, b) => {
        comparisonCount += 1;
        return a - b;
      },
    },
    {
      yield: async () => {
        turnCount += 1;
      },
    },
  );
  assert.deepEqual([order[0], order[count - 1]], [0, count - 1]);
  assert.ok(comparisonCount <= count, `${comparisonCount} comparisons`);
  assert.ok(turnCount >= 40, `${turnCount} turns`);
});
