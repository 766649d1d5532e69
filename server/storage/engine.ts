import type { StoredRecord } from '#core/value/record.ts';
import type { BucketId, IndexId, LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { Block } from './format/block.ts';
import type { BlockWindow } from './read/block-window.ts';
import type { ListWindow } from './read/list-memory.ts';
import type { SortedEntries } from './bulk/gathered-entries.ts';
import type { BulkWriter } from './bulk/writer.ts';
import type { BuildWatch } from './commit/index-builds.ts';
import type { AppliedPosition } from './format/counters.ts';
import type { Direction } from './format/direction.ts';
import type { RowEncoder } from './format/row.ts';
import type { HashHalves } from './format/row-hash.ts';
import type { RowOperation } from './format/row-operations.ts';
import type { RowRecord, TypeLabels } from './format/row-record.ts';
import type { ShapeRegistry } from './format/shape.ts';
import type { IndexTarget } from './index-target.ts';

/**
 * One database on disk. Reads are synchronous and see one committed state; `apply` resolves when the change is durable and
 * visible. The port hides where a block comes from: LMDB, or the overlay between checkpoints (storage.md 5). Keys and
 * formats: storage.md 3.
 */
export interface StorageEngine {
  readonly shapes: ShapeRegistry;
  /** Makes the rows of `put-row` operations. */
  readonly rows: RowEncoder;
  /** Names and kinds of types for the records it gives. */
  readonly labels: TypeLabels;
  /**
   * The newest committed state. Cheap: snapshots of one state share one pinned LMDB reader, which is released when the last
   * holder closes it and a newer commit exists.
   * @param isKept for longer than a statement
   * @throws DatabaseError `Busy` when that would keep more than `server.httpTxSnapshotMax` distinct states, or hold as many as
   *   LMDB has readers (`storage.maxReaders`)
   */
  snapshot(isKept?: boolean): StorageSnapshot;
  /**
   * Applies log entries in the given order as one atomic, durable step: rows, adjacency, index entries, counters, applied
   * position. Calls may overlap; they take effect in call order. Resolves when durable and visible to `snapshot()`.
   * @param isAlone nobody else has wanted to commit since the call before: the disk may be waited for in place
   * @throws DatabaseError `CorruptedRecord`: nothing was changed; `Internal`: it is open what the files hold, and every later
   *   change is refused until the database is opened again
   */
  apply(entries: readonly LogEntry[], isAlone?: boolean): Promise<void>;
  applied(): AppliedPosition;
  /** Everything that was applied before the call is durable here when it resolves, without any log. */
  checkpoint(): Promise<void>;
  /** What `checkpoint` is expected to take, by the last one, in milliseconds; 0: there is nothing to be written. */
  checkpointMs(): number;
  /**
   * Waits for changes under way. Snapshots must be closed before.
   */
  close(): Promise<void>;
  /**
   * A load of many new records in one atomic, durable step (see bulk-writer.ts). Takes effect in the order of `flush` and
   * `apply` calls.
   */
  bulk(): BulkWriter;
  /**
   * Puts in entries of an index that is being built from records that were there before it (ha.md 5.10). Derived data, so no
   * log entry and no LSN: takes effect in the order of the calls of `apply`, durable and visible when resolved. Entries that
   * exist already stay as they are; who calls has made sure that a unique key has one owner. Sorted input is fastest.
   */
  addEntries(index: IndexTarget, entries: readonly IndexEntry[]): Promise<void>;
  /** As `addEntries`, sorted and none of them there (`watchBuild`): four times as quick. */
  addNewEntries(entries: SortedEntries): Promise<void>;
  /**
   * Of an index in chunks: what stands beside them goes in, and they are filled up. In small commits, beside all others.
   * @returns false when there was nothing to be gained
   */
  compactEntries(index: IndexId): Promise<boolean>;
  /**
   * Edges that loads have left in runs go into the lists of their vertices. In small commits, beside all others; resolves when that is
   * done, or cannot be done now. Nothing that is read changes.
   */
  mergeEdgeRuns(): Promise<void>;
  /** Tells which records have entries of an index under construction. Called while no `apply` is under way. */
  watchBuild(index: IndexId): BuildWatch;
  /** Where the environment is, for processes that read what checkpoints have brought there. */
  readonly directory: string;
  /** A consistent hot copy of the environment in an empty directory. */
  copyTo(directory: string): Promise<void>;
  /** Bytes on disk, for `schema:database`. */
  sizeBytes(): number;
  /** Flushes of the disk since the engine was opened: one per write of the log, two per LMDB commit. */
  flushCount(): number;
  /** Bytes written to the commit log since the engine was opened. */
  logBytes(): number;
}

/** `key` is the whole encoded key without index id and RID. */
export interface IndexEntry {
  readonly key: Uint8Array;
  readonly rid: Rid;
}

/** What one committed transaction is in the log (storage.md 3.6). */
export interface LogEntry {
  readonly position: AppliedPosition;
  readonly operations: readonly RowOperation[];
  /**
   * Of a log that many copies apply: the version that the record of each row operation must have, 0: there is none; negative:
   * not looked at. A copy that differs refuses the entry (`CorruptedRecord`), with all that were given with it.
   */
  readonly bases?: readonly number[];
}

export interface StorageSnapshot extends Disposable {
  /** The newest commit it shows. */
  readonly index: LogIndex;
  /** A stable, immutable image: the caller may keep it, also after the snapshot is closed. */
  block(bucket: BucketId, number: number): Block | undefined;
  /**
   * As `block` for a scan, which reads each block once: it drives nothing out of the cache, and the block is valid until the
   * next one is read into the same window. Records made of it (`recordAt`) stay valid.
   */
  passingBlock(bucket: BucketId, number: number, window: BlockWindow): Block | undefined;
  /** One past the highest block number that may exist in the bucket. */
  blockCount(bucket: BucketId): number;
  rowsPerBlock(bucket: BucketId): number;
  /** One past the highest position ever taken or leased in the bucket (`positions` operations). */
  nextPosition(bucket: BucketId): number;
  /** undefined when there is no such record. Cost: a cached block and one small object. */
  record(rid: Rid): RowRecord | undefined;
  /**
   * One property of a record, of which no object is made: undefined when there is no such record or property.
   * Cost: a cached block and the cell.
   */
  cell(rid: Rid, property: string): Value | undefined;
  /** The record in an occupied slot of a block of this snapshot (`block.nextSlot`). */
  recordAt(block: Block, slot: number): RowRecord;
  /** Live records; O(1). */
  recordCount(bucket: BucketId): number;
  /** Sum modulo 2^64 of `hashRow` of all live rows, kept with every change; O(1). */
  contentHash(bucket: BucketId): Readonly<HashHalves>;
  /**
   * Edges of one vertex, direction and concrete edge type; a shared empty list when there are none. Cached.
   * @param passing where a list may lie that the cache does not let in, until the next one is read there
   */
  adjacency(
    vertex: Rid,
    direction: Direction,
    edgeType: TypeId,
    passing?: ListWindow,
  ): AdjacencyList;
  /** O(1). */
  degree(vertex: Rid, direction: Direction, edgeType: TypeId): number;
  /**
   * The single record of a unique key. `key` is the whole encoded key without index id.
   * @param length of the key, when it is only the beginning of the bytes
   */
  uniqueEntry(index: IndexId, key: Uint8Array, length?: number): Rid | undefined;
  /**
   * Entries in byte order of their keys (`ordered-key.ts`), `low` inclusive, `high` exclusive. The cursor may be kept across
   * event-loop turns while the snapshot is open. Those of an index in chunks come in the order of `entry-chunk.ts`, ascending only,
   * and bounds lie between its groups.
   */
  entries(
    index: IndexId,
    low: Uint8Array,
    high: Uint8Array,
    order: 'ascending' | 'descending',
  ): EntryCursor;
  /** Entries in the index; O(1). */
  entryCount(index: IndexId): number;
  meta(name: string): Uint8Array | undefined;
}

export type { Direction };

export interface EntryCursor {
  next(): boolean;
  /** The encoded key components, without index id and without RID; valid until `next()`. */
  readonly key: Uint8Array;
  readonly rid: Rid;
  close(): void;
}

/** Parallel arrays of record ids; `count` entries. Immutable. */
export interface AdjacencyList {
  readonly count: number;
  readonly edges: Float64Array;
  readonly vertices: Float64Array;
}

/**
 * Derives index entries from row changes, by the same code on every node. Storage knows no schema, so the index room
 * implements it (`index/ordered/maintainer.ts`) and whoever opens the engine hands it in.
 */
export interface IndexDeriver {
  /** A schema document takes effect for what follows. Called in apply order, and while opening for the stored one. */
  schemaChanged(document: Uint8Array): void;
  /** False when `derive` has nothing to report for records of the type. */
  isIndexed(type: TypeId): boolean;
  /** Whether any index is of texts, of which one may have a million entries. Absent: none is. */
  hasTexts?(): boolean;
  /** Whether entries of any index lie in chunks. Absent: of none. */
  hasChunks?(): boolean;
  /** Whether such an index changes by more entries than one turn of the event loop may write. Reads the values. */
  derivesMuch?(before: StoredRecord | undefined, after: StoredRecord | undefined): boolean;
  /**
   * By type, the windows on a bucket, in which rows of these types are counted; undefined: it has none, as most. By the schema
   * documents that took effect.
   */
  windowsOn?(bucket: BucketId): ReadonlyMap<TypeId, BucketId> | undefined;
  /**
   * Reports the entries to take out and to put in. `before` undefined: inserted; `after` undefined: deleted.
   * @param version LSN of the log entry that is being applied
   */
  derive(
    before: StoredRecord | undefined,
    after: StoredRecord | undefined,
    changes: EntryChanges,
    version?: LogIndex,
  ): void;
}

/** Keys are whole encoded keys without index id and RID; they are copied. */
export interface EntryChanges {
  remove(index: IndexTarget, key: Uint8Array, rid: Rid): void;
  add(index: IndexTarget, key: Uint8Array, rid: Rid): void;
  /**
   * Reports more of them than one turn of the event loop may: carried out before anything else is derived, with turns of others
   * between its steps where there can be any. It looks at no row.
   */
  later(work: Generator<undefined, void, undefined>): void;
}
