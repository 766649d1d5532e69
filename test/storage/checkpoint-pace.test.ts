import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gatheringMs } from '#storage/checkpointer.ts';

test('checkpoints leave the disk to commits for most of the time, and nothing waits for one for long', () => {
  assert.equal(gatheringMs(0), 50);
  assert.equal(gatheringMs(2), 50);
  assert.equal(gatheringMs(12), 240);
  assert.equal(gatheringMs(30_000), 1000);
});
