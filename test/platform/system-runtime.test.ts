import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRuntime } from '#platform/system-runtime.ts';

test('long work that yields lets a new connection be accepted and its request be read', async () => {
  let turnCount = 0;
  let isOver = false;
  const turn = () => {
    turnCount += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await systemRuntime.timers.yield();
  isOver = true;
  assert.equal(turnCount, 2);
});
