import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LoadTime } from '#cluster/replication/load-time.ts';

test('a load begins with its first row run and is over when none has come for a while, however it ends', async () => {
  const told: string[] = [];
  const timers: { isCancelled: boolean; run: () => void }[] = [];
  const after = (_: number, run: () => void) => {
    const timer = { isCancelled: false, run };
    timers.push(timer);
    return () => {
      timer.isCancelled = true;
    };
  };
  const pass = () => {
    for (const { isCancelled, run } of timers.splice(0)) if (!isCancelled) run();
  };
  const begin = () => {
    told.push('begins');
    return () => void told.push('is over');
  };
  const loads = new LoadTime(begin, { after });
  await loads.during(async () => void told.push('run'));
  await loads.during(async () => {
    pass();
    told.push('run');
  });
  assert.deepEqual(told.splice(0), ['begins', 'run', 'run'], 'the next one came in time');
  const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const applied = both.map(({ promise }) => loads.during(() => promise));
  both[0].resolve();
  await applied[0];
  pass();
  assert.deepEqual(told, [], 'another database is still applied to');
  both[1].reject(new Error('refused'));
  await assert.rejects(applied[1] as Promise<void>);
  pass();
  assert.deepEqual(told.splice(0), ['is over']);
  await loads.during(async () => {});
  pass();
  assert.deepEqual(told, ['begins', 'is over']);
});
