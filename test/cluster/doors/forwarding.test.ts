import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { callsLeader } from '#mcp/policy/placement.ts';
import { rowBatch } from '../../http/fake-databases.ts';
import { turnsUntil } from '../../support/turns.ts';
import { clusterToken, type ScriptedCluster, startCluster } from '../support/scripted-cluster.ts';

// Requests that another server executes (ha.md 6): three doors over scripted databases, and a leader that the test names.

const sql = (command: string) => ({ language: 'sql', command });
const write = { isWrite: true, complete: rowBatch(0, 1) };
const read = { complete: rowBatch(0, 2) };

function script(cluster: ScriptedCluster): void {
  for (const { databases } of cluster.doors) {
    databases.behaviours.set('write', write);
    databases.behaviours.set('read', read);
  }
}

test('a write at a follower is executed by the leader, a read is not', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  cluster.server(0).applied = 17;
  const headers = { 'x-request-id': 'mine', 'user-agent': 'unit' };
  const written = await cluster
    .door(1)
    .ask('POST', 'command/school', { body: sql('write'), headers });
  assert.equal(written.status, 200, written.text);
  assert.equal(written.headers['x-request-id'], 'mine');
  assert.equal(written.headers['x-service-commit-index'], '17', "the leader's, not the follower's");
  assert.equal(cluster.door(0).databases.seen.length, 1);
  assert.equal(cluster.door(1).databases.seen.length, 0);
  const seen = cluster.door(0).databases.seen[0]?.options;
  assert.deepEqual([seen?.principal.name, seen?.principal.via], ['root', 'peer']);
  assert.notEqual(seen?.replayKey, undefined, 'the id is the choice of the client there, too');
  const found = await cluster.door(1).ask('POST', 'command/school', { body: sql('read') });
  assert.equal(found.status, 200);
  assert.equal(found.headers['x-service-commit-index'], '5');
  assert.equal(cluster.door(1).databases.seen.length, 1);
});

test('an id that the follower made up is none of the client', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  const answer = await cluster.door(1).ask('POST', 'command/school', { body: sql('write') });
  const seen = cluster.door(0).databases.seen[0]?.options;
  assert.equal(seen?.requestId, answer.headers['x-request-id']);
  assert.equal(seen?.replayKey, undefined);
});

test('rights are those that the leader gives to the user', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  const other = await cluster
    .door(1)
    .ask('POST', 'command/other', { body: sql('write'), user: 'jay' });
  assert.equal(other.status, 403);
  const mine = await cluster
    .door(1)
    .ask('POST', 'command/school', { body: sql('write'), user: 'jay' });
  assert.equal(mine.status, 200);
  assert.equal(cluster.door(0).databases.seen.at(-1)?.options.principal.name, 'jay');
  await cluster.door(0).users.drop('jay');
  const unknown = await cluster
    .door(1)
    .ask('POST', 'command/school', { body: sql('write'), user: 'jay' });
  assert.equal(unknown.status, 401);
});

test('the error of the leader comes back as it is', async (context) => {
  const cluster = await startCluster(context);
  for (const { databases } of cluster.doors)
    databases.behaviours.set('twice', {
      isWrite: true,
      before: () => {
        throw new DatabaseError('DuplicatedKey', 'it is there', { arguments: ['i', 'k', '#1:0'] });
      },
    });
  const answer = await cluster.door(2).ask('POST', 'command/school', { body: sql('twice') });
  assert.equal(answer.status, 409);
  assert.equal(answer.body['exceptionArgs'], 'i|k|#1:0');
  assert.equal(answer.headers['x-service-commit-index'], '5');
});

test('a user who was just made elsewhere is known: at the follower that was asked, and at another one at the first login', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  const credentials = { password: 'password-of-ann', databases: new Map([['school', ['admin']]]) };
  cluster.server(0).applied = 6;
  const command = `create user {"name":"anna","password":"password-of-ann"}`;
  let isAnswered = false;
  const made = cluster
    .door(1)
    .ask('POST', 'server', { body: { command } })
    .finally(() => {
      isAnswered = true;
    });
  await turnsUntil(() => cluster.door(0).users.get('anna') !== undefined);
  await systemRuntime.timers.sleep(30);
  assert.equal(isAnswered, false, 'it is not applied there yet');
  cluster.server(1).apply(6);
  assert.equal((await made).status, 200);

  cluster.catchesUpLogins = true;
  cluster.server(2).roundIndex = 6;
  const authorization = `Basic ${Buffer.from('anna:password-of-ann').toString('base64')}`;
  const read = cluster.door(2).ask('POST', 'query/school', {
    body: sql('read'),
    user: null,
    headers: { authorization },
  });
  await turnsUntil(() => cluster.server(2).roundCount > 0);
  await cluster.door(2).users.create('anna', credentials);
  cluster.server(2).apply(6);
  assert.equal((await read).status, 200);
});

test('a database that was just made elsewhere is known at the first query', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  const { databases } = cluster.door(1);
  cluster.server(1).roundIndex = 6;
  const ask = (path: string) =>
    path.startsWith('exists')
      ? cluster.door(1).ask('GET', path)
      : cluster.door(1).ask('POST', path, { body: sql('read') });
  for (const [n, path] of ['query/fresh0', 'exists/fresh1'].entries()) {
    cluster.server(1).applied = 5;
    const rounds = cluster.server(1).roundCount;
    const asked = ask(path);
    await turnsUntil(() => cluster.server(1).roundCount > rounds);
    await databases.create(`fresh${n}`);
    cluster.server(1).apply(6);
    const { status, body } = await asked;
    assert.equal(status, 200);
    if (path.startsWith('exists')) assert.equal(body['result'], true);
  }
  const rounds = cluster.server(1).roundCount;
  assert.equal((await ask('query/school')).status, 200);
  assert.equal(cluster.server(1).roundCount, rounds, 'one that is known is asked for nowhere');
  assert.equal((await ask('query/nowhere')).status, 500);
});

test('a write whose server loses the lead meanwhile is for the client to repeat, and is repeated by a follower', async (context) => {
  const cluster = await startCluster(context);
  let lost = 0;
  for (const { databases } of cluster.doors)
    databases.behaviours.set('write', {
      ...write,
      before: () => {
        lost -= 1;
        if (lost >= 0) throw new DatabaseError('NotLeader', 'this server is not the leader; x is');
      },
    });
  lost = 1;
  const direct = await cluster.door(0).ask('POST', 'command/school', { body: sql('write') });
  assert.deepEqual(
    [direct.status, direct.body['exception'], direct.headers['retry-after']],
    [503, 'QuorumNotReachedException', '1'],
  );
  lost = 1;
  const through = await cluster.door(1).ask('POST', 'command/school', { body: sql('write') });
  assert.equal(through.status, 200, through.text);
});

test('sessions belong to the server that began them', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  const begun = await cluster.door(1).ask('POST', 'begin/school');
  assert.equal(begun.status, 204);
  const id = String(begun.headers['service-session-id']);
  const headers = { 'service-session-id': id };
  for (const place of [1, 2, 0]) {
    const inside = await cluster
      .door(place)
      .ask('POST', 'query/school', { body: sql('read'), headers });
    assert.equal(inside.status, 200, inside.text);
    assert.equal(inside.headers['service-session-id'], id);
  }
  assert.equal(cluster.door(0).databases.seen.length, 3);
  const foreign = await cluster
    .door(1)
    .ask('POST', 'query/school', { body: sql('read'), headers, user: 'jay' });
  assert.equal(foreign.status, 404, 'only its user may use it');
  assert.equal((await cluster.door(2).ask('POST', 'commit/school', { headers })).status, 204);
  assert.equal((await cluster.door(2).ask('POST', 'commit/school', { headers })).status, 500);
  const unknown = { 'service-session-id': 'AS-00000000-0000-8000-8000-000000000000' };
  const lost = await cluster
    .door(1)
    .ask('POST', 'query/school', { body: sql('read'), headers: unknown });
  assert.equal(lost.status, 404);
});

test('a change of leader ends sessions', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  const begun = await cluster.door(1).ask('POST', 'begin/school');
  const headers = { 'service-session-id': String(begun.headers['service-session-id']) };
  cluster.elect(cluster.server(1).id);
  const asked = { body: sql('read'), headers };
  const ended = await cluster.door(1).ask('POST', 'query/school', asked);
  assert.equal(ended.status, 404);
  assert.match(String(ended.body['detail']), /leadership changed/);
  assert.equal((await cluster.door(1).ask('POST', 'commit/school', { headers })).status, 500);
});

test('what must run on the leader is refused by a server that lost the lead, and sent to the next one', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  const direct = await cluster.door(1).ask('POST', 'command/school', {
    body: sql('write'),
    user: null,
    headers: {
      'x-service-cluster-token': clusterToken,
      'x-service-forwarded-user': 'root',
      'x-service-forwarded-to-leader': '1',
    },
  });
  assert.equal(direct.status, 400);
  assert.equal(direct.body['exception'], 'ServerIsNotTheLeaderException');
  assert.equal(direct.body['exceptionArgs'], `127.0.0.1:${cluster.door(0).port}`);
  // Server 1 still believes in 0, which has learnt that 2 leads.
  const believed = cluster.server(0).id;
  const status = cluster.server(1).status.bind(cluster.server(1));
  let asked = 0;
  cluster.server(1).status = () => {
    asked += 1;
    return { ...status(), leader: asked < 4 ? believed : cluster.server(2).id };
  };
  cluster.elect(cluster.server(2).id);
  const written = await cluster.door(1).ask('POST', 'command/school', { body: sql('write') });
  assert.equal(written.status, 200, written.text);
  assert.equal(cluster.door(2).databases.seen.length, 1);
  assert.equal(cluster.door(0).databases.seen.length, 0);
});

test('without a leader a write is 503 with Retry-After after a while, and a read is answered', async (context) => {
  const cluster = await startCluster(context, 3, { 'ha.forwardLeaderWaitTimeoutMs': '50' });
  script(cluster);
  cluster.elect(undefined);
  const refused = await cluster.door(1).ask('POST', 'command/school', { body: sql('write') });
  assert.equal(refused.status, 503);
  assert.equal(refused.body['exception'], 'QuorumNotReachedException');
  assert.equal(refused.headers['retry-after'], '1');
  assert.equal(
    (await cluster.door(1).ask('POST', 'query/school', { body: sql('read') })).status,
    200,
  );
});

test('a follower that becomes the leader meanwhile executes the write itself', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  cluster.elect(undefined);
  const asked = cluster.door(1).ask('POST', 'command/school', { body: sql('write') });
  await new Promise((resolve) => setImmediate(resolve));
  cluster.elect(cluster.server(1).id);
  assert.equal((await asked).status, 200);
  assert.equal(cluster.door(1).databases.seen.length, 1);
});

test('a leader that breaks off leaves the outcome unknown: 504, nothing is repeated', async (context) => {
  const cluster = await startCluster(context);
  let count = 0;
  const mute = createServer((socket) => {
    socket.on('data', () => {
      count += 1;
      socket.destroy();
    });
  });
  await new Promise<void>((listening) => mute.listen(0, '127.0.0.1', listening));
  context.after(() => mute.close());
  const { port } = mute.address() as AddressInfo;
  cluster.declared = cluster.declared.map((peer, place) =>
    place === 0 ? { ...peer, http: port } : peer,
  );
  script(cluster);
  const answer = await cluster.door(1).ask('POST', 'command/school', { body: sql('write') });
  assert.equal(answer.status, 504, answer.text);
  assert.equal(answer.body['exception'], 'ReplicationDispatchedTimeoutException');
  assert.equal(answer.body['outcome'], 'unknown');
  assert.equal(count, 1);
});

test('a leader that was cut off in silence is given up once another one leads', async (context) => {
  const texts = { 'ha.electionTimeoutMin': '100', 'ha.electionTimeoutMax': '200' };
  const cluster = await startCluster(context, 3, texts);
  const silent = createServer((socket) => {
    socket.on('data', () => cluster.elect(cluster.server(2).id));
    socket.on('error', () => {});
  });
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening));
  context.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  cluster.declared = cluster.declared.map((peer, place) =>
    place === 0 ? { ...peer, http: port } : peer,
  );
  script(cluster);
  const answer = await cluster.door(1).ask('POST', 'command/school', { body: sql('write') });
  assert.deepEqual([answer.status, answer.body['outcome']], [504, 'unknown'], answer.text);
  const headers = { 'x-request-id': 'mine-1' };
  cluster.elect(cluster.server(0).id);
  const asked = { body: sql('write'), headers };
  const repeated = await cluster.door(1).ask('POST', 'command/school', asked);
  assert.equal(repeated.status, 200, repeated.text);
});

test('control commands and users go to the leader, what concerns one server stays', async (context) => {
  const cluster = await startCluster(context);
  const made = await cluster
    .door(1)
    .ask('POST', 'server', { body: { command: 'create database new' } });
  assert.equal(made.status, 200, made.text);
  assert.equal(cluster.door(0).databases.exists('new'), true);
  assert.equal(cluster.door(1).databases.exists('new'), false);
  const user = { name: 'kim', password: 'password', databases: { school: ['reader'] } };
  assert.equal((await cluster.door(2).ask('POST', 'server/users', { body: user })).status, 201);
  assert.notEqual(cluster.door(0).users.get('kim'), undefined);
  assert.equal(cluster.door(2).users.get('kim'), undefined);
  const listed = await cluster
    .door(1)
    .ask('POST', 'server', { body: { command: 'get server events' } });
  assert.equal(listed.status, 200);
});

test('shutdown with the name of another server is for that one', async (context) => {
  const cluster = await startCluster(context);
  let stopped = 0;
  cluster.door(2).control.stopsBy([
    {
      name: 'test',
      run: async () => {
        stopped += 1;
      },
    },
  ]);
  const asked = { body: { command: 'shutdown Service_2' } };
  assert.equal((await cluster.door(1).ask('POST', 'server', asked)).status, 200);
  for (let attempt = 0; stopped === 0 && attempt < 300; attempt += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(stopped, 1);
  assert.equal(cluster.door(1).control.isStopping, false);
  const unknown = { body: { command: 'shutdown Service_9' } };
  assert.equal((await cluster.door(1).ask('POST', 'server', unknown)).status, 400);
});

test('tools that write are executed by the leader', () => {
  const call = (name: string) =>
    new Map<string, Value>([
      ['method', 'tools/call'],
      ['params', new Map([['name', name]])],
    ]);
  assert.equal(callsLeader(call('execute_command')), true);
  assert.equal(callsLeader([call('query'), call('upsert_entity')]), true);
  for (const message of [
    call('query'),
    call('set_server_setting'),
    new Map([['method', 'tools/list']]),
    null,
  ])
    assert.equal(callsLeader(message as Value), false);
});

test('a body beyond service.ha.proxyMaxBodySize is 413', async (context) => {
  const cluster = await startCluster(context, 2, { 'ha.proxyMaxBodySize': '1024' });
  script(cluster);
  const body = { ...sql('write'), params: { text: 'x'.repeat(2000) } };
  const answer = await cluster.door(1).ask('POST', 'command/school', { body });
  assert.equal(answer.status, 413);
  assert.match(String(answer.body['detail']), /proxyMaxBodySize/);
});

test('a shared HTTP address is not sent to', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  cluster.declared = cluster.declared.map((peer) => ({ ...peer, http: undefined }));
  const answer = await cluster.door(1).ask('POST', 'command/school', { body: sql('write') });
  assert.equal(answer.status, 503);
  assert.match(String(answer.body['detail']), /declare http in service\.ha\.serverList/);
});

test('forged internal headers from outside are refused', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  const cases: readonly [Record<string, string>, number][] = [
    [{ 'x-service-forwarded-user': 'root' }, 401],
    [{ 'x-service-forwarded-to-leader': '1' }, 401],
    [{ 'x-service-cluster-token': '', 'x-service-forwarded-user': 'root' }, 403],
    [{ 'x-service-cluster-token': `${clusterToken}x`, 'x-service-forwarded-user': 'root' }, 403],
    [{ 'x-service-cluster-token': clusterToken }, 401],
    [{ 'x-service-cluster-token': clusterToken, 'x-service-forwarded-user': 'nobody' }, 401],
    [{ 'x-service-cluster-token': clusterToken, 'x-service-forwarded-user': '%zz' }, 401],
    [
      {
        'x-service-cluster-token': clusterToken,
        'x-service-forwarded-user': 'apitoken:x',
        'x-service-forwarded-rights': 'e30.AAAA',
      },
      401,
    ],
  ];
  for (const [headers, status] of cases)
    for (const user of ['root', null]) {
      const answer = await cluster
        .door(0)
        .ask('POST', 'query/school', { body: sql('read'), headers, user });
      assert.equal(answer.status, status, JSON.stringify(headers));
    }
});

test('a server that was removed sends nothing on, whether it knows it or not', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  cluster.elect(cluster.server(0).id);
  const headers = {
    'x-service-cluster-token': clusterToken,
    'x-service-forwarded-user': 'root',
    'x-service-forwarded-to-leader': '1',
  };
  const from = (id: string) =>
    cluster.door(0).ask('POST', 'command/school', {
      body: sql('write'),
      headers: { ...headers, 'x-service-forwarded-from': id },
      user: null,
    });
  assert.equal((await from(cluster.server(1).id)).status, 200);
  const refused = await from('removed_1');
  assert.equal(refused.status, 503, refused.text);
  assert.equal(refused.headers['x-service-not-executed'], '1', 'it was not executed');

  cluster.members = cluster.members.filter(({ id }) => id !== cluster.server(1).id);
  cluster.elect(undefined);
  const own = await cluster.door(1).ask('POST', 'command/school', { body: sql('write') });
  assert.equal(own.status, 503, own.text);
  assert.match(own.text, /no member of its cluster/, 'it waits for no leader');
});

test('an API token keeps its rights on the leader, which does not know it', async (context) => {
  const cluster = await startCluster(context);
  script(cluster);
  const { token } = await cluster.door(1).apiTokens.create({
    name: 'loader',
    database: 'school',
    expiresAt: 0,
    permissions: { types: new Map([['*', ['readRecord', 'updateRecord']]]), database: [] },
  });
  const headers = { authorization: `Bearer ${token}` };
  const asked = { body: sql('write'), headers, user: null };
  const mine = await cluster.door(1).ask('POST', 'command/school', asked);
  assert.equal(mine.status, 200, mine.text);
  assert.equal(cluster.door(0).databases.seen[0]?.options.principal.name, 'apitoken:loader');
  assert.equal((await cluster.door(1).ask('POST', 'command/other', asked)).status, 403);
  assert.equal((await cluster.door(0).ask('POST', 'command/school', asked)).status, 401);
});
