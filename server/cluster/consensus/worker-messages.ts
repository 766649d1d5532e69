import type { MessagePort } from 'node:worker_threads';
import type { RaftLimits } from '#raft/options.ts';
import type { Index, PeerId } from '#raft/vocabulary.ts';
import type {
  ConsensusStatus,
  MembershipChange,
  MembershipChanged,
  Proposed,
  SnapshotOffer,
  Transferred,
} from '../consensus-port.ts';
import type { Build } from '../features.ts';
import type { PackedEntries } from '../packed-entries.ts';
import type { RaftTls } from '../transport/raft-tls.ts';

/**
 * What crosses the border between the main thread and the consensus worker, in lists (`outbox.ts`). Calls have a number, their answers
 * carry it.
 */
export type ToWorker =
  | {
      readonly kind: 'propose';
      readonly id: number;
      readonly epoch: number;
      /** Their indexes and terms are not known yet. */
      readonly batch: PackedEntries;
    }
  | { readonly kind: 'deliver'; readonly applied: Index }
  | { readonly kind: 'applied'; readonly index: Index }
  /** `isUnknown`: the entry is one of a newer build. */
  | { readonly kind: 'apply-failed'; readonly message: string; readonly isUnknown: boolean }
  | { readonly kind: 'read-index'; readonly id: number; readonly timeoutMs: number }
  | { readonly kind: 'compact'; readonly index: Index }
  | { readonly kind: 'offer'; readonly index: Index; readonly body: Uint8Array }
  | { readonly kind: 'installed'; readonly index: Index; readonly error: string | undefined }
  | {
      readonly kind: 'transfer';
      readonly id: number;
      readonly to: PeerId | undefined;
      readonly timeoutMs: number;
    }
  | {
      readonly kind: 'membership';
      readonly id: number;
      readonly change: MembershipChange;
      readonly timeoutMs: number;
    }
  | { readonly kind: 'close'; readonly id: number; readonly handOverMs: number }
  | { readonly kind: 'tls'; readonly tls: RaftTls }
  /** Those that entries have switched on. */
  | { readonly kind: 'features'; readonly active: readonly string[] }
  | { readonly kind: 'tune'; readonly live: LiveConsensusOptions }
  | { readonly kind: 'pong' };

export type Outcome = Proposed | Index | Transferred | MembershipChanged | 'closed' | 'timeout';

export type FromWorker =
  | { readonly kind: 'status'; readonly status: ConsensusStatus }
  | { readonly kind: 'answer'; readonly id: number; readonly outcome: Outcome }
  | { readonly kind: 'apply'; readonly entries: PackedEntries }
  | { readonly kind: 'install'; readonly offer: SnapshotOffer }
  | { readonly kind: 'log'; readonly level: 'info' | 'warn' | 'error'; readonly text: string }
  | { readonly kind: 'ping' }
  | { readonly kind: 'broken'; readonly message: string };

/** What nobody waits for takes at most so long to cross the border: the timer wakes a thread, also when all went along with others. */
export const outboxDelayMs = 50;

/** One entry of the server list, as far as consensus needs it. */
export interface DeclaredMember {
  readonly id: PeerId;
  /** `host:raftPort`. */
  readonly address: string;
  readonly name: string;
  readonly priority: number;
}

/** May change while consensus runs. */
export interface LiveConsensusOptions {
  readonly unreachableMs: number;
  /** How long a follower is unreachable before its channels are opened anew; 0: they stay. */
  readonly channelResetMs: number;
  /** Leadership moves when that did not help. */
  readonly escalates: boolean;
  /** Who is further behind does not get the lead. */
  readonly lagEntriesMax: number;
}

export interface ConsensusOptions extends LiveConsensusOptions {
  readonly self: PeerId;
  readonly declared: readonly DeclaredMember[];
  readonly clusterName: string;
  readonly build: Build;
  /** `serverRole=replica` never leads. */
  readonly canLead: boolean;
  readonly listenHost: string;
  readonly listenPort: number;
  /** Undefined: plain text. */
  readonly tls?: RaftTls | undefined;
  /** Undefined: every address may connect. */
  readonly allowlist?:
    | {
        readonly refreshMs: number;
        readonly graceMs: number;
        readonly stickyMs: number;
        readonly headless?: string | undefined;
      }
    | undefined;
  readonly directory: string;
  /** What is dialled in place of an address: for trials in which connections are cut. */
  readonly dialMap?: Readonly<Record<string, string>>;
  readonly limits: RaftLimits;
  readonly tickMs: number;
  readonly segmentBytes: number;
  readonly cacheBytesMax: number;
  readonly purgeGap: number;
  readonly messageBytesMax: number;
  readonly flowControlWindow: number;
  readonly persists: boolean;
  readonly bootstrapTimeoutMs: number;
  readonly startMode: 'auto' | 'bootstrap' | 'join';
  /** The word by which a person approves that this member goes on alone; empty: none. */
  readonly quorumRecovery: string;
  /** Declared members that are absent when a group forms are left out. */
  readonly formsWithoutAbsent: boolean;
  readonly joinsByItself: boolean;
  /** The log goes up to a checkpoint although a member that can be reached has not got all of it. */
  readonly purgesForAll?: boolean;
  /** Damaged logs in a row that are set aside, to join anew; 0: the start is refused (ha.md 3.5). */
  readonly reformatsMax?: number;
  readonly healthCheckMs: number;
  readonly restartsMax: number;
  /** Below this share of free space the log is compacted; 0: never. */
  readonly freePercMin: number;
}

export interface WorkerStart {
  readonly consensus: ConsensusOptions;
  /** To the log worker. */
  readonly logPort: MessagePort;
  /** Of `measuresOver`. */
  readonly measures?: SharedArrayBuffer;
}
