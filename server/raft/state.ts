import { assert } from '#core/assert.ts';
import { RaftLog } from './log.ts';
import { changed, type ConfChange, decodeConfChange, isJoint, membersOf } from './membership.ts';
import {
  type Message,
  type MessageFields,
  messageOf,
  type MessageType,
  waitsForDisk,
} from './message.ts';
import type { RaftOptions } from './options.ts';
import { Progress } from './progress.ts';
import { voterSets } from './quorum.ts';
import { ReadRounds } from './read-index.ts';
import type { ReadState } from './ready.ts';
import type {
  ConfAt,
  ConfState,
  Entry,
  Index,
  Member,
  PeerId,
  RaftRole,
  Term,
} from './vocabulary.ts';

export interface PendingConf {
  readonly index: Index;
  readonly term: Term;
  readonly change: ConfChange;
}

/** A member that may not lead waits for so many of the longest election timeouts before it does, to hand over what it alone has. */
const lastResortTimeouts = 2;

/** What a node knows; the files beside this one say how it changes. */
export class RaftState {
  readonly options: RaftOptions;
  readonly self: PeerId;
  readonly log: RaftLog;
  term: Term;
  vote: PeerId | null;
  role: RaftRole = 'follower';
  leader: PeerId | undefined;
  /** Who leads or led in this term, also after `leader` was forgotten. */
  leaderOfTerm: PeerId | undefined;
  conf: ConfState;
  /** Index of the entry that made the configuration. */
  confIndex: Index;
  voterSets: readonly (readonly PeerId[])[] = [];
  /** Changes in the log that are not committed; more than one only after a change of leaders. */
  pendingConfs: PendingConf[];
  /** Configurations since the log begins, oldest first: a snapshot carries the one of its index (ha.md 2.13). */
  confHistory: { readonly index: Index; readonly conf: ConfState }[];
  /** A new leader assumes that a change may be pending up to here (ha.md 2.12 rule 1). */
  confGate: Index = 0;
  admitted: boolean;
  /** The log takes no entries: a follower that does not campaign. Its votes go out when they are durable, as ever. */
  isLogFailed = false;
  /** It cannot apply what is committed: it stores and votes, and does not lead (ha.md 16 rule 3). */
  isWithdrawn = false;

  /** Ticks since the leader was heard, or, on a leader, since the last look at the quorum. */
  electionElapsed = 0;
  heartbeatElapsed = 0;
  timeoutTicks = 0;
  /** It lost a leader and has not campaigned since: priorities weigh in once (ha.md 2.11 rule 2). */
  isFirstAttempt = true;
  /** Ticks since a leader was heard. */
  silentTicks = 0;
  /** Since then it has refused a member that may lead, and lacks what is here. */
  hasRefusedOlder = false;
  /** Campaigns that may follow a refused one soon: the process of the leader is known to be gone, or this one has just started. */
  quickAttempts = 0;

  readonly votes = new Map<PeerId, boolean>();
  /** By which it was elected last. */
  votesWon = 0;
  progress = new Map<PeerId, Progress>();
  reads = new ReadRounds();
  transferTo: PeerId | undefined;
  /** A leader that may not lead: it gives the lead to a member that may, as soon as that has everything. */
  isCaretaker = false;
  /** The leader's first entry. */
  noopIndex: Index = 0;
  /** A leader that the configuration does not name any more tells the commit index, then goes. */
  isLeaving = false;
  uncommitted: { readonly index: Index; readonly bytes: number }[] = [];
  uncommittedBytes = 0;

  readonly sends: Message[] = [];
  readonly afterwards: Message[] = [];
  readonly readStates: ReadState[] = [];
  readonly wanted = new Set<Index>();

  constructor(options: RaftOptions) {
    const { self, log, hardState, conf, confIndex, applied, admitted } = options;
    this.options = options;
    this.self = self;
    this.log = new RaftLog(log, hardState.commit, applied);
    this.term = hardState.term;
    this.vote = hardState.vote;
    this.conf = conf;
    this.confIndex = confIndex;
    this.voterSets = voterSets(conf);
    this.admitted = admitted;
    this.pendingConfs = [];
    this.confHistory = [{ index: confIndex, conf }];
    for (const entry of options.confEntries) if (entry.index > confIndex) this.noteConf(entry);
    this.takeCommittedConfs();
  }

  get limits() {
    return this.options.limits;
  }

  get isVoter(): boolean {
    return this.voterSets.some((ids) => ids.includes(this.self));
  }

  /** Nothing but a wish keeps it from leading. */
  get #isAble(): boolean {
    if (!this.isVoter || !this.admitted || this.isLogFailed || this.log.isRestoring) return false;
    return !this.isWithdrawn;
  }

  /** By its own settings, or as the configuration says. */
  get mayLead(): boolean {
    return this.options.canLead ?? membersOf(this.conf).get(this.self)?.canLead !== false;
  }

  /** It may time out into a campaign. */
  get isPromotable(): boolean {
    return this.#isAble && this.mayLead;
  }

  /** Without it nobody can be elected: it has what those lack that may lead, and has waited long for one that does not. */
  get isLastResort(): boolean {
    const { electionTicksMax } = this.limits;
    return (
      this.#isAble &&
      this.hasRefusedOlder &&
      this.silentTicks >= lastResortTimeouts * electionTicksMax
    );
  }

  /** Its no-op is committed and applied (ha.md 2.5 rule 9). */
  get isLeaderReady(): boolean {
    if (this.role !== 'leader' || this.isCaretaker) return false;
    return this.noopIndex > 0 && this.log.applied >= this.noopIndex;
  }

  peers(): readonly PeerId[] {
    return [...membersOf(this.conf).keys()].filter((id) => id !== this.self);
  }

  /** Now, or once the disk has what it rests on. */
  send(type: MessageType, to: PeerId, fields: MessageFields): void {
    const message = messageOf(type, this.self, to, fields, this.term);
    if (waitsForDisk(type)) this.afterwards.push(message);
    else this.sends.push(message);
  }

  noteConf(entry: Entry): void {
    if (entry.kind !== 'conf') return;
    const { index, term } = entry;
    this.pendingConfs.push({ index, term, change: decodeConfChange(entry.data) });
  }

  /** @returns whether the configuration is another one now */
  takeCommittedConfs(): boolean {
    let isChanged = false;
    for (
      let pending = this.pendingConfs[0];
      pending !== undefined;
      pending = this.pendingConfs[0]
    ) {
      if (pending.index > this.log.commit) break;
      this.pendingConfs.shift();
      assert(
        isJoint(this.conf) === (pending.change.kind === 'leave'),
        'I10: a joint configuration is entered and left by turns',
      );
      this.conf = changed(this.conf, pending.change);
      this.confIndex = pending.index;
      this.confHistory.push({ index: this.confIndex, conf: this.conf });
      this.voterSets = voterSets(this.conf);
      isChanged = true;
    }
    return isChanged;
  }

  /** The log behind a snapshot begins with its configuration; what the disk holds meanwhile tells of those before. */
  restoreConf(index: Index, conf: ConfState): void {
    this.conf = conf;
    this.confIndex = index;
    if (this.confHistory.at(-1)?.index !== index) this.confHistory.push({ index, conf });
    this.voterSets = voterSets(conf);
    this.pendingConfs = [];
  }

  /** Undefined: it is forgotten. */
  confAt(index: Index): ConfAt | undefined {
    const known = this.confHistory.findLast((each) => each.index <= index);
    return known && { conf: known.conf, confIndex: known.index };
  }

  /** As of an index that the log still tells of; what was before it is forgotten. */
  compactConfs(index: Index): ConfAt {
    const at = this.confHistory.findLastIndex((known) => known.index <= index);
    assert(at >= 0, 'the configuration at every index of the log is known');
    this.confHistory.splice(0, at);
    const [known] = this.confHistory;
    return { conf: known?.conf ?? this.conf, confIndex: known?.index ?? this.confIndex };
  }

  /** I7 over all that is heard in a term. */
  follow(leader: PeerId): void {
    assert(
      this.leaderOfTerm === undefined || this.leaderOfTerm === leader,
      'I7: one leader in a term',
    );
    this.leaderOfTerm = leader;
    this.leader = leader;
    this.quickAttempts = 0;
    this.silentTicks = 0;
    this.hasRefusedOlder = false;
  }

  newProgress(member: Member | undefined): Progress {
    const { windowMessagesMax: messagesMax, windowBytesMax: bytesMax } = this.limits;
    const next = this.log.lastIndex + 1;
    return new Progress(next, member?.storageId ?? '', { messagesMax, bytesMax });
  }

  setTerm(term: Term, vote: PeerId | null): void {
    assert(term >= this.term, 'I1: the term never decreases');
    assert(
      term > this.term || this.vote === null || this.vote === vote,
      'I1: a vote changes only with the term',
    );
    if (term > this.term) this.leaderOfTerm = undefined;
    this.term = term;
    this.vote = vote;
  }
}
