import type { BucketId, Rid, TypeId } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { AppliedPosition } from '../format/counters.ts';
import type { RowOperation } from '../format/row-operations.ts';
import type { Shape } from '../format/shape.ts';

/**
 * Loads many new records. Rows are built into whole blocks as they come, edges gather in typed arrays, adjacency and
 * index entries are sorted and written once. Nothing is visible before `flush` resolves; a crash leaves all of it or
 * nothing. Memory: the images of the chunk (some 100 bytes per edge) until `flush`.
 *
 * The caller has taken the positions (a `positions` operation is not needed) and gives them in ascending order per
 * bucket; constraints and unique keys are the caller's business.
 */
export interface BulkWriter {
  /** Adds a document or vertex. */
  addRow(type: TypeId, bucket: BucketId, position: number, properties: ValueMap): void;
  /** Like `addRow` for the columns of `shape` (`shapes.forColumns`), whose kinds the values suit; the fast way. */
  addColumns(shape: Shape, bucket: BucketId, position: number, values: readonly Value[]): void;
  /** Adds an edge: its row and its entries at both ends, or only at the source. The ends exist or are added before `flush`. */
  addEdge(edge: BulkEdge, properties: ValueMap): void;
  addEdgeColumns(shape: Shape, edge: BulkEdge, values: readonly Value[]): void;
  /** Like `addEdgeColumns` for many edges at consecutive positions; the fast way. */
  addEdgeRows(shape: Shape, rows: BulkEdgeRows): void;
  /**
   * Whether more of the same load comes behind the next flush: its edges wait for them then, to be brought into their lists together.
   * Absent: not known, as where a log is followed.
   */
  isFollowed: boolean | undefined;
  /** Bytes held so far; flush at some tens of MiB. */
  readonly pendingBytes: number;
  /** The place behind what was added so far, since the last flush. */
  mark(): BulkMark;
  /**
   * Moves what came behind a mark into a writer of its own, in turns. Nothing may be added here until the next flush.
   *
   * Cost: a copy of those rows.
   */
  split(mark: BulkMark): Promise<BulkWriter>;
  /** Forgets what came behind a mark. Nothing may be added until the next flush. */
  cutAt(mark: BulkMark): void;
  /** What it holds as the bytes of a log (row-run.ts). Nothing may be added until it is flushed, cut or released. */
  runBytes(): Promise<Uint8Array>;
  /** Adds what `runBytes` gave, to a writer that holds nothing. */
  addRun(bytes: Uint8Array): Promise<void>;
  /** What it holds is committed by another writer, or given up: its memory is given back at once. */
  release(): void;
  /**
   * Everything since the last flush as one durable commit; its rows get `position.index` as their version.
   * @param operations what the commit carries beside the rows: values of `meta`
   */
  flush(position: AppliedPosition, operations?: readonly RowOperation[]): Promise<void>;
}

/** A place between the rows that a bulk writer holds. */
export interface BulkMark {
  /** What it held before, as `BulkWriter.pendingBytes`. */
  readonly bytes: number;
  /** One past the last position before, of each bucket. */
  readonly next: ReadonlyMap<BucketId, number>;
  readonly edges: ReadonlyMap<TypeId, EdgeCounts>;
  readonly largeCellCount: number;
}

/** Of one type: how many are entered at both of their ends, and how many at the source only. */
export interface EdgeCounts {
  readonly both: number;
  readonly source: number;
}

/** Edges of one type in one bucket. */
export interface BulkEdgeRows {
  readonly type: TypeId;
  readonly bucket: BucketId;
  /** Position of the first; the others follow without a gap. */
  readonly position: number;
  readonly count: number;
  readonly from: Float64Array;
  readonly to: Float64Array;
  readonly both: boolean;
  /** Row-major, one for each column of the shape. */
  readonly values: readonly Value[];
}

export interface BulkEdge {
  readonly type: TypeId;
  readonly bucket: BucketId;
  readonly position: number;
  readonly from: Rid;
  readonly to: Rid;
  /** False for UNIDIRECTIONAL types. */
  readonly both: boolean;
}
