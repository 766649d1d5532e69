import type { PeerId } from '#raft/vocabulary.ts';
import type { MemberDatabase } from '../replication/server-entries.ts';
import type { LocalDatabaseState } from './fingerprint.ts';

/** A database that the cluster began with. */
export interface BaselineDatabase extends MemberDatabase {
  readonly fingerprint: string;
  readonly lastTxId: number;
}

/** What the cluster began with, and from whom. */
export interface Baseline {
  readonly source: PeerId;
  readonly databases: readonly BaselineDatabase[];
}

/**
 * `keep`: this copy goes on, no byte moves. `fetch`: it is fetched from the leader, and what is here is set aside. `refuse`: the
 * copy here is newer, and nothing of it may be lost.
 */
export type BaselineStep = 'keep' | 'fetch' | 'refuse';

/**
 * What a server does with its own copy (ha.md 8.4.6).
 * @param local undefined: it has none
 */
export function baselineStep(
  { fingerprint, lastTxId }: BaselineDatabase,
  {
    local,
    isSource,
  }: { readonly local: LocalDatabaseState | undefined; readonly isSource: boolean },
): BaselineStep {
  if (local === undefined) return 'fetch';
  if (isSource || local.fingerprint === fingerprint) return 'keep';
  return local.lastTxId <= lastTxId ? 'fetch' : 'refuse';
}

/** For the operator of a server whose copy is newer than what the cluster began with. */
export function divergedText({ name, lastTxId }: BaselineDatabase, localTxId: number): string {
  return `database '${name}' of this server has transaction ${localTxId}, the cluster began with ${lastTxId}: nothing here is touched, and the server does not serve. Move the database away, or form the cluster anew with this server among its first members`;
}
