import type { EventNote } from '../decision.ts';
import type { BackupObject, BackupSpec, BackupStatus } from './backup.ts';

/** An archive as a member lists it. */
export interface Archive {
  readonly fileName: string;
  readonly bytes: number | undefined;
  /** The moment whose content it holds, by the clock of the member. */
  readonly takenAtMs: number;
}

/**
 * A call to a member that takes as long as it takes, as far as this process knows; after a restart it knows nothing.
 * `busy`: the member does the same for somebody else. `unknown`: no answer came, so it may or may not have happened.
 */
export type CallState =
  | { readonly state: 'running' }
  | { readonly state: 'done'; readonly result: string }
  | {
      readonly state: 'busy' | 'unknown' | 'refused';
      readonly message: string;
      readonly atMs: number;
    };

/** A Job that moves an archive, as far as it is seen. */
export type JobState =
  | { readonly state: 'absent' }
  | { readonly state: 'running'; readonly problem: string | undefined }
  /** Undefined: its pod is gone and took the result along. */
  | { readonly state: 'succeeded'; readonly result: StreamResult | undefined }
  | { readonly state: 'failed'; readonly message: string };

/** What the command in a Job said of what it did. */
export interface StreamResult {
  readonly member?: string;
  readonly bytes?: number;
  readonly sha256?: string;
  readonly commitIndex?: number;
}

/** The Cluster that an object speaks of. */
export interface ClusterView {
  readonly isDeleted: boolean;
  /** A leader is there and writes work. */
  readonly isAvailable: boolean;
  readonly leader: string | undefined;
  /** Names of its pods. */
  readonly members: readonly string[];
  /** It has a schedule of its own for the same archives. */
  readonly hasSchedule: boolean;
}

/** What a decision about one Backup is made from. */
export interface BackupView {
  readonly backup: BackupObject;
  readonly spec: BackupSpec | undefined;
  readonly problem: string | undefined;
  /** Undefined: there is none of that name. */
  readonly cluster: ClusterView | undefined;
  /** The member that makes the archives: the one recorded, or else the leader. */
  readonly member: string | undefined;
  readonly isAnswering: boolean;
  /** Known before it begins. */
  readonly databases: readonly string[] | undefined;
  /** Of the database whose archive was begun. */
  readonly archives: readonly Archive[] | undefined;
  readonly call: CallState | undefined;
  /** Method Stream: the Job of what was begun. Undefined: nothing was, or Jobs may not be read. */
  readonly job: JobState | undefined;
  /** Method Stream: what keeps its Jobs from running, known before. */
  readonly obstacle: string | undefined;
}

export type BackupAction =
  | { readonly kind: 'begin'; readonly member: string; readonly database: string }
  | { readonly kind: 'delete-archives'; readonly member: string }
  /** Makes the Job that keeps the archive of the database. */
  | { readonly kind: 'stream'; readonly database: string }
  /** Takes a Job away whose result is lost. */
  | { readonly kind: 'drop-job' }
  /** Makes the Job that deletes what was kept. */
  | { readonly kind: 'delete-streamed' }
  | { readonly kind: 'set-finalizer'; readonly isPresent: boolean };

export interface BackupDecision {
  readonly status: BackupStatus;
  readonly action?: BackupAction;
  readonly events: readonly EventNote[];
  readonly againAfterMs: number | undefined;
}
