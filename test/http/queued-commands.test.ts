import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SocketFixture, startSockets } from '../websocket/socket-fixture.ts';
import type { DoorFixture } from './door-fixture.ts';

// `awaitResponse: false` (http-api.md 6.7): what is queued does what it would do if somebody waited for it.

async function queue(door: DoorFixture, command: string): Promise<void> {
  const body = { language: 'sql', command, awaitResponse: false };
  assert.equal((await door.ask('POST', 'command/school', { body })).status, 202);
}

/** What the query gives once it gives something else than `not`. */
async function settled(
  run: SocketFixture['sql'],
  query: string,
  not: readonly unknown[],
): Promise<readonly unknown[]> {
  for (;;) {
    const rows = await run(query);
    if (JSON.stringify(rows) !== JSON.stringify(not)) return rows;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('a queued command reads views that follow their sources as they are after what came before it', async (context) => {
  const { door, sql: run } = await startSockets(context);
  for (const command of [
    'CREATE DOCUMENT TYPE S',
    'CREATE DOCUMENT TYPE U',
    'CREATE MATERIALIZED VIEW MV AS SELECT a FROM S REFRESH INCREMENTAL',
  ])
    await run(command);
  const counted = 'SELECT count(*) AS n FROM U';
  await run('INSERT INTO S SET a = 1');
  await queue(door, 'INSERT INTO S SET a = 2');
  await queue(door, 'INSERT INTO U SELECT a FROM MV');
  assert.deepEqual(await settled(run, counted, [{ n: 0 }]), [{ n: 2 }]);
});

test('queued commands are counted like others', async (context) => {
  const { door, sql: run } = await startSockets(context);
  await run('CREATE DOCUMENT TYPE T');
  const metrics = async () => {
    const { body } = await door.ask('GET', 'server');
    return body['metrics'] as {
      profiler: { queries: { count: number }; writeTx: { count: number } };
      executors: { async: { completedCount: number } };
    };
  };
  const before = await metrics();
  await queue(door, 'INSERT INTO T SET n = 1');
  await queue(door, 'INSERT INTO Missing SET n = 1');
  await queue(door, 'INSERT INTO T SET n = 2');
  let after = await metrics();
  while (after.executors.async.completedCount < 3) after = await metrics();
  assert.equal(after.profiler.queries.count - before.profiler.queries.count, 3);
});
