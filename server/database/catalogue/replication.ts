import type { LogEntry, StorageEngine } from '#storage/engine.ts';
import type { Replicator } from '#transaction/commit/replicator.ts';

/** The cluster, as databases that are being opened see it; absent with HA off. */
export interface Replication {
  /** Whether its entries stand in the log, so that it needs none of its own. */
  isMember(name: string): boolean;
  /** Undefined: no member of the log, so this server alone writes it (while a restore is staged). */
  join(name: string, engine: StorageEngine): ReplicatedLog | undefined;
}

/** The log of one database. */
export interface ReplicatedLog {
  readonly replicator: Replicator;
  /** From now on entries are applied. */
  opened(database: FollowingDatabase): void;
  /** No entry is applied any more when this resolves. */
  closing(): Promise<void>;
  /** @throws DatabaseError `DatabaseInstalling` while this copy differs from the others */
  requireSound(): void;
}

/** What an open database does about entries that it may not have written itself. */
export interface FollowingDatabase {
  /** An entry is about to be applied; one with a schema alone. */
  applying(entry: LogEntry): Promise<void> | undefined;
  /** It is visible, or was refused. */
  applied(entry: LogEntry, isApplied: boolean): void;
  /** This server leads and has applied all that came before: from here on it may write. */
  lead(): void;
  /** It does not lead any more. */
  follow(): void;
}
