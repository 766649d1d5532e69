import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linearizable, makeSchool, rows, startProcesses, until } from './support.ts';

// Databases that come as a whole, with real processes: restored over and beside others, imported (ha.md 5.11).

test('a backup is restored in a cluster: beside the database, over it, and on a server that was away', async (context) => {
  const cluster = await startProcesses(context, 3, { 'server.backupDirectory': 'backups' });
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  for (let number = 1; number <= 30; number += 1)
    await rows(cluster, leader, `INSERT INTO Person SET number = ${number}`);
  const control = (text: string, more: object = {}) =>
    cluster.ask(leader, 'POST', 'server', { command: text, ...more });
  const made = await control('trigger backup school');
  assert.equal(made.status, 200, JSON.stringify(made.body));
  const listed = await control('list backups school');
  const text = JSON.stringify(listed.body);
  const archive = /school-backup-[0-9-]+\.zip/.exec(text)?.[0];
  assert.ok(archive, text);
  await rows(cluster, leader, 'DELETE FROM Person WHERE number > 10');

  const [follower, away] = cluster.servers.filter((server) => server !== leader);
  assert.ok(follower && away);
  await away.kill();
  const beside = await control(`restore backup school ${archive} as copy`);
  assert.equal(beside.status, 200, JSON.stringify(beside.body));
  const count = async (database: string, server = leader) => {
    const body = { language: 'sql', command: 'SELECT count(*) AS n FROM Person' };
    const answer = await cluster.ask(server, 'POST', `command/${database}`, body, linearizable);
    return answer.status === 200
      ? (answer.body as { result: { n: number }[] }).result[0]?.n
      : JSON.stringify(answer.body);
  };
  assert.deepEqual([await count('copy'), await count('copy', follower)], [30, 30]);
  await cluster.restart(away.place);
  await until('the one that was away has it', async () => (await count('copy', away)) === 30);
  for (const server of [leader, follower, away]) assert.equal(await count('school', server), 10);

  const over = await control(`restore backup school ${archive}`, { overwrite: true });
  assert.equal(over.status, 200, JSON.stringify(over.body));
  for (const server of [leader, follower, away])
    await until('it took its place', async () => (await count('school', server)) === 30);

  const write = {
    language: 'sql',
    command: 'INSERT INTO Person SET number = 31',
  };
  const written = await cluster.ask(away, 'POST', 'command/copy', write);
  assert.equal(written.status, 200, JSON.stringify(written.body));
  await until('it is compared', async () => {
    const verified = await cluster.ask(leader, 'POST', 'cluster/verify/copy');
    return (
      (verified.body as { result: { overallStatus: string } }).result.overallStatus ===
      'ALL_CONSISTENT'
    );
  });
  await cluster.kill();
  await Promise.all(cluster.servers.map(({ place }) => cluster.restart(place)));
  await until('all is there again', async () => (await count('copy')) === 31);
});
