import type { Index } from '#raft/vocabulary.ts';
import type { EntryKindNumber } from './entry-codec.ts';

/** A database that is a member of the log. */
export interface MemberDatabase {
  readonly uuid: string;
  readonly name: string;
  /** LSN of the database = index in the Raft log + offset; fixed when it joined. */
  readonly offset: number;
}

/**
 * What the apply loop needs of the room `catalog`, which carries out the entries that concern the server as a whole and
 * knows which databases the log holds. Everything below `apply(index)` is applied in all databases when it is called, and
 * nothing above begins before it has resolved.
 */
export interface ServerEntries {
  /**
   * Carries out an entry, durably with its index: what is at or below `applied()` is skipped.
   * A rejection stops the apply of the whole server, since nothing of this may be skipped.
   */
  apply(index: Index, kind: EntryKindNumber, body: Uint8Array, wallTimeMs: number): Promise<void>;
  /** The newest entry that was carried out. */
  applied(): Index;
  /** Undefined: dropped, or never known; its entries are passed over. */
  member(uuid: string): MemberDatabase | undefined;
  /** Undefined: the database is local to this server, as while it is staged. */
  memberNamed(name: string): MemberDatabase | undefined;
  members(): readonly MemberDatabase[];
  /** Everything up to it is durable in every database and here (ha.md 5.8); replay begins behind it. */
  checkpointed(): Index;
  /** Remembers that, durably. */
  checkpoint(index: Index): Promise<void>;
}
