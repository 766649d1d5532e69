import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairTurns } from '#database/fair-turns.ts';
import { ServerMemory, StatementMemory } from '#database/memory-accounts.ts';
import { PlanCache } from '#database/plan-cache.ts';
import { ManualRuntime } from './support/manual-runtime.ts';

const MiB = 1024 * 1024;

test('a statement may hold queryMaxMemory to the byte, one more names the setting', () => {
  const server = new ServerMemory({
    bytesMax: 100 * MiB,
    settingKey: 'service.server.queryMaxMemory',
  });
  const account = new StatementMemory(server, 3 * MiB);
  account.reserve(3 * MiB);
  assert.throws(() => account.reserve(1), {
    code: 'TooLarge',
    message: /service\.queryMaxMemory \(3145728\)/,
  });
  account.release(10);
  account.reserve(10);
  account.close();
  assert.equal(server.usedBytes, 0);
});

test('all statements together may hold the share of the server, beyond it 503 naming the setting', () => {
  const server = new ServerMemory({
    bytesMax: 4 * MiB,
    settingKey: 'service.server.queryMaxMemory',
  });
  const first = new StatementMemory(server, 4 * MiB);
  const second = new StatementMemory(server, 4 * MiB);
  first.reserve(3 * MiB);
  second.reserve(MiB);
  assert.throws(() => second.reserve(1), {
    code: 'Busy',
    message: /service\.server\.queryMaxMemory/,
  });
  first.close();
  second.reserve(1);
  second.close();
  assert.equal(server.usedBytes, 0);
});

test('the plan cache keeps the most recently used plans within its bounds', () => {
  let countMax = 4;
  const cache = new PlanCache<number>({ countMax: () => countMax, textLengthMax: 800 });
  for (const [at, key] of ['a', 'b', 'c', 'd'].entries()) cache.set(key, at);
  assert.equal(cache.get('a'), 0);
  cache.set('e', 4);
  assert.equal(cache.get('b'), undefined);
  assert.equal(cache.get('a'), 0);
  cache.set('x'.repeat(101), 5);
  assert.equal(cache.get('x'.repeat(101)), undefined);
  for (let n = 0; n < 12; n += 1) cache.set(`${n}`.padEnd(99, '.'), n);
  assert.equal(cache.size, 4);
  countMax = 0;
  cache.set('f', 6);
  assert.equal(cache.get('f'), undefined);
  cache.clear();
  assert.equal(cache.size, 0);
});

test('one long statement is resumed per turn of the event loop, in order of arrival', async () => {
  let turnCount = 0;
  const runtime = new ManualRuntime();
  const turns = new FairTurns({
    ...runtime.timers,
    yield: async () => {
      await runtime.timers.yield();
      turnCount += 1;
    },
  });
  const resumed: string[] = [];
  const statement = async (name: string): Promise<void> => {
    for (let slice = 0; slice < 2; slice += 1) {
      await turns.yield();
      resumed.push(`${name}${slice}@${turnCount}`);
    }
  };
  await Promise.all([statement('a'), statement('b'), statement('c')]);
  assert.deepEqual(resumed, ['a0@1', 'b0@2', 'c0@3', 'a1@4', 'b1@5', 'c1@6']);
});
