import type { IndexId, Rid, TypeId } from '#core/value/rid.ts';

/**
 * The replicated unit of change (storage.md 3.6, house decision 29). Indexes, adjacency and counters are derived from these
 * while applying, by the same code on every node. Row images travel with version 0; apply writes the entry's LSN into them.
 */
export type RowOperation =
  | { readonly op: 'put-row'; readonly rid: Rid; readonly row: Uint8Array }
  | { readonly op: 'patch-cells'; readonly rid: Rid; readonly patch: Uint8Array }
  | { readonly op: 'delete-row'; readonly rid: Rid }
  /** Adjacency of an edge whose row travels as its own put-row. `both` false: only at the source (UNIDIRECTIONAL). */
  | {
      readonly op: 'add-edge' | 'remove-edge';
      readonly rid: Rid;
      readonly type: TypeId;
      readonly from: Rid;
      readonly to: Rid;
      readonly both: boolean;
    }
  /** The next schema document (JSON bytes) and the shapes and property names it or the rows of this entry need. */
  | { readonly op: 'schema'; readonly document: Uint8Array }
  | { readonly op: 'shape'; readonly id: number; readonly definition: Uint8Array }
  /** All entries of a dropped index, or all blocks and large cells of a dropped bucket. */
  | { readonly op: 'drop-index'; readonly index: IndexId }
  | { readonly op: 'drop-bucket'; readonly bucket: number }
  /**
   * Blocks that cannot be read go, and what the bucket counts becomes what its blocks hold. Differences, so that commits in between
   * do not matter.
   */
  | {
      readonly op: 'mend-bucket';
      readonly bucket: number;
      readonly liveChange: number;
      readonly hashLowChange: number;
      readonly hashHighChange: number;
      readonly droppedBlocks: readonly number[];
    }
  /** The list of a vertex that cannot be read goes. */
  | {
      readonly op: 'drop-list';
      readonly vertex: Rid;
      readonly direction: 'out' | 'in';
      readonly type: TypeId;
    }
  /** `bucket`'s next position is at least `next`. */
  | { readonly op: 'positions'; readonly bucket: number; readonly next: number }
  /** A named value kept in meta: database settings, dedupe entries, sequences. */
  | { readonly op: 'meta'; readonly name: string; readonly value: Uint8Array | undefined }
  /** Finished images of a bulk load, in key order; their derived data is part of the same load. */
  | {
      readonly op: 'whole-block';
      readonly bucket: number;
      readonly block: number;
      readonly image: Uint8Array;
    };
