import assert from 'node:assert/strict';
import { test } from 'node:test';
import { command, makeSchool, rows, startProcesses, until } from './support.ts';

// What a cluster does not take says so by name, and is not in it (contract 3, Replication; ha.md 5.5, 12).

test('with a full queue writes are refused by name, and what was refused is nowhere', async (context) => {
  const cluster = await startProcesses(context, 3, {
    'ha.electionTimeoutMin': '5000',
    'ha.electionTimeoutMax': '9000',
    'ha.groupCommitQueueSize': '1',
    'ha.groupCommitBatchSize': '1',
    'ha.groupCommitOfferTimeout': '20',
    txRetries: '0',
  });
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  const followers = cluster.servers.filter((server) => server !== leader);
  for (const follower of followers) follower.pause();
  let outcomes: { number: number; status: number; exception: unknown }[];
  try {
    const writes = Array.from({ length: 30 }, async (_, number) => {
      const text = `INSERT INTO Person SET number = ${number}`;
      const { status, body } = await command(cluster, leader, text);
      return { number, status, exception: (body as { exception?: unknown }).exception };
    });
    const firstRefusal = Promise.any(
      writes.map(async (write) => assert.equal((await write).status, 503)),
    );
    await firstRefusal;
    for (const follower of followers) follower.resume();
    outcomes = await Promise.all(writes);
  } finally {
    for (const follower of followers) follower.resume();
  }
  const refused = outcomes.filter(({ exception }) => exception === 'ReplicationQueueFullException');
  assert.ok(refused.length > 0, JSON.stringify(outcomes));
  for (const { status } of refused) assert.equal(status, 503);
  const found = new Set<number>();
  await until('the cluster takes writes again', async () => {
    await rows(cluster, leader, 'INSERT INTO Person SET number = 1000');
    return true;
  });
  for (const { number } of await rows(cluster, leader, 'SELECT number FROM Person LIMIT -1'))
    found.add(Number(number));
  for (const { number, status } of outcomes) {
    if (status === 503) assert.ok(!found.has(number), `${number} was refused and is there`);
    if (status === 200) assert.ok(found.has(number), `${number} was acknowledged and is lost`);
  }
});

test('a transaction that is too large for the log is 413 by name, through a follower too, and nothing of it is there', async (context) => {
  const cluster = await startProcesses(context, 3, { 'ha.appendBufferSize': '1MB' });
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  const large = `INSERT INTO Person SET number = 1, text = '${'x'.repeat(1_200_000)}'`;
  for (const server of cluster.servers) {
    const { status, body } = await command(cluster, server, large);
    assert.equal(status, 413, JSON.stringify(body));
    const { exception, detail } = body as { exception: string; detail: string };
    assert.match(exception, /ReplicatedEntryTooLargeException$/u);
    assert.match(detail, /at most 1048576 are allowed/u);
  }
  assert.deepEqual(await rows(cluster, leader, 'SELECT FROM Person'), []);
  await rows(cluster, leader, 'INSERT INTO Person SET number = 2');
});
