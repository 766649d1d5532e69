import type { IndexDefinition } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { LogIndex, Rid } from '#core/value/rid.ts';
import type { EntryCursor } from '#storage/engine.ts';
import type { IndexMemory } from './search-memory.ts';

/** An entry of a record that the transaction changed. */
export interface OwnEntry {
  readonly key: Uint8Array;
  readonly rid: Rid;
}

/** The reading side of an index for searches: entries as bytes, in one snapshot with a transaction's own changes beside it. */
export interface EntryReader {
  readonly definition: IndexDefinition;
  /** LSN of the snapshot. */
  readonly lsn: LogIndex;
  readonly memory: IndexMemory;
  /** Stored entries from `low` to before `high`; those of hidden records do not count. */
  stored(low: Uint8Array, high: Uint8Array): EntryCursor;
  /** Stored entries of the whole index; O(1). */
  readonly storedCount: number;
  /** Entries of the records that the transaction changed, sorted by key. */
  own(low: Uint8Array, high: Uint8Array): readonly OwnEntry[];
  /** True when the transaction changed anything. */
  readonly hasOwn: boolean;
  /** The transaction changed the record. */
  isHidden(rid: Rid): boolean;
  /** Undefined for one that is not of the type of the index, or of no more. */
  record(rid: Rid): StoredRecord | undefined;
  /** The record as it is in the snapshot, without the transaction's changes. */
  storedRecord(rid: Rid): StoredRecord | undefined;
}
