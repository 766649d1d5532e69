import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import {
  command,
  makeSchool,
  repeated,
  rows,
  startProcesses,
  until,
} from '../../cluster/processes/support.ts';
import { seeded } from '../../raft/support/random.ts';
import { unlikeCopies } from '../copies.ts';
import { everythingIsThere, Writers } from './writers.ts';

// Servers that were away until the log no longer had what they lack (ha-testing.md 10 S1, S3, S4, S7). The logs and databases are small, and the
// links slow: what counts is the order of events.

const seed = Number(process.env['SEED'] ?? 1);
const mebi = 1024 * 1024;
const eventual = { 'x-service-read-consistency': 'eventual' };

/** The log goes as soon as it may. */
const forgetful = {
  'ha.logSegmentSize': '1MB',
  'ha.logPurgeGap': '5',
  'ha.snapshotInterval': '500',
  'ha.snapshotMinEntries': '1',
  'ha.snapshotInstallRetryBaseMs': '500',
};
const behindTheLog = 'is behind the log of the cluster and fetches its databases';

interface Away {
  readonly cluster: LocalCluster;
  readonly leader: LocalServer;
  readonly other: LocalServer;
  /** Is down, and lacks what the logs of the others no longer hold. */
  readonly away: LocalServer;
  /** What its copy holds. */
  readonly oldCount: number;
}

interface Log {
  readonly commitIndex: number;
  readonly firstLogIndex: number;
}

/** Text that does not get smaller when it is packed. */
function noise(random: (n: number) => number, bytes: number): string {
  const pieces = Buffer.alloc(bytes);
  for (let at = 0; at + 4 <= bytes; at += 4) pieces.writeUInt32LE(random(2 ** 32), at);
  return pieces.toString('base64').slice(0, bytes);
}

async function fill(cluster: LocalCluster, server: LocalServer, megabytes: number): Promise<void> {
  const random = seeded(seed);
  for (let at = 0; at < megabytes * 4; at += 1) {
    const text = `INSERT INTO Ballast SET text = '${noise(random, mebi / 4)}'`;
    const { status, body } = await repeated(() => command(cluster, server, text));
    assert.equal(status, 200, JSON.stringify(body).slice(0, 300));
  }
}

async function oneIsAway(context: TestContext, megabytes: number): Promise<Away> {
  const cluster = await startProcesses(context, 3, forgetful);
  const leader = await cluster.leader();
  await makeSchool(cluster, leader);
  await rows(cluster, leader, 'CREATE DOCUMENT TYPE Ballast');
  const oldCount = 5;
  for (let at = 1; at <= oldCount; at += 1)
    await rows(cluster, leader, `INSERT INTO Person SET number = -${at}`);
  const [away, other] = cluster.servers.filter((server) => server !== leader);
  assert.ok(away && other);
  await until('it has them', async () => (await ownPersons(cluster, away)) === oldCount);
  const { commitIndex } = (await cluster.ask(leader, 'GET', 'cluster')).body as Log;
  await away.stop();
  await fill(cluster, leader, megabytes);
  for (const server of [leader, other])
    await until('what it lacks is gone', async () => {
      const { firstLogIndex } = (await cluster.ask(server, 'GET', 'cluster')).body as Log;
      return firstLogIndex > commitIndex + 1;
    });
  return { cluster, leader, other, away, oldCount };
}

/** Ended with the test, however that goes. */
function writing(context: TestContext, cluster: LocalCluster, count: number): Writers {
  const writers = new Writers(cluster, count);
  context.after(() => writers.abandon());
  return writers;
}

/** As the copy here has them, whatever the others hold; undefined when it refuses. */
async function ownPersons(cluster: LocalCluster, server: LocalServer): Promise<number | undefined> {
  const body = { language: 'sql', command: 'SELECT count(*) AS n FROM Person' };
  const answer = await cluster.ask(server, 'POST', 'query/school', body, eventual);
  if (answer.status !== 200) {
    assert.equal(answer.status, 503, JSON.stringify(answer.body));
    return undefined;
  }
  return (answer.body as { result: { n: number }[] }).result[0]?.n;
}

/** What the server has logged since its files are there. */
function logged(server: LocalServer): string {
  const folder = join(server.options.rootPath, 'log');
  if (!existsSync(folder)) return server.output;
  return readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .join('\n');
}

const timesIn = (text: string, what: string) => text.split(what).length - 1;

async function downloads(cluster: LocalCluster, server: LocalServer): Promise<void> {
  await until('it is being fetched', async () => {
    const { body } = await cluster.ask(server, 'GET', 'cluster');
    return JSON.stringify(body).includes('"DOWNLOAD"');
  });
  await sleep(1000);
}

/** It may be ready before: what was there serves meanwhile. */
async function installed(server: LocalServer): Promise<void> {
  await until(
    'it is installed',
    async () => logged(server).includes("Snapshot of 'school' installed"),
    2400,
  );
}

async function allEqual(cluster: LocalCluster, writers: Writers): Promise<void> {
  await rows(cluster, await cluster.leader(), 'DELETE FROM Person WHERE number < 0');
  await everythingIsThere(cluster, writers);
  await until(
    'the copies are equal',
    async () => (await unlikeCopies(cluster, 'school')) === undefined,
  );
}

test(`S1: a follower that was away beyond the log serves its old copy until the new one takes its place (small log, seed ${seed})`, async (context) => {
  const { cluster, leader, away, oldCount } = await oneIsAway(context, 12);
  const writers = writing(context, cluster, 2);
  await writers.goOn(10);
  cluster.slowHttp(away.place, leader.place, 3 * mebi);
  const ready = cluster.restart(away.place);
  let isThere = false;
  const there = ready
    .then(() => installed(away))
    .finally(() => {
      isThere = true;
    });
  there.catch(() => {});
  await until('it serves', async () => (await ownPersons(cluster, away)) !== undefined);
  const [seen, refusedMs]: [(number | undefined)[], number[]] = [[], []];
  let refusedSinceMs: number | undefined;
  while (!isThere) {
    const count = await ownPersons(cluster, away);
    seen.push(count);
    const nowMs = performance.now();
    if (count === undefined) refusedSinceMs ??= nowMs;
    else if (refusedSinceMs !== undefined) {
      refusedMs.push(nowMs - refusedSinceMs);
      refusedSinceMs = undefined;
    }
    await sleep(10);
  }
  await there;
  assert.ok(timesIn(logged(away), behindTheLog) >= 1, 'it came by the log');
  const oldReads = seen.filter((count) => count === oldCount).length;
  assert.ok(oldReads >= 10, `the old copy served ${oldReads} of ${seen.length}`);
  const longestMs = Math.max(0, ...refusedMs);
  context.diagnostic(`old copy read ${oldReads} times, refused for ${Math.round(longestMs)} ms`);
  assert.ok(longestMs <= 2000, `refused for ${longestMs} ms`);
  await writers.goOn(10);
  await writers.stop();
  await allEqual(cluster, writers);
});

test(`S3: the leader is killed while it sends a database: the follower gets it from the next one (small log, seed ${seed})`, async (context) => {
  const { cluster, leader, other, away } = await oneIsAway(context, 12);
  const writers = writing(context, cluster, 2);
  cluster.slowHttp(away.place, leader.place, mebi);
  const ready = cluster.restart(away.place);
  await downloads(cluster, away);
  await leader.kill();
  await ready;
  await installed(away);
  assert.notEqual(await cluster.leader(), leader);
  assert.ok(logged(away).includes(`Installing snapshot of 'school' from ${other.id}`));
  await writers.goOn(10);
  await cluster.restart(leader.place);
  await writers.goOn(10);
  await writers.stop();
  await allEqual(cluster, writers);
});

test(`S4: a download that takes longer than the log is kept holds the log, so that another one does not follow for ever (small log, seed ${seed})`, async (context) => {
  const { cluster, leader, away } = await oneIsAway(context, 12);
  const writers = writing(context, cluster, 4);
  // About thirty compactions long.
  cluster.slowHttp(away.place, leader.place, 0.8 * mebi);
  await cluster.restart(away.place);
  await installed(away);
  await sleep(2000);
  assert.equal(await cluster.leader(), leader);
  assert.equal(timesIn(logged(away), behindTheLog), 1);
  await writers.goOn(10);
  await writers.stop();
  await allEqual(cluster, writers);
});

/** Its files move to a volume of their own, with so much room beside them. @returns undefined: nothing can be mounted here */
function onVolume(
  server: LocalServer,
  roomMegabytes: number,
): { resize(megabytes: number): void } | undefined {
  const { rootPath } = server.options;
  const aside = `${rootPath}-aside`;
  const run = (command: string, ...line: readonly string[]) =>
    spawnSync(command, line, { encoding: 'utf8' }).status === 0;
  const usedMegabytes = Math.ceil(
    Number(spawnSync('du', ['-sm', rootPath], { encoding: 'utf8' }).stdout.split('\t')[0]),
  );
  const size = (megabytes: number) => `size=${usedMegabytes + megabytes}m`;
  cpSync(rootPath, aside, { recursive: true });
  if (!run('mount', '-t', 'tmpfs', '-o', size(roomMegabytes), 'tmpfs', rootPath)) return undefined;
  cpSync(aside, rootPath, { recursive: true });
  return {
    resize: (megabytes) => assert.ok(run('mount', '-o', `remount,${size(megabytes)}`, rootPath)),
  };
}

/** Before the directory around them goes. */
function unmountAfter(context: TestContext): { rootPath: string } {
  const mounted = { rootPath: '' };
  context.after(() => {
    if (mounted.rootPath !== '') spawnSync('umount', ['-l', mounted.rootPath]);
  });
  return mounted;
}

test(`S7: a follower whose volume has no room for a database refuses it before its first byte, and fetches it when there is (small log, seed ${seed})`, async (context) => {
  const mounted = unmountAfter(context);
  const { cluster, away, oldCount } = await oneIsAway(context, 12);
  mounted.rootPath = away.options.rootPath;
  const volume = onVolume(away, 12);
  if (volume === undefined) {
    context.skip('volumes cannot be mounted here');
    return;
  }
  const writers = writing(context, cluster, 2);
  const ready = cluster.restart(away.place);
  ready.catch(() => {});
  const refusal = /the volume has (\d+) bytes available, the snapshot needs (\d+)/;
  await until('it refuses', async () => refusal.test(logged(away)), 1200);
  const [, available, needed] = refusal.exec(logged(away)) ?? [];
  context.diagnostic(`${available} bytes available, ${needed} needed`);
  assert.ok(Number(available) < Number(needed));
  const fetched = join(away.options.rootPath, 'databases', '.snapshots-fetched');
  assert.deepEqual(readdirSync(fetched), [], 'not a byte of it');
  assert.equal(await ownPersons(cluster, away), oldCount, 'what was there serves');
  volume.resize(200);
  await installed(away);
  await ready;
  await writers.goOn(10);
  await writers.stop();
  await allEqual(cluster, writers);
});
