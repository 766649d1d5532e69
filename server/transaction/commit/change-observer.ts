import type { LogIndex } from '#core/value/rid.ts';
import type { RecordChange } from '../transaction.ts';

/** Who wants to know what transactions have committed (house decision 56). */
export interface ChangeObserver {
  /** False: transactions remember nothing for it. */
  readonly isWatched: boolean;
  /** Called after each commit, in commit order; must not take time and must not throw. */
  committed(changes: readonly RecordChange[], index: LogIndex): void;
}
