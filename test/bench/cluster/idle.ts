import { cpuSeconds, residentMegabytes } from '../child.ts';
import type { Comparison } from '../measure.ts';
import { type Group, sleep, withServers } from './servers.ts';

const settleMs = 10_000;
const measuredMs = 20_000;

/** What a server of a cluster takes when nobody asks anything, beside one without HA. */
export async function benchIdle(): Promise<Comparison[]> {
  const alone = await withServers({ count: 1 }, idle);
  const three = await withServers({ count: 3 }, idle);
  const share = Math.max(...three.map(({ percent }) => percent));
  const memory = Math.max(...three.map(({ megabytes }) => megabytes));
  const without = alone[0]?.megabytes ?? Number.NaN;
  return [
    {
      name: 'idle: processor time of the busiest server',
      medians: new Map([
        ['three', share],
        ['one without HA', alone[0]?.percent ?? Number.NaN],
      ]),
      unit: '% of a core',
      ratio: share,
      target: '<= 1.5',
      isReached: share <= 1.5,
      remarks: '',
    },
    {
      name: "idle: HA's share of memory",
      medians: new Map([
        ['three', memory],
        ['one without HA', without],
      ]),
      unit: 'MB, VmRSS',
      ratio: memory - without,
      target: '<= 80',
      isReached: memory - without <= 80,
      remarks: 'of the largest server',
    },
  ];
}

async function idle({ cluster }: Group) {
  await sleep(settleMs);
  const before = cluster.servers.map(({ pid }) => cpuSeconds(pid ?? 0));
  await sleep(measuredMs);
  return cluster.servers.map(({ pid }, i) => ({
    percent: ((cpuSeconds(pid ?? 0) - (before[i] ?? 0)) * 100_000) / measuredMs,
    megabytes: residentMegabytes(pid ?? 0),
  }));
}
