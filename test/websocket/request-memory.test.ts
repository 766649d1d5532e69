import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSockets } from './socket-fixture.ts';

// Messages that nobody has answered yet are in the account of all requests, and what is made of them (limits.md 33).

const budget = { 'server.httpMaxRequestMemory': String(1024 * 1024) };

test('messages that do not end are bounded in all; their memory comes back', async (context) => {
  const { connect, door } = await startSockets(context, budget);
  const clients = [await connect(), await connect(), await connect()];
  for (const { socket } of clients) socket.send('x'.repeat(400_000), { fin: false });
  const { code, reason } = await Promise.race(clients.map(({ closed }) => closed));
  assert.equal(code, 1013);
  assert.match(reason, /httpMaxRequestMemory/);
  for (const { socket } of clients) socket.terminate();
  const body = { language: 'sql', command: `SELECT '${'x'.repeat(300_000)}' AS a` };
  let status = 503;
  while (status === 503) ({ status } = await door.ask('POST', 'command/school', { body }));
  assert.equal(status, 200);
});

test('what a chunk of small values becomes counts, too; the connection stays', async (context) => {
  const { connect } = await startSockets(context, budget);
  const client = await connect();
  const { sessionId } = await client.ask({ action: 'start', database: 'school' });
  const records = Array.from({ length: 60_000 }, () => ({}));
  const told = await client.ask({ action: 'chunk', sessionId, records });
  assert.equal(told['result'], 'error');
  assert.match(String(told['detail']), /requests running now hold .*httpMaxRequestMemory/);
  const ended = await client.ask({ action: 'rollback', sessionId });
  assert.notEqual(ended['error'], 'Internal error');
});
