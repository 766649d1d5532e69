import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeSchool, rows, startProcesses } from '../../cluster/processes/support.ts';
import { unlikeCopies } from '../copies.ts';
import { seeded } from '../../raft/support/random.ts';
import { everythingIsThere, Writers } from './writers.ts';

// All or most of the servers at once, again and again; a cluster that grows and shrinks under load (ha-testing.md 10 F8, F9, M1).

const rounds = Number(process.env['ROUNDS'] ?? 20);
const seed = Number(process.env['SEED'] ?? 1);

test(`F8: all are killed at once ${rounds} times and start in any order: nothing is lost, bookmarks go on (seed ${seed})`, async (context) => {
  const cluster = await startProcesses(context, 3);
  await makeSchool(cluster, await cluster.leader());
  const random = seeded(seed);
  let bookmark = 0;
  const servingMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const writers = new Writers(cluster, 3, round * 1_000_000);
    await writers.goOn(10);
    await Promise.all(cluster.servers.map((server) => server.kill()));
    const order = [...cluster.servers].sort(() => random(3) - 1);
    const beganMs = performance.now();
    await Promise.all(order.map(({ place }) => cluster.restart(place)));
    await writers.goOn(1);
    servingMs.push(performance.now() - beganMs);
    await writers.goOn(2);
    await writers.stop();
    await everythingIsThere(cluster, writers);
    assert.ok(writers.bookmark > bookmark, 'an index goes back');
    ({ bookmark } = writers);
    await rows(cluster, await cluster.leader(), 'DELETE FROM Person');
  }
  const sorted = servingMs.map(Math.round).sort((a, b) => a - b);
  context.diagnostic(
    `a write is acknowledged ${sorted[sorted.length >> 1]} ms after all were started (median), ${sorted.at(-1)} ms at most`,
  );
});

test('F9: two of three are killed under load: what nobody knew is known afterwards, once', async (context) => {
  const cluster = await startProcesses(context, 3);
  await makeSchool(cluster, await cluster.leader());
  const writers = new Writers(cluster, 4);
  for (let round = 0; round < 3; round += 1) {
    await writers.goOn(15);
    const leader = await cluster.leader();
    const other = cluster.servers.find((server) => server !== leader);
    assert.ok(other);
    await Promise.all([leader.kill(), other.kill()]);
    await Promise.all([leader, other].map(({ place }) => cluster.restart(place)));
  }
  await writers.goOn(10);
  await writers.stop();
  await everythingIsThere(cluster, writers);
});

test('M1: three servers become five and three again under load, the leader among those that go', async (context) => {
  const cluster = await startProcesses(context, 3);
  await makeSchool(cluster, await cluster.leader());
  const writers = new Writers(cluster, 3);
  await writers.goOn(10);
  for (let more = 0; more < 2; more += 1) {
    await cluster.add();
    await writers.goOn(10);
  }
  assert.equal(cluster.servers.length, 5);
  const leader = await cluster.leader();
  await cluster.remove(leader.place);
  await writers.goOn(10);
  const [first] = cluster.servers;
  assert.ok(first);
  await cluster.remove(first.place);
  await writers.goOn(10);
  await writers.stop();
  await everythingIsThere(cluster, writers);
  assert.equal(cluster.servers.length, 3);
  assert.equal(await unlikeCopies(cluster, 'school'), undefined);
  const stall = Math.round(writers.longestStallMs);
  context.diagnostic(
    `${writers.acknowledged.size} writes, none acknowledged for ${stall} ms at most`,
  );
});
