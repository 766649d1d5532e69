import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverDefaultDatabaseMode } from '#config/server-settings.ts';
import { startSockets } from '../websocket/socket-fixture.ts';

// `server.defaultDatabaseMode=READ_ONLY` (http-api.md 21.3): every door reads, none writes.

test('databases that are opened for reading refuse every write, also of root', async (context) => {
  const { door, settings, sql, connect } = await startSockets(context);
  await sql('CREATE VERTEX TYPE P');
  await sql('CREATE VERTEX P SET n = 1');
  settings.set(serverDefaultDatabaseMode, 'READ_ONLY');
  const ask = (command: string, more: object = {}) =>
    door.ask('POST', 'command/school', { body: { language: 'sql', command, ...more } });
  const writes = [
    'CREATE VERTEX P SET n = 2',
    'UPDATE P SET n = 2',
    'DELETE FROM P',
    'CREATE DOCUMENT TYPE D',
    'TRUNCATE TYPE P UNSAFE',
    'REBUILD INDEX *',
    'ALTER DATABASE `service.txRetries` 5',
    'IMPORT DATABASE file:///nowhere.json',
  ];
  for (const command of writes) {
    const { status, body } = await ask(command);
    assert.deepEqual([status, body['error']], [500, 'Database is read only'], command);
    assert.equal(body['exception'], 'DatabaseIsReadOnlyException');
  }
  const script = await ask('INSERT INTO P SET n = 3', { language: 'sqlscript' });
  assert.equal(script.status, 500);
  const setting = { command: 'set database setting school txRetries 4' };
  assert.equal((await door.ask('POST', 'server', { body: setting })).status, 500);
  const batch = await door.ask('POST', 'batch/school', {
    headers: { 'content-type': 'application/x-ndjson' },
    body: '{"@type":"v","@class":"P","n":4}\n',
  });
  assert.equal(batch.status, 500);
  const client = await connect();
  const started = await client.ask({ action: 'start', database: 'school' });
  assert.equal(started['result'], 'error');
  const { body } = await ask('SELECT n FROM P');
  assert.deepEqual(body['result'], [{ n: 1 }]);
  assert.equal((await ask('EXPLAIN UPDATE P SET n = 2')).status, 200);
  assert.equal((await ask('SELECT 1; RETURN 2', { language: 'sqlscript' })).status, 200);
  const begun = await door.ask('POST', 'begin/school');
  const headers = { 'service-session-id': String(begun.headers['service-session-id']) };
  const inSession = await door.ask('POST', 'command/school', {
    body: { language: 'sql', command: 'DELETE FROM P' },
    headers,
  });
  assert.equal(inSession.status, 500);
  assert.equal((await door.ask('POST', 'commit/school', { headers })).status, 204);
});
