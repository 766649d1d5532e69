import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { test, type TestContext } from 'node:test';
import { turnsUntil } from '../support/turns.ts';
import type { TestDatabase } from '../database/support/open-test-database.ts';
import { startDatabaseDoor } from './database-door.ts';
import { type Answer, type Asked, basic, type DoorFixture } from './door-fixture.ts';

// What runs now: seen and ended by its id (limits.md 6).

interface RunningFixture {
  readonly door: DoorFixture;
  readonly data: TestDatabase;
  ask(method: string, path: string, asked?: Asked): Promise<Answer>;
  /** Starts an endless statement; resolves when it can be seen. */
  start(path: string, body: object, asked?: Asked): Promise<Started>;
}

interface Started {
  readonly answer: Promise<Answer>;
  readonly listed: Readonly<Record<string, unknown>>;
}

type Entries = readonly Readonly<Record<string, unknown>>[];

async function fixture(context: TestContext): Promise<RunningFixture> {
  const { door, data: opened } = await startDatabaseDoor(context);
  await opened.run('CREATE DOCUMENT TYPE N');
  const rows = Array.from({ length: 3000 }, (_, n) => `(${n})`);
  await opened.run(`INSERT INTO N (n) VALUES ${rows.join()}`);
  const password = 'password';
  for (const name of ['mary', 'nora'])
    await door.users.create(name, { password, databases: new Map([['test', ['admin']]]) });
  const start = async (path: string, body: object, asked: Asked = {}): Promise<Started> => {
    const before = opened.active.count;
    const answer = door.ask('POST', path, { ...asked, body });
    await turnsUntil(() => opened.active.count > before);
    const { result } = (await door.ask('GET', 'server/statements')).body;
    const listed = (result as Entries).at(-1);
    assert(listed);
    return { answer, listed };
  };
  return { door, data: opened, ask: (method, path, asked) => door.ask(method, path, asked), start };
}

/** Some 10^10 rows: never done. */
const endless =
  'SELECT count(*) AS c FROM (MATCH {type: N, as: x}, {type: N, as: y}, {type: N, as: z} RETURN x.n AS n)';

function requireCancelled(answer: Answer, user = 'root'): void {
  assert.equal(answer.status, 500, answer.text);
  assert.equal(answer.body['exception'], 'CommandCancelledException');
  const reason = new RegExp(`statement \\d+ was cancelled by user '${user}'`);
  assert.match(String(answer.body['detail']), reason);
}

test('a running statement is listed with who runs what, and ends when it is cancelled', async (context) => {
  const { ask, start } = await fixture(context);
  const { answer, listed } = await start(
    'query/test',
    { language: 'SQL', command: endless },
    { user: 'mary', headers: { 'x-request-id': 'mine-1' } },
  );
  const { id, startedOn, elapsedMs, ...about } = listed;
  assert.deepEqual(about, {
    requestId: 'mine-1',
    database: 'test',
    user: 'mary',
    language: 'sql',
    command: endless,
    inSession: false,
  });
  assert(Number(startedOn) > 1_600_000_000_000 && Number(elapsedMs) >= 0);
  const ended = await ask('DELETE', `server/statements/${id}`);
  assert.deepEqual([ended.status, ended.body], [200, { result: `Statement ${id} cancelled` }]);
  requireCancelled(await answer);
  const after = await ask('GET', 'server/statements');
  assert.deepEqual(after.body, { result: [], count: 0 });
  assert.equal((await ask('DELETE', `server/statements/${id}`)).status, 404);
});

test('users see and end their own statements only', async (context) => {
  const { ask, start } = await fixture(context);
  const { answer, listed } = await start(
    'query/test',
    { language: 'sql', command: endless },
    { user: 'mary', headers: { 'x-request-id': 'mine' } },
  );
  const seen = async (user: string) => (await ask('GET', 'server/statements', { user })).body;
  assert.equal((await seen('nora'))['count'], 0);
  assert.equal((await seen('mary'))['count'], 1);
  for (const id of [listed['id'], 'mine']) {
    const refused = await ask('DELETE', `server/statements/${id}`, { user: 'nora' });
    assert.equal(refused.status, 404);
  }
  assert.equal((await ask('GET', 'server/statements?database=other')).body['count'], 0);
  assert.equal((await ask('GET', 'server/statements?database=test')).body['count'], 1);
  assert.equal((await ask('DELETE', 'server/statements/mine', { user: 'mary' })).status, 200);
  requireCancelled(await answer, 'mary');
});

test('every kind of statement ends when it is cancelled; a write leaves nothing', async (context) => {
  const { ask, start, data } = await fixture(context);
  const kinds: readonly [string, string, string][] = [
    ['query', 'sql', endless],
    ['command', 'sql', `UPDATE N SET m = (${endless})`],
    ['command', 'sql', `INSERT INTO N SET m = (${endless})`],
    ['command', 'sqlscript', 'INSERT INTO N SET m = 1; WHILE (true) { LET x = 1 }'],
    ['command', 'sqlscript', 'INSERT INTO N SET m = 1; SLEEP 50000'],
    ['query', 'sqlscript', 'WHILE (true) { SELECT FROM N }'],
  ];
  for (const [endpoint, language, command] of kinds) {
    const { answer, listed } = await start(`${endpoint}/test`, { language, command });
    assert.equal(listed['language'], language);
    assert.equal((await ask('DELETE', `server/statements/${listed['id']}`)).status, 200);
    requireCancelled(await answer);
  }
  const queued = await start('command/test', {
    language: 'sql',
    command: `INSERT INTO N SET m = (${endless})`,
    awaitResponse: false,
  });
  assert.equal((await queued.answer).status, 202);
  await ask('DELETE', `server/statements/${queued.listed['id']}`);
  await turnsUntil(() => data.active.count === 0);
  assert.deepEqual(await data.run('SELECT count(*) AS c FROM N WHERE m IS DEFINED'), [{ c: 0 }]);
});

test('a cancelled stream ends with an error line; a session survives a cancelled read', async (context) => {
  const { ask, start } = await fixture(context);
  const accept = 'application/x-ndjson';
  const command = 'MATCH {type: N, as: x}, {type: N, as: y}, {type: N, as: z} RETURN x.n AS n';
  const stream = await start(
    'query/test',
    { language: 'sql', command, limit: -1 },
    { headers: { accept } },
  );
  await ask('DELETE', `server/statements/${stream.listed['id']}`);
  const { text } = await stream.answer;
  const last = JSON.parse(text.trim().split('\n').at(-1) ?? '');
  assert.equal(last.error.exception, 'CommandCancelledException');

  const begun = await ask('POST', 'begin/test');
  const headers = { 'service-session-id': String(begun.headers['service-session-id']) };
  await ask('POST', 'command/test', {
    body: { language: 'sql', command: 'INSERT INTO N SET n = -1' },
    headers,
  });
  const reading = await start('query/test', { language: 'sql', command: endless }, { headers });
  assert.equal(reading.listed['inSession'], true);
  await ask('DELETE', `server/statements/${reading.listed['id']}`);
  requireCancelled(await reading.answer);
  assert.equal((await ask('POST', 'commit/test', { headers })).status, 204);
});

test('a batch import is an operation: it shows progress, and ends with what is committed', async (context) => {
  const { ask, door, data } = await fixture(context);
  await data.run('CREATE VERTEX TYPE V');
  const upload = httpRequest({
    port: door.port,
    method: 'POST',
    path: '/api/v1/batch/test?commitEvery=10',
    headers: {
      authorization: basic('root'),
      'content-type': 'application/x-ndjson',
      'content-length': '1000000',
      'x-request-id': 'load-1',
    },
  });
  const answered = once(upload, 'response');
  upload.write('{"@type":"v","@class":"V"}\n'.repeat(15));
  let entry: Readonly<Record<string, unknown>> | undefined;
  while (entry?.['done'] !== 405) {
    const { result } = (await ask('GET', 'progress/test')).body;
    entry = (result as Entries)[0];
  }
  assert.deepEqual(
    [entry['operation'], entry['stepName'], entry['total'], entry['percentage']],
    ['batch import', 'load', 1_000_000, 0],
  );
  const [operation] = (await ask('GET', 'server/operations')).body['result'] as Entries;
  assert.deepEqual(
    [operation?.['user'], operation?.['requestId'], operation?.['state'], operation?.['counts']],
    ['root', 'load-1', 'running', { vertices: 10, edges: 0 }],
  );
  assert.equal((await ask('DELETE', 'server/operations/load-1')).status, 200);
  const [response] = await answered;
  assert.equal(response.statusCode, 500);
  upload.destroy();
  const [ended] = (await ask('GET', 'server/operations')).body['result'] as Entries;
  assert.deepEqual(
    [ended?.['state'], ended?.['reason']],
    ['cancelled', `operation ${operation?.['id']} was cancelled by user 'root'`],
  );
  assert.deepEqual((await ask('GET', 'progress/test')).body, { result: [] });
  assert.deepEqual(await data.run('SELECT count(*) AS c FROM V'), [{ c: 10 }]);
});

test('maintenance shows its progress and who asked for it, and ends when it is cancelled', async (context) => {
  const { ask, data } = await fixture(context);
  await data.run('CREATE PROPERTY N.n INTEGER');
  await data.run('CREATE INDEX ON N (n) NOTUNIQUE');
  const rows = Array.from({ length: 20_000 }, (_, n) => `(${n})`);
  await data.run(`INSERT INTO N (n) VALUES ${rows.join()}`);
  const operations = async () =>
    (await ask('GET', 'server/operations', { user: 'mary' })).body['result'] as Entries;
  for (const [command, operation] of [
    ['REBUILD INDEX *', 'rebuild index'],
    ['CHECK DATABASE', 'check database'],
  ]) {
    const answer = ask('POST', 'command/test', {
      user: 'mary',
      body: { language: 'sql', command },
    });
    await turnsUntil(() => data.progress.running().length > 0);
    const entry = (await operations()).at(-1);
    assert.deepEqual([entry?.['operation'], entry?.['user']], [operation, 'mary']);
    const [shown] = (await ask('GET', 'progress/test', { user: 'mary' })).body['result'] as Entries;
    // It may have ended meanwhile; if not, it is shown as the contract says.
    if (shown !== undefined) assert.equal(shown['operation'], operation);
    await ask('DELETE', `server/operations/${entry?.['id']}`, { user: 'mary' });
    const { status, body } = await answer;
    assert([200, 500].includes(status));
    if (status === 500) assert.equal(body['exception'], 'CommandCancelledException');
    const ended = status === 200 ? 'completed' : 'cancelled';
    assert.equal((await operations()).at(-1)?.['state'], ended);
    assert.deepEqual((await ask('GET', 'progress/test')).body, { result: [] });
  }
});

test('the same by control commands, which are for root', async (context) => {
  const { ask, start } = await fixture(context);
  const run = (command: string, user = 'root') =>
    ask('POST', 'server', { body: { command }, user });
  const { answer, listed } = await start('query/test', { language: 'sql', command: endless });
  const { body } = await run('list statements');
  assert.deepEqual([body['count'], (body['result'] as Entries)[0]?.['id']], [1, listed['id']]);
  assert.equal((await run('list statements other')).body['count'], 0);
  assert.equal((await run('list statements', 'mary')).status, 403);
  assert.equal((await run(`cancel statement ${listed['id']}`, 'mary')).status, 403);
  assert.equal((await run(`cancel statement ${listed['id']} now`)).status, 400);
  assert.equal((await run('cancel statement')).status, 400);
  const unknown = await run('cancel statement 4711');
  assert.deepEqual([unknown.status, unknown.body['error']], [400, "Nothing with id '4711' runs"]);
  assert.deepEqual((await run(`cancel statement ${listed['id']}`)).body, { result: 'ok' });
  requireCancelled(await answer);
  assert.deepEqual((await run('list operations')).body, { result: [], count: 0 });
});

test('odd ids and databases name nothing', async (context) => {
  const { ask } = await fixture(context);
  for (const id of ['0', '-1', '1e3', '%00', '%0d%0ax', 'x'.repeat(5000), '__proto__', '%2e%2e'])
    for (const kind of ['statements', 'operations']) {
      const { status, body } = await ask('DELETE', `server/${kind}/${id}`);
      assert.equal(status, 404, id);
      assert.match(String(body['error']), /^[^\u0000-\u001f]{1,200}$/);
    }
  for (const database of ['', '%00', '..', 'x'.repeat(5000)])
    assert.equal((await ask('GET', `server/statements?database=${database}`)).body['count'], 0);
  assert.equal((await ask('GET', 'server/statements', { user: null })).status, 401);
  assert.equal((await ask('POST', 'server/statements')).status, 405);
});

test('secrets in the text of a statement are not listed', async (context) => {
  const { ask, start } = await fixture(context);
  const { answer, listed } = await start('command/test', {
    language: 'sqlscript',
    command: `LET password = 'swordfish'; LET u = 'http://jay:miner2024@host/x'; SLEEP 50000`,
  });
  assert.doesNotMatch(String(listed['command']), /swordfish|miner2024/);
  await ask('DELETE', `server/statements/${listed['id']}`);
  requireCancelled(await answer);
});
