import type { Cancel, Runtime } from '#core/runtime.ts';
import { membersOf } from '#raft/membership.ts';
import type { SnapshotMeta } from '#raft/message.ts';
import type { Index, PeerId } from '#raft/vocabulary.ts';
import type {
  ConsensusStatus,
  MembershipChange,
  MembershipChanged,
  RaftState,
  Transferred,
} from '../consensus-port.ts';
import { LogStore } from '../log-store/log-store.ts';
import type { Outbox } from '../outbox.ts';
import { unpackEntries } from '../packed-entries.ts';
import type { Envelope } from '../transport/envelope.ts';
import { NotSent, type UnaryName } from '../transport/peer-channel.ts';
import type { PeerAllowlist } from '../transport/peer-allowlist.ts';
import { RaftServer } from '../transport/raft-server.ts';
import { Admission } from './admission.ts';
import { allowlistOf } from './allowed-hosts.ts';
import { awaitedOf, FetchingFollowers } from './awaited-followers.ts';
import { Doorkeeper, refusalAtStart } from './doorkeeper.ts';
import { Driver } from './driver.ts';
import { findGroup, formationOf, type Hello, helloOf, identityIn, ownMember } from './formation.ts';
import type { Formation } from './formation-vote.ts';
import { HeldEntries } from './held-entries.ts';
import { bestTarget } from './lead-targets.ts';
import { LeaderWatch } from './leader-watch.ts';
import { LogHealth, spaceAt, tellOfLog } from './log-health.ts';
import { MembershipDesk } from './membership-desk.ts';
import { OwnRole, ownChangeMs } from './own-role.ts';
import { Peers } from './peers.ts';
import { type LeadLog, leadLogOf } from './lead-log.ts';
import { type ConsensusMeasures, measuresOver } from './measures.ts';
import { type Asker, readMembershipRequest } from './membership-request.ts';
import { statusOf } from './published-status.ts';
import { transferLead } from './transfer-lead.ts';
import { surviveAlone } from './sole-survivor.ts';
import { hasLeft, lastWordMs, RemovedMembers } from './removed-members.ts';
import type {
  ConsensusOptions,
  FromWorker,
  Outcome,
  ToWorker,
  WorkerStart,
} from './worker-messages.ts';

/** Consensus as a whole, in its own thread (ha.md 1.3): it never waits for the main thread. */
export class ConsensusService {
  #options: ConsensusOptions;
  readonly #runtime: Runtime;
  readonly #outbox: Outbox<FromWorker>;
  readonly #store: LogStore;
  readonly #peers: Peers;
  readonly #server: RaftServer;
  readonly #desk: MembershipDesk;
  readonly #doorkeeper: Doorkeeper;
  readonly #watch: LeaderWatch;
  readonly #allowlist: PeerAllowlist | undefined;
  #driver: Driver | undefined;
  #raftState: RaftState = 'STARTING';
  readonly #health: LogHealth;
  readonly #lead: LeadLog;
  readonly #measures: ConsensusMeasures;
  #installed: ((error: string | undefined) => void) | undefined;
  #deliverFrom: Index | undefined;
  readonly #fetching = new FetchingFollowers();
  #wantedOffer: { readonly index: Index; readonly body: Uint8Array | undefined } | undefined;
  #published = '';
  #activeFeatures: readonly string[] = [];
  readonly #removed: RemovedMembers;
  readonly #held: HeldEntries;
  readonly #role: OwnRole;
  #stopCheck: Cancel = () => {};

  /** @throws Error about the directory or the port, for a person */
  static async start(
    start: WorkerStart,
    runtime: Runtime,
    outbox: Outbox<FromWorker>,
  ): Promise<ConsensusService> {
    const { consensus: options, logPort } = start;
    const store = await LogStore.open(logPort, {
      directory: options.directory,
      peerId: options.self,
      segmentBytes: options.segmentBytes,
      cacheBytesMax: options.cacheBytesMax,
      purgeGap: options.purgeGap,
      wipes: !options.persists,
      // Whoever is alone has nobody to get it from.
      reformatsMax: options.declared.length > 1 ? options.reformatsMax : 0,
      onFlush: (tookMs) => service.#flushed(tookMs),
    });
    const service: ConsensusService = new ConsensusService(start, runtime, outbox, store);
    await service.#server.listen();
    service.#checkLater();
    tellOfLog(store, {
      timers: runtime.timers,
      isRunning: () => service.#raftState === 'RUNNING',
      report: (text) => outbox.post({ kind: 'log', level: 'error', text }),
    });
    void service.#begin();
    return service;
  }

  private constructor(
    { consensus: options, measures }: WorkerStart,
    runtime: Runtime,
    outbox: Outbox<FromWorker>,
    store: LogStore,
  ) {
    this.#measures = measuresOver(measures);
    this.#options = options;
    this.#runtime = runtime;
    this.#outbox = outbox;
    this.#store = store;
    this.#peers = new Peers({
      options,
      runtime,
      conf: () => this.#driver?.conf ?? store.identity.firstConf,
      names: () => ({
        clusterId: store.identity.clusterId ?? '',
        fromStorage: store.identity.storageId,
      }),
      onLost: (peer, loss) => this.#driver?.lost(peer, loss),
    });
    this.#server = new RaftServer({
      host: options.listenHost,
      port: options.listenPort,
      tls: options.tls,
      admits: (address) => this.#allowlist?.admits(address) ?? Promise.resolve(true),
      messageBytesMax: options.messageBytesMax,
      flowControlWindow: options.flowControlWindow,
      onEnvelope: (envelope) => this.#receive(envelope),
      onAsked: (name, request) => this.#asked(name, request),
    });
    this.#health = new LogHealth({
      clock: runtime.clock,
      segmentBytes: options.segmentBytes,
      restartsMax: options.restartsMax,
      freePercMin: options.freePercMin,
      space: () => spaceAt(options.directory),
      report: (level, text) => outbox.post({ kind: 'log', level, text }),
      restart: async () => {
        await store.reopen();
        this.#driver?.restart();
        // A snapshot that was being installed is forgotten, and its sender waits for it.
        this.#server.hangUp();
      },
    });
    this.#desk = new MembershipDesk({
      runtime,
      self: options.self,
      lagEntriesMax: 100,
      status: () => this.#required().status(),
      propose: (change) => this.#required().proposeConf(change),
      activeFeatures: () => this.#activeFeatures,
      report: (text) => outbox.post({ kind: 'log', level: 'error', text }),
      isReachable: (id) => this.#isReachable(id),
      handOver: async (deadline) => {
        const left = deadline - runtime.clock.monotonicMs();
        return (await this.transfer(undefined, Math.max(0, left))).kind === 'transferred';
      },
    });
    this.#lead = leadLogOf(options, {
      clock: runtime.clock,
      peers: this.#peers,
      status: () => this.#driver?.status(),
      log: (level, text) => outbox.post({ kind: 'log', level, text }),
    });
    this.#doorkeeper = this.#makeDoorkeeper();
    this.#watch = this.#makeWatch();
    this.#role = new OwnRole(options, {
      timers: runtime.timers,
      isRunning: () => this.#raftState === 'RUNNING',
      status: () => this.#driver?.status(),
      storageId: () => store.identity.storageId,
      change: (change) => this.changeMembership(change, ownChangeMs, options),
      ask: (id) => this.#askHello(id),
      report: (text) => outbox.post({ kind: 'log', level: 'error', text }),
    });
    this.#held = new HeldEntries(outbox, runtime, () => this.#driver?.isLeader === true);
    this.#removed = new RemovedMembers(options.self, (id) => this.#cutOff(id));
    this.#allowlist = allowlistOf(options, {
      runtime,
      conf: () => this.#driver?.conf,
      warn: (text) => outbox.post({ kind: 'log', level: 'warn', text }),
    });
    this.#allowlist?.watch();
  }

  #makeDoorkeeper(): Doorkeeper {
    const { self, clusterName, declared } = this.#options;
    return new Doorkeeper({
      self,
      clusterName,
      declared: declared.map(({ id }) => id),
      runtime: this.#runtime,
      identity: () => this.#store.identity,
      conf: () => this.#driver?.conf,
      askMembers: async (id) => (await this.#askHello(id)).members ?? [],
      report: (text) => this.#outbox.post({ kind: 'log', level: 'error', text }),
    });
  }

  #makeWatch(): LeaderWatch {
    return new LeaderWatch({
      options: this.#options,
      runtime: this.#runtime,
      peers: this.#peers,
      status: () => this.#driver?.status(),
      isApplyingMuch: () => this.#driver?.isApplyingMuch === true,
      isReachable: (id) => this.#isReachable(id),
      bestTarget: (except) => this.#bestTarget(except),
      promoteReady: () => this.#desk.promoteReady(),
      transfer: (to, timeoutMs) => this.transfer(to, timeoutMs),
      log: (level, text) => this.#outbox.post({ kind: 'log', level, text }),
    });
  }

  #makeAdmission(): Admission {
    const { self, declared, joinsByItself } = this.#options;
    return new Admission({
      timers: this.#runtime.timers,
      joinsByItself,
      isRunning: () => this.#raftState === 'RUNNING',
      isAdmitted: () => this.#store.identity.admitted,
      hasLeader: () => this.#driver?.status().leader !== undefined,
      admitIfNamed: () => this.#admitIfNamed(),
      change: (kind, voter) => {
        const { storageId } = this.#store.identity;
        return { kind, member: ownMember(this.#options, { storageId, voter }) };
      },
      others: () => {
        const members = [...membersOf(this.#required().status().conf).keys()];
        return new Set([...members, ...declared.map(({ id }) => id)].filter((id) => id !== self));
      },
      ask: (id, change) => {
        const request = { change, timeoutMs: ownChangeMs, isPassedOn: false, from: this.#hello() };
        return this.#peers.ask(id, 'ChangeMembership', request) as Promise<MembershipChanged>;
      },
      report: (text) => this.#outbox.post({ kind: 'log', level: 'error', text }),
    });
  }

  async #admitIfNamed(): Promise<boolean> {
    if (this.#store.identity.admitted || this.#driver?.admitIfNamed() !== true) return false;
    await this.#store.setIdentity({ ...this.#store.identity, admitted: true });
    this.#publish();
    return true;
  }

  /** Finds the group, or forms it, and takes part. */
  async #begin(): Promise<void> {
    try {
      const text = await surviveAlone(this.#store, this.#options, this.#runtime);
      if (text !== undefined) this.#outbox.post({ kind: 'log', level: 'error', text });
      const formation = formationOf(this.#store.identity) ?? (await this.#find());
      if (formation === undefined || this.#raftState === 'CLOSING') return;
      this.#driver = new Driver(
        {
          options: this.#options,
          runtime: this.#runtime,
          store: this.#store,
          peers: this.#peers,
          apply: (entries) => this.#held.take(entries),
          install: (snapshot, from) => this.#install(snapshot, from),
          changed: () => this.#publish(),
          logFailed: (error) => this.#logFailed(error),
          ticked: (lateMs) => this.#measures.loopDelays.observe(lateMs / 1000),
          broken: (error) => this.#broken(error),
        },
        formation.conf,
      );
      this.#raftState = 'RUNNING';
      if (this.#deliverFrom !== undefined) this.#driver.deliverBehind(this.#deliverFrom);
      this.#driver.start();
      this.#watch.start();
      this.#publish();
      void this.#role.watch();
      await this.#makeAdmission().seek();
    } catch (error) {
      this.#broken(error);
    }
  }

  async #find(): Promise<Formation | undefined> {
    const found = await findGroup({
      options: this.#store.identity.mustJoin
        ? { ...this.#options, startMode: 'join' }
        : this.#options,
      runtime: this.#runtime,
      store: this.#store,
      ask: async ({ id }) => this.#checked(await this.#askHello(id)),
      report: (level, text) => this.#outbox.post({ kind: 'log', level, text }),
      isClosed: () => this.#raftState === 'CLOSING',
    });
    if (found.kind === 'closed') return undefined;
    await this.#store.setIdentity(identityIn(found, this.#store.identity));
    return found.formation;
  }

  async #askHello(id: PeerId): Promise<Hello> {
    return (await this.#peers.ask(id, 'Hello', this.#hello())) as Hello;
  }

  #checked(hello: Hello): Hello {
    const problem = this.#doorkeeper.strangeness(hello.clusterName, hello.clusterId);
    if (problem !== undefined) throw new Error(problem);
    return hello;
  }

  #required(): Driver {
    if (this.#driver === undefined) throw new Error('Raft has not started yet');
    return this.#driver;
  }

  #hello(): Hello {
    const { identity, tail } = this.#store;
    const status = this.#driver?.status();
    return helloOf({ options: this.#options, identity, lastIndex: tail.lastIndex(), status });
  }

  #receive(envelope: Envelope): string | undefined {
    const problem = this.#doorkeeper.refusalOf(envelope);
    if (problem !== undefined) return problem;
    if (this.#driver === undefined) return refusalAtStart(envelope);
    this.#peers.heard(envelope.fromPeer, envelope.messages);
    this.#driver.receive(envelope.messages);
    return undefined;
  }

  async #asked(name: UnaryName, request: unknown): Promise<object> {
    if (name === 'Hello') {
      this.#checked(request as Hello);
      return this.#hello();
    }
    if (name === 'GroupInfo') return this.#hello();
    const { change, timeoutMs, isPassedOn, asker } = readMembershipRequest(request, {
      conf: () => this.#driver?.conf,
      strangeness: (name, id) => this.#doorkeeper.strangeness(name, id),
    });
    return isPassedOn
      ? this.#changeHere(change, timeoutMs, asker)
      : this.changeMembership(change, timeoutMs, asker);
  }

  handle(message: ToWorker): void {
    switch (message.kind) {
      case 'propose': {
        const { id, batch, epoch } = message;
        const outcome =
          this.#driver?.propose(
            unpackEntries(batch).map(({ data }) => data),
            epoch,
          ) ?? ({ kind: 'refused', reason: 'not-leader' } as const);
        // Nobody waits for the place of an entry before it is committed.
        if (outcome.kind === 'accepted') this.#outbox.postLater({ kind: 'answer', id, outcome });
        else this.#answer(id, outcome);
        return;
      }
      case 'deliver':
        this.#deliverFrom = message.applied;
        this.#driver?.deliverBehind(message.applied);
        return;
      case 'applied':
        this.#driver?.applied(message.index);
        void this.#offer();
        void this.#admitIfNamed();
        return;
      case 'apply-failed':
        if (message.isUnknown) this.#withdraw(message.message);
        else this.#broken(new Error(message.message));
        return;
      case 'installed':
        this.#installed?.(message.error);
        return;
      case 'offer':
      case 'compact':
        this.#wantedOffer = {
          index: message.index,
          body: message.kind === 'offer' ? message.body : undefined,
        };
        void this.#offer();
        return;
      case 'tls':
        this.#server.useTls(message.tls);
        this.#peers.useTls(message.tls);
        return;
      case 'features':
        this.#activeFeatures = message.active;
        return;
      case 'tune':
        this.#options = { ...this.#options, ...message.live };
        this.#watch.tune(message.live);
        return;
      default:
        if (message.kind === 'read-index') this.#held.hasten();
        void this.#handleLong(message);
    }
  }

  async #handleLong(message: ToWorker): Promise<void> {
    if (message.kind === 'read-index')
      this.#answer(message.id, (await this.#driver?.readIndex(message.timeoutMs)) ?? 'timeout');
    else if (message.kind === 'transfer')
      this.#answer(message.id, await this.transfer(message.to, message.timeoutMs));
    else if (message.kind === 'membership')
      this.#answer(message.id, await this.changeMembership(message.change, message.timeoutMs));
    else if (message.kind === 'close') {
      await this.close(message.handOverMs);
      this.#answer(message.id, 'closed');
    }
  }

  #answer(id: number, outcome: Outcome): void {
    this.#outbox.post({ kind: 'answer', id, outcome });
  }

  /** The databases have all up to the wanted index (the core may hear of it later): the log goes, as far as nobody holds it. */
  async #offer(): Promise<void> {
    const wanted = this.#wantedOffer;
    const status = wanted && this.#driver?.status();
    if (wanted === undefined || status === undefined || wanted.index > status.applied) return;
    this.#wantedOffer = undefined;
    const { tail } = this.#store;
    const isReachable = (id: PeerId) => this.#isReachable(id);
    const awaited = awaitedOf(status, this.#options, isReachable);
    const nowMs = this.#runtime.clock.monotonicMs();
    const fetched = this.#fetching.look(status, isReachable, nowMs);
    // Space that is short goes before followers that fetch.
    const held = this.#health.state === 'OK' ? fetched : [];
    const index = Math.min(wanted.index, ...awaited, ...held);
    const term = tail.term(index);
    const asOf = this.#driver?.confAt(index);
    const known = tail.snapshotMeta();
    if (typeof term !== 'number' || asOf === undefined || index <= (known?.index ?? 0)) return;
    const body = wanted.body ?? known?.body ?? new Uint8Array(0);
    await this.#store
      .compactTo({ index, term, ...asOf, body })
      .catch((error: Error) => this.#logFailed(error));
  }

  #install({ index, term, body }: SnapshotMeta, from: PeerId): Promise<void> {
    this.#held.flush();
    this.#outbox.post({ kind: 'install', offer: { index, term, from, body } });
    return new Promise((resolve, reject) => {
      this.#installed = (error) => {
        this.#installed = undefined;
        if (error === undefined) resolve();
        else reject(new Error(error));
      };
    });
  }

  /** @param asker who asks to be taken in */
  changeMembership(
    change: MembershipChange,
    timeoutMs: number,
    asker?: Asker,
  ): Promise<MembershipChanged> {
    const status = this.#driver?.status();
    if (status?.role === 'leader') return this.#changeHere(change, timeoutMs, asker);
    // Whoever took this member out cuts it off, and may have done so before it could answer.
    const left = hasLeft(change, status, this.#options.self);
    if (left !== undefined) return Promise.resolve(left);
    if (status?.leader === undefined) return Promise.resolve({ kind: 'no-leader' });
    const request = { change, timeoutMs, isPassedOn: true, from: this.#hello(), asker };
    return this.#peers.ask(status.leader, 'ChangeMembership', request).then(
      (answer) => answer as MembershipChanged,
      // An answer that did not come says nothing; what was not sent is certain.
      (error: unknown) => ({ kind: 'no-leader', mayBeDone: !(error instanceof NotSent) }) as const,
    );
  }

  async #changeHere(
    change: MembershipChange,
    timeoutMs: number,
    asker: Asker | undefined,
  ): Promise<MembershipChanged> {
    if (this.#driver?.status().role !== 'leader') return { kind: 'no-leader' };
    return this.#desk.change(change, timeoutMs, asker);
  }

  /** Resolves when another one leads, or not within the time (ha.md 2.10). */
  transfer(to: PeerId | undefined, timeoutMs: number): Promise<Transferred> {
    return transferLead(to, timeoutMs, {
      self: this.#options.self,
      runtime: this.#runtime,
      status: () => this.#driver?.status(),
      begin: (target) => this.#driver?.transferLeader(target),
      bestTarget: () => this.#bestTarget(),
    });
  }

  #bestTarget(except?: PeerId): PeerId | undefined {
    const { self, lagEntriesMax } = this.#options;
    const isReachable = (id: PeerId) => this.#isReachable(id);
    return bestTarget(this.#required().status(), { self, lagEntriesMax, isReachable }, except);
  }

  #isReachable(id: PeerId): boolean {
    const silentMs = this.#peers.silentMs(id);
    return (
      silentMs !== undefined && silentMs < Math.min(this.#options.unreachableMs || 10_000, 10_000)
    );
  }

  /** Who was removed is cut off here too, at once (ha.md 4.4, 11.2 rule 3). */
  #cutOff(id: PeerId): void {
    this.#doorkeeper.forget(id);
    this.#peers.forget(id);
    void this.#allowlist?.refresh();
    // It may still wait for the answer to its leaving.
    this.#runtime.timers.after(lastWordMs, () => void this.#server.cutOff(id));
  }

  #publish(): void {
    const status = this.status();
    if (this.#driver !== undefined) this.#removed.look(status.configuration);
    this.#lead.look(status);
    const text = JSON.stringify(status);
    if (text === this.#published) return;
    this.#published = text;
    this.#outbox.post({ kind: 'status', status });
  }

  status(): ConsensusStatus {
    return statusOf({
      node: this.#driver?.status(),
      identity: this.#store.identity,
      raftState: this.#raftState,
      logState: this.#health.state,
      lead: this.#lead,
      logFreeBytes: this.#health.freeBytes,
      peers: this.#peers,
      isReachable: (id) => this.#isReachable(id),
      gaveUp: (id) => this.#watch.gaveUp(id),
      self: this.#options.self,
      isNobodyAllowed: this.#role.isNobodyAllowed,
    });
  }

  #flushed(tookMs: number): void {
    this.#measures.flushes.observe(tookMs / 1000);
    this.#health.flushed(tookMs);
  }

  #logFailed(error: Error): void {
    this.#health.failed(error);
    this.#publish();
  }

  #checkLater(): void {
    const { healthCheckMs } = this.#options;
    if (healthCheckMs === 0) return;
    this.#stopCheck = this.#runtime.timers.after(healthCheckMs, () => {
      void this.#check().finally(() => this.#checkLater());
    });
  }

  async #check(): Promise<void> {
    if (this.#raftState !== 'RUNNING') return;
    await this.#health.check();
    this.#publish();
  }

  /** An older build is still of use to the others: they need its vote and its disk (ha.md 16 rule 3). */
  #withdraw(reason: string): void {
    this.#raftState = 'EXCEPTION';
    const text = `${reason}; until then it stores the log and votes, applies nothing and does not lead`;
    this.#outbox.post({ kind: 'log', level: 'error', text });
    this.#driver?.withdraw();
    this.#publish();
  }

  #broken(error: unknown): void {
    this.#raftState = 'EXCEPTION';
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#driver?.close();
    this.#outbox.post({ kind: 'broken', message: text });
    this.#publish();
  }

  async close(handOverMs: number): Promise<void> {
    if (handOverMs > 0 && this.#driver?.status().role === 'leader')
      await this.transfer(undefined, handOverMs);
    this.#raftState = 'CLOSING';
    this.#stopCheck();
    this.#held.close();
    this.#watch.close();
    this.#allowlist?.close();
    await this.#driver?.writeCommit();
    this.#driver?.close();
    this.#peers.close();
    this.#server.close();
    await this.#store.close().catch(() => {});
    this.#raftState = 'CLOSED';
  }
}
