import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awaitedOf } from '#cluster/consensus/awaited-followers.ts';

const progress = [
  { id: 'a', match: 90, next: 91, state: 'replicate' },
  { id: 'b', match: 50, next: 51, state: 'replicate' },
  { id: 'c', match: 10, next: 11, state: 'probe' },
  { id: 'd', match: 0, next: 1, state: 'snapshot' },
] as const;

test('the log of a leader goes without waiting for followers, or waits for those that can be reached', () => {
  const isReachable = (id: string) => id !== 'c';
  const awaited = (role: 'leader' | 'follower', purgesForAll?: boolean) =>
    awaitedOf(
      { role, progress } as never,
      { self: 'a', ...(purgesForAll === undefined ? undefined : { purgesForAll }) },
      isReachable,
    );
  assert.deepEqual(awaited('leader'), []);
  assert.deepEqual(awaited('leader', true), []);
  assert.deepEqual(awaited('leader', false), [50]);
  assert.deepEqual(awaited('follower', false), []);
});
