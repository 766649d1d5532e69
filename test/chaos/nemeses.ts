import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import type { Machine } from './machine.ts';

/*
 * The faults of ha-testing.md 9.2. Most of them hit the leader: what happens to followers alone changes little.
 */

export interface Trouble {
  readonly cluster: LocalCluster;
  readonly machine: Machine;
  readonly random: (n: number) => number;
  readonly say: (what: string) => void;
}

export interface Nemesis {
  /** One fault from its beginning to its end; whoever calls goes on from fault to fault. */
  strike(trouble: Trouble): Promise<void>;
  /** What the machine must be able to do: a library before the C library, volumes of their own. */
  readonly needs?: 'library' | 'volumes';
  readonly settings?: Readonly<Record<string, string>>;
  /** Errors that servers may tell of. */
  readonly expects?: RegExp;
}

async function target({ cluster, random }: Trouble): Promise<LocalServer> {
  const any = cluster.servers[random(cluster.servers.length)] as LocalServer;
  return random(4) === 0 ? any : await cluster.leader().catch(() => any);
}

/** One in six: all at once. */
async function kill(trouble: Trouble): Promise<void> {
  const { cluster, random, say } = trouble;
  const victims = random(6) === 0 ? [...cluster.servers] : [await target(trouble)];
  say(`kill ${victims.map(({ place }) => place)}`);
  await Promise.all(victims.map((server) => server.kill()));
  await sleep(200 + random(victims.length > 1 ? 500 : 2500));
  await Promise.all(victims.map(({ place }) => cluster.restart(place)));
}

async function pause(trouble: Trouble): Promise<void> {
  const server = await target(trouble);
  const ms = 500 + trouble.random(4000);
  trouble.say(`pause ${server.place} for ${ms} ms`);
  server.pause();
  await sleep(ms);
  server.resume();
}

/** One server alone, or one link of three. */
async function cut(trouble: Trouble): Promise<void> {
  const { cluster, random, say } = trouble;
  const { place } = await target(trouble);
  const others = cluster.servers.filter((other) => other.place !== place);
  const cutOff = random(4) === 0 ? others.slice(0, 1) : others;
  const ms = 1500 + random(4000);
  say(`cut ${place} from ${cutOff.map((other) => other.place)} for ${ms} ms`);
  for (const other of cutOff) cluster.cut(place, other.place);
  await sleep(ms);
  cluster.heal();
}

/** It hears nobody, or nobody hears it. */
async function cutOneWay(trouble: Trouble): Promise<void> {
  const { cluster, random, say } = trouble;
  const { place } = await target(trouble);
  const others = cluster.servers.filter((other) => other.place !== place);
  const isDeaf = random(2) === 0;
  const cutOff = random(4) === 0 ? others.slice(0, 1) : others;
  const ms = 1500 + random(4000);
  say(
    `${place} ${isDeaf ? 'hears' : 'reaches'} ${cutOff.map((other) => other.place)} not, ${ms} ms`,
  );
  for (const other of cutOff)
    if (isDeaf) cluster.cutOneWay(other.place, place);
    else cluster.cutOneWay(place, other.place);
  await sleep(ms);
  cluster.heal();
}

/** The lead goes to somebody else by command, if it can. */
async function transfer({ cluster, say }: Trouble): Promise<void> {
  const leader = await cluster.leader().catch(() => undefined);
  if (leader === undefined) return;
  const moved = await cluster.ask(leader, 'POST', 'cluster/leader', {}).catch(() => undefined);
  say(`transfer: ${moved?.status}`);
}

/** The days of a server go an hour ahead or back, or jump about; then it leads, or another one does. */
async function clock(trouble: Trouble): Promise<void> {
  const { machine, random, say } = trouble;
  const server = await target(trouble);
  const ahead = (random(2) === 0 ? 1 : -1) * random(3_600_000);
  say(`clock of ${server.place}: ${ahead} ms`);
  for (let jump = 0; jump < 5; jump += 1) {
    machine.setClock(server, random(3) === 0 ? random(10_000) : ahead);
    await sleep(200 + random(300));
  }
  await transfer(trouble);
  if (random(2) === 0) machine.setClock(server, 0);
}

/** The power fails: what was written and not flushed is gone. One in three: everywhere. */
async function lostWrites(trouble: Trouble): Promise<void> {
  const { cluster, machine, random, say } = trouble;
  const victims = random(3) === 0 ? [...cluster.servers] : [await target(trouble)];
  const isHalf = random(2) === 0;
  say(`power cut of ${victims.map(({ place }) => place)}${isHalf ? ', half of it is lost' : ''}`);
  await Promise.all(victims.map((server) => machine.cutPower(server, isHalf)));
  await sleep(random(1500));
  await Promise.all(victims.map(({ place }) => cluster.restart(place)));
}

/** No byte more fits on the volume of a server. */
async function fullDisk(trouble: Trouble): Promise<void> {
  const { machine, random, say } = trouble;
  const server = await target(trouble);
  const ms = 2000 + random(4000);
  say(`volume of ${server.place} is full for ${ms} ms`);
  machine.fill(server);
  await sleep(ms);
  machine.empty(server);
  await sleep(2000);
  await transfer(trouble);
}

/** One more, or the leader or another one goes: 3, 4, 5, 4, 3. */
async function membership(trouble: Trouble): Promise<void> {
  const { cluster, random, say } = trouble;
  const count = cluster.servers.length;
  const tried = count <= 3 || (count === 4 && random(2) === 0) ? 'add' : 'remove';
  try {
    if (tried === 'add') say(`added ${(await cluster.add()).place}`);
    else {
      const { place } = await target(trouble);
      await cluster.remove(place);
      say(`removed ${place}`);
    }
  } catch (error) {
    say(`${tried}: ${String(error).slice(0, 300)}`);
  }
  if (random(2) === 0) await transfer(trouble);
}

/** Each in its turn is told to stop and started again. */
async function rolling({ cluster, random, say }: Trouble): Promise<void> {
  for (const server of [...cluster.servers]) {
    say(`restart ${server.place}: exit ${await server.stop()}`);
    await cluster.restart(server.place);
    await sleep(random(1000));
  }
}

async function combined(trouble: Trouble): Promise<void> {
  const [one, other] = [kill, pause, cut, cutOneWay].sort(() => trouble.random(3) - 1);
  await Promise.all([one?.(trouble), other?.(trouble)]);
}

async function combinedWithLostWrites(trouble: Trouble): Promise<void> {
  const other = [pause, cut, cutOneWay][trouble.random(3)];
  await Promise.all([lostWrites(trouble), other?.(trouble)]);
}

/** The twelve of ha-testing.md 9.2. */
export const nemeses: Readonly<Record<string, Nemesis>> = {
  none: { strike: async () => sleep(1000) },
  kill: { strike: kill },
  pause: { strike: pause },
  cut: { strike: cut },
  cutOneWay: { strike: cutOneWay },
  clock: { strike: clock, needs: 'library' },
  lostWrites: { strike: lostWrites, needs: 'library' },
  fullDisk: {
    strike: fullDisk,
    needs: 'volumes',
    settings: {
      'ha.logSegmentSize': '1MB',
      'ha.healthCheckInterval': '500',
      'ha.raftStorageMinFreeSpacePerc': '5',
    },
    expects: /full|ENOSPC|space/i,
  },
  membership: { strike: membership },
  rolling: { strike: rolling },
  combined: { strike: combined },
  combinedLost: { strike: combinedWithLostWrites, needs: 'library' },
};
