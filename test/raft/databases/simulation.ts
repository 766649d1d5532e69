import assert from 'node:assert/strict';
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import type { PeerId } from '#raft/vocabulary.ts';
import { digestOf } from '#test/cluster/support/replicated-servers.ts';
import { type Faults, noFaults, optionsOf, type SimulationOptions } from '../simulation/options.ts';
import type { SimulatedServer } from '../simulation/server.ts';
import { Simulation } from '../simulation/simulation.ts';
import { seeded } from '../support/random.ts';
import { DatabaseClients } from './clients.ts';
import type { Below } from './disk.ts';
import { type CopyState, DatabaseHost } from './host.ts';

const tickMs = 50;
/** What JavaScript alone does is over by then. */
const turnsPerTick = 6;
/** What the storage library does in threads of its own has this long. */
const nativePauseMs = 5000;
const endTicksMax = 2000;
const setUpTicksMax = 5000;
const troubledSetUpEvery = 40;

/** In 10,000 per tick, in every other seed: what a leader keeps in memory is lost, and begins anew when it leads again. */
const transferChance = 150;

/** Such a seed: its leader also loses its power once, since few transfers succeed where messages are small. */
function losesLeaders(seed: number): boolean {
  return seed % 20 < 10;
}

/** Of a seed, for servers that are dearer: fewer, for a shorter time, with all of their log, and with more changes of leaders. */
export function databaseOptionsOf(seed: number): SimulationOptions {
  const options = optionsOf(seed);
  return {
    ...options,
    voters: Math.min(options.voters, 3),
    spares: Math.min(options.spares, 1),
    clients: 2 + options.clients,
    safetyTicks: Math.floor(options.safetyTicks / 2) + 200,
    faults: {
      ...options.faults,
      compact: 0,
      transfer: losesLeaders(seed) ? Math.max(transferChance, options.faults.transfer) : 0,
    },
  };
}

/**
 * The whole group as `Simulation` runs it, with real databases in place of registers: real statements, sessions, guards, committer,
 * group commit, apply loop and LMDB, in virtual time. A power cut leaves of the databases what their last checkpoint had.
 */
export class DatabaseSimulation extends Simulation {
  readonly hosts: readonly DatabaseHost[];
  readonly work: DatabaseClients;
  readonly #below: Below;
  readonly #chances: (n: number) => number;
  /** S11: what every copy holds behind a transaction. */
  readonly #states = new Map<number, CopyState>();
  #isQuiet = false;
  /** Or as soon as there is one then, but not behind the phase in which servers start again by themselves. */
  #leaderLossAt = Number.POSITIVE_INFINITY;
  #safetyEnd = 0;

  constructor(options: SimulationOptions, below: Below) {
    super(options);
    const { seed } = options;
    this.#chances = seeded(seed * 11 + 5);
    this.#below = below;
    this.hosts = this.servers.map((server) => new DatabaseHost(server, { seed, below }));
    this.work = new DatabaseClients(options.clients, this.#chances);
  }

  /** @returns whether it did enough to mean something */
  async runAll(): Promise<boolean> {
    try {
      await this.#settle();
      for (const _ of this.phases()) await this.#settle();
      await this.#checkEnd();
      return this.work.counts.ok >= 20 && (this.oracle.elections > 1 || !this.mayChangeLeaders());
    } finally {
      for (const host of this.hosts) await host.close();
    }
  }

  protected override *phases(): Generator<undefined, void> {
    // Some seeds make their schema under faults, and may come to little else.
    for (let n = 0; !this.work.isSetUp && this.options.seed % troubledSetUpEvery !== 0; n++) {
      assert.ok(n < setUpTicksMax, 'liveness: a healthy group takes a schema');
      yield* this.ticks(1, noFaults);
    }
    const { seed, safetyTicks } = this.options;
    this.#safetyEnd = this.now + safetyTicks;
    if (losesLeaders(seed)) this.#leaderLossAt = this.now + 1 + this.#chances(safetyTicks);
    yield* super.phases();
    // What is under way ends, and everybody gets it.
    this.work.isStopped = true;
    this.#isQuiet = true;
    for (let n = 0; !this.#isAtRest(); n++) {
      assert.ok(n < endTicksMax, 'convergence: statements end, and everybody has what they wrote');
      yield* this.ticks(1, noFaults);
    }
  }

  #loseLeader(): void {
    const leader = this.servers.find(({ node }) => node?.isLeaderReady === true);
    if (leader === undefined) return;
    this.#leaderLossAt = Number.POSITIVE_INFINITY;
    this.crash(leader);
  }

  #isAtRest(): boolean {
    if (!this.work.isIdle) return false;
    const members = this.#members();
    const last = Math.max(...members.map(({ server }) => server.node?.status().lastIndex ?? 0));
    // Also what a client no longer waits for.
    return members.every(({ server, port }) => server.machine.applied === last && port.isReady);
  }

  #members(): readonly DatabaseHost[] {
    // A member that was removed may not know of it, and its log may be longer.
    const newest = this.servers.reduce((a, b) => (isNewer(b, a) ? b : a));
    const voters = newest.node?.status().conf.voters ?? [];
    return this.hosts.filter(({ server }) => voters.some(({ id }) => id === server.id));
  }

  #host({ id }: SimulatedServer): DatabaseHost {
    return this.hosts.find(({ server }) => server.id === id) as DatabaseHost;
  }

  protected override crash(server: SimulatedServer): void {
    if (server.node !== undefined) this.#host(server).powerCut();
    super.crash(server);
  }

  protected override tickClients(): void {
    if (this.now >= this.#leaderLossAt && this.now < this.#safetyEnd) this.#loseLeader();
    if (!this.#isQuiet || !this.work.isIdle) this.work.tick(this.hosts);
  }

  /** One turn of a server that is not paused. */
  protected override apply(server: SimulatedServer, faults: Faults): void {
    const host = this.#host(server);
    if (!host.isOpen) return;
    host.notice();
    host.runtime.advance(tickMs);
    const { port } = host;
    port.turn(this.now, () => this.#chances(4) > 0);
    for (const job of port.applied.splice(0)) {
      for (const entry of job.entries) {
        if (entry.index <= server.machine.applied) continue;
        server.machine.applied = entry.index;
        this.work.requests.applied(entry);
        this.applied(server, entry, '');
      }
      this.#compare(host);
      this.afterwards(server, job.afterwards, faults);
    }
    if (!port.isReady || this.#chances(4) === 0) return;
    const job = server.applies.shift();
    if (job !== undefined) port.hand(job);
  }

  /** S11: content and chain follow from the number of the last transaction, on every server. */
  #compare(host: DatabaseHost): void {
    if (!host.hasDatabase) return;
    for (const { damage } of host.replication?.seats() ?? [])
      assert.equal(damage, undefined, `S11: server ${host.server.id} differs`);
    const { txId } = host.database.engine.applied();
    const state = host.state();
    this.oracle.event('state', host.server.id, txId, state.chain);
    const known = this.#states.get(txId);
    if (known === undefined) this.#states.set(txId, state);
    else if (!areEqual(state, known))
      assert.deepEqual(state, known, `S11: server ${host.server.id} after ${txId}`);
  }

  /** Everything that a tick began is over when it ends, so that time is virtual for it. */
  async #settle(): Promise<void> {
    for (const host of this.hosts) {
      if (host.isLost && host.replication !== undefined) await host.sweep();
      if (!host.isOpen && host.server.node !== undefined) await host.open();
    }
    for (let n = 0; n < turnsPerTick; n++) await turn();
    for (const host of this.hosts) await nativeEnd(host);
    for (const host of this.hosts) {
      assert.equal(host.port.failure, undefined, `server ${host.server.id} cannot apply`);
      if (host.isOpen && host.server.isUp && this.#chances(60) === 0) await this.#save(host);
    }
    for (let n = 0; n < turnsPerTick; n++) await turn();
    assert.equal(this.work.surprise, undefined);
  }

  /** A file of LMDB is copied while nobody writes; in memory a save goes on while other things happen. */
  async #save(host: DatabaseHost): Promise<void> {
    const saved = host.save();
    if (this.#below === 'lmdb') await saved;
  }

  async #checkEnd(): Promise<void> {
    if (!this.work.isSetUp) return;
    const members = this.#members();
    const digests = new Map<PeerId, unknown>();
    for (const host of members) {
      const users = host.accounts.users.text;
      digests.set(host.server.id, { ...digestOf(host.database), users });
      const [checked] = await host.run('CHECK DATABASE');
      assert.equal(checked?.['totalErrors'], 0, `C8: server ${host.server.id}`);
    }
    const [first, ...others] = [...digests.values()];
    for (const other of others) assert.deepEqual(other, first, 'S11: copies differ at the end');
    const host = members[0];
    assert.ok(host);
    assert.deepEqual(await this.work.problems(host), [], 'C1 to C11: the histories of the clients');
  }
}

/** Asked after each apply, and the library's way through two objects costs ten times as much. */
function areEqual(a: CopyState, b: CopyState): boolean {
  return a.chain === b.chain && a.schema === b.schema && a.buckets === b.buckets;
}

/** What an apply does in threads of the process, as in the file system, is over; not what takes virtual time. */
async function nativeEnd(host: DatabaseHost): Promise<void> {
  await host.usersWritten();
  const { applying } = host.port;
  if (applying === undefined || host.waitsForDisk) return;
  const ended = new AbortController();
  const { signal } = ended;
  await Promise.race([applying, pause(nativePauseMs, undefined, { signal }).catch(() => {})]);
  ended.abort();
}

/** Of a newer term, or the leader of the same one: who was removed stays in the term in which it was. */
function isNewer({ node: a }: SimulatedServer, { node: b }: SimulatedServer): boolean {
  const [one, other] = [a?.status(), b?.status()];
  if (one?.term !== other?.term) return (one?.term ?? 0) > (other?.term ?? 0);
  return one?.role === 'leader' && other?.role !== 'leader';
}
