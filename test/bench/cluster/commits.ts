import { generateLoad, type LoadResult } from '../http-load.ts';
import { type Comparison, median } from '../measure.ts';
import { type Group, insertRequest, withServers } from './servers.ts';

const measuredMs = 3000;
/**
 * Code is compiled by then. A follower runs most of it once for a group of commits, so it takes longer than a server alone: behind 30,000
 * commits the threads that compile and collect took 35 us a commit in the three servers, 70 % of a follower's for the compiler; behind
 * 200,000 it is 13 to 16.
 */
const warmUpCommits = 150_000;

interface Figures {
  readonly perSecond: number[];
  readonly p50Ms: number[];
  readonly p99Ms: number[];
  /** Microseconds of all servers. */
  readonly cpu: number[];
}

/** Durable single-record commits over HTTP to the leader of three, and to one server of the same tree without HA in turn. */
export async function benchCommits(rounds: number): Promise<Comparison[]> {
  return withServers({ count: 1 }, (alone) =>
    withServers({ count: 3 }, async (three) => {
      await warmUp(alone);
      await warmUp(three);
      const found: Comparison[] = [];
      for (const connections of [64, 16, 1]) {
        const ours = noFigures();
        const theirs = noFigures();
        for (let round = 0; round < rounds; round += 1) {
          await measure(alone, connections, theirs);
          await measure(three, connections, ours);
        }
        found.push(...comparisons(connections, ours, theirs));
      }
      return found;
    }),
  );
}

function noFigures(): Figures {
  return { perSecond: [], p50Ms: [], p99Ms: [], cpu: [] };
}

async function load(
  group: Group,
  connections: number,
  durationMs = measuredMs,
): Promise<LoadResult> {
  const { httpPort } = await group.leader();
  const request = () => insertRequest;
  const result = await generateLoad({ port: httpPort, connections, durationMs, request });
  for (const [status, count] of result.statusCounts)
    if (status !== 200) throw new Error(`${count} answers with status ${status}`);
  return result;
}

async function warmUp(group: Group): Promise<void> {
  for (let count = 0; count < warmUpCommits; )
    count += (await load(group, 64, 1000)).requestsPerSecond;
}

async function measure(group: Group, connections: number, figures: Figures): Promise<void> {
  const before = group.cpuSeconds();
  const { requestsPerSecond, p50Ms, p99Ms, statusCounts } = await load(group, connections);
  const commits = statusCounts.get(200) ?? 1;
  figures.perSecond.push(requestsPerSecond);
  figures.p50Ms.push(p50Ms);
  figures.p99Ms.push(p99Ms);
  figures.cpu.push(((group.cpuSeconds() - before) * 1e6) / commits);
}

function comparisons(connections: number, ours: Figures, theirs: Figures): Comparison[] {
  const medians = new Map([
    ['three', median(ours.perSecond)],
    ['one without HA', median(theirs.perSecond)],
  ]);
  const rate = median(ours.perSecond);
  // Within a round, since the machine changes its speed.
  const ratio = median(ours.perSecond.map((value, i) => value / (theirs.perSecond[i] ?? 1)));
  const [p50, p99] = [median(ours.p50Ms), median(ours.p99Ms)];
  const remarks = `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
  if (connections === 1)
    return [
      {
        name: 'commits, 1 connection: p50',
        medians: new Map([
          ['three', p50],
          ['one without HA', median(theirs.p50Ms)],
        ]),
        unit: 'ms',
        ratio: p50,
        target: 'p50 <= 2, p99 <= 8',
        isReached: p50 <= 2 && p99 <= 8,
        remarks: `${remarks}; ${median(ours.cpu).toFixed(0)} us of processor time per commit`,
      },
    ];
  const [rateMin, ratioMin] = connections === 64 ? [8000, 0.55] : [4000, 0.45];
  const cpu = median(ours.cpu);
  return [
    {
      name: `commits, ${connections} connections, of one without HA`,
      medians,
      unit: 'commits/s',
      ratio,
      target: `>= ${ratioMin}, >= ${rateMin}/s`,
      isReached: ratio >= ratioMin && rate >= rateMin,
      remarks,
    },
    {
      name: `commits, ${connections} connections: processor time`,
      medians: new Map([
        ['three', cpu],
        ['one without HA', median(theirs.cpu)],
      ]),
      unit: 'us per commit, all servers',
      ratio: cpu,
      target: connections === 64 ? '<= 160' : 'no target',
      isReached: connections !== 64 || cpu <= 160,
      remarks: '',
    },
  ];
}
