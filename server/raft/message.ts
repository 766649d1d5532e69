import type { ConfState, Entry, Index, PeerId, Term } from './vocabulary.ts';

/** What members say to each other (ha.md 2.15), and, below, what a node hears from its own disk and driver. */
export type MessageType =
  | 'PreVote'
  | 'PreVoteResp'
  | 'Vote'
  | 'VoteResp'
  | 'Append'
  | 'AppendResp'
  | 'Heartbeat'
  | 'HeartbeatResp'
  | 'Snapshot'
  | 'TimeoutNow'
  | 'ReadIndex'
  | 'ReadIndexResp'
  | 'Transfer'
  | 'StorageAppended'
  | 'StorageApplied';

/** Why a follower cannot follow, told with its append responses. */
export type Condition = 'none' | 'log-failed' | 'needs-snapshot' | 'not-admitted';

/** One shape for all types, as on the wire (ha.md 4.1): what a type does not use is 0, empty or absent. */
export interface Message {
  readonly type: MessageType;
  readonly from: PeerId;
  readonly to: PeerId;
  readonly term: Term;
  /** Append: the entry before the first one sent. Vote: the last entry. Responses: the last entry covered. */
  readonly index: Index;
  readonly logTerm: Term;
  readonly commit: Index;
  readonly reject: boolean;
  readonly rejectHint: Index;
  readonly hintTerm: Term;
  readonly entries: readonly Entry[];
  /** Heartbeats: the round of reads they confirm. ReadIndex: the number of the request at the follower. Appends, snapshots and their answers: `Progress.attempt`. */
  readonly context: number;
  /** Part of a commanded transfer: overrides the lease rule. */
  readonly transfer: boolean;
  readonly emptyLog: boolean;
  readonly condition: Condition;
  readonly snapshot: SnapshotMeta | undefined;
}

/** Metadata only: the data goes over HTTP (ha.md 9.2). */
export interface SnapshotMeta {
  readonly index: Index;
  readonly term: Term;
  /** As of `index`. */
  readonly conf: ConfState;
  /** Of the entry that made `conf`; 0: it is the first one. */
  readonly confIndex: Index;
  /** Opaque to consensus: databases and where to get them. */
  readonly body: Uint8Array;
}

export type MessageFields = Partial<Omit<Message, 'type' | 'from' | 'to'>>;

const nothing: MessageFields = {};
const noEntries: readonly Entry[] = [];

/**
 * Field by field: copies of several objects into one cost several times as much, and messages are made with every append.
 * @param term when the fields name none
 */
export function messageOf(
  type: MessageType,
  from: PeerId,
  to: PeerId,
  fields: MessageFields = nothing,
  term: Term = 0,
): Message {
  return {
    term: fields.term ?? term,
    index: fields.index ?? 0,
    logTerm: fields.logTerm ?? 0,
    commit: fields.commit ?? 0,
    reject: fields.reject ?? false,
    rejectHint: fields.rejectHint ?? 0,
    hintTerm: fields.hintTerm ?? 0,
    entries: fields.entries ?? noEntries,
    context: fields.context ?? 0,
    transfer: fields.transfer ?? false,
    emptyLog: fields.emptyLog ?? false,
    condition: fields.condition ?? 'none',
    snapshot: fields.snapshot,
    type,
    from,
    to,
  };
}

/** These are answers that rest on what the disk has: they wait for it (ha.md 2.3 rule 3). */
export function waitsForDisk(type: MessageType): boolean {
  return type === 'VoteResp' || type === 'PreVoteResp' || type === 'AppendResp';
}
