import assert from 'node:assert/strict';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import { makeSchool, ownCount, rows, startProcesses, until } from './support.ts';

// A cluster that begins with databases of its servers, with real processes (ha.md 8.4).

interface Shown {
  readonly acquireStatus: string;
  readonly acquireTimestamp?: number;
  readonly name: string;
  readonly status: string;
  readonly bootstrapFingerprint?: string;
  readonly bootstrapLastTxId?: number;
}

async function databasesOf(cluster: LocalCluster, server: LocalServer): Promise<readonly Shown[]> {
  const { body } = await cluster.ask(server, 'GET', 'cluster');
  return (body as { databases: Shown[] }).databases;
}

test('equal copies become one database without a byte moved; an older one is fetched anew; none is baselined twice', async (context) => {
  const cluster = await startProcesses(context, 3);
  const first = await cluster.leader();
  await makeSchool(cluster, first);
  for (let number = 1; number <= 10; number += 1)
    await rows(cluster, first, `INSERT INTO Person SET number = ${number}`);
  const count = (server: LocalServer) => ownCount(cluster, server);
  for (const server of cluster.servers) assert.equal(await count(server), 10);
  await Promise.all(cluster.servers.map((server) => server.stop()));
  const [one, two, three] = cluster.servers;
  assert.ok(one && two && three);
  const older = join(three.options.rootPath, 'older');
  cpSync(join(three.options.rootPath, 'databases', 'school'), older, { recursive: true });

  // The servers forget the cluster and keep their copies, of which the third becomes an older one.
  await Promise.all(cluster.servers.map(({ place }) => cluster.restart(place)));
  await rows(cluster, await cluster.leader(), 'INSERT INTO Person SET number = 11');
  for (const server of cluster.servers) assert.equal(await count(server), 11);
  await Promise.all(cluster.servers.map((server) => server.stop()));
  for (const { rootPath } of cluster.servers.map((server) => server.options)) {
    for (const name of readdirSync(rootPath).filter((entry) => entry.startsWith('raft-storage')))
      rmSync(join(rootPath, name), { recursive: true });
    rmSync(join(rootPath, 'databases', '.catalog'), { recursive: true });
  }
  rmSync(join(three.options.rootPath, 'databases', 'school'), { recursive: true });
  cpSync(older, join(three.options.rootPath, 'databases', 'school'), { recursive: true });

  await Promise.all(cluster.servers.map(({ place }) => cluster.restart(place)));
  const leader = await cluster.leader();
  assert.notEqual(leader, three);
  for (const server of cluster.servers)
    await until('it has all', async () => (await count(server)) === 11);
  await rows(cluster, three, 'INSERT INTO Person SET number = 12');
  for (const server of cluster.servers) assert.equal(await count(server), 12);
  const [shown] = await databasesOf(cluster, two);
  const [fetched] = await databasesOf(cluster, three);
  assert.deepEqual([shown?.acquireStatus, fetched?.acquireStatus], ['LOCAL', 'ACQUIRED']);
  assert.ok((fetched?.acquireTimestamp ?? 0) > 0);
  assert.match(shown?.bootstrapFingerprint ?? '', /^[0-9a-f]{64}$/);
  assert.ok((shown?.bootstrapLastTxId ?? 0) > 10);
  const aside = (server: LocalServer) =>
    readdirSync(join(server.options.rootPath, 'databases')).filter((name) =>
      name.startsWith('.aside-'),
    );
  assert.deepEqual(
    [one, two, three].map((server) => aside(server).length),
    [0, 0, 1],
  );
  const verified = await cluster.ask(leader, 'POST', 'cluster/verify/school');
  assert.match(JSON.stringify(verified.body), /ALL_CONSISTENT/);
});
