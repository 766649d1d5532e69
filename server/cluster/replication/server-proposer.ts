import type { Index } from '#raft/vocabulary.ts';
import type { EntryKindNumber } from './entry-codec.ts';

/** Puts entries that concern the server as a whole into the log. Only the leader can. */
export interface ServerProposer {
  /**
   * Resolves with its place when this server has carried it out (`ServerEntries.apply`).
   * @throws DatabaseError `NotLeader` and `QuorumNotReached`: nothing was committed; `OutcomeUnknown`; what `apply`
   *   rejected with
   */
  propose(kind: EntryKindNumber, body: Uint8Array): Promise<Index>;
  /** Entries of one database that change none of its records, such as a mark for `verify`. */
  proposeFor(database: string, kind: EntryKindNumber, body: Uint8Array): Promise<Index>;
}
