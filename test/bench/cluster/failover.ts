import type { LocalServer } from '#cluster/dev/local-server.ts';
import { type Comparison, percentile } from '../measure.ts';
import { type Group, sleep, withServers, writeSomewhere } from './servers.ts';

/** Of the defaults. */
export const electionTimeoutMaxMs = 5000;

/** How long nobody takes a write after `kill -9` of the leader, over and over. */
export async function benchKills(kills: number): Promise<Comparison[]> {
  const gaps = await withServers({ count: 3 }, async (group) => {
    const found: number[] = [];
    for (let n = 0; n < kills; n += 1) {
      const { leader, others } = await settled(group);
      const since = performance.now();
      const gone = leader.kill();
      found.push(await writeSomewhere(others, since));
      await gone;
      await group.cluster.restart(leader.place);
    }
    return found;
  });
  const [p50, p99] = [percentile(gaps, 0.5), percentile(gaps, 0.99)];
  return [
    {
      name: `write gap after kill -9 of the leader, ${kills} times`,
      medians: new Map([
        ['p50', p50],
        ['p99', p99],
      ]),
      unit: 'ms',
      ratio: p50,
      target: 'p50 <= 350, p99 <= 1000',
      isReached: p50 <= 350 && p99 <= 1000,
      remarks: `longest ${Math.max(...gaps).toFixed(0)} ms`,
    },
  ];
}

/** The same when the leader is cut off and nothing ends its connections, and for a transfer by command. */
export async function benchCuts(times: number): Promise<Comparison[]> {
  return withServers({ count: 3, hasLinks: true }, async (group) => {
    const cuts: number[] = [];
    const transfers: number[] = [];
    for (let n = 0; n < times; n += 1) {
      const { leader, others } = await settled(group);
      const since = performance.now();
      for (const other of others) group.cluster.cut(leader.place, other.place);
      cuts.push(await writeSomewhere(others, since));
      group.cluster.heal();
      transfers.push(await transferMs(group));
    }
    const cut = percentile(cuts, 0.99);
    const transfer = percentile(transfers, 0.99);
    return [
      {
        name: `write gap when the leader is cut off silently, ${times} times: p99`,
        medians: new Map([['p99', cut]]),
        unit: 'ms',
        ratio: cut,
        target: `<= ${electionTimeoutMaxMs + 500}`,
        isReached: cut <= electionTimeoutMaxMs + 500,
        remarks: `p50 ${percentile(cuts, 0.5).toFixed(0)} ms`,
      },
      {
        name: `write gap of a transfer by command, ${times} times: p99`,
        medians: new Map([['p99', transfer]]),
        unit: 'ms',
        ratio: transfer,
        target: '<= 100',
        isReached: transfer <= 100,
        remarks: `p50 ${percentile(transfers, 0.5).toFixed(0)} ms`,
      },
    ];
  });
}

const attemptsMax = 20;

/** The longest time between two writes that were taken while the lead moves. */
async function transferMs(group: Group): Promise<number> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const longest = await transferOnce(group);
    if (longest !== undefined) return longest;
  }
  throw new Error(`the lead was not handed over in ${attemptsMax} attempts`);
}

/** Undefined: refused, since the target is still behind, or another one leads since. */
async function transferOnce(group: Group): Promise<number | undefined> {
  const { leader, others } = await settled(group);
  const target = others[0] as LocalServer;
  let longest = 0;
  let isOver = false;
  const moved = group.cluster
    .ask(leader, 'POST', 'cluster/leader', { peerId: target.id })
    .finally(() => {
      isOver = true;
    });
  for (let more = 3; more > 0; more -= isOver ? 1 : 0)
    longest = Math.max(longest, await writeSomewhere([target], performance.now()));
  return (await moved).status === 200 ? longest : undefined;
}

/** Everybody follows one leader, and writes arrive from each server. */
export async function settled(
  group: Group,
): Promise<{ readonly leader: LocalServer; readonly others: readonly LocalServer[] }> {
  const { servers } = group.cluster;
  for (const server of servers) await server.ready(60_000);
  const leader = await group.leader();
  for (const server of servers) await writeSomewhere([server], performance.now());
  await sleep(300);
  return { leader, others: servers.filter((server) => server !== leader) };
}
