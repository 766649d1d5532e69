import type { Message, SnapshotMeta } from './message.ts';
import type { Entry, HardState, Index, PeerId, RaftRole } from './vocabulary.ts';

/** What the driver does next (ha.md 2.3). Jobs of one kind are done in order; the two kinds do not wait for each other. */
export interface Ready {
  /** Goes out now, before anything of this batch is durable. */
  readonly send: readonly Message[];
  readonly append: AppendJob | undefined;
  readonly apply: ApplyJob | undefined;
  readonly readStates: readonly ReadState[];
  /** When it changed. */
  readonly soft: SoftState | undefined;
  /** Entries that a follower or the state machine needs and that are not in memory: load from here on, then call `loaded`. */
  readonly load: readonly Index[];
}

export interface AppendJob {
  readonly entries: readonly Entry[];
  readonly hardState: HardState | undefined;
  /** The databases are to be installed before anything of this job counts as durable. */
  readonly snapshot: SnapshotMeta | undefined;
  readonly mustSync: boolean;
  /** To peers, or back into `step`, once it is durable. */
  readonly afterwards: readonly Message[];
}

export interface ApplyJob {
  readonly entries: readonly Entry[];
  readonly afterwards: readonly Message[];
}

export interface ReadState {
  readonly context: number;
  readonly index: Index;
}

export interface SoftState {
  readonly role: RaftRole;
  readonly leader: PeerId | undefined;
}
