import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeNoise } from '../fuzz/random-bytes.ts';
import { startSockets } from '../websocket/socket-fixture.ts';
import { basic } from './door-fixture.ts';

test('noise on the port is answered or cut off, and leaves nothing behind', async (context) => {
  const { door, sockets, databases, sql } = await startSockets(context);
  await sql('CREATE VERTEX TYPE Person');
  const noise = { port: door.port, authorization: basic('root'), patienceMs: 1000 };
  const answered = await makeNoise({ ...noise, seed: 1, connections: 300 });
  assert.ok(answered > 30, `${answered} of 300 got an answer`);
  assert.deepEqual(door.internalErrors, []);
  assert.equal((await door.ask('GET', 'health')).status, 204);
  assert.deepEqual(await sql('SELECT 1 AS one'), [{ one: 1 }]);
  const deadline = performance.now() + 10_000;
  while (sockets.connectionCount > 0 && performance.now() < deadline)
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(sockets.connectionCount, 0);
  assert.deepEqual(databases.running.statements.list(), []);
});
