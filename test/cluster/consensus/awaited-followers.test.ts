import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awaitedOf, FetchingFollowers } from '#cluster/consensus/awaited-followers.ts';

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

test('the log stays from the snapshot of a follower on that fetches it, unless it is gone or takes an hour', () => {
  const fetching = new FetchingFollowers();
  const status = { role: 'leader', progress: [...progress.slice(0, 3), fetcher(71)] } as never;
  const hour = 3_600_000;
  assert.deepEqual(
    fetching.look(status, () => true, 0),
    [70],
  );
  assert.deepEqual(
    fetching.look(status, (id) => id !== 'd', 10),
    [],
  );
  assert.deepEqual(
    fetching.look(status, () => true, hour - 1),
    [70],
  );
  assert.deepEqual(
    fetching.look(status, () => true, hour),
    [],
  );
  const done = { role: 'leader', progress: progress.slice(0, 3) } as never;
  assert.deepEqual(
    fetching.look(done, () => true, hour),
    [],
  );
  assert.deepEqual(
    fetching.look(status, () => true, hour + 1),
    [70],
    'another one',
  );
  assert.deepEqual(
    fetching.look({ role: 'follower', progress: [fetcher(71)] } as never, () => true, hour + 2),
    [],
  );
});

const fetcher = (next: number) => ({ id: 'd', match: 0, next, state: 'snapshot' }) as const;
