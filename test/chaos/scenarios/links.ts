import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import {
  command,
  linearizable,
  makeSchool,
  rows,
  startProcesses,
  until,
} from '../../cluster/processes/support.ts';

// Servers that stand still, and links that are cut in part, in one direction or for moments (ha-testing.md 10 F2 to F7).

const eventual = { 'x-service-read-consistency': 'eventual' };

async function started(context: Parameters<typeof startProcesses>[0]) {
  const cluster = await startProcesses(context, 3, {
    'ha.quorumTimeout': '1500',
    'ha.forwardLeaderWaitTimeoutMs': '1500',
  });
  await makeSchool(cluster, await cluster.leader());
  await rows(cluster, await cluster.leader(), 'INSERT INTO Person SET number = 1');
  return cluster;
}

async function roles(cluster: LocalCluster) {
  const leader = await cluster.leader();
  const [one, other] = cluster.servers.filter((server) => server !== leader);
  assert.ok(one && other);
  return { leader, one, other };
}

async function termOf(cluster: LocalCluster, server: LocalServer): Promise<number> {
  const { body } = await cluster.ask(server, 'GET', 'cluster');
  return (body as { currentTerm: number }).currentTerm;
}

let next = 10;
async function written(cluster: LocalCluster, server: LocalServer): Promise<number> {
  next += 1;
  const number = next;
  await until(`${server.options.name} takes a write`, async () => {
    const { status } = await command(cluster, server, `INSERT INTO Person SET number = ${number}`);
    // A write that was taken and not answered is there at the next attempt.
    return status === 200 || status === 409;
  });
  return number;
}

async function isThereOn(cluster: LocalCluster, server: LocalServer, number: number) {
  await until(`${server.options.name} has ${number}`, async () => {
    const query = `SELECT FROM Person WHERE number = ${number}`;
    const { status, body } = await command(cluster, server, query, linearizable);
    return status === 200 && (body as { result: unknown[] }).result.length === 1;
  });
}

test('F2: a leader that stood still has lost the lead, and neither reads nor writes as if it had it', async (context) => {
  const cluster = await started(context);
  const { leader, one } = await roles(cluster);
  leader.pause();
  await until('another one leads', async () => (await cluster.leader()) !== leader);
  const number = await written(cluster, one);
  leader.resume();
  const read = await command(
    cluster,
    leader,
    `SELECT FROM Person WHERE number = ${number}`,
    linearizable,
  );
  if (read.status === 200)
    assert.equal((read.body as { result: unknown[] }).result.length, 1, 'an old state was read');
  await isThereOn(cluster, leader, number);
  await isThereOn(cluster, leader, await written(cluster, leader));
});

test('F3: the side of a cut that has no majority refuses writes and newest reads, and reads what it has', async (context) => {
  const cluster = await started(context);
  const { leader, one, other } = await roles(cluster);
  for (const { place } of [one, other]) cluster.cut(leader.place, place);
  const number = await written(cluster, one);
  let refused = 0;
  for (let at = 0; at < 5; at += 1) {
    const { status } = await command(cluster, leader, `INSERT INTO Person SET number = -${at + 1}`);
    assert.notEqual(status, 200);
    if (status === 503) refused += 1;
    const read = await command(cluster, leader, 'SELECT FROM Person', linearizable);
    assert.equal(read.status, 503, JSON.stringify(read.body));
    assert.ok(read.headers.get('retry-after') !== null, 'it says when to come again');
  }
  assert.ok(refused > 0);
  assert.equal((await command(cluster, leader, 'SELECT FROM Person', eventual)).status, 200);
  cluster.heal();
  await isThereOn(cluster, leader, number);
});

test('F4, F5: a leader that hears nobody steps down; a follower that hears nobody elects nobody', async (context) => {
  const cluster = await started(context);
  const { leader, one, other } = await roles(cluster);
  const before = await termOf(cluster, leader);
  for (const { place } of [leader, other]) cluster.cutOneWay(place, one.place);
  for (let at = 0; at < 10; at += 1) {
    await isThereOn(cluster, leader, await written(cluster, leader));
    await sleep(300);
  }
  assert.ok((await termOf(cluster, leader)) <= before + 1, 'an election storm');
  cluster.heal();
  await isThereOn(cluster, one, await written(cluster, other));

  const now = await cluster.leader();
  const rest = cluster.servers.filter((server) => server !== now);
  for (const { place } of rest) cluster.cutOneWay(place, now.place);
  const [first] = rest;
  assert.ok(first);
  const number = await written(cluster, first);
  await until('it leads no more', async () => {
    const { body } = await cluster.ask(now, 'GET', 'cluster');
    return (body as { isLeader: boolean }).isLeader === false;
  });
  cluster.heal();
  await isThereOn(cluster, now, number);
});

test('F6, F7: a link that flaps and one that is cut between two followers change no leader', async (context) => {
  const cluster = await started(context);
  const { leader, one, other } = await roles(cluster);
  cluster.cut(one.place, other.place);
  for (let at = 0; at < 5; at += 1) {
    await isThereOn(cluster, one, await written(cluster, other));
    await sleep(500);
  }
  assert.equal(await cluster.leader(), leader, 'both see it');
  cluster.heal();
  const before = await termOf(cluster, leader);
  for (let at = 0; at < 15; at += 1) {
    cluster.cut(leader.place, one.place);
    cluster.cut(other.place, one.place);
    await sleep(100 * (at % 5));
    cluster.heal();
    await sleep(200);
  }
  await isThereOn(cluster, one, await written(cluster, one));
  assert.ok((await termOf(cluster, leader)) <= before + 1);
});
