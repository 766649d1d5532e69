import type { LocalServer } from '#cluster/dev/local-server.ts';
import { residentMegabytes } from '../child.ts';
import { generateLoad } from '../http-load.ts';
import { type Comparison, percentile, requireEqual } from '../measure.ts';
import type { SpineData } from '../spine/data.ts';
import { batchBody, uploadBody, uploadSpine } from '../spine/upload.ts';
import { type Group, insertRequest, password, sleep, withServers } from './servers.ts';

/** `/batch` of the spine's persons and edges into three servers, and into one without HA. */
export async function benchClusterBatch(data: SpineData): Promise<Comparison[]> {
  const records = data.persons.length + data.from.length;
  const alone = await withServers({ count: 1 }, (group) => loaded(group, data));
  const three = await withServers({ count: 3 }, (group) => loaded(group, data));
  const rate = records / three.seconds;
  return [
    {
      name: '/batch of the spine into three servers',
      medians: new Map([
        ['three', rate],
        ['one without HA', records / alone.seconds],
      ]),
      unit: 'records/s',
      ratio: alone.seconds / three.seconds,
      target: '>= 100,000/s',
      isReached: rate >= 100_000,
      remarks: 'ratio to one without HA',
    },
    {
      name: 'most memory of a server meanwhile',
      medians: new Map([
        ['three', three.peakMegabytes],
        ['one without HA', alone.peakMegabytes],
      ]),
      unit: 'MB, VmHWM',
      ratio: three.peakMegabytes,
      target: '<= 600',
      isReached: three.peakMegabytes <= 600,
      remarks: '',
    },
  ];
}

async function loaded(group: Group, data: SpineData) {
  const { httpPort } = await group.leader();
  await uploadSpine(httpPort, password, { ...data, persons: [], from: data.from.subarray(0, 0) });
  const start = performance.now();
  await uploadBody(httpPort, password, batchBody(data));
  const seconds = (performance.now() - start) / 1000;
  const peaks = group.cluster.servers.map(({ pid }) => residentMegabytes(pid ?? 0, 'VmHWM'));
  return { seconds, peakMegabytes: Math.max(...peaks) };
}

const smallEntries = 60_000;

/** A follower that was down while small entries were written: how fast it takes them, and how it answers meanwhile. */
export async function benchCatchingUp(): Promise<Comparison[]> {
  return withServers({ count: 3 }, async (group) => {
    const leader = await group.leader();
    const late = group.cluster.servers.find((server) => server !== leader) as LocalServer;
    await late.kill();
    await writeSmall(leader);
    const want = await indexesOf(group, leader);
    const probes: number[] = [];
    const restart = group.cluster.restart(late.place, 120_000);
    await late.answers('health', 60_000);
    const start = performance.now();
    const from = (await indexesOf(group, late)).applied;
    let { applied } = await indexesOf(group, late);
    while (applied < want.commit) {
      probes.push(await healthMs(late));
      await sleep(5);
      applied = (await indexesOf(group, late)).applied;
    }
    const seconds = (performance.now() - start) / 1000;
    await restart;
    requireEqual('entries to catch up with', want.commit - from > smallEntries / 4, true);
    const rate = (applied - from) / seconds;
    const p99 = percentile(probes, 0.99);
    return [
      {
        name: 'a follower catching up by log',
        medians: new Map([['entries/s', rate]]),
        unit: 'entries/s',
        ratio: rate,
        target: '>= 25,000',
        isReached: rate >= 25_000,
        remarks: `${applied - from} entries in ${seconds.toFixed(1)} s, from the first answer of the process`,
      },
      {
        name: 'its /health meanwhile: p99',
        medians: new Map([['p99', p99]]),
        unit: 'ms',
        ratio: p99,
        target: '<= 20',
        isReached: p99 <= 20,
        remarks: `${probes.length} requests`,
      },
    ];
  });
}

async function writeSmall({ httpPort }: LocalServer): Promise<void> {
  for (let count = 0; count < smallEntries; ) {
    const load = {
      port: httpPort,
      connections: 64,
      durationMs: 2000,
      request: () => insertRequest,
    };
    count += (await generateLoad(load)).statusCounts.get(200) ?? 0;
  }
}

async function indexesOf(group: Group, server: LocalServer) {
  const { body } = await group.cluster.ask(server, 'GET', 'cluster');
  const told = body as Record<string, number>;
  return { commit: told['commitIndex'] ?? 0, applied: told['appliedIndex'] ?? 0 };
}

async function healthMs({ httpPort }: LocalServer): Promise<number> {
  const start = performance.now();
  const answer = await fetch(`http://127.0.0.1:${httpPort}/api/v1/health`);
  await answer.arrayBuffer();
  return performance.now() - start;
}
