import { haRaftPort } from '#config/cluster-settings.ts';
import { haSecuritySeedRetryTimeout } from '#config/cluster-resync-settings.ts';
import type { SettingsReader } from '#config/effective-settings.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Runtime } from '#core/runtime.ts';
import type { Index, Member, PeerId } from '#raft/vocabulary.ts';
import type { ClusterView } from '../cluster-view.ts';
import type { MembershipChange, MembershipChanged } from '../consensus-port.ts';
import type { PeerAddresses } from '../forwarding/peer-addresses.ts';
import type { PeerHttp } from '../forwarding/peer-http.ts';
import type { ClusterToken } from '../token/cluster-token.ts';
import type { CapabilityPoll } from '../status/capabilities.ts';
import type { Readiness } from '../status/readiness.ts';
import { done, type ManagementAnswer, noLeader, outcomeUnknown, refused } from './answer.ts';
import { connectTo } from './connect.ts';
import { Fields, wrong } from './fields.ts';
import { lackOf } from './lack-of-features.ts';
import { readNewPeer } from './new-peer.ts';

type Given = ReadonlyMap<string, unknown>;

const membershipMs = 90_000;
/** Who is behind is to be asked for again. */
const promotionMs = 10_000;
const transferMs = 30_000;
const handOverMs = 20_000;
const leaveMs = 10_000;
const leaderWaitMs = 5000;
const leaderPauseMs = 200;

/**
 * The management endpoints of a cluster (contract 3; ha.md 11.2). Changes of membership may be sent to any member, which passes
 * them on; leadership is a matter of the server that leads.
 */
export class ClusterManagement {
  readonly #view: ClusterView;
  readonly #settings: SettingsReader;
  readonly #addresses: PeerAddresses;
  readonly #readiness: Readiness;
  readonly #runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly #http: PeerHttp;
  readonly #token: ClusterToken;
  readonly #poll: Pick<CapabilityPoll, 'ask'>;

  constructor(options: {
    view: ClusterView;
    settings: SettingsReader;
    addresses: PeerAddresses;
    readiness: Readiness;
    http: PeerHttp;
    token: ClusterToken;
    poll: Pick<CapabilityPoll, 'ask'>;
    runtime: Pick<Runtime, 'clock' | 'timers'>;
  }) {
    this.#poll = options.poll;
    this.#runtime = options.runtime;
    this.#http = options.http;
    this.#token = options.token;
    this.#view = options.view;
    this.#settings = options.settings;
    this.#addresses = options.addresses;
    this.#readiness = options.readiness;
  }

  /** @throws DatabaseError `IllegalArgument`, as all of these do for wrong fields */
  async addPeer(given: Given): Promise<ManagementAnswer> {
    const asked = readNewPeer(given, this.#settings.get(haRaftPort));
    const { member, isLearner, expectedIndex, timeoutMs } = asked;
    if (member.id === this.#view.consensus.self) throw wrong(`Peer '${member.id}' is this server`);
    this.#requireFreeName(member);
    const { configuration, configurationIndex } = this.#view.consensus.status();
    const known = [...configuration.voters, ...configuration.learners].find(
      ({ id }) => id === member.id,
    );
    // A learner that is to vote is one whose addition broke off behind the first step: it goes on.
    if (known !== undefined && (known.voter || isLearner))
      return done({ result: `Peer ${member.id} added`, voter: known.voter, configurationIndex });
    const active = this.#view.features?.active() ?? [];
    const lack = await lackOf(member, active, { addresses: this.#addresses, poll: this.#poll });
    if (lack !== undefined) return refused(409, lack);
    const change = { kind: 'add', member, ...expected(expectedIndex) } as const;
    const changed = await this.#change(change, timeoutMs);
    const result = `Peer ${member.id} added`;
    if (changed.kind === 'refused' && changed.reason === 'lagging')
      return refused(
        504,
        `Peer ${member.id} did not catch up in ${timeoutMs} ms; it stays a learner until it has`,
        {
          result,
          voter: false,
          configurationIndex: this.#view.consensus.status().configurationIndex,
        },
      );
    if (changed.kind !== 'done') return this.#refusal(changed);
    const { isVoter, configurationIndex: index } = changed;
    const body = { result, voter: isVoter, configurationIndex: index };
    // It lost its disk in the moment in which it was promoted.
    if (!isVoter && !isLearner)
      return refused(504, `Peer ${member.id} is a learner until it has caught up anew`, body);
    if (await this.#hasUsers(member.id)) return done(body);
    const why = `Peer ${member.id} is a member, and has not got the users of the cluster yet; ask again`;
    return refused(503, why, { ...body, failedSeeds: [usersFile] });
  }

  /** Names tell members apart for people (contract 3, Peer entry): each is of one. */
  #requireFreeName({ id, name }: Member): void {
    const other = this.#addresses.known().find((peer) => peer.id !== id && peer.name === name);
    if (name !== undefined && other !== undefined)
      throw wrong(`Field 'name' is '${name}', which is the name of peer '${other.id}'`);
  }

  /** Users are entries of the log: who has all that is committed now has them (ha.md 5.12 rule 7). Others than the leader cannot tell. */
  async #hasUsers(id: PeerId): Promise<boolean> {
    const { clock, timers } = this.#runtime;
    const { consensus } = this.#view;
    const { commitIndex } = consensus.status();
    const untilMs = clock.monotonicMs() + this.#settings.get(haSecuritySeedRetryTimeout);
    for (;;) {
      const { role, progress } = consensus.status();
      const peer = progress.find((one) => one.id === id);
      if (role !== 'leader' || (peer?.match ?? 0) >= commitIndex) return true;
      if (clock.monotonicMs() >= untilMs) return false;
      await timers.sleep(leaderPauseMs);
    }
  }

  /** @throws DatabaseError as `connectTo` */
  connect(address: string, user: string): Promise<void> {
    const [view, addresses, http, token] = [this.#view, this.#addresses, this.#http, this.#token];
    return connectTo(address, user, { view, addresses, http, token });
  }

  async promote(id: PeerId, given: Given): Promise<ManagementAnswer> {
    const fields = new Fields(given, ['ids', 'expectedConfigurationIndex']);
    const ids = [...new Set([id, ...(fields.texts('ids') ?? [])])];
    const { configuration } = this.#view.consensus.status();
    for (const one of ids) {
      if (configuration.voters.some((voter) => voter.id === one)) continue;
      if (!configuration.learners.some((learner) => learner.id === one))
        return refused(404, `Peer '${one}' is no member`);
    }
    const expectedIndex = fields.integer('expectedConfigurationIndex', 0);
    const changed = await this.#change(
      { kind: 'promote', ids, ...expected(expectedIndex) },
      promotionMs,
    );
    return changed.kind === 'done'
      ? done({ result: `Peer ${id} promoted` })
      : this.#refusal(changed);
  }

  /** @param expectedIndex the index of the configuration that the caller has seen */
  async removePeer(id: PeerId, force: boolean, expectedIndex?: Index): Promise<ManagementAnswer> {
    const peer = this.#addresses.find(id);
    if (peer === undefined) return refused(404, `Peer '${id}' is neither a member nor declared`);
    const removed = done({ result: `Peer ${id} removed` });
    if (peer.member === undefined) return removed;
    const change = { kind: 'remove', id, force, ...expected(expectedIndex) } as const;
    const changed = await this.#change(change, membershipMs);
    return changed.kind === 'done' ? removed : this.#refusal(changed);
  }

  async transfer(given: Given): Promise<ManagementAnswer> {
    const fields = new Fields(given, ['peerId', 'timeoutMs']);
    const to = fields.text('peerId');
    const timeoutMs = fields.integer('timeoutMs', 1, 3_600_000) ?? transferMs;
    const notHere = this.#notLeader();
    if (notHere !== undefined) return notHere;
    const { self } = this.#view.consensus;
    if (to === self) return done({ result: 'Leadership transferred', leaderId: self });
    if (to !== undefined) this.#requireEligible(to);
    const outcome = await this.#view.consensus.transferLeadership(to, timeoutMs);
    if (outcome.kind === 'transferred')
      return done({ result: 'Leadership transferred', leaderId: outcome.leader });
    if (outcome.kind === 'timeout')
      return refused(504, `Leadership was not transferred in ${timeoutMs} ms`);
    switch (outcome.reason) {
      case 'not-leader':
        return this.#notLeader() ?? noLeader;
      case 'unknown-peer':
        throw wrong(`Peer '${to}' is no member`);
      case 'not-eligible':
        return refused(409, `Peer '${to}' cannot lead now: it is behind or not reachable`);
      case 'no-eligible-peer':
        return noEligiblePeer;
    }
  }

  async stepDown(): Promise<ManagementAnswer> {
    const notHere = this.#notLeader();
    if (notHere !== undefined) return notHere;
    const outcome = await this.#view.consensus.transferLeadership(undefined, transferMs);
    if (outcome.kind === 'refused' && outcome.reason !== 'not-leader') return noEligiblePeer;
    return done({ result: 'Leadership step-down initiated' });
  }

  /** Takes this server out of the cluster; it goes on by itself and refuses writes. */
  async leave(force: boolean, given: Given = new Map()): Promise<ManagementAnswer> {
    const fields = new Fields(given, ['expectedConfigurationIndex']);
    const expectedIndex = fields.integer('expectedConfigurationIndex', 0);
    const { consensus, serverName } = this.#view;
    const leaving = done({ result: `Server ${serverName} leaving cluster` });
    const { configuration } = consensus.status();
    const members = [...configuration.voters, ...configuration.learners];
    const isMember = members.some(({ id }) => id === consensus.self);
    if (!isMember || members.length === 1) return leaving;
    this.#readiness.switchOff();
    const answer = await this.#leave(force, expectedIndex);
    if (answer !== undefined) this.#readiness.switchOn();
    return answer ?? leaving;
  }

  /** Undefined: it has left. */
  async #leave(
    force: boolean,
    expectedIndex: Index | undefined,
  ): Promise<ManagementAnswer | undefined> {
    const { consensus } = this.#view;
    const { configuration, configurationIndex } = consensus.status();
    // Before the lead is given away.
    if (expectedIndex !== undefined && expectedIndex !== configurationIndex)
      return refused(409, `the configuration index is ${configurationIndex}, not ${expectedIndex}`);
    const hasOtherVoters = configuration.voters.some(({ id }) => id !== consensus.self);
    if (consensus.status().role === 'leader' && hasOtherVoters) {
      const outcome = await consensus.transferLeadership(undefined, handOverMs);
      if (outcome.kind !== 'transferred' && !force)
        return refused(409, 'Leadership could not be handed over; ?force=true leaves all the same');
    }
    const change = {
      kind: 'remove',
      id: consensus.self,
      force,
      isLeaving: true,
      ...expected(expectedIndex),
    } as const;
    const changed = await this.#change(change, leaveMs);
    return changed.kind === 'done' ? undefined : this.#refusal(changed);
  }

  /**
   * Hands the lead over and takes no more requests from balancers; membership stays as it is (ha.md 14.4). With `handOver: false` the
   * lead stays, now and when this server ends: all members stop together (operator.md 8.11).
   */
  async prepareStop(body: Given): Promise<ManagementAnswer> {
    const handsOver = new Fields(body, ['handOver']).flag('handOver') ?? true;
    this.#readiness.switchOff();
    const { consensus } = this.#view;
    const wasLeader = consensus.status().role === 'leader';
    const answer = { result: 'Ready to stop', wasLeader };
    if (!handsOver) this.#readiness.keepLead();
    if (!wasLeader) return done(answer);
    if (!handsOver) return done({ ...answer, handedOver: false });
    const outcome = await consensus.transferLeadership(undefined, handOverMs);
    return done(outcome.kind === 'transferred' ? answer : { ...answer, handedOver: false });
  }

  async resync(database: string): Promise<ManagementAnswer> {
    const { consensus, serverName } = this.#view;
    const { role, leader } = consensus.status();
    if (role === 'leader')
      throw wrong('The leader is where databases are fetched from; ask a follower');
    if (leader === undefined) return noLeader;
    const found = this.#view.databases().find(({ name }) => name === database);
    if (found === undefined) return refused(404, `Database '${database}' does not exist`);
    if (found.status === 'INSTALLING' && found.acquireStatus !== 'FAILED')
      return refused(409, `A resync of database '${database}' is already running`);
    const dial = this.#addresses.dial(leader);
    if (dial.kind === 'refused')
      return refused(503, `The leader cannot be reached: ${dial.reason}`);
    if (this.#view.resync === undefined)
      throw new DatabaseError('NotSupported', 'not supported yet: resync');
    await this.#view.resync(database);
    return done({ result: 'Resync started', database, localServer: serverName });
  }

  /**
   * An election that is on is waited for: asked again, a change that was made is found to be made. Within the time, also a leader
   * that went amid a long change is waited for.
   */
  async #change(change: MembershipChange, timeoutMs: number): Promise<MembershipChanged> {
    const { clock, timers } = this.#runtime;
    const untilMs = clock.monotonicMs() + timeoutMs;
    let patientMs = clock.monotonicMs() + leaderWaitMs;
    let asked = change;
    let mayBeDone = false;
    for (;;) {
      const askedMs = clock.monotonicMs();
      const changed = await this.#view.consensus.changeMembership(asked, untilMs - askedMs);
      const nowMs = clock.monotonicMs();
      if (nowMs - askedMs >= leaderWaitMs) patientMs = nowMs + leaderWaitMs;
      if (changed.kind !== 'no-leader') return changed;
      mayBeDone ||= changed.mayBeDone === true;
      if (nowMs >= Math.min(untilMs, patientMs)) return { kind: 'no-leader', mayBeDone };
      // The index may have moved by this very change.
      if ('expectedIndex' in asked && nowMs - askedMs >= leaderWaitMs)
        asked = { ...asked, expectedIndex: undefined };
      await timers.sleep(leaderPauseMs);
    }
  }

  #refusal(changed: Exclude<MembershipChanged, { kind: 'done' }>): ManagementAnswer {
    if (changed.kind === 'no-leader') return changed.mayBeDone === true ? outcomeUnknown : noLeader;
    const { reason, detail } = changed;
    if (reason === 'unknown-peer') return refused(404, detail);
    if (reason !== 'pending') return refused(409, detail);
    return refused(409, detail, { exception: 'MembershipChangeInProgressException' });
  }

  /** 409 that names who leads (contract 3, since 26.10.1). */
  #notLeader(): ManagementAnswer | undefined {
    const { consensus, serverName } = this.#view;
    const { role, leader } = consensus.status();
    if (role === 'leader') return undefined;
    const exception = 'ServerIsNotTheLeaderException';
    const peer = leader === undefined ? undefined : this.#addresses.find(leader);
    if (peer === undefined)
      return refused(409, `Server '${serverName}' is not the leader; no leader is known`, {
        exception,
        leader: null,
        leaderId: null,
        leaderHttpAddress: null,
      });
    const address = this.#addresses.addresses('http').get(peer.id) ?? null;
    const name = peer.name ?? peer.id;
    return refused(
      409,
      `Server '${serverName}' is not the leader. Retry on ${name}${address === null ? '' : ` (${address})`}`,
      { exception, leader: name, leaderId: peer.id, leaderHttpAddress: address },
    );
  }

  #requireEligible(to: PeerId): void {
    const { voters, learners } = this.#view.consensus.status().configuration;
    const voter = voters.find(({ id }) => id === to);
    if (voter === undefined)
      throw wrong(
        learners.some(({ id }) => id === to)
          ? `Peer '${to}' is a learner and cannot lead`
          : `Peer '${to}' is no member`,
      );
    if (!voter.canLead) throw wrong(`Peer '${to}' is pinned as a replica and cannot lead`);
  }
}

/** What a new member must have before anything is asked of it. */
const usersFile = 'server-users.jsonl';
const noEligiblePeer = refused(
  409,
  'No eligible peer: the others are behind, not reachable or replicas',
);

function expected(index: Index | undefined) {
  return index === undefined ? undefined : { expectedIndex: index };
}
