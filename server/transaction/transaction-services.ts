import type { SchemaChange } from '#catalog/change/changes.ts';
import type { Clock, Timers } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import type { BucketId, Rid } from '#core/value/rid.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { BucketLocks } from './commit/bucket-locks.ts';
import type { ChangeObserver } from './commit/change-observer.ts';
import type { Committer } from './commit/committer.ts';
import type { PinnedState } from './read/statement-view.ts';
import type { DefaultEvaluator } from './transaction.ts';
import type { TriggerRunner } from './trigger/trigger-runner.ts';
import type { EdgeClaims } from './write/edge-claims.ts';
import type { WriteServices } from './write/record-writer.ts';

/** What transactions of one database have in common. */
export interface TransactionServices extends WriteServices {
  readonly committer: Committer;
  readonly formats: () => TemporalFormats;
  readonly evaluateDefault: DefaultEvaluator;
  readonly locks: BucketLocks;
  readonly edgeClaims: EdgeClaims;
  readonly timers: Pick<Timers, 'yield'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly changes: ChangeObserver | undefined;
  readonly runTrigger: TriggerRunner;
  /** See `Replicator.leadership`. */
  readonly leadership: (() => number) | undefined;
  /** Told, after each commit, in which buckets it changed records, and which. */
  readonly committed: ((buckets: Iterable<BucketId>, records: readonly Rid[]) => void) | undefined;
  /** The newest committed state with its schema; the caller closes the snapshot. @param isKept for longer than a statement */
  pin(isKept?: boolean): PinnedState;
  alter(change: SchemaChange, pause?: () => Promise<void>): Promise<readonly ValueMap[]>;
}
