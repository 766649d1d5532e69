/** The vocabulary of consensus (ha.md 2.1), shared by the core, the log, the transport and the main thread. */

/** `<host>_<raftPort>`: stable over changes of the IP address and of display names. */
export type PeerId = string;
/** Place in the log; 0 stands before the first entry. Below 2^53. */
export type Index = number;
export type Term = number;

export type EntryKind = 'normal' | 'conf' | 'noop';

export interface Entry {
  readonly index: Index;
  readonly term: Term;
  readonly kind: EntryKind;
  readonly data: Uint8Array;
}

export interface HardState {
  readonly term: Term;
  readonly vote: PeerId | null;
  /** Advisory: never a reason for a flush (ha.md 3.4 rule 5). */
  readonly commit: Index;
}

export interface Member {
  readonly id: PeerId;
  /** `host:raftPort`. */
  readonly address: string;
  readonly name?: string;
  readonly priority: number;
  readonly canLead: boolean;
  /** UUID of the raft directory: a member that lost its disk comes back with another one. */
  readonly storageId: string;
  readonly voter: boolean;
  /** As a learner it is promoted once it has caught up, by whoever leads then. */
  readonly isToVote?: true;
  /** Where its HTTP doors are, when it was said (ha.md 4.8); else peer host and the asker's own port. */
  readonly http?: number;
  readonly https?: number;
}

export interface ConfState {
  readonly voters: readonly Member[];
  /** The old voters while two sets decide together. */
  readonly votersOutgoing: readonly PeerId[];
  readonly learners: readonly Member[];
  readonly learnersNext: readonly PeerId[];
  readonly autoLeave: boolean;
  /** Who was taken out by others, the latest last: they lose access until they are added again (ha.md 14.3 rule 5). */
  readonly removed?: readonly RemovedMember[];
}

/** A configuration, and the index of the entry that made it; 0: the first one. */
export interface ConfAt {
  readonly conf: ConfState;
  readonly confIndex: Index;
}

export interface RemovedMember {
  readonly id: PeerId;
  readonly storageId: string;
  /** Epoch milliseconds, by the clock of the leader. */
  readonly atMs: number;
}

export type RaftRole = 'follower' | 'preCandidate' | 'candidate' | 'leader';

/** Why a proposal did not get into the log: nothing of it was appended. */
export type DropReason =
  | 'not-leader'
  | 'transfer-pending'
  | 'too-many-uncommitted'
  | 'log-failed'
  | 'stale-epoch';
