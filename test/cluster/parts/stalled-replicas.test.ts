import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StalledReplicas } from '#cluster/status/stalled-replicas.ts';
import { silentLog } from '#core/log.ts';

// Followers that stand still are filled anew (contract 3, Peer roles; ha.md 9.7); time is an argument.

function watch({ durationMs = 60_000, refused }: { durationMs?: number; refused?: string } = {}) {
  const asked: string[] = [];
  const errors: string[] = [];
  const stalledSinceMs = new Map<string, number>();
  const stalled = new StalledReplicas({
    monitor: {
      of: (id) => ({
        status: 'STALLED',
        lag: 9,
        laggingSinceMs: undefined,
        stalledSinceMs: stalledSinceMs.get(id),
      }),
    },
    resync: {
      begin: async (peer, database, user) => {
        asked.push(`${peer} ${database} ${user}`);
        return refused;
      },
    },
    databases: () => ['school', 'shop'],
    durationMs: () => durationMs,
    log: { ...silentLog, error: (message: string) => void errors.push(message) },
  });
  const at = async (nowMs: number, followers = ['b_1', 'c_1']) => {
    await stalled.look(followers, nowMs);
    return asked.splice(0);
  };
  return { at, stalledSinceMs, errors };
}

test('a follower that stands still for long is told to fetch each database, once for each standstill', async () => {
  const { at, stalledSinceMs } = watch();
  assert.deepEqual(await at(100_000), []);
  stalledSinceMs.set('b_1', 100_000);
  assert.deepEqual(await at(159_999), []);
  assert.deepEqual(await at(160_000), ['b_1 school root', 'b_1 shop root']);
  assert.deepEqual(await at(900_000), []);
  stalledSinceMs.delete('b_1');
  assert.deepEqual(await at(905_000), []);
  stalledSinceMs.set('b_1', 910_000);
  assert.deepEqual(await at(970_000), ['b_1 school root', 'b_1 shop root']);
});

test('with 0 nobody is told; what a follower refuses is logged by name', async () => {
  const off = watch({ durationMs: 0 });
  off.stalledSinceMs.set('b_1', 0);
  assert.deepEqual(await off.at(10_000_000), []);
  const { at, stalledSinceMs, errors } = watch({ refused: 'it is not reachable' });
  stalledSinceMs.set('c_1', 0);
  assert.equal((await at(60_000)).length, 2);
  assert.match(errors[0] ?? '', /Follower c_1 does not fetch database 'school' anew: it is not/);
});

test('a new leadership begins anew', async () => {
  const { at, stalledSinceMs } = watch();
  stalledSinceMs.set('b_1', 0);
  assert.equal((await at(60_000)).length, 2);
  assert.deepEqual(await at(65_000, []), []);
  assert.equal((await at(70_000)).length, 2);
});
