import type { BulkWriter } from '#storage/bulk/writer.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';

/**
 * Port: gives entries their place in the log, makes them durable and applies them, in one order (architecture.md 4, ha.md 5.5).
 * `LocalReplicator` does it for a single server; a cluster puts the Raft log behind the same calls.
 */
export interface Replicator {
  role(): 'single' | 'leader' | 'follower' | 'candidate';
  /** False while the queue is at one of its bounds. */
  hasRoom(): boolean;
  /** Resolves when there is room again. */
  room(): Promise<void>;
  /**
   * Resolves with the LSN when the entry is durable and visible to snapshots. Entries take effect in the order of the calls.
   * @throws DatabaseError (rejects) when it is certain that nothing was committed; any other error leaves the state in doubt
   */
  replicate(entry: ProposedEntry): Promise<LogIndex>;
}

/** What goes into the log. */
export interface ProposedEntry {
  readonly operations: readonly RowOperation[];
  /** A bulk load is written by its own writer, at its place in the order; `operations` then holds values of `meta` only. */
  readonly bulk?: BulkWriter;
  readonly bytes: number;
  /** Called with the LSN as soon as the entry has its place, before it is durable. */
  placed(index: LogIndex): void;
}
