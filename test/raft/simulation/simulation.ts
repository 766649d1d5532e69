import assert from 'node:assert/strict';
import type { ConfChange } from '#raft/membership.ts';
import type { Message } from '#raft/message.ts';
import type { AppendJob } from '#raft/ready.ts';
import type { ConfState, Entry, Index, PeerId } from '#raft/vocabulary.ts';
import { checkRegisters } from '#test/history/register.ts';
import { seeded } from '../support/random.ts';
import { Clients } from './clients.ts';
import { Network } from './network.ts';
import { type Faults, noFaults, type SimulationOptions } from './options.ts';
import { Oracle } from './oracle.ts';
import { Machine } from './machine.ts';
import { memberOf, SimulatedServer } from './server.ts';

/** Interesting things that runs see. */
export const labels = [
  'append refused',
  'snapshot sent',
  'snapshot installed',
  'entries loaded',
  'torn write',
  'log failed',
  'log reopened',
  'joint configuration',
  'leader removed',
  'transfer',
  'read by a follower',
  'repeated request',
  'membership change',
  'power cut',
  'log compacted',
  'lead handed over',
] as const;

/** S13: more waits at no disk, however slow, unless answers beget messages. */
const waitingWritesMax = 500;

export type Label = (typeof labels)[number];

/**
 * A whole group in virtual time: real cores over real logs on simulated disks, state machines, clients and faults, all by the seed.
 * Three phases: safety under faults, progress of a healed majority, convergence of all.
 */
export class Simulation {
  readonly options: SimulationOptions;
  readonly servers: readonly SimulatedServer[];
  readonly oracle = new Oracle();
  readonly clients: Clients;
  readonly labels = new Set<Label>();
  readonly #random: (n: number) => number;
  readonly #network: Network;
  now = 0;

  constructor(options: SimulationOptions) {
    this.options = options;
    this.#random = seeded(options.seed * 7 + 1);
    this.#network = new Network(this.#random, options.delayTicksMax);
    const ids = Array.from({ length: options.voters + options.spares }, (_, i) => String(i + 1));
    const first: ConfState = {
      voters: ids.slice(0, options.voters).map((id) => memberOf(id, options)),
      votersOutgoing: [],
      learners: [],
      learnersNext: [],
      autoLeave: false,
    };
    this.servers = ids.map((id) => new SimulatedServer(id, first, options, this.#random));
    this.clients = new Clients(options, this.#random);
  }

  /** @returns whether it did enough to mean something */
  run(): boolean {
    const phases = this.phases();
    while (phases.next().done !== true);
    this.clients.close();
    const problems = checkRegisters(this.clients.history);
    assert.deepEqual(problems, [], 'C1, C2: the history of the clients');
    this.#checkExactlyOnce();
    const { committed, repeated } = this.clients.counts;
    if (repeated > 0) this.labels.add('repeated request');
    return committed >= 20 && (this.oracle.elections > 1 || !this.mayChangeLeaders());
  }

  /** Halts behind each tick, so that what takes turns of the event loop may be waited for. */
  protected *phases(): Generator<undefined, void> {
    yield* this.ticks(this.options.safetyTicks, this.options.faults);
    yield* this.#liveness();
    yield* this.#convergence();
  }

  protected mayChangeLeaders(): boolean {
    const { voters, faults } = this.options;
    const { crash, crashAll, pause, isolate, transfer } = faults;
    // Rarer than once in a run is no fault of the run.
    return voters > 1 && (crash + crashAll + pause + isolate + transfer) * this.now > 100_000;
  }

  protected *ticks(count: number, faults: Faults): Generator<undefined, void> {
    for (let i = 0; i < count; i++) {
      this.now += 1;
      this.#makeTrouble(faults);
      for (const message of this.#network.due(this.now)) this.#deliver(message, faults);
      for (const server of this.servers) this.#turn(server, faults);
      this.tickClients();
      for (const server of this.servers) this.#drain(server, faults);
      yield;
    }
  }

  protected tickClients(): void {
    this.clients.tick(this.now, this.servers);
  }

  #chance(rate: number): boolean {
    return this.#random(10_000) < rate;
  }

  #any(): SimulatedServer {
    return this.servers[this.#random(this.servers.length)] as SimulatedServer;
  }

  #leader(): SimulatedServer | undefined {
    return this.servers.find(({ node, isUp }) => isUp && node?.role === 'leader');
  }

  // --- faults

  #makeTrouble(faults: Faults): void {
    if (this.#chance(faults.crash)) this.crash(this.#any());
    if (this.#chance(faults.crashAll)) for (const server of this.servers) this.crash(server);
    if (faults !== noFaults)
      for (const server of this.servers)
        if (server.node === undefined && this.#random(25) === 0) server.start();
    if (this.#chance(faults.pause)) this.#any().pausedTicks = 1 + this.#random(80);
    if (this.#chance(faults.slowDisk)) this.#any().slowTicks = 1 + this.#random(60);
    if (this.#chance(faults.diskFull)) this.#fillDisk(this.#any());
    this.#cutLinks(faults);
    if (this.#chance(faults.forget)) this.#any().node?.forgetLeader();
    if (this.#chance(faults.unreachable)) this.#any().node?.reportUnreachable(this.#any().id);
    if (this.#chance(faults.transfer)) this.#transfer();
    if (this.#chance(faults.membership)) this.#changeMembers();
    if (this.#chance(faults.compact)) this.#compact(this.#any());
  }

  #cutLinks(faults: Faults): void {
    const [a, b] = [this.#any().id, this.#any().id];
    const until = this.now + 1 + this.#random(100);
    if (this.#chance(faults.oneWay)) this.#network.cut(a, b, until);
    if (this.#chance(faults.cutPair)) {
      this.#network.cut(a, b, until);
      this.#network.cut(b, a, until);
    }
    if (this.#chance(faults.flap))
      for (const { id } of this.servers) this.#network.cut(a, id, this.now + 1 + this.#random(6));
    if (!this.#chance(faults.isolate)) return;
    const alone = this.#random(3) === 0 ? a : (this.#leader()?.id ?? a);
    // Connections that are reset look like a process that is gone.
    const isReset = faults.forget > 0 && this.#random(2) === 0;
    for (const { id, node } of this.servers) {
      this.#network.cut(alone, id, until);
      this.#network.cut(id, alone, until);
      if (isReset && id !== alone) node?.forgetLeader();
    }
  }

  protected crash(server: SimulatedServer): void {
    if (server.node === undefined) return;
    this.oracle.event('crash', server.id);
    this.labels.add('power cut');
    const torn = server.store.tornTails;
    server.crash();
    if (server.store.tornTails > torn) this.labels.add('torn write');
    const broken = server.brokenPromise();
    assert.equal(broken, undefined, `S8: server ${server.id}: ${broken}`);
  }

  #fillDisk(server: SimulatedServer): void {
    server.store.disk.capacity = server.store.disk.usedBytes;
    server.fullTicks = 20 + this.#random(100);
  }

  #transfer(): void {
    const leader = this.#leader()?.node;
    leader?.transferLeader(this.#any().id);
    if (leader?.status().transferTo !== undefined) this.labels.add('transfer');
  }

  /** As the desk does: learners first, promoted when they have caught up; no removal that would cost the quorum. */
  #changeMembers(): void {
    const leader = this.#leader()?.node;
    if (leader === undefined) return;
    const { conf, progress, lastIndex, voters } = {
      ...leader.status(),
      voters: leader.status().conf.voters,
    };
    const { id } = this.#any();
    const isVoter = voters.some((member) => member.id === id);
    const match = progress.find((known) => known.id === id)?.match ?? 0;
    const hasCaughtUp = match > 0 && lastIndex - match < 10;
    const member = memberOf(id, this.options);
    const kind = this.#random(3) === 0 ? 'joint' : 'simple';
    let change: ConfChange;
    if (isVoter) {
      // Who has no entry yet cannot help to elect anybody.
      if (voters.length <= 2 || progress.some((known) => known.match === 0)) return;
      const step =
        this.#random(2) === 0 ? { op: 'remove' as const, id } : { op: 'learner' as const, member };
      change = { kind, steps: [step] };
    } else if (hasCaughtUp) change = { kind, steps: [{ op: 'voter', member }] };
    else if (conf.learners.some((known) => known.id === id)) return;
    else change = { kind: 'simple', steps: [{ op: 'learner', member }] };
    if (leader.proposeConf(change) !== 'ok') return;
    this.labels.add('membership change');
    if (isVoter && leader.status().role === 'leader' && this.#leader()?.id === id)
      this.labels.add('leader removed');
  }

  #compact(server: SimulatedServer): void {
    if (server.node === undefined || server.saved.applied === 0) return;
    const index = server.saved.applied - this.#random(3);
    const { applied } = server.node.status();
    // S10: never beyond what the databases have durably.
    if (index <= (server.store.snapshot?.index ?? 0) || index > applied) return;
    if (server.compact(index)) this.labels.add('log compacted');
  }

  // --- one server

  #deliver(message: Message, faults: Faults): void {
    const server = this.servers.find(({ id }) => id === message.to);
    if (server?.node === undefined || !server.isUp) return;
    const { type, from, to, term, index } = message;
    this.oracle.event(this.now, type, from, to, term, index);
    if (type === 'AppendResp' && message.reject) this.labels.add('append refused');
    if (type === 'ReadIndex') this.labels.add('read by a follower');
    server.node.step(message);
    this.#drain(server, faults);
  }

  #turn(server: SimulatedServer, faults: Faults): void {
    if (server.pausedTicks > 0) {
      server.pausedTicks -= 1;
      return;
    }
    const { node } = server;
    if (node === undefined) return;
    if (server.fullTicks > 0) {
      server.fullTicks -= 1;
      if (server.fullTicks === 0) server.store.disk.capacity = Number.POSITIVE_INFINITY;
    } else if (server.isLogFailed) {
      server.reopenLog();
      this.labels.add('log reopened');
    }
    server.node?.tick();
    // Whoever moves snapshots tells when one was lost.
    if (node.role === 'leader')
      for (const { id, state } of node.status().progress)
        if (state === 'snapshot' && this.#random(40) === 0) node.reportSnapshot(id, false);
    this.#drain(server, faults);
    if (server.slowTicks > 0) server.slowTicks -= 1;
    else this.#disk(server, faults);
    this.apply(server, faults);
  }

  #disk(server: SimulatedServer, faults: Faults): void {
    // Several jobs share a flush; sometimes none gets through.
    const most = this.#random(3) === 0 ? this.#random(2) : this.#random(64);
    for (let count = most; count > 0 && !server.isLogFailed; count--) {
      const job = server.writes.shift();
      if (job === undefined) return;
      try {
        this.#write(server, job);
      } catch (error) {
        if (!String(error).includes('ENOSPC')) throw error;
        this.labels.add('log failed');
        server.isLogFailed = true;
        server.writes = [];
        server.node?.setLogFailed(true);
        return;
      }
      this.afterwards(server, job.afterwards, faults);
    }
  }

  #write(server: SimulatedServer, job: AppendJob): void {
    const { snapshot } = job;
    if (snapshot !== undefined) {
      // The databases come from whoever has them durably up to there.
      const source = this.servers.find(({ saved }) => saved.applied >= snapshot.index);
      assert.ok(source, `nobody has the databases of snapshot ${snapshot.index}`);
      server.install(snapshot, source.saved);
      this.labels.add('snapshot installed');
    }
    server.store.write(job);
  }

  /** What waits to be applied, now or later. */
  protected apply(server: SimulatedServer, faults: Faults): void {
    if (this.#random(4) === 0) return;
    const job = server.applies.shift();
    if (job === undefined) return;
    for (const entry of job.entries) this.#applyEntry(server, entry);
    // The databases are durable up to here.
    if (this.#random(6) === 0 && server.saved.applied < server.machine.applied)
      server.saved = new Machine(server.machine);
    this.afterwards(server, job.afterwards, faults);
  }

  #applyEntry(server: SimulatedServer, entry: Entry): void {
    if (entry.index <= server.machine.applied) return;
    server.machine.apply(entry);
    this.applied(server, entry, server.machine.chain);
  }

  protected applied(server: SimulatedServer, entry: Entry, chain: string): void {
    const { node } = server;
    const ownTerm = node?.role === 'leader' ? node.term : undefined;
    this.oracle.appliedBy(server.id, entry, chain, ownTerm);
    this.oracle.event('apply', server.id, entry.index);
  }

  protected afterwards(
    server: SimulatedServer,
    messages: readonly Message[],
    faults: Faults,
  ): void {
    for (const message of messages) {
      if (message.to === server.id) server.node?.step(message);
      else this.#send(server, message, faults);
    }
    this.#drain(server, faults);
  }

  #send(server: SimulatedServer, message: Message, faults: Faults): void {
    server.promise(message);
    if (message.type === 'Snapshot') this.labels.add('snapshot sent');
    this.#network.send(message, this.now, faults);
  }

  #drain(server: SimulatedServer, faults: Faults): void {
    const { node } = server;
    while (node?.hasReady() && server.node === node) {
      const { send, append, apply, readStates, soft, load } = node.ready();
      for (const message of send) this.#send(server, message, faults);
      if (append !== undefined && !server.isLogFailed) server.writes.push(append);
      assert.ok(server.writes.length < waitingWritesMax, 'S13: a storm of messages at a disk');
      if (apply !== undefined) server.applies.push(apply);
      if (load[0] !== undefined) {
        this.labels.add('entries loaded');
        server.store.load(load[0]);
        node.loaded();
      }
      for (const { context, index } of readStates) server.reads.get(context)?.(index);
      if (soft?.role === 'leader') {
        this.oracle.elected(server);
        if (this.options.pinned.includes(server.id)) this.labels.add('lead handed over');
      }
      if (node.conf.votersOutgoing.length > 0) this.labels.add('joint configuration');
    }
  }

  // --- phases

  /** A majority of the voters is healed, whatever the others do: a leader, and new writes. */
  *#liveness(): Generator<undefined, void> {
    const { voters, votersOutgoing } = this.#conf();
    const sets = [voters.map(({ id }) => id), votersOutgoing].filter((ids) => ids.length > 0);
    const core = new Set<PeerId>();
    for (const ids of sets) {
      const shuffled = ids
        .map((id) => ({ id, at: this.#random(1000) }))
        .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
      for (const { id } of shuffled.slice(0, Math.floor(ids.length / 2) + 1)) core.add(id);
    }
    for (const server of this.servers) if (core.has(server.id)) this.#healServer(server);
    this.#network.heal([...core]);
    const longest = Math.max(...this.servers.map(({ node }) => node?.status().lastIndex ?? 0));
    // Behind all that was in any log.
    const enough = this.oracle.writes + (longest - this.oracle.newest) + 3;
    yield* this.#ticksUntil(
      enough,
      () => this.oracle.writes,
      `liveness: a healed majority ${[...core]} of ${voters.map(({ id }) => id)} commits`,
    );
  }

  *#convergence(): Generator<undefined, void> {
    for (const server of this.servers) this.#healServer(server);
    this.#network.heal(this.servers.map(({ id }) => id));
    const target = this.oracle.newest;
    const missing = () => {
      const members = this.#conf().voters.map(({ id }) => id);
      let entries = 0;
      for (const { id, machine } of this.servers)
        if (members.includes(id)) entries += Math.max(0, target - machine.applied);
      return entries;
    };
    yield* this.#ticksUntil(0, () => -missing(), 'convergence: every voter has what was committed');
    this.#checkConfigurations();
  }

  #healServer(server: SimulatedServer): void {
    server.pausedTicks = 0;
    server.slowTicks = 0;
    server.fullTicks = Math.min(server.fullTicks, 1);
    if (server.node === undefined) server.start();
  }

  /**
   * However long it takes, as long as it goes on: only who stands still has failed. A server that applies its log again, as behind
   * a power cut, goes on, although nothing of that is new.
   */
  *#ticksUntil(enough: number, reached: () => number, rule: string): Generator<undefined, void> {
    const patience = 10 * this.options.limits.electionTicksMax + 600;
    let best = reached();
    const { newest } = this.oracle;
    let applied = this.#appliedByAll(newest);
    let since = this.now;
    while (best < enough) {
      assert.ok(this.now - since < patience, rule);
      yield* this.ticks(10, noFaults);
      const [now, appliedNow] = [reached(), this.#appliedByAll(newest)];
      // Less: a change of members gave somebody more to catch up with.
      if (now === best && appliedNow === applied) continue;
      best = now;
      applied = appliedNow;
      since = this.now;
    }
  }

  /** Up to an index, so that leaders who follow each other without an end do not count. */
  #appliedByAll(upTo: Index): number {
    const applied = this.servers.map(({ node }) => Math.min(upTo, node?.status().applied ?? 0));
    return applied.reduce((sum, index) => sum + index, 0);
  }

  /** A change of members names the configuration it is for, whichever server is asked. */
  #checkConfigurations(): void {
    const known = this.servers.flatMap(({ node }) => node?.status() ?? []);
    const named = new Map(known.map(({ confIndex, conf }) => [confIndex, JSON.stringify(conf)]));
    const newest = Math.max(...named.keys());
    for (const { applied, confIndex, conf } of known) {
      assert.equal(JSON.stringify(conf), named.get(confIndex), 'one index has one configuration');
      // Who was never a member, or is none any more, knows less.
      if (applied >= newest) assert.equal(confIndex, newest, 'one configuration has one index');
    }
  }

  /** The newest configuration that any server knows to be committed. */
  #conf(): ConfState {
    let newest = { index: -1, conf: undefined as ConfState | undefined };
    for (const server of this.servers) {
      const wasDown = server.node === undefined;
      if (wasDown) server.start();
      const status = server.node?.status();
      if (status !== undefined && status.confIndex > newest.index)
        newest = { index: status.confIndex, conf: status.conf };
      if (wasDown) server.node = undefined;
    }
    assert.ok(newest.conf);
    return newest.conf;
  }

  /** C1, C6: what was acknowledged is there, once; what was refused is not. */
  #checkExactlyOnce(): void {
    const newest = this.servers.reduce((a, b) => (a.machine.applied >= b.machine.applied ? a : b));
    for (const { op, outcome, value } of this.clients.history) {
      if (op !== 'write') continue;
      const isThere = newest.machine.requests.has(`r${value}`);
      if (outcome === 'ok') assert.ok(isThere, `C1: the acknowledged write ${value} is lost`);
      if (outcome === 'failed') assert.ok(!isThere, `C1: the refused write ${value} was made`);
    }
  }
}
