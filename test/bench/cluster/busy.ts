import type { LocalServer } from '#cluster/dev/local-server.ts';
import { generateLoad } from '../http-load.ts';
import { type Comparison, requireEqual } from '../measure.ts';
import { electionTimeoutMaxMs, settled } from './failover.ts';
import { type Group, insertRequest, sleep, withServers, writeSomewhere } from './servers.ts';

const blocker = new URL('./blocker.ts', import.meta.url).href;
const busyMs = 10_000;
const load = { connections: 16, durationMs: 1000, request: () => insertRequest };

/** The main thread of the leader is busy for ten seconds, while nobody writes and while writes wait for it. */
export async function benchBusyLeader(): Promise<Comparison[]> {
  const environment = { NODE_OPTIONS: `--import ${blocker}` };
  return withServers({ count: 3, environment }, async (group) => {
    const quiet = await settled(group);
    const termBefore = await termAt(group, quiet.others[0] as LocalServer);
    process.kill(quiet.leader.pid ?? 0, 'SIGUSR2');
    await sleep(busyMs + 1000);
    const asked = (await termAt(group, quiet.others[0] as LocalServer)) - termBefore;

    const { leader, others } = await settled(group);
    const before = await termAt(group, others[0] as LocalServer);
    // Entries are on their way when the thread stops: a quorum has them, and nobody there applies them.
    const writers = generateLoad({ ...load, port: leader.httpPort }).catch(() => undefined);
    await sleep(load.durationMs / 2);
    const since = performance.now();
    process.kill(leader.pid ?? 0, 'SIGUSR2');
    const gap = await writeSomewhere(others, since);
    await writers;
    const terms = (await termAt(group, others[0] as LocalServer)) - before;
    requireEqual('somebody else leads', terms > 0, true);
    return [
      {
        name: 'leader busy for 10 s, nobody writes: elections',
        medians: new Map([['terms', asked]]),
        unit: 'terms',
        ratio: asked,
        target: '0',
        isReached: asked === 0,
        remarks: '',
      },
      {
        name: 'leader busy for 10 s, writes wait: gap',
        medians: new Map([
          ['gap', gap],
          ['terms', terms],
        ]),
        unit: 'ms',
        ratio: gap,
        target: `<= ${electionTimeoutMaxMs + 1000}, one term`,
        isReached: gap <= electionTimeoutMaxMs + 1000 && terms === 1,
        remarks: '',
      },
    ];
  });
}

async function termAt(group: Group, server: LocalServer): Promise<number> {
  const { body } = await group.cluster.ask(server, 'GET', 'cluster');
  return Number((body as Record<string, unknown>)['currentTerm']);
}
