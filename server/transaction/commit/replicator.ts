import type { BulkWriter } from '#storage/bulk/writer.ts';
import type { LogIndex } from '#core/value/rid.ts';
import type { Guards } from './guards.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';

/**
 * Port: gives entries their place in the log, makes them durable and applies them, in one order (architecture.md 4, ha.md 5.5).
 * `LocalReplicator` does it for a single server; a cluster puts the Raft log behind the same calls.
 */
export interface Replicator {
  role(): 'single' | 'leader' | 'follower' | 'candidate';
  /**
   * Which leadership this server holds: what was made under one cannot be committed under another. Absent: a single server.
   * @throws DatabaseError `NotLeader`, which names the leader; `QuorumNotReached` while there is none
   */
  readonly leadership?: () => number;
  /** What one entry may take; absent: anything. */
  readonly entryBytesMax?: number;
  /** False while the queue is at one of its bounds. */
  hasRoom(): boolean;
  /** Resolves when there is room again. */
  room(): Promise<void>;
  /**
   * Resolves with the LSN when the entry is durable and visible to snapshots. Entries take effect in the order of the calls.
   * @throws DatabaseError (rejects) when it is certain that nothing was committed; any other error leaves the state in doubt, and `UnknownOutcome` tells
   *   when it is not any more
   */
  replicate(entry: ProposedEntry): Promise<LogIndex>;
}

/** What goes into the log. */
export interface ProposedEntry {
  readonly operations: readonly RowOperation[];
  /** What must hold for them; absent: they were made while nothing else was in flight. */
  readonly guards?: Guards;
  /** Under which leadership it was made (`Replicator.leadership`); absent: under that of now. */
  readonly leadership?: number | undefined;
  /** A bulk load is written by its own writer, at its place in the order; `operations` then holds values of `meta` only. */
  readonly bulk?: BulkWriter;
  readonly bytes: number;
  /** Called with the LSN as soon as the entry has its place, before it is durable. */
  placed(index: LogIndex): void;
}
