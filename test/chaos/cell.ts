import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalCluster } from '#cluster/dev/local-cluster.ts';
import type { LocalServer } from '#cluster/dev/local-server.ts';
import type { Operation } from '../history/history.ts';
import { seeded } from '../raft/support/random.ts';
import { quickStart } from '../support/server-process.ts';
import {
  type Answer,
  database,
  linearizable,
  Recorder,
  type Row,
  rootPassword,
  send,
} from './client.ts';
import { unlikeCopies } from './copies.ts';
import { logLines } from './logs.ts';
import { liveMegabytes, Machine, tellsLiveMemory } from './machine.ts';
import { type Nemesis, nemeses } from './nemeses.ts';
import type { Workload } from './workload.ts';
import { workloads } from './workloads.ts';

export interface CellOptions {
  readonly nemesis: string;
  readonly workload: string;
  readonly seconds: number;
  readonly seed: number;
  readonly clients: number;
  readonly say: (what: string) => void;
}

export interface CellOutcome {
  readonly problems: readonly string[];
  readonly history: readonly Operation[];
  readonly counts: Readonly<Record<string, number>>;
  readonly leaderChanges: number;
  /** What lives in the largest server at rest, above that of the beginning. */
  readonly grownMegabytes?: number;
  /** Why the cell could not be run here. */
  readonly skipped?: string;
}

/** Fewer under faults: the cell tried nothing (ha-testing.md 9.2). */
const leaderChangesMin = 3;
const convergesMs = 60_000;

/** More than these and a fifth: descriptors that a fault has left behind. */
const descriptorsMore = 40;
/**
 * More than these and a fifth: memory that a fault has left behind. What may fill with the work of a cell, whatever the machine does, is
 * the cache of records and the newest 16 MB of the log; twice that is not reached by what lives otherwise.
 */
const cacheMegabytes = 16;
const megabytesMore = 2 * (cacheMegabytes + 16);
const serverCount = 3;

/** Real servers, clients with one history, one kind of fault; then rest, and everything that must hold (ha-testing.md 9). */
export async function runCell(options: CellOptions): Promise<CellOutcome> {
  const nemesis = nemeses[options.nemesis];
  const workload = workloads[options.workload];
  if (nemesis === undefined) throw new Error(`there is no nemesis '${options.nemesis}'`);
  if (workload === undefined) throw new Error(`there is no workload '${options.workload}'`);
  const directory = mkdtempSync(join(tmpdir(), 'polyad-chaos-'));
  const machine = new Machine(directory);
  try {
    const skipped = machine.prepare(nemesis.needs, serverCount);
    if (skipped !== undefined)
      return { problems: [], history: [], counts: {}, leaderChanges: 0, skipped };
    return await runOn(machine, directory, { options, nemesis, workload });
  } finally {
    machine.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

interface CellParts {
  readonly options: CellOptions;
  readonly nemesis: Nemesis;
  readonly workload: Workload;
}

async function runOn(machine: Machine, directory: string, parts: CellParts): Promise<CellOutcome> {
  const cluster = new LocalCluster({
    directory,
    count: serverCount,
    rootPassword,
    settings: {
      'ha.electionTimeoutMin': '500',
      'ha.electionTimeoutMax': '1000',
      'ha.quorumTimeout': '2000',
      'storage.cacheSize': `${cacheMegabytes}MB`,
      ...parts.nemesis.settings,
    },
    environment: { ...quickStart, ...tellsLiveMemory, ...machine.environment },
  });
  try {
    await cluster.start();
    return await new Cell(cluster, machine, parts).run();
  } finally {
    await cluster.kill();
  }
}

class Cell {
  readonly #cluster: LocalCluster;
  readonly #machine: Machine;
  readonly #options: CellOptions;
  readonly #nemesis: Nemesis;
  readonly #workload: Workload;
  readonly #recorder = new Recorder();
  readonly #problems: string[] = [];
  readonly #leaders = new Set<string>();
  /** What was done to the servers. */
  readonly #said: string[] = [];
  #isOver = false;
  #numbers = 0;

  constructor(cluster: LocalCluster, machine: Machine, parts: CellParts) {
    this.#cluster = cluster;
    this.#machine = machine;
    this.#options = parts.options;
    this.#nemesis = parts.nemesis;
    this.#workload = parts.workload;
  }

  async run(): Promise<CellOutcome> {
    await this.#makeDatabase();
    // Who reads what its server has would see a part of it.
    if (!(await this.#converged())) throw new Error('the servers do not become equal');
    const descriptors = Math.max(...this.#cluster.servers.map(descriptorsOf));
    const megabytes = await this.#mostLive();
    const ends = performance.now() + this.#options.seconds * 1000;
    const clients = Array.from({ length: this.#options.clients }, (_, i) => this.#client(i));
    const watch = this.#watch();
    await this.#trouble(ends);
    this.#isOver = true;
    await Promise.all([...clients, watch]);
    this.#cluster.heal();
    if (await this.#converged()) await this.#finalChecks();
    else this.#problems.push(await this.#whyUnequal());
    await this.#returned(descriptors);
    const { history } = this.#recorder;
    if (history.some(({ op, outcome }) => op === 'final' && outcome === 'ok'))
      this.#problems.push(...this.#workload.check(history));
    else this.#problems.push('no server gives what there is at the end');
    this.#problems.push(...this.#errors());
    const leaderChanges = this.#leaders.size - 1;
    if (this.#options.nemesis !== 'none' && leaderChanges < leaderChangesMin)
      this.#problems.push(`idle: ${leaderChanges} changes of leader`);
    const counts = Object.fromEntries(this.#recorder.counts);
    const grownMegabytes = Math.round((await this.#givenBack(megabytes)) - megabytes);
    return { problems: this.#problems, history, counts, leaderChanges, grownMegabytes };
  }

  async #makeDatabase(): Promise<void> {
    const leader = await this.#cluster.leader();
    const body = { command: `create database ${database}` };
    const made = await this.#cluster.ask(leader, 'POST', 'server', body);
    if (made.status !== 200) throw new Error(JSON.stringify(made.body));
    for (const statement of this.#workload.schema) {
      const answer = await untilDecided(() => send(leader, 'sql', statement));
      if (answer.outcome !== 'ok') throw new Error(`${statement}: ${answer.says}`);
    }
  }

  async #client(place: number): Promise<void> {
    const random = seeded(this.#options.seed * 101 + place);
    const client = {
      process: `c${place}`,
      cluster: this.#cluster,
      recorder: this.#recorder,
      random,
    };
    while (!this.#isOver) {
      this.#numbers += 1;
      await this.#workload.step(client, this.#numbers);
      await sleep(random(20));
    }
  }

  /** Who has led, by term. */
  async #watch(): Promise<void> {
    while (!this.#isOver) {
      for (const { role, term, id } of await this.#cluster.status())
        if (role === 'LEADER') this.#leaders.add(`${term} ${id}`);
      await sleep(200);
    }
  }

  async #trouble(ends: number): Promise<void> {
    const random = seeded(this.#options.seed);
    const say = (what: string) => {
      this.#said.push(what);
      this.#options.say(what);
    };
    // Longer where servers take long to start.
    const latest = ends + 2000 * this.#options.seconds;
    const isIdle = () => this.#options.nemesis !== 'none' && this.#leaders.size <= leaderChangesMin;
    while (performance.now() < ends || (isIdle() && performance.now() < latest)) {
      await sleep(500 + random(1500));
      await this.#nemesis.strike({
        cluster: this.#cluster,
        machine: this.#machine,
        random,
        say,
      });
    }
  }

  async #converged(): Promise<boolean> {
    const until = performance.now() + convergesMs;
    while (performance.now() < until) {
      const all = await this.#cluster.status();
      const applied = new Set(all.map(({ appliedIndex }) => appliedIndex));
      const leaders = all.filter(({ role }) => role === 'LEADER');
      if (all.every(({ state }) => state === 'running') && leaders.length === 1)
        if (applied.size === 1 && leaders[0]?.commitIndex === [...applied][0]) return true;
      await sleep(100);
    }
    return false;
  }

  /** With what the leader knows of the others, what was done last, and the last words of those that ended by themselves. */
  async #whyUnequal(): Promise<string> {
    const leader = await this.#cluster.leader().catch(() => undefined);
    const told = leader && (await this.#cluster.ask(leader, 'GET', 'cluster')).body;
    const peers = JSON.stringify((told as { peers?: unknown } | undefined)?.peers);
    const ended = this.#cluster.servers.filter(({ isRunning }) => !isRunning);
    const words = ended.map(({ place, output }) => `\n${place} ended: ${output.slice(-1500)}`);
    const faults = this.#said.slice(-8).join('; ');
    return `no convergence: ${JSON.stringify(await this.#cluster.status())}${words.join('')}\nafter ${faults}\npeers ${peers}`;
  }

  /** On every server: equal reads, a clean CHECK; all copies equal. */
  async #finalChecks(): Promise<void> {
    const { finalOf } = this.#workload;
    const finals: unknown[] = [];
    for (const server of this.#cluster.servers) {
      const { name } = server.options;
      const about = { process: 'final', op: 'final', value: null };
      const read = () => this.#readFinals(server);
      const answer = await this.#recorder.record(about, server, read, finalOf);
      if (answer.outcome !== 'ok') this.#problems.push(`final read of ${name}: ${answer.says}`);
      else finals.push(finalOf(answer.rows));
    }
    if (!finals.every((one) => isDeepStrictEqual(one, finals[0])))
      this.#problems.push('final reads differ from server to server');
    for (const server of this.#cluster.servers) await this.#checkOwn(server);
    const unlike = await unlikeCopies(this.#cluster, database);
    if (unlike !== undefined) this.#problems.push(`verify: ${unlike.slice(0, 1000)}`);
  }

  async #readFinals(server: LocalServer): Promise<Answer> {
    const rows: Row[] = [];
    let last: Answer | undefined;
    for (const query of this.#workload.finals) {
      last = await untilDecided(() => send(server, 'sql', query, {}, linearizable, 'query'));
      if (last.outcome !== 'ok') return last;
      rows.push(...last.rows);
    }
    return { status: 200, commitIndex: 0, ...last, outcome: 'ok', rows };
  }

  /** Descriptors are given back, where a server had more of them. */
  async #returned(before: number): Promise<void> {
    const bound = before * 1.2 + descriptorsMore;
    const until = performance.now() + convergesMs;
    const over = () => this.#cluster.servers.filter((server) => descriptorsOf(server) > bound);
    while (over().length > 0 && performance.now() < until) await sleep(500);
    for (const server of over())
      this.#problems.push(`${server.options.name} has ${descriptorsOf(server)} descriptors`);
  }

  async #mostLive(): Promise<number> {
    return Math.max(...(await Promise.all(this.#cluster.servers.map(liveMegabytes))));
  }

  /** Memory is given back, too. @returns what lives in the largest server */
  async #givenBack(before: number): Promise<number> {
    const bound = before * 1.2 + megabytesMore;
    const until = performance.now() + convergesMs;
    let most = await this.#mostLive();
    while (!(most <= bound) && performance.now() < until) most = await this.#mostLive();
    if (!(most <= bound))
      this.#problems.push(`${Math.round(most)} MB live in a server, ${Math.round(before)} before`);
    return most;
  }

  /** CHECK DATABASE looks at the copy of the leader: each leads in its turn. */
  async #checkOwn(server: LocalServer): Promise<void> {
    const { name } = server.options;
    const until = performance.now() + convergesMs;
    let leader = await this.#cluster.leader();
    while (leader !== server && performance.now() < until) {
      await this.#cluster.ask(leader, 'POST', 'cluster/leader', { peerId: server.id });
      leader = await this.#cluster.leader();
    }
    const check = await untilDecided(() => send(server, 'sql', 'CHECK DATABASE'));
    if (leader !== server) this.#problems.push(`${name} does not get the lead`);
    else if (check.outcome !== 'ok')
      this.#problems.push(`CHECK DATABASE of ${name}: ${check.says}`);
    else if (check.rows[0]?.['totalErrors'] !== 0)
      this.#problems.push(`CHECK DATABASE of ${name}: ${JSON.stringify(check.rows[0])}`);
  }

  /** Lines of the logs that tell of an error. */
  #errors(): string[] {
    return this.#cluster.servers.flatMap((server) => {
      const { name } = server.options;
      const errors = logLines(server).filter(
        (line) =>
          /"level":"(error|fatal)"/.test(line) && this.#nemesis.expects?.test(line) !== true,
      );
      return errors.slice(0, 5).map((line) => `${name} logged ${line.slice(0, 600)}`);
    });
  }
}

/** A 503 says that nothing has happened: a machine that has much to do elects once more. */
async function untilDecided(ask: () => Promise<Answer>): Promise<Answer> {
  const until = performance.now() + convergesMs;
  let answer = await ask();
  while (answer.status === 503 && performance.now() < until) answer = await ask();
  return answer;
}

function descriptorsOf({ pid }: LocalServer): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}
