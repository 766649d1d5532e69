import {
  type BucketId,
  bucketOf,
  type LogIndex,
  makeRid,
  positionOf,
  type Rid,
  type TypeId,
} from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Block } from '../format/block.ts';
import { type BulkBlock, BulkBlocks, forEachRow } from './blocks.ts';
import { BulkEntries } from './entries.ts';
import type { BulkEdge, BulkEdgeRows, BulkMark, BulkWriter } from './writer.ts';
import type { CommitBuilder } from '../commit/builder.ts';
import type { CommitContext } from '../commit/context.ts';
import type { AppliedPosition } from '../format/counters.ts';
import { PendingLoad } from './pending-load.ts';
import { hasExtendedValues, splitRow, writeFixedRow } from '../format/row.ts';
import { encodeRun, readRun, type RunTarget } from './row-run.ts';
import type { RowOperation } from '../format/row-operations.ts';
import { RowRecord } from '../format/row-record.ts';
import type { Shape } from '../format/shape.ts';

export interface LmdbBulkWriterOptions {
  readonly context: CommitContext;
  readonly timers: Pick<Timers, 'yield'>;
  /** The newest rows per block of a bucket; undefined while it has not settled. */
  readonly slotCountOf: (bucket: BucketId) => number | undefined;
  /** Runs `prepare` as a commit of its own, in order with all others. */
  readonly enqueue: (prepare: (commit: CommitBuilder) => Promise<void>) => Promise<void>;
}

/** Blocks between two turns of the event loop. */
const blocksPerSlice = 16;
/** Memory per edge until its adjacency is written. */
const edgeBytes = 64;

export class LmdbBulkWriter implements BulkWriter {
  readonly #options: LmdbBulkWriterOptions;
  isFollowed: boolean | undefined;
  #chunk: PendingLoad;

  constructor(options: LmdbBulkWriterOptions, chunk = new PendingLoad()) {
    this.#options = options;
    this.#chunk = chunk;
  }

  get pendingBytes(): number {
    return this.#chunk.bytes;
  }

  addRow(type: TypeId, bucket: BucketId, position: number, properties: ValueMap): void {
    this.#add(bucket, position, this.#options.context.rows.encode(type, properties));
  }

  addColumns(shape: Shape, bucket: BucketId, position: number, values: readonly Value[]): void {
    this.#add(bucket, position, this.#options.context.rows.encodeColumns(shape, values));
  }

  addEdge(edge: BulkEdge, properties: ValueMap): void {
    const ends = { out: edge.from, in: edge.to };
    const row = this.#options.context.rows.encode(edge.type, properties, ends);
    this.#add(edge.bucket, edge.position, row);
    this.#addAdjacency(edge);
  }

  addEdgeColumns(shape: Shape, edge: BulkEdge, values: readonly Value[]): void {
    const ends = { out: edge.from, in: edge.to };
    const row = this.#options.context.rows.encodeColumns(shape, values, ends);
    this.#add(edge.bucket, edge.position, row);
    this.#addAdjacency(edge);
  }

  addEdgeRows(shape: Shape, rows: BulkEdgeRows): void {
    const { type, bucket, position, count, from, to, both, values } = rows;
    const width = shape.columns.length;
    const blocks = this.#blocksOf(bucket);
    let at = 0;
    for (; at < count && (shape.variableCount > 0 || !blocks.isSized); at += 1) {
      const ends = { from: from[at] as Rid, to: to[at] as Rid };
      const edge = { type, bucket, position: position + at, both, ...ends };
      this.addEdgeColumns(shape, edge, values.slice(at * width, (at + 1) * width));
    }
    if (at === count) return;
    const chunk = this.#chunk;
    const column = chunk.edges.column(type, both);
    const ends = { out: 0 as Rid, in: 0 as Rid };
    chunk.shapes.add(shape.id);
    chunk.bytes += (count - at) * (shape.endsOffset + 8 + edgeBytes);
    column.addRun(makeRid(bucket, position + at), from, to, at, count);
    for (; at < count; at += 1) {
      ends.out = from[at] as Rid;
      ends.in = to[at] as Rid;
      const base = blocks.place(position + at, shape.endsOffset);
      writeFixedRow(blocks.builder, base, shape, ends, values, at * width);
    }
  }

  #addAdjacency(edge: BulkEdge): void {
    const rid = makeRid(edge.bucket, edge.position);
    this.#chunk.edges.add(edge.type, rid, edge.from, edge.to, edge.both);
    this.#chunk.bytes += edgeBytes;
  }

  #add(bucket: BucketId, position: number, row: Uint8Array): void {
    const chunk = this.#chunk;
    const shape = (row[4] as number) | ((row[5] as number) << 8);
    chunk.shapes.add(shape);
    if (hasExtendedValues(row)) chunk.hasExtendedValues = true;
    chunk.bytes += row.length + 8;
    const split = splitRow(row, this.#options.context.shapes.shape(shape));
    const rid = makeRid(bucket, position);
    for (const { property, bytes } of split.large) {
      // The row may lie in the encoder's memory.
      chunk.largeCells.push({ rid, cell: { property, bytes: new Uint8Array(bytes) } });
    }
    this.#blocksOf(bucket).add(position, split.row);
  }

  #blocksOf(bucket: BucketId): BulkBlocks {
    let blocks = this.#chunk.blocks.get(bucket);
    if (blocks === undefined) {
      blocks = new BulkBlocks(bucket, this.#options.slotCountOf(bucket));
      this.#chunk.blocks.set(bucket, blocks);
    }
    return blocks;
  }

  mark(): BulkMark {
    return this.#chunk.mark();
  }

  async split(mark: BulkMark): Promise<BulkWriter> {
    const rest = await this.#chunk.split(mark, this.#options.timers);
    return new LmdbBulkWriter(this.#options, rest);
  }

  cutAt(mark: BulkMark): void {
    this.#chunk.cutAt(mark);
  }

  runBytes(): Promise<Uint8Array> {
    for (const blocks of this.#chunk.blocks.values()) blocks.end();
    return encodeRun(this.#chunk, this.#options.context.shapes, this.#options.timers);
  }

  addRun(bytes: Uint8Array): Promise<void> {
    const chunk = this.#chunk;
    const { shapes } = this.#options.context;
    let shape = -1;
    let blocks: BulkBlocks | undefined;
    const target: RunTarget = {
      defineShape: (id, definition) => shapes.define(id, definition),
      addLargeCell: (rid, cell) => void chunk.largeCells.push({ rid, cell }),
      edges: (type, both) => chunk.edges.column(type, both),
      addStoredRow: (rid, source, start, length) => {
        const shapeId = (source[start + 4] as number) | ((source[start + 5] as number) << 8);
        if (shapeId !== shape) chunk.shapes.add(shapeId);
        shape = shapeId;
        if (hasExtendedValues(source, start)) chunk.hasExtendedValues = true;
        chunk.bytes += length + 8;
        // Mostly that of the row before.
        const bucket = bucketOf(rid);
        if (blocks?.bucket !== bucket) blocks = this.#blocksOf(bucket);
        blocks.addFrom(positionOf(rid), source, start, length);
      },
    };
    return readRun(bytes, target, this.#options.timers);
  }

  release(): void {
    this.#chunk.release();
    this.#chunk = new PendingLoad();
  }

  async flush(position: AppliedPosition, operations: readonly RowOperation[] = []): Promise<void> {
    const chunk = this.#chunk;
    this.#chunk = new PendingLoad();
    for (const blocks of chunk.blocks.values()) blocks.end();
    // A refused commit is prepared again, so preparing changes nothing but images that nobody reads.
    try {
      await this.#options.enqueue(async (commit) => {
        await this.#prepare(chunk, commit, position);
        commit.apply({ position, operations });
      });
    } finally {
      chunk.release();
    }
  }

  async #prepare(
    chunk: PendingLoad,
    commit: CommitBuilder,
    position: AppliedPosition,
  ): Promise<void> {
    const version = position.index;
    const entries = new BulkEntries();
    commit.defineShapes(chunk.shapes);
    if (chunk.hasExtendedValues) commit.meta.use('extendedValues');
    for (const { rid, cell } of chunk.largeCells) commit.putLarge(rid, cell.property, cell.bytes);
    for (const blocks of chunk.blocks.values()) {
      if (blocks.isSized) commit.settleSize(blocks.bucket, blocks.slotCount);
      let untilYield = blocksPerSlice;
      for (const block of blocks.finished) {
        this.#prepareBlock(block, commit, version, entries);
        if (--untilYield > 0) continue;
        untilYield = blocksPerSlice;
        await this.#options.timers.yield();
      }
      commit.takePositions(blocks.bucket, blocks.next);
    }
    await entries.build(commit, this.#options.timers);
    await chunk.edges.build(commit, this.#options.timers, this.isFollowed);
  }

  #prepareBlock(
    bulk: BulkBlock,
    commit: CommitBuilder,
    version: LogIndex,
    entries: BulkEntries,
  ): void {
    const { block } = bulk;
    if (!commit.mayTakeBlock(block)) {
      forEachRow(block, (rid, at) => {
        const row = block.bytes.subarray(at, at + block.view.getUint32(at, true));
        commit.putStoredRow(rid, row, version);
      });
      return;
    }
    commit.takeBlock(bulk, version);
    this.#deriveEntries(block, commit, entries, version);
  }

  #deriveEntries(
    block: Block,
    commit: CommitBuilder,
    entries: BulkEntries,
    version: LogIndex,
  ): void {
    const { deriver, shapes, labels } = this.#options.context;
    let shape: Shape | undefined;
    let isIndexed = false;
    for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
      const at = block.rowOffset(slot);
      const id = block.view.getUint16(at + 4, true);
      // Mostly that of the row before.
      if (shape === undefined || shape.id !== id) {
        shape = shapes.shape(id);
        isIndexed = deriver.isIndexed(shape.type);
      }
      if (!isIndexed) continue;
      const rid = makeRid(block.bucket, block.firstPosition + slot);
      const record = new RowRecord(rid, shape, block, at, labels, commit.large);
      deriver.derive(undefined, record, entries, version);
    }
  }
}
