import type { Cancel, Runtime } from '#core/runtime.ts';
import type { ConfChange } from '#raft/membership.ts';
import { membersOf } from '#raft/membership.ts';
import type { Message, SnapshotMeta } from '#raft/message.ts';
import { type ConfProposal, type NodeStatus, RaftNode } from '#raft/node.ts';
import type { ConfAt, ConfState, Entry, Index, PeerId } from '#raft/vocabulary.ts';
import { type Proposed, termOfEpoch } from '../consensus-port.ts';
import type { LogStore } from '../log-store/log-store.ts';
import { DiskJobs } from './disk-jobs.ts';
import type { Loss } from '../transport/peer-channel.ts';
import type { Peers } from './peers.ts';
import type { ConsensusOptions } from './worker-messages.ts';

export interface DriverPort {
  readonly options: ConsensusOptions;
  readonly runtime: Runtime;
  readonly store: LogStore;
  readonly peers: Peers;
  /** Committed entries for the main thread, in order; `applied` answers. */
  apply(entries: readonly Entry[]): void;
  /** Resolves when the main thread has installed what the leader offers. */
  install(snapshot: SnapshotMeta, from: PeerId): Promise<void>;
  /** Something that others can see may have changed. */
  changed(): void;
  logFailed(error: Error): void;
  /** The thread had other things to do for so long when a tick was due. */
  ticked?(lateMs: number): void;
  broken(error: unknown): void;
}

interface Read {
  readonly resolve: (index: Index | undefined) => void;
  readonly cancel: Cancel;
}

/** After a stall at most so many late ticks are delivered: all of them at once would make every follower campaign. */
const lateTicksMax = 2;
const installPauseMs = 1000;
const largeBytes = 1024 * 1024;
/** Followers learn so late at most what is committed when no append tells them. */
const commitToldMs = 5;

/** The loop around the core (ha.md 1.2): clock, messages and requests in; disk, network and state machine out. */
export class Driver {
  readonly #port: DriverPort;
  #node: RaftNode;
  #disk: DiskJobs;
  #base: ConfState;
  /** Handed to the main thread up to here. */
  #handed: Index = 0;
  #isDelivering = false;
  #applies: {
    readonly last: Index;
    readonly isLarge: boolean;
    readonly afterwards: readonly Message[];
  }[] = [];
  #waitingApplies: (readonly Entry[])[] = [];
  #reads = new Map<number, Read>();
  /** Unlike those of the process before: its answers may still be on their way (ha.md 2.8 rule 5). */
  #nextRead: number;
  #epoch = 0;
  #lastTickMs: number;
  #stopTicks: Cancel = () => {};
  #untoldSinceMs: number | undefined;
  #isTelling = false;
  #isLoading = false;
  #isWorking = false;
  #isClosed = false;
  #isWithdrawn = false;

  /** @param base the configuration at which the log begins, when no snapshot says it */
  constructor(port: DriverPort, base: ConfState) {
    this.#port = port;
    this.#base = base;
    this.#nextRead = port.runtime.random.uint32() * 2 ** 20 + 1;
    this.#lastTickMs = port.runtime.clock.monotonicMs();
    this.#node = this.#makeNode();
    this.#disk = this.#makeDisk();
  }

  start(): void {
    const { voters, votersOutgoing } = this.#node.conf;
    // Nobody else has a vote, so there is nobody to wait for.
    if (voters.length === 1 && votersOutgoing.length === 0) this.#node.campaign();
    else this.#node.begin();
    this.#tickLater();
    this.#work();
  }

  status(): NodeStatus {
    return this.#node.status();
  }

  get isLeader(): boolean {
    return this.#node.role === 'leader';
  }

  get isApplyingMuch(): boolean {
    return this.#applies.some(({ isLarge }) => isLarge);
  }

  get conf(): ConfState {
    return this.#node.conf;
  }

  confAt(index: Index): ConfAt | undefined {
    return this.#node.confAt(index);
  }

  #makeNode(): RaftNode {
    const { options, store, runtime } = this.#port;
    const meta = store.tail.snapshotMeta();
    return new RaftNode({
      self: options.self,
      limits: options.limits,
      log: store.tail,
      hardState: store.hardState,
      conf: meta?.conf ?? this.#base,
      confIndex: meta?.confIndex ?? 0,
      confEntries: store.confEntries,
      applied: meta?.index ?? 0,
      admitted: store.identity.admitted,
      canLead: options.canLead,
      rand: (n) => runtime.random.uint32() % n,
    });
  }

  #makeDisk(): DiskJobs {
    return new DiskJobs({
      store: this.#port.store,
      install: (snapshot) => this.#install(snapshot),
      hardState: () => this.#node.status(),
      done: (messages) => {
        this.#deliver(messages);
        this.#work();
      },
      failed: (error) => this.#failed(error),
    });
  }

  /** Until it succeeds: what the leader has compacted can come in no other way. */
  async #install(snapshot: SnapshotMeta): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#port.install(snapshot, this.#node.status().leader ?? '');
        this.#handed = Math.max(this.#handed, snapshot.index);
        return;
      } catch {
        // The main thread has told why.
        await this.#port.runtime.timers.sleep(installPauseMs);
      }
    }
    throw new Error('Raft is closed');
  }

  #failed(error: Error): void {
    this.#disk.fail();
    this.#node.setLogFailed(true);
    this.#port.logFailed(error);
    this.#work();
  }

  /** The main thread applies nothing any more: this member stores and votes, and does not lead. */
  withdraw(): void {
    this.#isWithdrawn = true;
    this.#node.withdraw();
    this.#work();
  }

  /** In place, after the log was opened anew (ha.md 3.7). */
  restart(): void {
    this.#disk.stop();
    this.#node = this.#makeNode();
    if (this.#isWithdrawn) this.#node.withdraw();
    this.#disk = this.#makeDisk();
    this.#applies = [];
    this.#epoch += 1;
    this.#work();
  }

  #tickLater(): void {
    const { runtime, options } = this.#port;
    const dueMs = runtime.clock.monotonicMs() + options.tickMs;
    this.#stopTicks = runtime.timers.after(options.tickMs, () => {
      if (this.#isClosed) return;
      const nowMs = runtime.clock.monotonicMs();
      this.#port.ticked?.(Math.max(0, nowMs - dueMs));
      const due = Math.floor((nowMs - this.#lastTickMs) / options.tickMs);
      this.#lastTickMs += due * options.tickMs;
      for (let i = 0; i < Math.min(due, lateTicksMax); i++) this.#node.tick();
      this.#work();
      this.#port.changed();
      this.#tickLater();
    });
  }

  receive(messages: readonly Message[]): void {
    for (const message of messages) this.#node.step(message);
    this.#work();
  }

  propose(batch: readonly Uint8Array[], epoch: number): Proposed {
    if (epoch < this.#epoch || termOfEpoch(epoch) !== this.#node.term)
      return { kind: 'refused', reason: 'stale-epoch' };
    const placed = this.#node.propose(batch);
    if (typeof placed === 'string') {
      this.#epoch = epoch + 1;
      return { kind: 'refused', reason: placed };
    }
    this.#work();
    return { kind: 'accepted', firstIndex: placed.index, term: placed.term };
  }

  proposeConf(change: ConfChange): ConfProposal {
    const proposal = this.#node.proposeConf(change);
    this.#work();
    return proposal;
  }

  /** undefined after the time: no leader, or no quorum. */
  readIndex(timeoutMs: number): Promise<Index | undefined> {
    return new Promise((resolve) => {
      const context = this.#nextRead++;
      let stopAsking: Cancel = () => {};
      const finish = (index: Index | undefined) => {
        stopAsking();
        this.#reads.delete(context);
        resolve(index);
      };
      const cancel = this.#port.runtime.timers.after(timeoutMs, () => finish(undefined));
      this.#reads.set(context, { resolve: finish, cancel });
      // A question to a leader that is gone has no answer: it is asked again, with the same number.
      const ask = () => {
        this.#node.readIndex(context);
        this.#work();
        stopAsking = this.#port.runtime.timers.after(this.#port.options.tickMs * 4, ask);
      };
      ask();
    });
  }

  transferLeader(to: PeerId): void {
    this.#node.transferLeader(to);
    this.#port.changed();
    this.#work();
  }

  lost(peer: PeerId, { isRefused, hasBulk }: Loss): void {
    if (this.#isClosed) return;
    const { leader, progress } = this.#node.status();
    this.#node.reportUnreachable(peer);
    // One that arrived is being installed, however heartbeats fare: reported as lost, it would be fetched twice.
    if (hasBulk && progress.some(({ id, state }) => id === peer && state === 'snapshot'))
      this.#node.reportSnapshot(peer, false);
    if (leader === peer && isRefused) this.#node.forgetLeader();
    this.#work();
  }

  /** The main thread has everything up to `applied` and takes what follows. */
  deliverBehind(applied: Index): void {
    this.#isDelivering = true;
    this.#handed = Math.max(this.#handed, applied);
    for (const entries of this.#waitingApplies.splice(0)) this.#hand(entries);
    this.#work();
  }

  /** The main thread has applied everything up to `index`. */
  applied(index: Index): void {
    const wasReady = this.#node.isLeaderReady;
    while (this.#applies[0] !== undefined && this.#applies[0].last <= index)
      this.#deliver(this.#applies.shift()?.afterwards ?? []);
    this.#work();
    if (this.#node.isLeaderReady !== wasReady) this.#port.changed();
  }

  admitIfNamed(): boolean {
    const { identity } = this.#port.store;
    const member = membersOf(this.#node.status().conf).get(this.#port.options.self);
    if (identity.admitted || member?.storageId !== identity.storageId) return false;
    this.#node.admit();
    return true;
  }

  /** So that the next start knows what is committed (ha.md 3.4 rule 5); before `close`. */
  async writeCommit(): Promise<void> {
    const { term, vote, commit } = this.#node.status();
    const hardState = { term, vote, commit };
    const job = { entries: [], hardState, snapshot: undefined, mustSync: false, afterwards: [] };
    await this.#port.store.append(job).catch(() => {});
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTicks();
    this.#disk.stop();
    for (const read of this.#reads.values()) read.resolve(undefined);
  }

  #deliver(messages: readonly Message[]): void {
    const { self } = this.#port.options;
    for (const message of messages) if (message.to === self) this.#node.step(message);
    this.#send(messages.filter(({ to }) => to !== self));
  }

  #send(messages: readonly Message[]): void {
    for (const { to, type } of this.#port.peers.send(messages)) {
      this.#node.reportUnreachable(to);
      if (type === 'Snapshot') this.#node.reportSnapshot(to, false);
    }
  }

  /** Does what the core wants done, until it wants nothing. */
  #work(): void {
    if (this.#isWorking || this.#isClosed) return;
    this.#isWorking = true;
    try {
      while (this.#node.hasReady()) this.#doReady();
      this.#tellCommitLater();
    } catch (error) {
      this.#isClosed = true;
      this.#port.broken(error);
    } finally {
      this.#isWorking = false;
    }
  }

  /** One timer at a time, which looks whether what it was set for was told meanwhile. */
  #tellCommitLater(): void {
    if (!this.#node.isCommitUntold) {
      this.#untoldSinceMs = undefined;
      return;
    }
    const { clock, timers } = this.#port.runtime;
    this.#untoldSinceMs ??= clock.monotonicMs();
    if (this.#isTelling) return;
    this.#isTelling = true;
    const leftMs = this.#untoldSinceMs + commitToldMs - clock.monotonicMs();
    timers.after(Math.max(1, Math.ceil(leftMs)), () => {
      this.#isTelling = false;
      const sinceMs = this.#untoldSinceMs;
      if (this.#isClosed || sinceMs === undefined) return;
      if (clock.monotonicMs() - sinceMs >= commitToldMs) this.#node.tellCommit();
      this.#work();
    });
  }

  #doReady(): void {
    const { send, append, apply, readStates, soft, load } = this.#node.ready();
    this.#send(send);
    if (append !== undefined) this.#disk.push(append);
    if (apply !== undefined) {
      const isLarge = apply.entries.some(({ data }) => data.length >= largeBytes);
      const last = apply.entries.at(-1)?.index ?? 0;
      this.#applies.push({ last, isLarge, afterwards: apply.afterwards });
      if (this.#isDelivering) this.#hand(apply.entries);
      else this.#waitingApplies.push(apply.entries);
    }
    for (const { context, index } of readStates) {
      this.#reads.get(context)?.cancel();
      this.#reads.get(context)?.resolve(index);
    }
    if (load[0] !== undefined) void this.#load(load[0]);
    if (soft !== undefined) this.#port.changed();
  }

  #hand(entries: readonly Entry[]): void {
    const fresh = entries.filter(({ index }) => index > this.#handed);
    const last = entries.at(-1)?.index ?? 0;
    this.#handed = Math.max(this.#handed, last);
    if (fresh.length > 0) this.#port.apply(fresh);
    else if (last > 0) queueMicrotask(() => this.applied(last));
  }

  async #load(from: Index): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      await this.#port.store.load(from);
    } catch (error) {
      this.#failed(error instanceof Error ? error : new Error(String(error)));
    }
    this.#isLoading = false;
    this.#node.loaded();
    this.#work();
  }
}
