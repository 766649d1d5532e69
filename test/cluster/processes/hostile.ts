import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import {
  command,
  linearizable,
  makeSchool,
  password,
  patient,
  rows,
  startProcesses,
  until,
} from './support.ts';

// What comes from outside and means harm, or is only slow, with real processes (security.md 8.7; ha-testing.md 10 H4, M2, M4, M6, M7).

type Headers = Readonly<Record<string, string | readonly string[]>>;

/** Headers as they are, also twice. @returns the status */
function askRaw(server: LocalServer, headers: Headers): Promise<number> {
  const body = JSON.stringify({ language: 'sql', command: 'CREATE DOCUMENT TYPE Forged' });
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: server.httpPort,
        method: 'POST',
        path: '/api/v1/command/school',
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          ...(headers as Record<string, string | string[]>),
        },
      },
      (answer) => {
        answer.resume();
        answer.on('end', () => resolve(answer.statusCode ?? 0));
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const [user, marker, token] = [
  'x-service-forwarded-user',
  'x-service-forwarded-to-leader',
  'x-service-cluster-token',
];
const basic = { authorization: `Basic ${Buffer.from(`root:${password}`).toString('base64')}` };

/** What asks to be taken for a request of another server. */
const forged: readonly Headers[] = [
  { [user]: 'root' },
  { [user]: '' },
  { [user]: ['root', 'root'] },
  { [marker]: '1' },
  { [marker]: '' },
  { [token]: '' },
  { [token]: 'guess', [user]: 'root' },
  { [token]: ['guess', 'guess'], [user]: 'root', [marker]: '1' },
  { [token]: 'x'.repeat(8000), [user]: 'root' },
  { 'x-service-forwarded-rights': 'e30.AAAA', [user]: 'apitoken:x' },
];

async function termOf(cluster: LocalCluster): Promise<number> {
  const { body } = await cluster.ask(await cluster.leader(), 'GET', 'cluster');
  return (body as { currentTerm: number }).currentTerm;
}

test('forged, repeated and empty internal headers are refused by the leader and by followers', async (context) => {
  const cluster = await startProcesses(context, 3, patient);
  await makeSchool(cluster, await cluster.leader());
  for (const server of cluster.servers)
    for (const headers of forged)
      for (const own of [{}, basic]) {
        const status = await askRaw(server, { ...headers, ...own });
        assert.ok([400, 401, 403].includes(status), `${status} for ${JSON.stringify(headers)}`);
      }
  const types = await rows(cluster, await cluster.leader(), 'SELECT name FROM schema:types');
  assert.deepEqual(types, [{ name: 'Person' }]);
  await slowPeers(cluster);
  await changes(cluster);
});

/** Connections that say little and read nothing, on the Raft port and behind a long answer of a follower. */
async function slowPeers(cluster: LocalCluster): Promise<void> {
  const leader = await cluster.leader();
  const lines = Array.from({ length: 20_000 }, (_, at) =>
    JSON.stringify({ '@type': 'v', '@class': 'Person', '@id': `t${at}`, number: at }),
  );
  const loaded = await cluster.ask(leader, 'POST', 'batch/school', `${lines.join('\n')}\n`, {
    'content-type': 'application/x-ndjson',
  });
  assert.equal(loaded.status, 200, JSON.stringify(loaded.body));
  const follower = cluster.servers.find((server) => server !== leader);
  assert.ok(follower);
  const term = await termOf(cluster);
  const sockets: Socket[] = [];
  const open = (port: number, bytes: Buffer | string) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('error', () => {});
    socket.pause();
    sockets.push(socket);
  };
  const long = JSON.stringify({ language: 'sql', command: 'SELECT FROM Person', limit: -1 });
  const head = [
    'POST /api/v1/command/school HTTP/1.1',
    'host: localhost',
    `authorization: ${basic.authorization}`,
    'content-type: application/json',
    'accept: application/x-ndjson',
    `content-length: ${long.length}`,
  ].join('\r\n');
  for (let i = 0; i < 40; i += 1) {
    for (const server of cluster.servers) {
      open(server.options.raftPort, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
      open(server.options.raftPort, randomBytes(200));
    }
    open(follower.httpPort, `${head}\r\n\r\n${long}`);
    open(follower.httpPort, `${head}\r\n\r\n${long.slice(0, 10)}`);
  }
  for (let number = -1; number >= -30; number -= 1)
    await rows(cluster, follower, `INSERT INTO Person SET number = ${number}`);
  for (const server of cluster.servers)
    assert.equal(
      (await command(cluster, server, 'SELECT count(*) FROM Person', linearizable)).status,
      200,
    );
  for (const socket of sockets) socket.destroy();
  assert.equal(await termOf(cluster), term, 'nobody was elected meanwhile');
}

/** Two at once, one that rests on an old configuration, and peers that cannot be. */
async function changes(cluster: LocalCluster): Promise<void> {
  const [first, second] = cluster.servers;
  assert.ok(first && second);
  const configuration = async () => {
    const { body } = await cluster.ask(await cluster.leader(), 'GET', 'cluster');
    const { configurationIndex, peers } = body as { configurationIndex: number; peers: object[] };
    return { configurationIndex, count: peers.length };
  };
  const before = await configuration();
  const nowhere = (port: number, more: object = {}) => ({
    peerId: `127.0.0.1_${port}`,
    address: `127.0.0.1:${port}:${port + 1}`,
    ...more,
  });
  const stale = await cluster.ask(second, 'POST', 'cluster/peer', {
    ...nowhere(9),
    expectedConfigurationIndex: before.configurationIndex + 1,
  });
  assert.equal(stale.status, 409, JSON.stringify(stale.body));
  assert.match(JSON.stringify(stale.body), new RegExp(String(before.configurationIndex)));
  const own = await cluster.ask(second, 'POST', 'cluster/peer', {
    peerId: second.id,
    address: `127.0.0.1:${second.options.raftPort}:${second.httpPort}`,
  });
  assert.ok([200, 400].includes(own.status), 'itself: a member already');
  assert.deepEqual(await configuration(), before, 'nothing has changed');

  // An address that nobody listens at never becomes a voter; the second change waits for the first or is refused, in whole.
  const both = await Promise.all(
    [first, second].map((server, at) =>
      cluster.ask(server, 'POST', 'cluster/peer', nowhere(at + 11, { timeoutMs: 1500 })),
    ),
  );
  for (const { status, body } of both)
    assert.ok([409, 503, 504].includes(status), `${status} ${JSON.stringify(body)}`);
  const { body } = await cluster.ask(await cluster.leader(), 'GET', 'cluster');
  const { peers } = body as { peers: { id: string; voter?: boolean; inConfiguration: boolean }[] };
  for (const { id, voter, inConfiguration } of peers)
    if (/_1[12]$/.test(id)) assert.notEqual(inConfiguration && voter === true, true, id);
  for (const port of [11, 12]) await cluster.ask(first, 'DELETE', `cluster/peer/127.0.0.1_${port}`);
  await rows(cluster, second, 'INSERT INTO Person SET number = -100');
}

test('a removed server is cut off, also when it starts again, and disturbs nobody', async (context) => {
  const cluster = await startProcesses(context, 3, patient);
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  const fourth = await cluster.add();
  await rows(cluster, fourth, 'INSERT INTO Person SET number = 1');
  const removed = await cluster.ask(leader, 'DELETE', `cluster/peer/${fourth.id}`);
  assert.equal(removed.status, 200, JSON.stringify(removed.body));
  const term = await termOf(cluster);
  // The others tell it nothing any more: within an election it knows of no leader.
  await until('it reads nothing newest', async () => {
    const { status } = await command(cluster, fourth, 'SELECT FROM Person', linearizable);
    return status !== 200;
  });
  const isRefused = async () => {
    const { status } = await command(cluster, fourth, 'INSERT INTO Person SET number = 2');
    assert.equal(status, 503, 'a removed server takes no writes');
  };
  await isRefused();
  await fourth.kill();
  const named = [fourth, leader].map(
    ({ options: { name, raftPort, httpPort } }) => `${name}@127.0.0.1:${raftPort}:${httpPort}`,
  );
  fourth.start({ 'ha.serverList': named.join(',') });
  await fourth.answers('health', 60_000);
  for (let number = 10; number < 30; number += 1)
    await rows(cluster, leader, `INSERT INTO Person SET number = ${number}`);
  await isRefused();
  assert.equal(await termOf(cluster), term, 'nobody was elected');
  assert.equal(await cluster.leader(), leader);
});
