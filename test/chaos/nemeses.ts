import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';

export interface Trouble {
  readonly cluster: LocalCluster;
  readonly random: (n: number) => number;
  readonly say: (what: string) => void;
}

/** One fault from its beginning to its end; whoever calls goes on from fault to fault. */
export type Nemesis = (trouble: Trouble) => Promise<void>;

/** Mostly the leader: what happens to followers alone changes little. */
async function target({ cluster, random }: Trouble): Promise<LocalServer> {
  const any = cluster.servers[random(cluster.servers.length)] as LocalServer;
  return random(4) === 0 ? any : await cluster.leader().catch(() => any);
}

const kill: Nemesis = async (trouble) => {
  const { cluster, random, say } = trouble;
  const server = await target(trouble);
  say(`kill ${server.place}`);
  await server.kill();
  await sleep(200 + random(2500));
  say(`start ${server.place}`);
  await cluster.restart(server.place);
};

const pause: Nemesis = async (trouble) => {
  const server = await target(trouble);
  const ms = 500 + trouble.random(4000);
  trouble.say(`pause ${server.place} for ${ms} ms`);
  server.pause();
  await sleep(ms);
  server.resume();
};

/** One server alone, or one link of three. */
const cut: Nemesis = async (trouble) => {
  const { cluster, random, say } = trouble;
  const { place } = await target(trouble);
  const others = cluster.servers.filter((other) => other.place !== place);
  const cutOff = random(4) === 0 ? others.slice(0, 1) : others;
  const ms = 1500 + random(4000);
  say(`cut ${place} from ${cutOff.map((other) => other.place)} for ${ms} ms`);
  for (const other of cutOff) cluster.cut(place, other.place);
  await sleep(ms);
  cluster.heal();
};

/** All at once, as when the power fails. */
const killAll: Nemesis = async ({ cluster, random, say }) => {
  say('kill all');
  await Promise.all(cluster.servers.map((server) => server.kill()));
  await sleep(random(500));
  await Promise.all(cluster.servers.map(({ place }) => cluster.restart(place)));
};

const combined: Nemesis = async (trouble) => {
  const [one, other] = [kill, pause, cut].sort(() => trouble.random(3) - 1);
  await Promise.all([one?.(trouble), other?.(trouble)]);
};

export const nemeses: Readonly<Record<string, Nemesis>> = {
  none: async () => sleep(1000),
  kill,
  killAll,
  pause,
  cut,
  combined,
};
