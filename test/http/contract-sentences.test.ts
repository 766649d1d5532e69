import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSockets } from '../websocket/socket-fixture.ts';
import { type Answer, type Asked, type DoorFixture, startDoor } from './door-fixture.ts';

// Sentences of contract document 1 that no other file provokes through a real socket. Each test names the section.

const sql = (command: string, more: object = {}) => ({ language: 'sql', command, ...more });
const sessionHeader = 'service-session-id';

async function bearerOf(door: DoorFixture, user: string): Promise<Asked> {
  const { body } = await door.ask('POST', 'login', { user });
  return { user: null, headers: { authorization: `Bearer ${body['token']}` } };
}

function rowsOf({ status, body, text }: Answer): unknown {
  assert.equal(status, 200, text);
  return body['result'];
}

async function begin(
  door: DoorFixture,
  isolationLevel?: string,
): Promise<Readonly<Record<string, string>>> {
  const begun = await door.ask('POST', 'begin/school', { body: { isolationLevel } });
  assert.equal(begun.status, 204);
  return { [sessionHeader]: String(begun.headers[sessionHeader]) };
}

test('States, token: the oldest of a user goes when there are too many, others stay', async (context) => {
  const door = await startDoor(context, { 'server.httpAuthSessionMaxPerUser': '2' });
  const ofJay = await bearerOf(door, 'jay');
  const tokens = [
    await bearerOf(door, 'root'),
    await bearerOf(door, 'root'),
    await bearerOf(door, 'root'),
  ];
  const statuses = [];
  for (const asked of [...tokens, ofJay])
    statuses.push((await door.ask('GET', 'databases', asked)).status);
  assert.deepEqual(statuses, [401, 200, 200, 200]);
});

test('Limits: 0 tokens per user and per server are any number', async (context) => {
  const door = await startDoor(context, {
    'server.httpAuthSessionMaxPerUser': '0',
    'server.httpAuthSessionMax': '0',
  });
  const first = await bearerOf(door, 'root');
  for (let count = 0; count < 150; count += 1) await bearerOf(door, 'root');
  const { body } = await door.ask('GET', 'sessions', first);
  assert.equal(body['count'], 151);
});

test('States, token: one that is idle for too long is invalid, one in use is not', async (context) => {
  const door = await startDoor(context, { 'server.httpAuthSessionExpireTimeout': '1' });
  const [idle, used] = [await bearerOf(door, 'root'), await bearerOf(door, 'root')];
  for (let count = 0; count < 4; count += 1) {
    await new Promise((resolve) => setTimeout(resolve, 350));
    assert.equal((await door.ask('GET', 'databases', used)).status, 200);
  }
  assert.equal((await door.ask('GET', 'databases', idle)).status, 401);
  // Expired ones make room for a login.
  assert.equal((await door.ask('GET', 'sessions', used)).body['count'], 1);
});

test('Authentication 4: a dropped user and a changed password invalidate tokens by command, too', async (context) => {
  const door = await startDoor(context);
  const ofJay = await bearerOf(door, 'jay');
  const dropped = await door.ask('POST', 'server', { body: { command: 'drop user jay' } });
  assert.equal(dropped.status, 200);
  assert.equal((await door.ask('GET', 'databases', ofJay)).status, 401);
  const again = `create user ${JSON.stringify({ name: 'jay', password: 'password', databases: { school: 'admin' } })}`;
  assert.equal((await door.ask('POST', 'server', { body: { command: again } })).status, 200);
  assert.equal((await door.ask('GET', 'databases', ofJay)).status, 401);
  assert.equal((await door.ask('GET', 'databases', await bearerOf(door, 'jay'))).status, 200);
});

test('Authentication 6: what is stored of the client is cut to 256 characters', async (context) => {
  const door = await startDoor(context);
  const long = 'x'.repeat(1000);
  const headers = {
    'user-agent': long,
    'cf-connecting-ip': long,
    'cf-ipcountry': long,
    'cf-ipcity': long,
  };
  await door.ask('POST', 'login', { headers });
  const { body } = await door.ask('GET', 'sessions');
  const [{ userAgent, sourceIp, country, city }] = body['result'] as [Record<string, string>];
  for (const value of [userAgent, sourceIp, country, city]) assert.equal(value, long.slice(0, 256));
});

test('Query 2: what the GET form cannot hold, and how a question mark gets into it', async (context) => {
  const { door } = await startSockets(context);
  const ask = (path: string) => door.ask('GET', `query/school/sql/${path}`);
  const marked = await ask("select%20format('who%25c%20100%25%25',63)%20as%20x");
  assert.deepEqual(rowsOf(marked), [{ x: 'who? 100%' }]);
  // It ends the command; what follows is the query string.
  const cut = await ask("select%20'a?b'%20as%20x");
  assert.equal(cut.status, 400, cut.text);
  assert.deepEqual(rowsOf(await ask('select%201%20as%20x?b=2')), [{ x: 1 }]);
});

test('States, transaction: autoCommit in a session is ignored, and the session decides', async (context) => {
  const { door, sql: rows } = await startSockets(context);
  await rows('CREATE DOCUMENT TYPE T');
  for (const autoCommit of [true, false]) {
    const headers = await begin(door);
    const body = sql('INSERT INTO T SET n = 1', { autoCommit });
    assert.equal((await door.ask('POST', 'command/school', { body, headers })).status, 200);
    assert.deepEqual(await rows('SELECT count(*) AS n FROM T'), [{ n: 0 }], String(autoCommit));
    assert.equal((await door.ask('POST', 'rollback/school', { headers })).status, 204);
  }
  assert.deepEqual(await rows('SELECT count(*) AS n FROM T'), [{ n: 0 }]);
});

test('Command 3: autoCommit true, false and omitted store what was acknowledged', async (context) => {
  const { door, sql: rows } = await startSockets(context);
  await rows('CREATE DOCUMENT TYPE T');
  for (const autoCommit of [true, false, undefined])
    rowsOf(
      await door.ask('POST', 'command/school', {
        body: sql('INSERT INTO T SET n = 1', { autoCommit }),
      }),
    );
  assert.deepEqual(await rows('SELECT count(*) AS n FROM T'), [{ n: 3 }]);
  for (const autoCommit of [true, false, undefined])
    assert.deepEqual(
      rowsOf(
        await door.ask('POST', 'query/school', {
          body: sql('SELECT count(*) AS n FROM T', { autoCommit }),
        }),
      ),
      [{ n: 3 }],
    );
});

test('Begin: what the isolation levels see of others, and who loses a conflict', async (context) => {
  const { door, sql: rows } = await startSockets(context);
  await rows('CREATE DOCUMENT TYPE T');
  await rows('INSERT INTO T SET n = 1');
  const seen: unknown[] = [];
  for (const level of ['READ_COMMITTED', 'REPEATABLE_READ', undefined]) {
    const headers = await begin(door, level);
    const read = async () =>
      rowsOf(await door.ask('POST', 'query/school', { body: sql('SELECT n FROM T'), headers }));
    const before = (await read()) as { n: number }[];
    await rows('UPDATE T SET n = n + 1');
    const after = (await read()) as { n: number }[];
    seen.push([level, Number(after[0]?.n) - Number(before[0]?.n)]);
    if (level === 'REPEATABLE_READ') {
      const body = sql('UPDATE T SET n = 100');
      const written = await door.ask('POST', 'command/school', { body, headers });
      const end =
        written.status === 200 ? await door.ask('POST', 'commit/school', { headers }) : written;
      assert.equal(end.status, 503, end.text);
      assert.equal(end.body['exception'], 'ConcurrentModificationException');
    }
    // After the conflict the session has ended.
    const status = level === 'REPEATABLE_READ' ? 500 : 204;
    assert.equal((await door.ask('POST', 'rollback/school', { headers })).status, status);
  }
  assert.deepEqual(seen, [
    ['READ_COMMITTED', 1],
    ['REPEATABLE_READ', 0],
    [undefined, 1],
  ]);
});

test('Command 2: a conflict is tried again after a full rollback, with one attempt it is 503', async (context) => {
  const { door, sql: rows } = await startSockets(context);
  await rows('CREATE DOCUMENT TYPE T');
  await rows('INSERT INTO T SET n = 0');
  // Reads first and writes later, so that writers get into each other's way.
  const script =
    'BEGIN ISOLATION REPEATABLE_READ; LET r = SELECT n FROM T; SLEEP 50; UPDATE T SET n = $r[0].n + 1; COMMIT';
  const askAtOnce = (count: number, retries: number) => {
    const body = { language: 'sqlscript', command: script, retries };
    return Promise.all(
      Array.from({ length: count }, () => door.ask('POST', 'command/school', { body })),
    );
  };
  for (const { status, text } of await askAtOnce(3, 50)) assert.equal(status, 200, text);
  assert.deepEqual(await rows('SELECT n FROM T'), [{ n: 3 }]);
  const refused = (await askAtOnce(3, 1)).filter(({ status }) => status !== 200);
  for (const { status, body } of refused)
    assert.deepEqual([status, body['exception']], [503, 'ConcurrentModificationException']);
  assert.deepEqual(await rows('SELECT n FROM T'), [{ n: 6 - refused.length }]);
  assert(refused.length > 0);
});
