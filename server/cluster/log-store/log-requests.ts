import type { SnapshotMeta } from '#raft/message.ts';
import type { HardState, Index, PeerId, Term } from '#raft/vocabulary.ts';
import { type PackedEntries, packEntries, unpackEntries } from '../packed-entries.ts';
import type { Recovered } from './log-recovery.ts';
import type { Identity } from './raft-directory.ts';
import type { LogJob } from './segment-log.ts';

/** What the log worker is asked, and what it answers; requests are done in the order in which they come. */
export type LogRequest =
  | {
      readonly kind: 'open';
      readonly directory: string;
      readonly peerId: string;
      readonly segmentBytes: number;
      readonly newestBytesMax: number;
      /** `ha.raftPersistStorage` false: what is there goes first (ha.md 3.8). */
      readonly wipes: boolean;
      /** Damaged logs in a row that are set aside, to begin with none; 0, the default: a damaged log is refused (ha.md 3.5). */
      readonly reformatsMax?: number;
    }
  | { readonly kind: 'append'; readonly job: LogJob }
  | { readonly kind: 'read'; readonly low: Index; readonly high: Index; readonly bytesMax: number }
  | { readonly kind: 'compact'; readonly snapshot: SnapshotMeta; readonly purgeTo: Index }
  | { readonly kind: 'reset'; readonly snapshot: SnapshotMeta; readonly hardState: HardState }
  | { readonly kind: 'identity'; readonly identity: Identity }
  /** Nothing: its answer says that everything before is done. */
  | { readonly kind: 'barrier' }
  /** It has served well: logs that were set aside count no more. */
  | { readonly kind: 'healthy' }
  | { readonly kind: 'close' };

export interface OpenedLog extends Recovered {
  /** Why the log that was there is set aside. */
  readonly setAside?: string | undefined;
  readonly identity: Identity;
  readonly snapshot: SnapshotMeta | undefined;
}

/** On its way to the log worker. */
export type NumberedRequest =
  | PackedAppend
  | { readonly id: number; readonly request: Exclude<LogRequest, { kind: 'append' }> };

/** The common case, without the names of fields: those cost either side more than the rest of the message. */
export type PackedAppend = readonly [
  id: number,
  mustSync: boolean,
  hardState: readonly [Term, PeerId | null, Index] | undefined,
  first: Index,
  count: number,
  /** Of `packEntries`; undefined: no entries. */
  buffer: ArrayBuffer | undefined,
];

export function packAppend(id: number, { entries, hardState, mustSync }: LogJob): PackedAppend {
  const { first, count, buffer } =
    entries.length > 0 ? packEntries(entries) : { first: 0, count: 0, buffer: undefined };
  const state = hardState && ([hardState.term, hardState.vote, hardState.commit] as const);
  return [id, mustSync, state, first, count, buffer];
}

export function unpackAppend([, mustSync, state, first, count, buffer]: PackedAppend): LogJob {
  return {
    entries: buffer === undefined ? [] : unpackEntries({ first, count, buffer }),
    hardState: state && { term: state[0], vote: state[1], commit: state[2] },
    mustSync,
  };
}

/** Everything up to this request is done, and nothing more is to be said of it; then how long the disk took, each time it was asked. */
export type LogProgress = readonly [doneTo: number, ...flushMs: number[]];

export interface LogAnswer {
  readonly id: number;
  /** How long the disk took. */
  readonly flushMs?: number | undefined;
  readonly value?: OpenedLog | undefined;
  readonly entries?: PackedEntries | undefined;
  readonly error?: {
    readonly message: string;
    readonly code: string | undefined;
    /** The first entry that could not be written. */
    readonly index: Index | undefined;
  };
}
