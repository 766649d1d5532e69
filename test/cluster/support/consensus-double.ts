import { termOfEpoch } from '#cluster/consensus-port.ts';
import type {
  ConsensusPort,
  ConsensusStatus,
  MembershipChanged,
  Proposed,
  SnapshotOffer,
  Transferred,
} from '#cluster/consensus-port.ts';
import type { DropReason, Entry, Index, Member, PeerId, Term } from '#raft/vocabulary.ts';

/**
 * Consensus for tests: several ports over one log in memory, whose fate the test decides. Nothing happens by time.
 *
 *   const consensus = new ConsensusDouble(['a', 'b', 'c']);
 *   consensus.elect('a');                  // a no-op is committed; the leader is ready when it has applied it
 *   consensus.holdCommits();               // proposals are appended and not committed...
 *   consensus.elect('b', 'loses');         // ...and are lost, or with 'keeps' committed by the next leader
 *   consensus.refuseNext('transfer-pending');
 *   consensus.port('c').hold();            // nothing is delivered there until release()
 *   await consensus.settled();             // everything that can be delivered is applied
 *   consensus.restart('c')                 // a new port: whoever applied begins with deliver(applied, ...)
 */
export class ConsensusDouble {
  readonly #log: Entry[] = [];
  readonly #ports = new Map<PeerId, PortDouble>();
  term: Term = 0;
  leader: PeerId | undefined;
  commitIndex: Index = 0;
  electionCount = 0;
  noopIndex: Index = 0;
  #isHeld = false;
  readonly #refusals: DropReason[] = [];

  constructor(peers: readonly PeerId[]) {
    for (const id of peers) this.#ports.set(id, new PortDouble(id, this));
  }

  get log(): readonly Entry[] {
    return this.#log;
  }

  get peers(): readonly PeerId[] {
    return [...this.#ports.keys()];
  }

  port(id: PeerId): PortDouble {
    const port = this.#ports.get(id);
    if (port === undefined) throw new Error(`no peer ${id}`);
    return port;
  }

  /** @param uncommitted what becomes of entries that no quorum has */
  elect(id: PeerId, uncommitted: 'keeps' | 'loses' = 'keeps'): void {
    if (uncommitted === 'loses') this.#log.length = this.commitIndex;
    this.term += 1;
    this.electionCount += 1;
    this.leader = id;
    this.#isHeld = false;
    this.append('noop', new Uint8Array(0));
    this.noopIndex = this.#log.length;
    this.commitAll();
    for (const port of this.#ports.values()) port.changed();
  }

  /** No leader until the next `elect`. */
  depose(): void {
    this.leader = undefined;
    for (const port of this.#ports.values()) port.changed();
  }

  refuseNext(...reasons: readonly DropReason[]): void {
    this.#refusals.push(...reasons);
  }

  takeRefusal(): DropReason | undefined {
    return this.#refusals.shift();
  }

  holdCommits(): void {
    this.#isHeld = true;
  }

  commitAll(): void {
    this.#isHeld = false;
    this.commitIndex = this.#log.length;
    for (const port of this.#ports.values()) port.pump();
  }

  append(kind: Entry['kind'], data: Uint8Array): void {
    this.#log.push({ index: this.#log.length + 1, term: this.term, kind, data: data.slice() });
  }

  appended(): void {
    if (!this.#isHeld) this.commitAll();
  }

  /** Ends the port as a crash would; whoever held it gets nothing any more. */
  restart(id: PeerId): PortDouble {
    this.port(id).crash();
    const port = new PortDouble(id, this);
    this.#ports.set(id, port);
    if (this.leader === id) this.depose();
    return port;
  }

  /** Resolves when no port is delivering or has anything to deliver. */
  async settled(): Promise<void> {
    while ([...this.#ports.values()].some((port) => port.isBusy))
      await Promise.all([...this.#ports.values()].map((port) => port.idle()));
  }

  entries(from: Index, count: number): readonly Entry[] {
    return this.#log.slice(from, Math.min(from + count, this.commitIndex));
  }
}

const entriesPerDelivery = 64;

export class PortDouble implements ConsensusPort {
  readonly self: PeerId;
  readonly #shared: ConsensusDouble;
  readonly #listeners = new Set<(status: ConsensusStatus) => void>();
  #apply: ((entries: readonly Entry[]) => Promise<void>) | undefined;
  #applied: Index = 0;
  #isHeld = false;
  #isCrashed = false;
  #work: Promise<void> | undefined;
  #isAsked = false;
  #refusedEpoch = -1;
  failure: unknown;
  /** Entries of one delivery. */
  groupLength = () => entriesPerDelivery;
  /** What `compactTo` was told last. */
  compactedTo: Index = 0;
  offered: SnapshotOffer | undefined;

  constructor(self: PeerId, shared: ConsensusDouble) {
    this.self = self;
    this.#shared = shared;
  }

  /** Nothing is delivered until `release`. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.pump();
  }

  crash(): void {
    this.#isCrashed = true;
  }

  get isBusy(): boolean {
    return this.#work !== undefined;
  }

  async idle(): Promise<void> {
    await this.#work;
  }

  status(): ConsensusStatus {
    const { term, leader, commitIndex, noopIndex, electionCount, log, peers } = this.#shared;
    const isLeader = leader === this.self;
    return {
      raftState: this.failure === undefined ? 'RUNNING' : 'EXCEPTION',
      logState: 'OK',
      clusterId: 'c0000000-0000-4000-8000-000000000000',
      storageId: `storage-${this.self}`,
      admitted: true,
      role: isLeader ? 'leader' : 'follower',
      term,
      leader,
      leaderReady: isLeader && this.#applied >= noopIndex,
      commitIndex,
      appliedIndex: this.#applied,
      firstIndex: 1,
      lastIndex: log.length,
      lastTerm: 0,
      configuration: {
        voters: peers.map(member),
        votersOutgoing: [],
        learners: [],
        learnersNext: [],
        autoLeave: false,
      },
      configurationIndex: 0,
      electionCount,
      lastElectionMs: 0,
      progress: [],
    };
  }

  onStatus(listener: (status: ConsensusStatus) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  changed(): void {
    for (const listener of this.#listeners) listener(this.status());
  }

  async propose(batch: readonly Uint8Array[], epoch: number): Promise<Proposed> {
    const reason = this.#refusal(epoch);
    if (reason !== undefined) {
      this.#refusedEpoch = Math.max(this.#refusedEpoch, epoch);
      return { kind: 'refused', reason };
    }
    const firstIndex = this.#shared.log.length + 1;
    const { term } = this.#shared;
    for (const data of batch) this.#shared.append('normal', data);
    // Whoever proposed learns its place before the first delivery.
    queueMicrotask(() => queueMicrotask(() => this.#shared.appended()));
    return { kind: 'accepted', firstIndex, term };
  }

  #refusal(epoch: number): DropReason | undefined {
    if (epoch <= this.#refusedEpoch) return 'stale-epoch';
    if (termOfEpoch(epoch) !== this.#shared.term) return 'stale-epoch';
    if (this.#isCrashed || this.#shared.leader !== this.self) return 'not-leader';
    return this.#shared.takeRefusal();
  }

  deliver(applied: Index, apply: (entries: readonly Entry[]) => Promise<void>): void {
    this.#applied = applied;
    this.#apply = apply;
    this.pump();
  }

  pump(): void {
    this.#isAsked = true;
    if (this.#work !== undefined) return;
    this.#work = this.#run().finally(() => {
      this.#work = undefined;
      if (this.#isAsked) this.pump();
    });
  }

  async #run(): Promise<void> {
    // In a turn of its own, as messages of a worker come.
    await Promise.resolve();
    for (;;) {
      this.#isAsked = false;
      if (this.#isHeld || this.#isCrashed || this.failure !== undefined) return;
      const entries = this.#shared.entries(this.#applied, this.groupLength());
      const last = entries.at(-1);
      if (last === undefined || this.#apply === undefined) return;
      try {
        await this.#apply(entries);
      } catch (error) {
        this.failure = error;
      }
      if (this.failure === undefined) this.#applied = last.index;
      this.changed();
    }
  }

  async readIndex(): Promise<Index> {
    return this.#shared.commitIndex;
  }

  compactTo(index: Index): void {
    this.compactedTo = Math.max(this.compactedTo, index);
  }

  offerSnapshot(index: Index, body: Uint8Array): void {
    this.offered = { index, term: this.#shared.term, from: this.self, body };
  }

  onSnapshot(): void {}

  async transferLeadership(to: PeerId | undefined): Promise<Transferred> {
    const { leader, peers } = this.#shared;
    if (leader !== this.self) return { kind: 'refused', reason: 'not-leader' };
    const target = to ?? peers.find((id) => id !== this.self);
    if (target === undefined || !peers.includes(target))
      return { kind: 'refused', reason: 'unknown-peer' };
    this.#shared.elect(target);
    return { kind: 'transferred', leader: target };
  }

  async changeMembership(): Promise<MembershipChanged> {
    return { kind: 'refused', reason: 'guard', detail: 'the double has no membership changes' };
  }

  async close(): Promise<void> {
    this.crash();
    await this.idle();
  }
}

function member(id: PeerId): Member {
  const address = id.replace(/_(?=\d+$)/, ':');
  return { id, address, priority: 0, canLead: true, storageId: `storage-${id}`, voter: true };
}
