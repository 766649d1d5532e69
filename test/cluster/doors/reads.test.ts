import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowBatch } from '../../http/fake-databases.ts';
import { turnsUntil } from '../../support/turns.ts';
import { startCluster } from '../support/scripted-cluster.ts';

// The read barrier and its headers (ha.md 7), on every path that reads.

const sql = (command: string) => ({ language: 'sql', command });

async function started(context: Parameters<typeof startCluster>[0], settings = {}) {
  const cluster = await startCluster(context, 2, settings);
  for (const { databases } of cluster.doors)
    databases.behaviours.set('read', { complete: rowBatch(0, 1) });
  return cluster;
}

const readPaths = [
  ['POST', 'query/school', { body: sql('read') }],
  ['POST', 'command/school', { body: sql('read') }],
  ['GET', 'query/school/sql/read', {}],
  ['GET', 'exists/school', {}],
  ['GET', 'databases', {}],
  ['GET', 'server/users', {}],
  ['GET', 'server/groups', {}],
] as const;

test('every answer tells what is applied here', async (context) => {
  const cluster = await started(context);
  cluster.server(1).applied = 11;
  const door = cluster.door(1);
  const answers = [
    await door.ask('POST', 'query/school', { body: sql('read') }),
    await door.ask('POST', 'query/school', {
      body: sql('read'),
      headers: { accept: 'application/x-ndjson' },
    }),
    await door.ask('POST', 'query/school', { body: sql('wrong') }),
    await door.ask('POST', 'query/school', { body: sql('read'), user: null }),
    await door.ask('POST', 'query/other', { body: sql('read'), user: 'jay' }),
    await door.ask('GET', 'health', { user: null }),
    await door.ask('GET', 'ready', { user: null }),
    await door.ask('GET', 'nowhere'),
    await door.ask('POST', 'logout'),
  ];
  for (const { headers, status } of answers)
    assert.equal(headers['x-service-commit-index'], '11', String(status));
  cluster.server(1).applied = 0;
  const nothing = await door.ask('GET', 'health', { user: null });
  assert.equal(nothing.headers['x-service-commit-index'], undefined);
});

test('a bookmark is waited for on every read path, on the leader too', async (context) => {
  const cluster = await started(context);
  for (const place of [0, 1])
    for (const [method, path, asked] of readPaths) {
      const server = cluster.server(place);
      server.applied = 5;
      const headers = { 'x-service-read-after': '5' };
      assert.equal(
        (await cluster.door(place).ask(method, path, { ...asked, headers })).status,
        200,
      );
      const late = { 'x-service-read-after': '6' };
      if (place === 0) {
        // The leader knows that its log is not that long.
        const ahead = await cluster.door(0).ask(method, path, { ...asked, headers: late });
        assert.equal(ahead.status, 400, `${path} ${ahead.text}`);
        assert.match(ahead.text, /bookmark 6 is ahead of this cluster \(last index 5\)/);
        continue;
      }
      const waiting = cluster.door(place).ask(method, path, { ...asked, headers: late });
      setTimeout(() => server.apply(6), 30);
      const answer = await waiting;
      assert.equal(answer.status, 200, `${path} ${answer.text}`);
      assert.equal(answer.headers['x-service-commit-index'], '6');
    }
});

test('a late bookmark is 503 with Retry-After, never an old state; eventual does not wait', async (context) => {
  const cluster = await started(context);
  const asked = { body: sql('read'), headers: { 'x-service-read-after': '7' } };
  const late = await cluster.door(1).ask('POST', 'query/school', asked);
  assert.equal(late.status, 503);
  assert.equal(late.headers['retry-after'], '1');
  assert.equal(late.body['exception'], 'NeedRetryException');
  assert.match(String(late.body['detail']), /index 7 is wanted and 5 is applied here/);
  const legacy = { body: sql('read'), headers: { 'x-service-commit-index': '7' } };
  assert.equal((await cluster.door(1).ask('POST', 'query/school', legacy)).status, 503);
  const eventual = { ...asked.headers, 'x-service-read-consistency': ' Eventual ' };
  const there = await cluster
    .door(1)
    .ask('POST', 'query/school', { body: sql('read'), headers: eventual });
  assert.equal(there.status, 200);
  assert.equal(cluster.door(1).databases.seen.length, 1);
});

test('a follower that lacks what is waited for asks the leader how far it is, once for all who wait', async (context) => {
  const cluster = await started(context);
  const server = cluster.server(1);
  let answer = (_: number) => {};
  server.consensus.readIndex = () => {
    server.roundCount += 1;
    return new Promise((resolve) => {
      answer = resolve;
    });
  };
  const asked = { body: sql('read'), headers: { 'x-service-read-after': '6' } };
  const waiting = [1, 2, 3].map(() => cluster.door(1).ask('POST', 'query/school', asked));
  await turnsUntil(() => server.roundCount > 0);
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(server.roundCount, 1);
  answer(6);
  server.apply(6);
  for (const one of waiting) assert.equal((await one).status, 200);
  const there = { ...asked, headers: { 'x-service-read-after': '6' } };
  assert.equal((await cluster.door(1).ask('POST', 'query/school', there)).status, 200);
  assert.equal(server.roundCount, 1, 'what is there is asked for nowhere');
});

test('linearizable asks the quorum, and is refused without one', async (context) => {
  const cluster = await started(context);
  const headers = { 'x-service-read-consistency': 'linearizable' };
  for (const place of [0, 1])
    for (const [method, path, asked] of readPaths) {
      const before = cluster.server(place).roundCount;
      const answer = await cluster.door(place).ask(method, path, { ...asked, headers });
      assert.equal(answer.status, 200, answer.text);
      assert.equal(cluster.server(place).roundCount, before + 1, `${place} ${path}`);
    }
  cluster.server(1).roundIndex = undefined;
  const refused = await cluster.door(1).ask('POST', 'query/school', { body: sql('read'), headers });
  assert.equal(refused.status, 503);
  assert.equal(refused.body['exception'], 'QuorumNotReachedException');
  cluster.server(1).roundIndex = 8;
  const waiting = cluster.door(1).ask('POST', 'query/school', { body: sql('read'), headers });
  setTimeout(() => cluster.server(1).apply(8), 30);
  assert.equal((await waiting).headers['x-service-commit-index'], '8');
  const limits = cluster.servers.flatMap(({ roundLimitsMs }) => roundLimitsMs);
  assert.ok(limits.length > 0 && limits.every(Number.isInteger), `a person reads them: ${limits}`);
});

test('a write and a session that begins see the newest state, too: a leader without a quorum refuses them', async (context) => {
  const cluster = await started(context, { 'ha.forwardLeaderWaitTimeoutMs': '200' });
  const { databases } = cluster.door(0);
  for (const door of cluster.doors)
    door.databases.behaviours.set('write', { isWrite: true, complete: rowBatch(0, 1) });
  const headers = { 'x-service-read-consistency': 'linearizable' };
  // At the follower as well: the leader asks its quorum.
  for (const place of [0, 1])
    for (const [path, body] of [
      ['command/school', sql('write')],
      ['begin/school', {}],
    ] as const) {
      const leader = cluster.server(0);
      const seenCount = databases.seen.length;
      leader.roundCount = 0;
      leader.roundIndex = 5;
      const done = await cluster.door(place).ask('POST', path, { body, headers });
      assert.ok(done.status < 300, done.text);
      assert.equal(leader.roundCount, 1, `${place} ${path}`);
      leader.roundIndex = undefined;
      const refused = await cluster.door(place).ask('POST', path, { body, headers });
      assert.equal(refused.status, 503, `${place} ${path}`);
      assert.equal(refused.body['exception'], 'QuorumNotReachedException');
      assert.equal(databases.seen.length, seenCount + (path === 'begin/school' ? 0 : 1));
      leader.roundCount = 0;
      const plain = await cluster.door(place).ask('POST', path, { body });
      assert.ok(plain.status < 300, plain.text);
      assert.equal(leader.roundCount, 0, 'who does not ask for it waits for nobody');
      databases.seen.length = seenCount;
    }
});

test('the document tells which requests wait for a state', async (context) => {
  const cluster = await started(context);
  const { body } = await cluster.door(0).ask('GET', 'openapi.json');
  const paths = body['paths'] as Record<
    string,
    Record<string, { parameters?: { name: string }[] }>
  >;
  const waiting = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { parameters = [] }]) =>
        parameters.some(({ name }) => name === 'X-Service-Read-After'),
      )
      .map(([method]) => `${method} ${path.replace(/^\/api\/v1/, '')}`),
  );
  assert.deepEqual(waiting.sort(), [
    'get /databases',
    'get /exists/{database}',
    'get /query/{database}/{language}/{command}',
    'get /server/groups',
    'get /server/users',
    'post /begin/{database}',
    'post /command/{database}',
    'post /query/{database}',
  ]);
});

test('values of the headers are checked', async (context) => {
  const cluster = await started(context);
  const statusOf = async (headers: Record<string, string>) =>
    (await cluster.door(1).ask('POST', 'query/school', { body: sql('read'), headers })).status;
  for (const value of ['strong', '', 'linear izable'])
    assert.equal(await statusOf({ 'x-service-read-consistency': value }), 400, value);
  for (const value of ['-1', 'x', '1.5', '9007199254740992', '99999999999999999999', '1e3', '0x5'])
    assert.equal(await statusOf({ 'x-service-read-after': value }), 400, value);
  for (const value of ['', ' ', '0', '5'])
    assert.equal(await statusOf({ 'x-service-read-after': value }), 200, value);
});

test('a client that leaves waits no more', async (context) => {
  const cluster = await started(context);
  const socket = await cluster.door(1).open();
  const body = JSON.stringify(sql('read'));
  socket.write(
    `POST /api/v1/query/school HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${Buffer.from('root:password').toString('base64')}\r\nX-Service-Read-After: 6\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await new Promise((resolve) => setTimeout(resolve, 60));
  socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 60));
  cluster.server(1).apply(6);
  assert.equal(cluster.door(1).databases.seen.length, 0);
});
