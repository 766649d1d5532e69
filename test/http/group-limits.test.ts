import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGroup } from '#security/group-document.ts';
import { startSockets } from '../websocket/socket-fixture.ts';

// Limits that groups set their users (security.md 4.4), over a real database.

test('a read that takes longer than the group allows ends, and says whose limit that is', async (context) => {
  const { door } = await startSockets(context, { 'command.timeout': '200' });
  const group = { readTimeout: 30, types: { '*': { access: ['readRecord'] } } };
  await door.groups.put('*', 'reader', parseGroup(group, 'reader'));
  const command = 'LET i = 0; WHILE ($i < 1000000000) { LET i = $i + 1; } RETURN $i';
  const ask = (user: string) =>
    door.ask('POST', 'query/school', { user, body: { language: 'sqlscript', command } });
  const limited = await ask('jay');
  assert.deepEqual([limited.status, limited.body['exception']], [500, 'TimeoutException']);
  assert.match(String(limited.body['detail']), /readTimeout of the user's groups \(30 ms\)/);
  const ofDatabase = await ask('root');
  assert.match(String(ofDatabase.body['detail']), /service\.command\.timeout \(200 ms\)/);
});

test('rows beyond what the group allows are cut', async (context) => {
  const { door, sql } = await startSockets(context);
  await sql('CREATE VERTEX TYPE P');
  for (let n = 0; n < 4; n++) await sql(`CREATE VERTEX P SET n = ${n}`);
  const group = { resultSetLimit: 3, types: { '*': { access: ['readRecord'] } } };
  await door.groups.put('*', 'reader', parseGroup(group, 'reader'));
  const body = { language: 'sql', command: 'SELECT FROM P', limit: 100 };
  for (const limit of [100, -1]) {
    const asked = { user: 'jay', body: { ...body, limit } };
    const { body: answer } = await door.ask('POST', 'query/school', asked);
    assert.deepEqual([answer['returned'], answer['truncated']], [3, true]);
  }
});
