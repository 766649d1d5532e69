import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Settings } from '#config/effective-settings.ts';
import { readThreadCount } from '#database/threads/make-threads.ts';

test('there is one thread less than processors, and none that a container has no memory for', () => {
  const GiB = 1024 ** 3;
  const count = (processorCount: number, containerBytes?: number, asked?: string): number => {
    const given = new Map(asked === undefined ? [] : [['service.server.readThreads', asked]]);
    return readThreadCount(new Settings(given), { processorCount, containerBytes });
  };
  const byProcessors = [1, 2, 8, 200].map((processorCount) => count(processorCount));
  assert.deepEqual(byProcessors, [0, 1, 7, 64]);
  const byMemory = [0.25, 1, 1.999, 2, 4, 16].map((limit) => count(8, limit * GiB));
  assert.deepEqual(byMemory, [0, 0, 0, 1, 3, 7]);
  const asked = [count(8, GiB / 4, '3'), count(1, undefined, '2'), count(8, undefined, '0')];
  assert.deepEqual(asked, [3, 2, 0]);
});
