import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import {
  command,
  linearizable,
  makeSchool,
  ownCount,
  repeated,
  rows,
  startProcesses,
  until,
} from './support.ts';

// Servers that have lost their Raft logs and nothing else (ha.md 8.2, 8.4): databases, users and catalog are still there.

function loseLog({ options: { rootPath } }: LocalServer): void {
  const logs = readdirSync(rootPath).filter((name) => name.startsWith('raft-storage'));
  assert.equal(logs.length, 1);
  for (const name of logs) rmSync(join(rootPath, name), { recursive: true });
}

/** A write without a leader is refused soon. */
const soonRefused = { 'ha.forwardLeaderWaitTimeoutMs': '1000' };

/** As an earlier build wrote it. */
function forgetGroup({ options: { rootPath } }: LocalServer): void {
  const path = join(rootPath, 'databases', '.catalog', 'catalog.json');
  const { group, ...older } = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
  assert.match(String(group), /^[0-9a-f-]{36}$/);
  writeFileSync(path, JSON.stringify(older));
}

/** Catalogs of groups that this server was in before. */
function oldCatalogs({ options: { rootPath } }: LocalServer): readonly string[] {
  const names = readdirSync(join(rootPath, 'databases', '.catalog'));
  return names.filter((name) => name.startsWith('catalog-of-'));
}

function asideOf({ options: { rootPath } }: LocalServer): readonly string[] {
  return readdirSync(join(rootPath, 'databases')).filter((name) => name.startsWith('.aside-'));
}

async function order(cluster: LocalCluster, server: LocalServer, text: string): Promise<void> {
  const answer = await repeated(() => cluster.ask(server, 'POST', 'server', { command: text }));
  assert.equal(answer.status, 200, `${text}: ${JSON.stringify(answer.body)}`);
}

const makeUser = (name: string) =>
  `create user ${JSON.stringify({ name, password: `password of ${name}`, databases: { school: ['admin'] } })}`;

/** Of a query by this user, answered by this server. */
async function loginStatus(server: LocalServer, name: string): Promise<number> {
  const credentials = Buffer.from(`${name}:password of ${name}`).toString('base64');
  const url = `http://127.0.0.1:${server.httpPort}/api/v1/query/school`;
  const answer = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/json' },
    body: JSON.stringify({ language: 'sql', command: 'SELECT FROM Person LIMIT 1' }),
  });
  await answer.text();
  return answer.status;
}

async function insert(
  cluster: LocalCluster,
  server: LocalServer,
  from: number,
  to: number,
): Promise<void> {
  for (let number = from; number <= to; number += 1)
    await rows(cluster, server, `INSERT INTO Person SET number = ${number}`);
}

async function databasesOf(cluster: LocalCluster, server: LocalServer): Promise<string> {
  const { body } = await cluster.ask(server, 'GET', 'cluster');
  const { databases } = body as { databases: { name: string; status: string }[] };
  return databases.map(({ name, status }) => `${name} ${status}`).join(', ');
}

async function restartAll(cluster: LocalCluster): Promise<void> {
  await Promise.all(cluster.servers.map(({ place }) => cluster.restart(place)));
}

/** Every server takes a write, has as many persons then, knows the users, and its copy is sound and like the others. */
async function mustServe(
  cluster: LocalCluster,
  { count, users }: { readonly count: number; readonly users: readonly string[] },
): Promise<void> {
  let number = count;
  for (const server of cluster.servers) {
    number += 1;
    await insert(cluster, server, number, number);
  }
  for (const server of cluster.servers) {
    await until('it has all', async () => (await ownCount(cluster, server)) === number);
    for (const user of users)
      await until(`${user} is known`, async () => (await loginStatus(server, user)) === 200);
  }
  const leader = await cluster.leader();
  const [checked] = await rows(cluster, leader, 'CHECK DATABASE');
  assert.equal(checked?.['totalErrors'] ?? 0, 0, JSON.stringify(checked));
  await until('all copies are equal', async () => {
    const { body } = await cluster.ask(leader, 'POST', 'cluster/verify/school');
    return JSON.stringify(body).includes('ALL_CONSISTENT');
  });
}

test('all have lost their logs: a new group begins with the databases and users of the old one, by its newest catalog', async (context) => {
  const cluster = await startProcesses(context, 3);
  const first = await cluster.leader();
  await makeSchool(cluster, first);
  await order(cluster, first, 'create database gone');
  await order(cluster, first, makeUser('ada'));
  await insert(cluster, first, 1, 20);
  for (const server of cluster.servers)
    await until('it has them', async () => (await ownCount(cluster, server)) === 20);
  // One of them misses what comes now.
  const behind = cluster.servers.find((server) => server !== first);
  assert.ok(behind);
  await behind.stop();
  await order(cluster, first, makeUser('bob'));
  await order(cluster, first, 'create database late');
  await order(cluster, first, 'drop database gone');
  await order(cluster, first, 'drop user ada');
  await insert(cluster, first, 21, 25);
  for (const server of cluster.servers.filter((other) => other !== behind))
    await until('it has them', async () => (await ownCount(cluster, server)) === 25);
  await Promise.all(cluster.servers.map((server) => server.stop()));
  cluster.servers.forEach(loseLog);

  await restartAll(cluster);
  await mustServe(cluster, { count: 25, users: ['bob'] });
  for (const server of cluster.servers) {
    assert.equal(await loginStatus(server, 'ada'), 403);
    assert.equal(oldCatalogs(server).length, 1);
    assert.match(oldCatalogs(server)[0] ?? '', /^catalog-of-[0-9a-f-]{36}-at-\d+\.json$/);
    assert.match(server.output, /catalog of group [0-9a-f-]{36}, .*catalog-of-/);
    const here = await databasesOf(cluster, server);
    const left: string = server === behind ? 'gone LOCAL_ONLY, ' : '';
    assert.equal(here, `${left}late ONLINE, school ONLINE`);
  }
  assert.equal(asideOf(behind).length, 1, 'its older copy is kept');

  // And once more, as it is after that; catalogs of earlier builds name no group.
  await order(cluster, await cluster.leader(), makeUser('cy'));
  await Promise.all(cluster.servers.map((server) => server.stop()));
  cluster.servers.forEach(loseLog);
  forgetGroup(behind);
  await restartAll(cluster);
  await mustServe(cluster, { count: 28, users: ['bob', 'cy'] });
  for (const server of cluster.servers) assert.equal(oldCatalogs(server).length, 2);
  assert.ok(oldCatalogs(behind).some((name) => name.startsWith('catalog-of-unknown-at-')));
});

test('all have lost their logs and one comes later: it brings the catalog of the old group into the new one', async (context) => {
  const cluster = await startProcesses(context, 3, { 'ha.bootstrapTimeoutMs': '8000' });
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  await order(cluster, leader, makeUser('ada'));
  await insert(cluster, leader, 1, 20);
  for (const server of cluster.servers)
    await until('it has them', async () => (await ownCount(cluster, server)) === 20);
  await Promise.all(cluster.servers.map((server) => server.stop()));
  cluster.servers.forEach(loseLog);
  const [late, ...first] = cluster.servers;
  assert.ok(late && first[0]);
  await Promise.all(first.map(({ place }) => cluster.restart(place)));
  await insert(cluster, first[0], 21, 25);
  await cluster.restart(late.place);
  await mustServe(cluster, { count: 25, users: ['ada'] });
  for (const server of cluster.servers) {
    assert.equal(oldCatalogs(server).length, 1);
    assert.equal(await databasesOf(cluster, server), 'school ONLINE');
  }
});

test('one has lost its log: it comes back by itself into the group that went on, with the same contents', async (context) => {
  const cluster = await startProcesses(context, 3);
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  await order(cluster, leader, makeUser('ada'));
  await insert(cluster, leader, 1, 20);
  const wiped = cluster.servers.find((server) => server !== leader);
  assert.ok(wiped);
  await until('it has them', async () => (await ownCount(cluster, wiped)) === 20);
  await wiped.stop();
  loseLog(wiped);
  await order(cluster, leader, makeUser('bob'));
  await insert(cluster, leader, 21, 30);
  await cluster.restart(wiped.place);
  await mustServe(cluster, { count: 30, users: ['ada', 'bob'] });
  assert.deepEqual(cluster.servers.map(oldCatalogs), [[], [], []]);
  assert.deepEqual(asideOf(wiped), []);

  // With the log at hand a catalog of an earlier build is of that log.
  await Promise.all(cluster.servers.map((server) => server.stop()));
  cluster.servers.forEach(forgetGroup);
  await restartAll(cluster);
  await mustServe(cluster, { count: 33, users: ['ada', 'bob'] });
  assert.deepEqual(cluster.servers.map(oldCatalogs), [[], [], []]);
});

test('two have lost their logs: nobody commits until a person approves it, then they come back into what the third one has', async (context) => {
  let word = '';
  const cluster = await startProcesses(context, 3, soonRefused, () =>
    word === '' ? {} : { SERVICE_HA_QUORUM_RECOVERY: word },
  );
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  await order(cluster, leader, makeUser('ada'));
  await insert(cluster, leader, 1, 20);
  const [survivor, ...wiped] = cluster.servers;
  assert.ok(survivor);
  await until('it has them', async () => (await ownCount(cluster, survivor)) === 20);
  await Promise.all(cluster.servers.map((server) => server.stop()));
  wiped.forEach(loseLog);
  const soonMs = 8000;
  const starts = cluster.servers.map(({ place }) => cluster.restart(place, soonMs));
  for (const start of await Promise.allSettled(starts)) assert.equal(start.status, 'rejected');
  for (const server of cluster.servers) {
    await server.answers('health', 60_000);
    const { status, body } = await repeated(() => cluster.ask(server, 'GET', 'cluster'));
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((body as { isLeader: boolean }).isLeader, false);
    const refused = await command(cluster, server, 'INSERT INTO Person SET number = 21');
    assert.equal(refused.status, 503, JSON.stringify(refused.body));
  }

  await Promise.all(cluster.servers.map((server) => server.stop()));
  word = 'word-1';
  await cluster.restart(survivor.place);
  word = '';
  assert.equal((await rows(cluster, survivor, 'SELECT FROM Person', linearizable)).length, 20);
  for (const server of wiped) {
    loseLog(server);
    const start = cluster.restart(server.place);
    const { name, raftPort, httpPort } = server.options;
    const address = `127.0.0.1:${raftPort}:${httpPort}`;
    const peer = { peerId: server.id, address, name, timeoutMs: 60_000 };
    const added = await repeated(() => cluster.ask(survivor, 'POST', 'cluster/peer', peer));
    assert.equal(added.status, 200, JSON.stringify(added.body));
    await start;
  }
  await mustServe(cluster, { count: 20, users: ['ada'] });
});
