import { assert } from '#core/assert.ts';
import {
  bucketOf,
  type BucketId,
  type IndexId,
  type LogIndex,
  makeRid,
  positionMax,
  positionOf,
  type Rid,
  type TypeId,
} from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type { Block } from '../format/block.ts';
import type { BlockWindow } from './block-window.ts';
import type { ListWindow } from './list-memory.ts';
import type { AdjacencyList, Direction, EntryCursor, StorageSnapshot } from '../engine.ts';
import { ChunkedEntryCursor } from './chunked-cursor.ts';
import { LmdbEntryCursor } from './entry-cursor.ts';
import type { PinnedReader } from './pinned-reader.ts';
import type { HashHalves } from '../format/row-hash.ts';
import {
  type LargeCells,
  type OutsideCells,
  readCell,
  RowRecord,
  type TypeLabels,
} from '../format/row-record.ts';
import { rowFlag, rowFlagsOffset, type ShapeRegistry } from '../format/shape.ts';
import type { StateReader } from './state-reader.ts';

export interface SnapshotSource {
  readonly shapes: ShapeRegistry;
  readonly labels: TypeLabels;
  readonly state: StateReader;
}

/** Rows with these know more of a property than its column, or keep it outside. */
const elsewhere = rowFlag.extraMap | rowFlag.outsideCells;

/** For rows of which no cell is outside. */
const noCells: OutsideCells = {
  outsideCell() {
    throw new Error('a cell is marked as kept outside of a row without such cells');
  },
};

/** A holder of a pinned reader; see `StorageSnapshot` for what it promises. */
export class LmdbSnapshot implements StorageSnapshot {
  readonly index: LogIndex;
  readonly #reader: PinnedReader;
  readonly #source: SnapshotSource;
  readonly #state: StateReader;
  readonly #large: LargeCells;
  readonly #released: (reader: PinnedReader) => void;
  #isOpen = true;

  /** @param released told once, after the reader was dropped */
  constructor(
    reader: PinnedReader,
    source: SnapshotSource,
    released: (reader: PinnedReader) => void,
  ) {
    this.index = reader.index;
    this.#reader = reader;
    this.#source = source;
    this.#state = source.state;
    this.#large = reader.largeCells;
    this.#released = released;
    reader.hold();
  }

  block(bucket: BucketId, number: number): Block | undefined {
    return this.#state.block(this.#reader, bucket, number);
  }

  passingBlock(bucket: BucketId, number: number, window: BlockWindow): Block | undefined {
    return this.#state.passingBlock(this.#reader, bucket, number, window);
  }

  blockCount(bucket: BucketId): number {
    const state = this.#state.bucket(this.#reader, bucket);
    return state === undefined ? 0 : Math.ceil(state.next / state.slotCount);
  }

  rowsPerBlock(bucket: BucketId): number {
    return this.#state.bucket(this.#reader, bucket)?.slotCount ?? 64;
  }

  nextPosition(bucket: BucketId): number {
    return this.#state.bucket(this.#reader, bucket)?.next ?? 0;
  }

  recordCount(bucket: BucketId): number {
    return this.#state.bucket(this.#reader, bucket)?.live ?? 0;
  }

  contentHash(bucket: BucketId): HashHalves {
    const state = this.#state.bucket(this.#reader, bucket);
    return { low: state?.hashLow ?? 0, high: state?.hashHigh ?? 0 };
  }

  record(rid: Rid): RowRecord | undefined {
    if (rid < 0) return undefined;
    const bucket = bucketOf(rid);
    const state = this.#state.bucket(this.#reader, bucket);
    const position = positionOf(rid);
    if (state === undefined || position >= state.next) return undefined;
    const slot = position % state.slotCount;
    const number = (position - slot) / state.slotCount;
    let block = this.#state.cachedBlock(this.#reader, bucket, number);
    if (block === undefined) {
      if (!this.#state.blocks.admits(bucket, number)) return this.#looseRecord(rid, number, slot);
      block = this.block(bucket, number);
      if (block === undefined) return undefined;
    }
    const row = block.rowOffset(slot);
    return row === 0 ? undefined : this.#recordOf(rid, block, row);
  }

  cell(rid: Rid, property: string): Value | undefined {
    if (rid < 0) return undefined;
    const bucket = bucketOf(rid);
    const state = this.#state.bucket(this.#reader, bucket);
    const position = rid - bucket * positionMax;
    if (state === undefined || position >= state.next) return undefined;
    const slot = position % state.slotCount;
    const block = this.#state.cachedBlock(
      this.#reader,
      bucket,
      (position - slot) / state.slotCount,
    );
    if (block === undefined) return this.record(rid)?.get(property);
    const row = block.rowOffset(slot);
    if (row === 0) return undefined;
    const { view } = block;
    const shape = this.#source.shapes.shape(view.getUint16(row + 4, true));
    const column = shape.column(property);
    const isInside = (view.getUint16(row + rowFlagsOffset, true) & elsewhere) === 0;
    if (column === undefined || !isInside) return this.record(rid)?.get(property);
    return readCell(shape, column, block, row, noCells);
  }

  /** A record whose block stays outside the cache. */
  #looseRecord(rid: Rid, number: number, slot: number): RowRecord | undefined {
    const start = this.#state.looseRow(this.#reader, bucketOf(rid), number, slot);
    if (start < 0) return undefined;
    const { slab } = this.#state.rows;
    const shape = this.#source.shapes.shape(slab.view.getUint16(start + 4, true));
    return new RowRecord(rid, shape, slab, start, this.#source.labels, this.#large);
  }

  recordAt(block: Block, slot: number): RowRecord {
    const row = block.rowOffset(slot);
    assert(row !== 0, 'recordAt is asked for occupied slots');
    return this.#recordOf(makeRid(block.bucket, block.firstPosition + slot), block, row);
  }

  #recordOf(rid: Rid, block: Block, row: number): RowRecord {
    block.isKept = true;
    const shape = this.#source.shapes.shape(block.view.getUint16(row + 4, true));
    return new RowRecord(rid, shape, block, row, this.#source.labels, this.#large);
  }

  adjacency(
    vertex: Rid,
    direction: Direction,
    edgeType: TypeId,
    passing?: ListWindow,
  ): AdjacencyList {
    return this.#state.adjacency(this.#reader, vertex, direction, edgeType, passing);
  }

  degree(vertex: Rid, direction: Direction, edgeType: TypeId): number {
    return this.#state.degree(this.#reader, vertex, direction, edgeType);
  }

  uniqueEntry(index: IndexId, key: Uint8Array, length = key.length): Rid | undefined {
    return this.#state.uniqueEntry(this.#reader, index, key, length);
  }

  entries(
    index: IndexId,
    low: Uint8Array,
    high: Uint8Array,
    order: 'ascending' | 'descending',
  ): EntryCursor {
    const range = { index, low, high, order };
    if (!this.#state.besideChunks.has(index)) return new LmdbEntryCursor(this.#reader, range);
    assert(order === 'ascending', 'entries in chunks are read in their order');
    return new ChunkedEntryCursor(this.#reader, range);
  }

  entryCount(index: IndexId): number {
    return this.#state.entryCount(this.#reader, index);
  }

  meta(name: string): Uint8Array | undefined {
    return this.#reader.meta(name);
  }

  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#reader.drop();
    this.#released(this.#reader);
  }
}
