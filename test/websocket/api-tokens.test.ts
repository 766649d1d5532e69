import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSockets } from './socket-fixture.ts';

// API tokens at the WebSocket door, over a real database.

test('an API token subscribes and inserts within its permissions, until it is deleted', async (context) => {
  const { door, sql, connect } = await startSockets(context);
  await sql('CREATE VERTEX TYPE Log');
  await sql('CREATE VERTEX TYPE Person');
  const make = async (name: string, types: object) => {
    const body = { name, database: 'school', permissions: { types } };
    const answer = await door.ask('POST', 'server/api-tokens', { body });
    return `Bearer ${(answer.body['result'] as { token: string }).token}`;
  };
  const authorization = await make('ci', { Log: { access: ['createRecord', 'readRecord'] } });
  const client = await connect(authorization);
  assert.deepEqual(await client.ask({ action: 'subscribe', database: 'school' }), {
    result: 'ok',
    action: 'subscribe',
  });
  const foreign = await client.ask({ action: 'subscribe', database: 'other' });
  assert.equal(foreign['error'], 'Security error');

  const writer = await connect(authorization);
  const options = { transactionMode: 'per_batch' };
  const start = { action: 'start', database: 'school', sessionId: 's', options };
  assert.equal((await writer.ask(start))['action'], 'started');
  const records = [
    { '@class': 'Log', n: 1 },
    { '@class': 'Person', n: 2 },
  ];
  const acknowledged = await writer.ask({ action: 'chunk', sessionId: 's', chunkSeq: 1, records });
  assert.deepEqual([acknowledged['inserted'], acknowledged['failed']], [1, 1], 'one is forbidden');
  assert.deepEqual(await sql('SELECT count(*) AS n FROM Person'), [{ n: 0 }]);
  const event = await client.next();
  assert.equal((event['record'] as Record<string, unknown>)['@type'], 'Log');
  await sql('CREATE VERTEX Person SET n = 3');
  assert.deepEqual(await client.quiet(), [], 'no event of a type it may not read');

  const byHttp = (command: string) =>
    door.ask('POST', 'command/school', {
      user: null,
      headers: { authorization },
      body: { language: 'sql', command },
    });
  assert.equal((await byHttp('INSERT INTO Log SET n = 4')).status, 200);
  assert.equal((await byHttp('UPDATE Log SET n = 5')).status, 403);
  assert.equal((await byHttp('SELECT FROM Person')).status, 403);
  assert.equal((await byHttp('CREATE DOCUMENT TYPE X')).status, 403);
  assert.equal((await client.next())['changeType'], 'create');

  const begun = await door.ask('POST', 'begin/school', { user: null, headers: { authorization } });
  const session = { 'service-session-id': String(begun.headers['service-session-id']) };
  await door.ask('DELETE', 'server/api-tokens?name=ci');
  assert.deepEqual(await client.closed, { code: 1008, reason: 'access revoked' });
  assert.deepEqual(await writer.closed, { code: 1008, reason: 'access revoked' });
  assert.equal((await byHttp('SELECT FROM Log')).status, 401);
  // A token of the same name is another one; it does not inherit the session.
  const successor = await make('ci', { '*': { access: ['readRecord'] } });
  const inherited = await door.ask('POST', 'commit/school', {
    user: null,
    headers: { authorization: successor, ...session },
  });
  assert.equal(inherited.status, 500);
});
