import type { Catalog } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, IndexId, LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { EntryReader } from '#index/entry-reader.ts';
import type { AdjacencyList, Direction, StorageSnapshot } from '#storage/engine.ts';
import type { ListWindow } from '#storage/read/list-memory.ts';

/** What a statement reads: one snapshot, with a transaction's own uncommitted writes laid over it. All calls are synchronous. */
export interface ReadView extends Disposable {
  readonly catalog: Catalog;
  readonly snapshot: StorageSnapshot;
  /** LSN of the snapshot. */
  readonly snapshotIndex: LogIndex;
  record(rid: Rid): StoredRecord | undefined;
  /** All records of the bucket by position: the order of record ids. */
  scan(bucket: BucketId, order: 'ascending' | 'descending', fromPosition?: number): RecordCursor;
  /** The stored records of the bucket by position, as this transaction has changed them, without those it created. */
  scanStored(bucket: BucketId): RecordCursor;
  /** What this transaction has created so far; undefined when that is nothing. */
  readonly created: CreatedRecords | undefined;
  /** True when this transaction changed records of the bucket, new ones too, so that block-level scans must go through `scan`. */
  isChanged(bucket: BucketId): boolean;
  /** True when it changed stored records of the bucket: block-level scans of these must go through `scanStored`. */
  hasChangedRows(bucket: BucketId): boolean;
  recordCount(bucket: BucketId): number;
  /**
   * Asked before a result tells how many records a bucket has, since nothing else of them is read; absent: anybody may know.
   * @throws DatabaseError `Forbidden`
   */
  requireRead?(bucket: BucketId): void;
  /** @param passing as in `StorageSnapshot` */
  adjacency(
    vertex: Rid,
    direction: Direction,
    edgeType: TypeId,
    passing?: ListWindow,
  ): AdjacencyList;
  degree(vertex: Rid, direction: Direction, edgeType: TypeId): number;
  index(id: IndexId): IndexReader;
}

/**
 * The records that a transaction has created. In scan order (sql.md 7.3) the stored records of all buckets come first, by bucket
 * and position, and then these, in the order of their creation.
 */
export interface CreatedRecords {
  /** Those of the buckets that there are when the scan begins, in the order of their creation. */
  scan(buckets: readonly BucketId[]): RecordCursor;
  /**
   * A number by which the records of a bucket stand in scan order, and created ones behind all others: the record id of a stored
   * record, one of the bucket `places` for a created one.
   */
  placeOf(rid: Rid): Rid;
  /** Where no records are. */
  readonly places: BucketId;
  /** The record with this place in the bucket `places`. */
  ridAt(place: Rid): Rid;
}

export interface RecordCursor {
  /**
   * undefined at the end, `vetoed` (trigger-runner.ts) for one that a trigger hides, and for a created one that was deleted again.
   * Cost per record: no decoding.
   */
  next(): StoredRecord | undefined;
  /** Asked before the next record: reading has taken long, and others should have their turn. Answers so once in a turn. */
  readonly isPauseDue?: () => boolean;
}

/** An ordered index with the transaction's own changes merged in. Keys are values, one per component, leading ones may do. */
export interface IndexReader {
  readonly entryCount: number;
  /**
   * The record with this whole key of a unique index, `noRid` when there is none: the shortest way to it.
   * @returns undefined when only `lookup` can tell
   */
  recordWith(key: readonly Value[]): Rid | undefined;
  /** Records whose leading components equal `key`. */
  lookup(key: readonly Value[]): IndexCursor;
  range(bounds: KeyBounds, order: 'ascending' | 'descending'): IndexCursor;
  /** Entries as bytes, for searches. Whoever gives records to somebody reads them through the view, which asks for rights. */
  readonly entries: EntryReader;
}

export interface KeyBounds {
  /** Equal leading components. */
  readonly prefix: readonly Value[];
  readonly low?: { readonly value: Value; readonly inclusive: boolean };
  readonly high?: { readonly value: Value; readonly inclusive: boolean };
  /** The component after `prefix` is text that starts with this. */
  readonly textPrefix?: string;
}

/** May be kept across event-loop turns while the view is open. Hits of cut keys are already checked against their rows. */
export interface IndexCursor {
  next(): boolean;
  readonly rid: Rid;
  /** Length of the current key; long ones are cut, and then in order of what was left only. */
  readonly keyBytes: number;
  /** The key values of the current entry (`FROM index:`). */
  keyValues(): readonly Value[];
}
