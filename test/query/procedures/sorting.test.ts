import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sortedInTurns } from '#query/procedures/algorithms/sorting.ts';
import { seededRandom, Work } from '#query/procedures/algorithms/work.ts';

test('items are sorted as at once, equal ones as they came, with pauses', () => {
  for (const length of [0, 1, 1_024, 1_025, 5_000]) {
    const random = seededRandom(length);
    const items = Array.from({ length }, (_, at) => ({ key: Math.floor(random() * 50), at }));
    const compare = (a: { key: number }, b: { key: number }): number => a.key - b.key;
    const turns = sortedInTurns(items, compare, new Work());
    let pauseCount = 0;
    let step = turns.next();
    for (; step.done !== true; step = turns.next()) pauseCount += 1;
    assert.deepEqual(step.value, [...items].sort(compare));
    assert.ok(pauseCount >= Math.floor(length / 2_048));
  }
});
