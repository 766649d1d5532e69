import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import { makeSchool, startProcesses, until } from '../../cluster/processes/support.ts';
import { unlikeCopies } from '../copies.ts';
import { everythingIsThere, Writers } from './writers.ts';

// Servers that leave and join again by themselves (ha-testing.md 10 R2).

interface ClusterTold {
  readonly peers: readonly { readonly inConfiguration: boolean; readonly voter: boolean }[];
}

async function told(cluster: LocalCluster, server: LocalServer): Promise<ClusterTold> {
  return (await cluster.ask(server, 'GET', 'cluster')).body as ClusterTold;
}

async function voterCount(cluster: LocalCluster): Promise<number> {
  const { peers } = await told(cluster, await cluster.leader());
  return peers.filter(({ inConfiguration, voter }) => inConfiguration && voter).length;
}

test('R2: each leaves, ends and joins again by itself under load; two of three vote at any time', async (context) => {
  const cluster = await startProcesses(context, 3, { 'ha.k8s': 'true' });
  await makeSchool(cluster, await cluster.leader());
  const writers = new Writers(cluster, 3);
  for (const server of cluster.servers) {
    await writers.goOn(10);
    // It is refused as long as one of those that stay is not known to be there.
    await until(
      'it may leave',
      async () => (await cluster.ask(server, 'POST', 'cluster/leave')).status === 200,
    );
    assert.equal(await voterCount(cluster), 2);
    await writers.goOn(5);
    assert.equal(await server.stop(), 0);
    await cluster.restart(server.place);
    await until('it votes again', async () => (await voterCount(cluster)) === 3);
  }
  await writers.goOn(10);
  await writers.stop();
  await everythingIsThere(cluster, writers);
  assert.equal(await unlikeCopies(cluster, 'school'), undefined);
});
