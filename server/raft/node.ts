import { assert } from '#core/assert.ts';
import { campaign, isProtectedByLease, onVoteRequest, onVoteResponse } from './elections.ts';
import { onAppend, onHeartbeat, onSnapshot } from './following.ts';
import { type ConfChange, encodeConfChange, refusalOf } from './membership.ts';
import { type Message, messageOf, type SnapshotMeta, waitsForDisk } from './message.ts';
import type { RaftOptions } from './options.ts';
import type { ProgressState } from './progress.ts';
import type { AppendJob, ApplyJob, Ready, SoftState } from './ready.ts';
import {
  appendOwn,
  broadcastAppend,
  broadcastHeartbeat,
  handOver,
  hasActiveQuorum,
  isCommitUntold,
  leaveIfRemoved,
  onAppendResp,
  onHeartbeatResp,
  onSnapshotReport,
  onUnreachable,
  recordRead,
  startTransfer,
  tellCommit,
} from './replication.ts';
import { becomeFollower, begin, drawTimeout, forgetLeader } from './roles.ts';
import { RaftState } from './state.ts';
import type {
  ConfAt,
  ConfState,
  DropReason,
  HardState,
  Index,
  PeerId,
  Term,
} from './vocabulary.ts';

/** What may be asked of a node at any time; a copy. */
export interface NodeStatus extends SoftState, HardState {
  readonly applied: Index;
  readonly firstIndex: Index;
  readonly lastIndex: Index;
  /** Of the entry there. */
  readonly lastTerm: Term;
  readonly durableIndex: Index;
  readonly isLeaderReady: boolean;
  readonly admitted: boolean;
  readonly conf: ConfState;
  readonly confIndex: Index;
  /** A change of membership is in the log and not committed. */
  readonly isConfPending: boolean;
  readonly transferTo: PeerId | undefined;
  /** By which it was elected last. */
  readonly votesWon: number;
  /** Of own entries that are not committed yet. */
  readonly uncommittedBytes: number;
  readonly progress: readonly MemberProgress[];
}

export interface MemberProgress {
  readonly id: PeerId;
  readonly match: Index;
  readonly next: Index;
  readonly state: ProgressState;
  readonly isActive: boolean;
  /** It is admitted: what it has counts (ha.md 8.2). */
  readonly isCounted: boolean;
}

const none: readonly Index[] = [];

export type ConfProposal = 'ok' | DropReason | 'pending' | { readonly refused: string };

/**
 * One member of a group: a state machine of inputs and outputs, without clock, disk, network and randomness of its own (ha.md 2).
 * Call `ready` after inputs until `hasReady` is false, do what it says, and bring the answers back through `step`.
 */
export class RaftNode {
  readonly #state: RaftState;
  #written: HardState;
  #told: SoftState = { role: 'follower', leader: undefined };

  constructor(options: RaftOptions) {
    this.#state = new RaftState(options);
    const { term, vote } = options.hardState;
    becomeFollower(this.#state, term, undefined);
    this.#written = { term, vote, commit: this.#state.log.commit };
  }

  status(): NodeStatus {
    const state = this.#state;
    const { log } = state;
    return {
      role: state.role,
      leader: state.leader,
      term: state.term,
      vote: state.vote,
      commit: log.commit,
      applied: log.applied,
      firstIndex: log.firstIndex,
      lastIndex: log.lastIndex,
      lastTerm: log.lastTerm,
      durableIndex: log.durableIndex,
      isLeaderReady: state.isLeaderReady,
      admitted: state.admitted,
      conf: state.conf,
      confIndex: state.confIndex,
      isConfPending: state.pendingConfs.length > 0,
      transferTo: state.transferTo,
      votesWon: state.votesWon,
      uncommittedBytes: state.uncommittedBytes,
      progress: [...state.progress]
        .map(([id, { match, next, state: kind, isActive, isCounted }]) => ({
          id,
          match,
          next,
          state: kind,
          isActive,
          isCounted,
        }))
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
    };
  }

  get term(): Term {
    return this.#state.term;
  }

  /** This and what follows are cheaper than `status`. */
  get role(): SoftState['role'] {
    return this.#state.role;
  }

  get conf(): ConfState {
    return this.#state.conf;
  }

  get isLeaderReady(): boolean {
    return this.#state.isLeaderReady;
  }

  /** As of an entry of the log, also of the one that a snapshot on its way is to replace; undefined: it is not known any more. */
  confAt(index: Index): ConfAt | undefined {
    return this.#state.confAt(index);
  }

  /** One unit of time has passed. */
  tick(): void {
    if (this.#state.role === 'leader') this.#tickLeader();
    else this.#tickFollower();
  }

  #tickFollower(): void {
    const state = this.#state;
    state.electionElapsed += 1;
    state.silentTicks += 1;
    if (state.electionElapsed < state.timeoutTicks) return;
    if (!state.isPromotable && !state.isLastResort) return;
    campaign(state, state.limits.preVote ? 'pre-vote' : 'vote');
  }

  #tickLeader(): void {
    const state = this.#state;
    const { electionTicksMin, heartbeatTicks, checkQuorum } = state.limits;
    state.electionElapsed += 1;
    state.heartbeatElapsed += 1;
    if (state.electionElapsed >= electionTicksMin) {
      state.electionElapsed = 0;
      // A transfer that has not happened by now is given up (ha.md 2.10 rule 5).
      state.transferTo = undefined;
      if (checkQuorum && !hasActiveQuorum(state)) {
        becomeFollower(state, state.term, undefined);
        return;
      }
    }
    if (state.heartbeatElapsed < heartbeatTicks) return;
    state.heartbeatElapsed = 0;
    if (state.reads.isWaiting) state.reads.sent += 1;
    broadcastHeartbeat(state);
    if (state.isCaretaker) handOver(state);
  }

  /** A message of a peer, or an answer of the own disk. */
  step(message: Message): void {
    if (message.type === 'StorageAppended') this.#onAppended(message);
    else if (message.type === 'StorageApplied') this.#onApplied(message);
    else if (this.#isOfThisTerm(message)) this.#stepOfTerm(message);
    leaveIfRemoved(this.#state);
  }

  /** Takes over a newer term, answers an older one. */
  #isOfThisTerm(message: Message): boolean {
    const state = this.#state;
    const { type, term, from } = message;
    if (term > state.term) {
      if (type === 'Vote' || type === 'PreVote') {
        if (isProtectedByLease(state, message)) return false;
        if (type === 'PreVote') return true;
      }
      // The term of a granted pre-vote is one that was only asked for.
      if (type === 'PreVoteResp' && !message.reject) return true;
      const isFromLeader = type === 'Append' || type === 'Heartbeat' || type === 'Snapshot';
      becomeFollower(state, term, isFromLeader ? from : undefined);
      return true;
    }
    if (term === state.term) return true;
    // Else a node that ran ahead in terms while it was alone would stay stuck (ha.md 2.5 rule 6).
    if (type === 'Append' || type === 'Heartbeat') state.send('AppendResp', from, {});
    else if (type === 'PreVote') state.send('PreVoteResp', from, { reject: true });
    return false;
  }

  #stepOfTerm(message: Message): void {
    const state = this.#state;
    switch (message.type) {
      case 'Vote':
      case 'PreVote':
        onVoteRequest(state, message);
        return;
      case 'VoteResp':
      case 'PreVoteResp':
        onVoteResponse(state, message);
        return;
      case 'Append':
      case 'Heartbeat':
      case 'Snapshot':
        this.#stepFromLeader(message);
        return;
      case 'TimeoutNow':
        if (state.role === 'follower' && state.isPromotable) campaign(state, 'transfer');
        return;
      case 'ReadIndexResp':
        state.readStates.push({ context: message.context, index: message.index });
        return;
      default:
        if (state.role === 'leader') this.#stepLeader(message);
    }
  }

  #stepFromLeader(message: Message): void {
    const state = this.#state;
    assert(state.role !== 'leader', 'I6, I7: one leader in a term, who never cuts its own log');
    if (state.role !== 'follower') becomeFollower(state, message.term, message.from);
    // Without a leader it may have been about to campaign soon.
    if (state.leader === undefined) drawTimeout(state);
    state.follow(message.from);
    state.electionElapsed = 0;
    if (message.type === 'Append') onAppend(state, message);
    else if (message.type === 'Heartbeat') onHeartbeat(state, message);
    else onSnapshot(state, message);
  }

  #stepLeader(message: Message): void {
    const state = this.#state;
    switch (message.type) {
      case 'AppendResp':
        onAppendResp(state, message);
        return;
      case 'HeartbeatResp':
        onHeartbeatResp(state, message);
        return;
      case 'ReadIndex':
        this.#read(message.from, message.context);
        return;
      case 'Transfer':
        startTransfer(state, message.from);
        return;
      default:
    }
  }

  /**
   * Puts entries into the log of a leader, as one append.
   * @returns the index of the first one and their term, or why nothing was appended
   */
  propose(
    datas: readonly Uint8Array[],
  ): { readonly index: Index; readonly term: Term } | DropReason {
    const state = this.#state;
    const reason = this.#dropReason();
    if (reason !== undefined) return reason;
    if (state.uncommittedBytes >= state.limits.uncommittedBytesMax) return 'too-many-uncommitted';
    const index = appendOwn(state, 'normal', datas);
    broadcastAppend(state);
    return { index, term: state.term };
  }

  proposeConf(change: ConfChange): ConfProposal {
    const state = this.#state;
    const reason = this.#dropReason();
    if (reason !== undefined) return reason;
    if (state.pendingConfs.length > 0 || state.log.applied < state.confGate) return 'pending';
    const refused = refusalOf(state.conf, change);
    if (refused !== undefined) return { refused };
    state.confGate = appendOwn(state, 'conf', [encodeConfChange(change)]);
    assert(state.pendingConfs.length === 1, 'I10: one change of membership at a time');
    broadcastAppend(state);
    return 'ok';
  }

  #dropReason(): DropReason | undefined {
    const state = this.#state;
    if (state.role !== 'leader') return 'not-leader';
    if (state.isLogFailed) return 'log-failed';
    return state.isCaretaker || state.transferTo !== undefined ? 'transfer-pending' : undefined;
  }

  /** Answered by a `ReadState` with this context, or never: the caller has a deadline. */
  readIndex(context: number): void {
    const state = this.#state;
    if (state.role === 'leader') this.#read(state.self, context);
    else if (state.leader !== undefined) state.send('ReadIndex', state.leader, { context });
  }

  #read(from: PeerId, context: number): void {
    const state = this.#state;
    if (state.log.commit < state.noopIndex) state.reads.wait({ from, context });
    else recordRead(state, from, context);
  }

  /** On a leader; a follower asks its leader for the lead. */
  transferLeader(to: PeerId): void {
    const state = this.#state;
    if (state.role === 'leader') startTransfer(state, to);
    else if (to === state.self && state.leader !== undefined)
      state.send('Transfer', state.leader, {});
  }

  /** At once and without regard to the timer; for who alone has a vote. */
  campaign(): void {
    if (this.#state.role !== 'leader' && this.#state.isPromotable)
      campaign(this.#state, this.#state.limits.preVote ? 'pre-vote' : 'vote');
  }

  /** Its process has just started: the first campaign need not wait for a whole timeout. */
  begin(): void {
    begin(this.#state);
  }

  /** The process of the leader is known to be gone (ha.md 2.5 rule 11). */
  forgetLeader(): void {
    forgetLeader(this.#state);
  }

  /** With `tellsCommitLater`: a follower does not know how far everything is committed. */
  get isCommitUntold(): boolean {
    return isCommitUntold(this.#state);
  }

  /** Tells the followers now: no append that would do it has followed. */
  tellCommit(): void {
    if (this.#state.role === 'leader') tellCommit(this.#state);
  }

  reportUnreachable(id: PeerId): void {
    if (this.#state.role === 'leader') onUnreachable(this.#state, id);
  }

  reportSnapshot(id: PeerId, isInstalled: boolean): void {
    if (this.#state.role === 'leader') onSnapshotReport(this.#state, id, isInstalled);
  }

  /**
   * What stands for the log up to `index` from now on; the driver keeps it with its snapshot and drops those entries from the log
   * view (ha.md 2.13). Only what is applied can go.
   */
  compact(index: Index): Omit<SnapshotMeta, 'body'> | 'not-applied' | 'compacted' {
    const state = this.#state;
    if (index > state.log.applied) return 'not-applied';
    const term = state.log.term(index);
    const compacted = state.log.snapshotMeta()?.index ?? 0;
    if (typeof term !== 'number' || index < compacted) return 'compacted';
    return { index, term, ...state.compactConfs(index) };
  }

  /** Its storage id is named by the configuration (ha.md 8.2). */
  admit(): void {
    this.#state.admitted = true;
  }

  /** A failed log makes a follower that neither votes nor takes entries (ha.md 3.7). */
  setLogFailed(isFailed: boolean): void {
    const state = this.#state;
    state.isLogFailed = isFailed;
    if (isFailed && state.role !== 'follower') becomeFollower(state, state.term, undefined);
  }

  /** It cannot apply what comes next: from now on it stores and votes, and does not lead (ha.md 16 rule 3). */
  withdraw(): void {
    const state = this.#state;
    state.isWithdrawn = true;
    if (state.role !== 'follower') becomeFollower(state, state.term, undefined);
  }

  #onAppended({ term, index, logTerm, snapshot }: Message): void {
    const state = this.#state;
    if (snapshot !== undefined) state.log.snapshotInstalled(snapshot.index);
    // A claim of an earlier term may mean entries that were overwritten since (ha.md 2.3 rule 5).
    if (term === state.term && index > 0) state.log.durable(index, logTerm);
  }

  #onApplied({ index }: Message): void {
    this.#state.log.appliedTo(index);
  }

  hasReady(): boolean {
    const state = this.#state;
    const { log } = state;
    return (
      state.sends.length > 0 ||
      state.afterwards.length > 0 ||
      state.readStates.length > 0 ||
      state.reads.needsRound ||
      log.hasUnwritten() ||
      this.#isHardStateNew() ||
      this.#isSoftStateNew() ||
      log.hasCommitted(state.limits.applyBytesMax)
    );
  }

  /** What `Ready.load` asked for is in memory now. */
  loaded(): void {
    this.#state.log.isWaitingForLoad = false;
    if (this.#state.role === 'leader') broadcastAppend(this.#state);
  }

  /** What is to be done now, handed over for good. */
  ready(): Ready {
    const state = this.#state;
    if (state.role === 'leader' && state.reads.needsRound) {
      state.reads.sent += 1;
      state.heartbeatElapsed = 0;
      broadcastHeartbeat(state);
    }
    const append = this.#appendJob();
    const apply = this.#applyJob();
    const isSoftNew = this.#isSoftStateNew();
    this.#told = { role: state.role, leader: state.leader };
    for (const { type } of state.sends)
      assert(!waitsForDisk(type), 'I11: an answer waits for the disk it rests on');
    const load = state.wanted.size === 0 ? none : [...state.wanted].sort((a, b) => a - b);
    state.wanted.clear();
    return {
      send: state.sends.splice(0),
      append,
      apply,
      readStates: state.readStates.splice(0),
      soft: isSoftNew ? this.#told : undefined,
      load,
    };
  }

  #appendJob(): AppendJob | undefined {
    const state = this.#state;
    const { log } = state;
    const { entries, snapshot } = log.takeUnwritten();
    const isHardNew = this.#isHardStateNew();
    const isVoteNew = this.#written.term !== state.term || this.#written.vote !== state.vote;
    const afterwards = state.afterwards.splice(0);
    if (entries.length === 0 && snapshot === undefined && !isHardNew && afterwards.length === 0)
      return undefined;
    const hardState = { term: state.term, vote: state.vote, commit: log.commit };
    this.#written = hardState;
    // Also with a mere hard state while entries are on their way: an acknowledgement that was ignored comes again.
    if (entries.length > 0 || snapshot !== undefined || log.hasTail)
      afterwards.push(
        messageOf('StorageAppended', state.self, state.self, {
          term: state.term,
          index: log.hasTail ? log.lastIndex : 0,
          logTerm: log.hasTail ? log.lastTerm : 0,
          snapshot,
        }),
      );
    return {
      entries,
      hardState: isHardNew ? hardState : undefined,
      snapshot,
      mustSync: entries.length > 0 || isVoteNew || snapshot !== undefined,
      afterwards,
    };
  }

  #applyJob(): ApplyJob | undefined {
    const state = this.#state;
    const entries = state.log.takeCommitted(state.limits.applyBytesMax);
    if (entries === 'unavailable') {
      state.wanted.add(state.log.waitForLoad());
      return undefined;
    }
    const last = entries.at(-1);
    if (last === undefined) return undefined;
    const done = messageOf('StorageApplied', state.self, state.self, { index: last.index });
    return { entries, afterwards: [done] };
  }

  #isHardStateNew(): boolean {
    const { term, vote, commit } = this.#written;
    const state = this.#state;
    return term !== state.term || vote !== state.vote || commit !== state.log.commit;
  }

  #isSoftStateNew(): boolean {
    return this.#told.role !== this.#state.role || this.#told.leader !== this.#state.leader;
  }
}
