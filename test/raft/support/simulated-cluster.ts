import assert from 'node:assert/strict';
import type { ConfChange } from '#raft/membership.ts';
import type { Message } from '#raft/message.ts';
import { RaftNode } from '#raft/node.ts';
import { defaultRaftLimits, type RaftLimits } from '#raft/options.ts';
import type { AppendJob, ApplyJob } from '#raft/ready.ts';
import type { ConfState, Entry, Index, Member, PeerId, Term } from '#raft/vocabulary.ts';
import { seeded } from './random.ts';
import { StoredLog } from './stored-log.ts';

/** Chances in a thousand, per message or per tick. */
export interface Faults {
  readonly drop: number;
  readonly duplicate: number;
  readonly delayTicksMax: number;
  readonly crash: number;
  readonly restart: number;
  readonly partition: number;
  readonly heal: number;
  readonly pause: number;
  readonly transfer: number;
  readonly membership: number;
  readonly compact: number;
}

export const noFaults: Faults = {
  drop: 0,
  duplicate: 0,
  delayTicksMax: 0,
  crash: 0,
  restart: 1000,
  partition: 0,
  heal: 1000,
  pause: 0,
  transfer: 0,
  membership: 0,
  compact: 0,
};

export const someFaults: Faults = {
  drop: 30,
  duplicate: 20,
  delayTicksMax: 6,
  crash: 3,
  restart: 30,
  partition: 4,
  heal: 15,
  pause: 3,
  transfer: 3,
  membership: 4,
  compact: 10,
};

const limits: RaftLimits = {
  ...defaultRaftLimits,
  electionTicksMin: 10,
  electionTicksMax: 20,
  heartbeatTicks: 2,
  messageBytesMax: 200,
  windowMessagesMax: 4,
  windowBytesMax: 600,
  applyBytesMax: 400,
};

interface Server {
  readonly id: PeerId;
  readonly log: StoredLog;
  node: RaftNode | undefined;
  writes: AppendJob[];
  applies: ApplyJob[];
  applied: Index;
  /** What a restart begins with. */
  checkpoint: Index;
  conf: ConfState;
  confIndex: Index;
  pausedTicks: number;
  reads: Map<number, Index>;
}

/** Several cores, their disks and the network between them, in virtual time; everything by the seed. */
export class SimulatedCluster {
  readonly servers = new Map<PeerId, Server>();
  readonly #random: (n: number) => number;
  readonly #faults: Faults;
  readonly #tellsCommitLater: boolean;
  readonly #first: ConfState;
  #now = 0;
  #network: { at: number; order: number; message: Message }[] = [];
  #order = 0;
  #cut = new Set<string>();
  #proposed = 0;
  #reads = 0;
  /** What some member applied at an index: all others must apply the same. */
  readonly committed = new Map<Index, { readonly term: Term; readonly text: string }>();
  #leaders = new Map<Term, PeerId>();
  #acknowledged: Index = 0;
  readonly counts = { elections: 0, commits: 0, reads: 0, crashes: 0, changes: 0, snapshots: 0 };

  constructor(seed: number, size: number, faults: Faults) {
    this.#random = seeded(seed);
    this.#tellsCommitLater = seed % 2 === 0;
    this.#faults = faults;
    const ids = Array.from({ length: size }, (_, i) => `n${i + 1}`);
    this.#first = {
      voters: ids.map(memberOf),
      votersOutgoing: [],
      learners: [],
      learnersNext: [],
      autoLeave: false,
    };
    for (const id of ids) this.#start(id);
  }

  #start(id: PeerId): void {
    const server = this.servers.get(id) ?? {
      id,
      log: new StoredLog(),
      node: undefined,
      writes: [],
      applies: [],
      applied: 0,
      checkpoint: 0,
      conf: this.#first,
      confIndex: 0,
      pausedTicks: 0,
      reads: new Map<number, Index>(),
    };
    this.servers.set(id, server);
    const meta = server.log.snapshotMeta();
    server.conf = meta?.conf ?? this.#first;
    server.confIndex = meta?.index ?? 0;
    server.writes = [];
    server.applies = [];
    server.reads.clear();
    server.applied = Math.max(server.checkpoint, meta?.index ?? 0);
    server.node = new RaftNode({
      self: id,
      limits: { ...limits, tellsCommitLater: this.#tellsCommitLater },
      log: server.log,
      hardState: server.log.hardState,
      conf: server.conf,
      confIndex: server.confIndex,
      confEntries: server.log.all().filter(({ kind }) => kind === 'conf'),
      applied: server.applied,
      admitted: true,
      rand: this.#random,
    });
  }

  #chance(perMille: number): boolean {
    return this.#random(1000) < perMille;
  }

  /** Runs so many ticks of every server. */
  run(ticks: number, faults = this.#faults): void {
    for (let i = 0; i < ticks; i++) {
      this.#now += 1;
      this.#makeTrouble(faults);
      this.#deliver(faults);
      for (const server of this.servers.values()) this.#turn(server, faults);
    }
  }

  #makeTrouble(faults: Faults): void {
    const ids = [...this.servers.keys()];
    const any = () => this.servers.get(ids[this.#random(ids.length)] as PeerId) as Server;
    if (this.#chance(faults.crash)) this.#crash(any());
    for (const server of this.servers.values())
      if (server.node === undefined && this.#chance(faults.restart)) this.#start(server.id);
    if (this.#chance(faults.pause)) any().pausedTicks = this.#random(40);
    if (this.#chance(faults.partition))
      this.#cut.add(`${any().id}>${any().id}`).add(`${any().id}>${any().id}`);
    if (this.#chance(faults.heal)) this.#cut.clear();
    if (this.#chance(faults.transfer)) this.#leader()?.node?.transferLeader(any().id);
    if (this.#chance(faults.membership)) this.#changeMembers();
    if (this.#chance(faults.compact)) this.#compact(any());
  }

  #crash(server: Server): void {
    if (server.node === undefined) return;
    this.counts.crashes += 1;
    // The disk has a prefix of what was on its way.
    const kept = this.#random(server.writes.length + 1);
    for (const job of server.writes.slice(0, kept)) this.#store(server, job);
    server.node = undefined;
  }

  #store(server: Server, job: AppendJob): void {
    server.log.write(job);
    if (job.snapshot === undefined) return;
    this.counts.snapshots += 1;
    server.applied = Math.max(server.applied, job.snapshot.index);
    server.checkpoint = Math.max(server.checkpoint, job.snapshot.index);
  }

  #leader(): Server | undefined {
    return [...this.servers.values()].find(({ node }) => node?.status().role === 'leader');
  }

  #changeMembers(): void {
    const leader = this.#leader()?.node;
    if (leader === undefined) return;
    const { conf, progress } = leader.status();
    // Who has nothing yet has no vote either (ha.md 2.5 rule 10): as members they could leave a group without a quorum.
    if (progress.some(({ match }) => match === 0)) return;
    const ids = [...this.servers.keys()];
    const id = ids[this.#random(ids.length)] as PeerId;
    const isVoter = conf.voters.some((member) => member.id === id);
    const change: ConfChange =
      this.#random(3) === 0
        ? { kind: 'joint', steps: [{ op: isVoter ? 'learner' : 'voter', member: memberOf(id) }] }
        : {
            kind: 'simple',
            steps: [isVoter ? { op: 'remove', id } : { op: 'voter', member: memberOf(id) }],
          };
    if (isVoter && conf.voters.length <= 2) return;
    if (leader.proposeConf(change) === 'ok') this.counts.changes += 1;
  }

  #compact(server: Server): void {
    const status = server.node?.status();
    if (status === undefined || server.applied < 4 || server.log.lastIndex() < server.applied)
      return;
    const to = server.applied - this.#random(3);
    if (to < status.confIndex || status.isConfPending || to <= server.log.firstIndex()) return;
    server.checkpoint = Math.max(server.checkpoint, to);
    server.log.compactTo(to, status.conf);
  }

  #deliver(faults: Faults): void {
    const due = this.#network.filter(({ at }) => at <= this.#now);
    this.#network = this.#network.filter(({ at }) => at > this.#now);
    due.sort((a, b) => a.at - b.at || a.order - b.order);
    for (const { message } of due) {
      const server = this.servers.get(message.to);
      if (server?.node === undefined || server.pausedTicks > 0) continue;
      if (this.#cut.has(`${message.from}>${message.to}`)) continue;
      server.node.step(message);
      this.#drain(server, faults);
    }
  }

  #send(message: Message, faults: Faults): void {
    if (this.#chance(faults.drop)) return;
    const copies = this.#chance(faults.duplicate) ? 2 : 1;
    for (let i = 0; i < copies; i++) {
      this.#order += 1;
      const at = this.#now + 1 + this.#random(faults.delayTicksMax + 1);
      this.#network.push({ at, order: this.#order, message });
    }
  }

  #turn(server: Server, faults: Faults): void {
    if (server.pausedTicks > 0) {
      server.pausedTicks -= 1;
      return;
    }
    const { node } = server;
    if (node === undefined) return;
    node.tick();
    this.#work(node, server);
    this.#drain(server, faults);
    this.#disk(server, faults);
    this.#machine(server, faults);
  }

  #work(node: RaftNode, server: Server): void {
    if (this.#tellsCommitLater && this.#chance(300)) node.tellCommit();
    if (node.status().role === 'leader' && this.#chance(300)) {
      this.#proposed += 1;
      node.propose([new TextEncoder().encode(`write ${this.#proposed}`)]);
    }
    // Whoever transfers snapshots tells when one was lost.
    for (const { id, state } of node.status().progress)
      if (state === 'snapshot' && this.#chance(30)) node.reportSnapshot(id, false);
    if (!this.#chance(50)) return;
    this.#reads += 1;
    server.reads.set(this.#reads, this.#acknowledged);
    node.readIndex(this.#reads);
  }

  #disk(server: Server, faults: Faults): void {
    for (let count = this.#random(4); count > 0 && server.writes.length > 0; count--) {
      const job = server.writes.shift() as AppendJob;
      this.#store(server, job);
      this.#afterwards(server, job.afterwards, faults);
    }
  }

  #machine(server: Server, faults: Faults): void {
    if (this.#random(3) === 0) return;
    const job = server.applies.shift();
    if (job === undefined) return;
    for (const entry of job.entries) this.#apply(server, entry);
    if (server.node?.status().role === 'leader')
      this.#acknowledged = Math.max(this.#acknowledged, server.applied);
    if (this.#random(4) === 0) server.checkpoint = server.applied;
    this.#afterwards(server, job.afterwards, faults);
  }

  #afterwards(server: Server, messages: readonly Message[], faults: Faults): void {
    for (const message of messages) {
      if (message.to === server.id) server.node?.step(message);
      else this.#send(message, faults);
    }
    this.#drain(server, faults);
  }

  #apply(server: Server, entry: Entry): void {
    if (entry.index <= server.applied) return;
    assert.equal(entry.index, server.applied + 1, `${server.id} applies without a gap`);
    server.applied = entry.index;
    const text = new TextDecoder().decode(entry.data);
    const known = this.committed.get(entry.index);
    if (known === undefined) {
      this.committed.set(entry.index, { term: entry.term, text });
      this.counts.commits += 1;
    } else {
      assert.deepEqual({ term: entry.term, text }, known, `${server.id} applies what others did`);
    }
  }

  #drain(server: Server, faults: Faults): void {
    const { node } = server;
    while (node?.hasReady()) {
      const { send, append, apply, readStates, soft, load } = node.ready();
      for (const message of send) this.#send(message, faults);
      if (append !== undefined) server.writes.push(append);
      if (apply !== undefined) server.applies.push(apply);
      if (load.length > 0) node.loaded();
      for (const { context, index } of readStates) {
        const atLeast = server.reads.get(context);
        if (atLeast === undefined) continue;
        assert.ok(index >= atLeast, `I12: a read shows ${atLeast}, not only ${index}`);
        this.counts.reads += 1;
      }
      if (soft?.role === 'leader') this.#elected(node.status().term, server.id);
    }
  }

  #elected(term: Term, id: PeerId): void {
    const known = this.#leaders.get(term);
    assert.ok(known === undefined || known === id, `I7: term ${term} has ${known} and ${id}`);
    if (known === undefined) this.counts.elections += 1;
    this.#leaders.set(term, id);
  }

  /** Without faults everybody who runs comes to the same end, and new writes are committed. */
  settle(): void {
    this.#cut.clear();
    for (const server of this.servers.values()) server.pausedTicks = 0;
    const before = this.committed.size;
    this.run(400, noFaults);
    assert.ok(this.committed.size > before, 'a healthy cluster commits');
    const leader = this.#leader();
    assert.ok(leader, 'a healthy cluster has a leader');
    const members = new Set(leader.node?.status().conf.voters.map(({ id }) => id));
    for (const server of this.servers.values())
      if (members.has(server.id))
        assert.ok(
          server.applied >= before,
          `${server.id} has caught up: ${server.applied} of ${before}`,
        );
  }
}

function memberOf(id: PeerId): Member {
  return { id, address: `${id}:2434`, priority: 0, canLead: true, storageId: id, voter: true };
}
