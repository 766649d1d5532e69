import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import { makeSchool, patient, startProcesses, until } from '../../cluster/processes/support.ts';
import { unlikeCopies } from '../copies.ts';
import { logLines } from '../logs.ts';
import { everythingIsThere, Writers } from './writers.ts';

// Two builds in one cluster, the newer one with a feature more (ha-testing.md 10 U1).

const newerBuild = pathToFileURL(join(import.meta.dirname, '../newer-build.ts')).href;
const switchedOn = "Feature 'greeting' is switched on";

/** For the next start of a server. */
type Builds = Map<number, 'older' | 'newer'>;

function environmentOf(builds: Builds) {
  return (place: number): Readonly<Record<string, string>> =>
    builds.get(place) === 'newer' ? { NODE_OPTIONS: `--import ${newerBuild}` } : {};
}

const hasIt = (server: LocalServer) => logLines(server).some((line) => line.includes(switchedOn));

async function becomes(
  cluster: LocalCluster,
  builds: Builds,
  server: LocalServer,
  build: 'older' | 'newer',
): Promise<void> {
  builds.set(server.place, build);
  await server.stop();
  await cluster.restart(server.place);
}

function empty({ options: { rootPath } }: LocalServer): void {
  for (const name of readdirSync(rootPath))
    if (name === 'databases' || name.startsWith('raft-storage'))
      rmSync(join(rootPath, name), { recursive: true });
}

/** Longer than the leader waits before it asks members of old acquaintance again. */
const settledMs = 4000;

test('U1: servers become those of a newer build one by one under load, and one goes back; its feature is used when all have it; an older one does not start then, nor join', async (context) => {
  const builds: Builds = new Map();
  const cluster = await startProcesses(context, 3, patient, environmentOf(builds));
  await makeSchool(cluster, await cluster.leader());
  const writers = new Writers(cluster, 3);
  context.after(() => writers.abandon());
  await writers.goOn(10);
  const leader = await cluster.leader();
  const [first, second] = cluster.servers.filter((server) => server !== leader);
  assert.ok(first && second);
  for (const [server, build] of [
    [first, 'newer'],
    [second, 'newer'],
    [first, 'older'],
    [first, 'newer'],
  ] as const) {
    await becomes(cluster, builds, server, build);
    await writers.goOn(10);
    await sleep(settledMs);
    assert.deepEqual(cluster.servers.filter(hasIt), [], `${server.options.name} is ${build}`);
  }
  await becomes(cluster, builds, leader, 'newer');
  await writers.goOn(10);
  await until('all have it', async () => cluster.servers.every(hasIt), 1200);

  // Back is no way any more: it says why, touches nothing, and the others go on.
  builds.set(second.place, 'older');
  await second.stop();
  await assert.rejects(cluster.restart(second.place));
  assert.match(second.output, /the cluster uses 'greeting'.*needs a newer version/);
  await writers.goOn(10);
  // Nor with an empty disk, which knows of no feature: the leader does not take it in.
  empty(second);
  await assert.rejects(cluster.restart(second.place, 20_000));
  assert.match(second.output, /not taken in: Peer .* lacks 'greeting'; the cluster uses it/);
  await writers.goOn(10);
  await second.stop();
  builds.set(second.place, 'newer');
  await cluster.restart(second.place);
  await writers.goOn(10);
  await writers.stop();
  await everythingIsThere(cluster, writers);
  await until(
    'the copies are equal',
    async () => (await unlikeCopies(cluster, 'school')) === undefined,
  );
});
