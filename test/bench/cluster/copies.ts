import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import { seeded } from '../../raft/support/random.ts';
import { type Comparison, median, requireEqual } from '../measure.ts';
import { authorization, command, type Group, required, sleep, withServers } from './servers.ts';

const mebi = 1024 * 1024;
const megabytes = 256;
const textBytes = 8 * 1024;

/** Whole databases between servers: one that a follower fetches anew, and equal copies with which a cluster begins. */
export async function benchCopies(rounds: number): Promise<Comparison[]> {
  const emptyMs = await withServers({ count: 3 }, ({ cluster }) => beginMs(cluster));
  return withServers({ count: 3 }, async (group) => {
    const { cluster } = group;
    const first = await group.leader();
    await command(cluster, first, 'CREATE VERTEX TYPE Blob');
    await fill(first);
    const rates: number[] = [];
    const refusals: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const { megabytesPerSecond, refusedMs } = await fetched(group);
      rates.push(megabytesPerSecond);
      refusals.push(refusedMs);
    }
    const full = await beginMs(cluster);
    const [rate, refused, more] = [median(rates), Math.max(...refusals), full - emptyMs];
    return [
      {
        name: `a database of ${megabytes} MB, fetched anew`,
        medians: new Map([['MB/s', rate]]),
        unit: 'MB/s of the database',
        ratio: rate,
        target: '>= 60',
        isReached: rate >= 60,
        remarks: 'from the order to the new copy, text that does not pack',
      },
      {
        name: 'reads refused meanwhile, longest',
        medians: new Map([['ms', refused]]),
        unit: 'ms',
        ratio: refused,
        target: '<= 500',
        isReached: refused <= 500,
        remarks: 'the old copy serves until then',
      },
      {
        name: 'a cluster begins with equal copies, more than with none',
        medians: new Map([
          [`${megabytes} MB`, full],
          ['none', emptyMs],
        ]),
        unit: 'ms until all are ready',
        ratio: more,
        target: '<= +2000',
        isReached: more <= 2000,
        remarks: '',
      },
    ];
  });
}

async function fill({ httpPort }: LocalServer): Promise<void> {
  const random = seeded(1);
  const bytes = Buffer.alloc((textBytes * 3) / 4);
  const batch = mebi / textBytes;
  for (let part = 0; part < megabytes / 16; part += 1) {
    const lines: string[] = [];
    for (let n = 0; n < batch * 16; n += 1) {
      for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE(random(2 ** 32), at);
      lines.push(
        JSON.stringify({ '@type': 'v', '@class': 'Blob', text: bytes.toString('base64') }),
      );
    }
    const answer = await fetch(`http://127.0.0.1:${httpPort}/api/v1/batch/bench?idMapping=false`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/x-ndjson' },
      body: `${lines.join('\n')}\n`,
    });
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
    await answer.text();
  }
}

interface Database {
  readonly name: string;
  readonly status: string;
  readonly acquireTimestamp?: number;
  readonly acquireStatus?: string;
}

async function databaseOf(cluster: LocalCluster, server: LocalServer): Promise<Database> {
  const { body } = await cluster.ask(server, 'GET', 'cluster');
  const found = (body as { databases: Database[] }).databases.find(({ name }) => name === 'bench');
  if (found === undefined) throw new Error(`${server.id} does not know the database`);
  return found;
}

async function fetched({ cluster, leader }: Group) {
  const from = await leader();
  const server = cluster.servers.find((one) => one !== from) as LocalServer;
  const before = (await databaseOf(cluster, server)).acquireTimestamp ?? 0;
  let isOver = false;
  const watch = refusedMs(cluster, server, () => isOver);
  const start = performance.now();
  await required(cluster, server, 'cluster/resync/bench', {});
  for (;;) {
    const { acquireStatus, acquireTimestamp = 0 } = await databaseOf(cluster, server);
    if (acquireStatus === 'FAILED') throw new Error('it was not fetched');
    if (acquireStatus === 'ACQUIRED' && acquireTimestamp > before) break;
    await sleep(10);
  }
  const seconds = (performance.now() - start) / 1000;
  isOver = true;
  const { size } = statSync(join(server.options.rootPath, 'databases', 'bench', 'data.mdb'));
  const [own] = await command(cluster, server, 'SELECT count(*) AS n FROM Blob');
  requireEqual('records', Number(own?.['n']), (megabytes * mebi) / textBytes);
  return { megabytesPerSecond: size / mebi / seconds, refusedMs: await watch };
}

/** The longest time in which the server answered no read of its copy. */
async function refusedMs(cluster: LocalCluster, server: LocalServer, isOver: () => boolean) {
  const body = { language: 'sql', command: 'SELECT FROM Blob LIMIT 1' };
  const headers = { 'x-service-read-consistency': 'eventual' };
  let longest = 0;
  let servedAt = performance.now();
  while (!isOver()) {
    const { status } = await cluster.ask(server, 'POST', 'query/bench', body, headers);
    const nowMs = performance.now();
    if (status !== 200) continue;
    longest = Math.max(longest, nowMs - servedAt);
    servedAt = nowMs;
  }
  return longest;
}

/** Until every copy has all that is committed. */
async function equal(cluster: LocalCluster): Promise<void> {
  for (;;) {
    const told = await cluster.status();
    const indexes = new Set(told.flatMap((one) => [one.appliedIndex, one.commitIndex]));
    if (indexes.size === 1) return;
    await sleep(20);
  }
}

/** All forget their cluster and begin another one with the databases that they have. @returns ms until all are ready */
async function beginMs(cluster: LocalCluster): Promise<number> {
  await equal(cluster);
  await Promise.all(cluster.servers.map((server) => server.stop()));
  for (const { options } of cluster.servers) {
    for (const name of readdirSync(options.rootPath).filter((one) =>
      one.startsWith('raft-storage'),
    ))
      rmSync(join(options.rootPath, name), { recursive: true });
    rmSync(join(options.rootPath, 'databases', '.catalog'), { recursive: true });
  }
  const start = performance.now();
  await Promise.all(cluster.servers.map(({ place }) => cluster.restart(place)));
  const leader = await cluster.leader();
  await command(cluster, leader, "INSERT INTO Log SET text = 'it serves'");
  const ms = performance.now() - start;
  for (const server of cluster.servers) {
    const { acquireStatus, status } = await databaseOf(cluster, server);
    requireEqual(`the copy of ${server.id}`, [acquireStatus, status], ['LOCAL', 'ONLINE']);
  }
  return ms;
}
