import assert from 'node:assert/strict';
import { test } from 'node:test';
import { heapGrowthPercent, letHeapGrow } from '#platform/heap-growth.ts';

const MiB = 1024 * 1024;

test('beside long work a small heap grows by up to 128 MiB, an eighth of its limit, and a large one as ever', () => {
  assert.equal(heapGrowthPercent(32 * MiB, 4096 * MiB), 400);
  assert.equal(heapGrowthPercent(32 * MiB, 512 * MiB), 200);
  assert.equal(heapGrowthPercent(32 * MiB, 128 * MiB), 0);
  assert.equal(heapGrowthPercent(500 * MiB, 4096 * MiB), 0);
});

test('works may end in any order, and each of them twice', () => {
  const first = letHeapGrow();
  const second = letHeapGrow();
  first();
  first();
  second();
  letHeapGrow()();
});
