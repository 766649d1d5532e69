import assert from 'node:assert/strict';
import { test } from 'node:test';
import { command, linearizable, makeSchool, rows, startProcesses, until } from './support.ts';

// Two of three servers are lost for good: the third goes on alone by a word of approval (ha.md 8.2 rule 7).

test('what was acknowledged is there, writes go on, and new servers take part', async (context) => {
  const cluster = await startProcesses(context, 3);
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  for (let number = 1; number <= 50; number += 1)
    await rows(cluster, leader, `INSERT INTO Person SET number = ${number}`);
  const survivor = cluster.servers.find((server) => server !== leader);
  assert.ok(survivor);
  await until('it has got them', async () => {
    const { body } = await cluster.ask(survivor, 'GET', 'cluster');
    const { lastLogIndex, lastLogTerm } = body as Record<string, number>;
    const { body: said } = await cluster.ask(leader, 'GET', 'cluster');
    const { lastLogIndex: last } = said as Record<string, number>;
    return lastLogIndex === last && (lastLogTerm ?? 0) > 0;
  });
  const lost = cluster.servers.filter((server) => server !== survivor);
  await Promise.all(cluster.servers.map((server) => server.kill()));
  const list = cluster.servers.map(
    ({ options: { name, raftPort, httpPort } }) => `${name}@127.0.0.1:${raftPort}:${httpPort}`,
  );
  const settings = { 'ha.serverList': list.join(','), 'ha.quorumRecovery': 'word-1' };
  survivor.start(settings);
  await survivor.ready(60_000);
  const written = await command(cluster, survivor, 'INSERT INTO Person SET number = 51');
  assert.equal(written.status, 200, JSON.stringify(written.body));
  assert.equal((await rows(cluster, survivor, 'SELECT FROM Person', linearizable)).length, 51);
  // The word counts once: a start like any other.
  await survivor.kill();
  survivor.start(settings);
  await survivor.ready(60_000);
  for (const server of lost) cluster.servers.splice(cluster.servers.indexOf(server), 1);
  const joined = [await cluster.add(), await cluster.add()];
  for (const server of joined)
    assert.equal((await rows(cluster, server, 'SELECT FROM Person', linearizable)).length, 51);
  // Those that are gone stand in the list of servers still, and cannot be compared.
  await until('all hold the same', async () => {
    const { body } = await cluster.ask(survivor, 'POST', 'cluster/verify/school');
    const { peers } = (body as { result: { peers: { peerId: string; status: string }[] } }).result;
    const equal = peers.filter(({ status }) => status === 'CONSISTENT').map(({ peerId }) => peerId);
    return joined.every(({ id }) => equal.includes(id));
  });
});
