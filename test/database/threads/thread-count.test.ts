import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Settings } from '#config/effective-settings.ts';
import { readThreadCount } from '#database/threads/make-threads.ts';

test('there is one thread less than processors, none where memory is limited, or as many as are asked for', () => {
  const count = (processorCount: number, isMemoryLimited: boolean, asked?: string): number => {
    const given = new Map(asked === undefined ? [] : [['service.server.readThreads', asked]]);
    return readThreadCount(new Settings(given), { processorCount, isMemoryLimited });
  };
  const byProcessors = [1, 2, 8, 200].map((processorCount) => count(processorCount, false));
  assert.deepEqual(byProcessors, [0, 1, 7, 64]);
  assert.equal(count(8, true), 0);
  assert.deepEqual([count(8, true, '3'), count(1, false, '2'), count(8, false, '0')], [3, 2, 0]);
});
