import type { ConsensusMeasures } from './consensus/measures.ts';
import type {
  ConfState,
  DropReason,
  Entry,
  Index,
  Member,
  PeerId,
  RaftRole,
  Term,
} from '#raft/vocabulary.ts';

/**
 * The main thread's end of consensus (ha.md 1.3): it proposes entries, gets committed ones in order, and asks for reads and
 * changes of membership. The implementation talks to the consensus worker through a `MessagePort`; tests use one in the same
 * thread.
 */
export interface ConsensusPort {
  readonly self: PeerId;
  /** What is measured in the thread of consensus. */
  readonly measures?: ConsensusMeasures | undefined;
  /** The newest published state; never waits. */
  status(): ConsensusStatus;
  /** Called after each change of role, term, leader, readiness, membership or state of the log; returns the way to stop. */
  onStatus(listener: (status: ConsensusStatus) => void): () => void;
  /**
   * Proposes a batch as one append; each element becomes one entry. Batches may be on their way together: they are appended in
   * the order of the calls. A refusal ends the epoch: every batch of the same epoch behind it is refused too (ha.md 5.5 rule 4).
   * An epoch belongs to one term, `termOfEpoch`: in every other term it is refused, since what was validated under one
   * leadership must not be appended under a later one.
   */
  propose(batch: readonly Uint8Array[], epoch: number): Promise<Proposed>;
  /**
   * Begins to deliver committed entries behind `applied`, in order and without a gap. The next ones come when the promise
   * resolves, which tells the core that they are applied. A rejection stops delivery: the node reports `EXCEPTION`.
   */
  deliver(applied: Index, apply: (entries: readonly Entry[]) => Promise<void>): void;
  /**
   * An index so that whoever has applied it sees every write acknowledged before the call (ha.md 2.8).
   * @throws DatabaseError `QuorumNotReached` after `timeoutMs`
   */
  readIndex(timeoutMs: number): Promise<Index>;
  /** Everything up to `index` is durable in the databases: the log may go (ha.md 3.6). */
  compactTo(index: Index): void;
  /** What the leader sends to a follower that is behind its log; renewed with each checkpoint. `body` is opaque to consensus. */
  offerSnapshot(index: Index, body: Uint8Array): void;
  /** A follower gets the leader's offer: it installs the databases and resolves, or rejects, and is asked again later. */
  onSnapshot(install: (offer: SnapshotOffer) => Promise<void>): void;
  /** @param to undefined: the best eligible peer (ha.md 2.10 rule 6) */
  transferLeadership(to: PeerId | undefined, timeoutMs: number): Promise<Transferred>;
  /** May be called on every member: a follower passes it on to the leader. */
  changeMembership(change: MembershipChange, timeoutMs: number): Promise<MembershipChanged>;
  /** Hands leadership over if it can, writes the hard state and ends the threads. */
  close(handOverMs: number): Promise<void>;
}

const epochsPerTerm = 2 ** 20;

/** The n-th epoch of a term; terms stay below 2^33. */
export function epochOf(term: Term, n: number): number {
  return term * epochsPerTerm + n;
}

export function termOfEpoch(epoch: number): Term {
  return Math.floor(epoch / epochsPerTerm);
}

/** What is delivered now is applied by the next start: the server stops, and consensus goes on until it is closed. */
export class DeliveryEnded extends Error {
  constructor() {
    super('the server stops');
  }
}

export type Proposed =
  | { readonly kind: 'accepted'; readonly firstIndex: Index; readonly term: Term }
  | { readonly kind: 'refused'; readonly reason: DropReason };

export interface SnapshotOffer {
  readonly index: Index;
  readonly term: Term;
  readonly from: PeerId;
  readonly body: Uint8Array;
}

export type Transferred =
  | { readonly kind: 'transferred'; readonly leader: PeerId }
  | {
      readonly kind: 'refused';
      readonly reason: 'not-leader' | 'unknown-peer' | 'not-eligible' | 'no-eligible-peer';
    }
  | { readonly kind: 'timeout' };

export type MembershipChange =
  | { readonly kind: 'add'; readonly member: Member; readonly expectedIndex?: Index | undefined }
  | {
      readonly kind: 'promote';
      readonly ids: readonly PeerId[];
      readonly expectedIndex?: Index | undefined;
    }
  | {
      readonly kind: 'remove';
      readonly id: PeerId;
      readonly force: boolean;
      /** It goes of its own accord, and may come back by itself. */
      readonly isLeaving?: boolean;
      readonly expectedIndex?: Index | undefined;
    }
  | { readonly kind: 'replace'; readonly member: Member };

export type MembershipChanged =
  | { readonly kind: 'done'; readonly configurationIndex: Index; readonly isVoter: boolean }
  | {
      readonly kind: 'refused';
      readonly reason:
        | 'guard'
        | 'pending'
        | 'index-mismatch'
        | 'lagging'
        | 'unknown-peer'
        | 'lacks-feature';
      readonly detail: string;
    }
  /** Without `mayBeDone` nothing has changed. */
  | { readonly kind: 'no-leader'; readonly mayBeDone?: boolean };

export type RaftState = 'STARTING' | 'RUNNING' | 'PAUSED' | 'CLOSING' | 'CLOSED' | 'EXCEPTION';
export type LogState = 'OK' | 'PRESSURE' | 'FAILED' | 'GAVE_UP';

export interface ConsensusStatus {
  readonly raftState: RaftState;
  readonly logState: LogState;
  readonly clusterId: string | undefined;
  /** Groups whose log goes on in this one (`sole-survivor.ts`); absent: none. */
  readonly earlierClusterIds?: readonly string[] | undefined;
  readonly storageId: string;
  readonly admitted: boolean;
  readonly role: RaftRole;
  readonly term: Term;
  readonly leader: PeerId | undefined;
  /** Its no-op is committed and applied: it validates and serves (ha.md 2.5 rule 9). */
  readonly leaderReady: boolean;
  readonly commitIndex: Index;
  readonly appliedIndex: Index;
  readonly firstIndex: Index;
  readonly lastIndex: Index;
  /** Of the entry there. */
  readonly lastTerm: Term;
  readonly configuration: ConfState;
  readonly configurationIndex: Index;
  readonly electionCount: number;
  /** Milliseconds since the epoch; 0: none yet. */
  readonly lastElectionMs: number;
  /** There is no leader, and every voter is pinned as a replica; absent in doubles of tests. */
  readonly isNobodyAllowed?: boolean;
  /** Counted since the start; absent in doubles of tests. */
  readonly counts?: ConsensusCounts;
  /** On the leader, for the other members. */
  readonly progress: readonly PeerProgress[];
}

export interface ConsensusCounts {
  readonly leaderChanges: number;
  /** Of this server, by reason. */
  readonly stepDowns: Readonly<Record<string, number>>;
  /** Of own entries that are not committed yet. */
  readonly uncommittedBytes: number;
  /** Of the volume of the log, as it was last weighed. */
  readonly logFreeBytes: number;
}

export interface PeerProgress {
  readonly id: PeerId;
  readonly match: Index;
  readonly next: Index;
  readonly state: 'probe' | 'replicate' | 'snapshot';
  /** Milliseconds since its last answer; undefined: never. */
  readonly lastContactMs: number | undefined;
  readonly isReachable: boolean;
  /** Why its channel is not opened anew any more (ha.md 10.4); an operator is needed. */
  readonly gaveUp?: string | undefined;
  readonly roundTripMs: number | undefined;
  /** Of the last hundred or so. */
  readonly roundTripP99Ms?: number | undefined;
  /** Of entries, since this server started. */
  readonly appendBytes?: number;
  /** Answers that refused an append. */
  readonly appendRejections?: number;
}
