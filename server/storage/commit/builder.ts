import {
  bucketOf,
  type BucketId,
  type IndexId,
  type LogIndex,
  makeRid,
  positionOf,
  type PropertyId,
  type Rid,
} from '#core/value/rid.ts';
import { toEnd } from '#core/pausing-work.ts';
import type { Timers } from '#core/runtime.ts';
import { requireBase } from './base-check.ts';
import type { BlockBuilder } from './block-builder.ts';
import { Block, blockHeaderSize } from '../format/block.ts';
import type { BulkBlock } from '../bulk/blocks.ts';
import type { ChunkRun } from '../bulk/chunks.ts';
import { bigEndian, type Image, imageOf, viewOf } from '../format/bytes.ts';
import { checksumSize, sealValue } from '../format/checksum.ts';
import {
  type AppliedPosition,
  encodeApplied,
  encodeBucketState,
  encodeIndexState,
  type IndexState,
  rowsPerBlockFor,
} from '../format/counters.ts';
import type { CommitContext } from './context.ts';
import type { LogEntry } from '../engine.ts';
import type { PrefixDeletion } from './deletion-jobs.ts';
import { EntryBuilder } from './entry-builder.ts';
import type { ImageMemory } from '../checkpoint/image-memory.ts';
import { indexStatesAfter } from './index-states.ts';
import { ListBuilder } from './list-builder.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';
import { applyPatch } from '../format/cell-patch.ts';
import {
  bucketStateOf,
  countSeen,
  learnWindows,
  type PendingBucket,
  pendingBucketOf,
} from './pending-bucket.ts';
import type { FinishedBlock, PendingBlock } from './pending-block.ts';
import { PendingLargeCells } from './pending-large-cells.ts';
import { PendingMeta } from './pending-meta.ts';
import {
  hasExtendedValues,
  hasOutsideCells,
  type LargeCell,
  outsideCellsOf,
  shapeIdOf,
  splitRow,
} from '../format/row.ts';
import { addHash, type HashHalves, hashRow } from '../format/row-hash.ts';
import { OpenBlocks } from './open-blocks.ts';
import { areInOrder, haveExtendedRows } from './operation-order.ts';
import type { RowOperation } from '../format/row-operations.ts';
import { RowRecord } from '../format/row-record.ts';
import { encodeShape, rowVersionOffset } from '../format/shape.ts';
import { TouchedRecords } from './touched-records.ts';
import type { HeldStates } from '../read/versioned.ts';
import { toldCaches } from './told-caches.ts';
import { BlkKey, blockKey, keyBytes } from '../format/sub-databases.ts';
import { type PackedWrites, removal, type Write } from '../checkpoint/write-batch.ts';

// Turns log entries into the images that one LMDB transaction writes. Everything derived from row operations (blocks,
// adjacency, index entries, counters, content hashes) is derived here and nowhere else. It reads the newest durable state
// and its own pending changes; nothing else changes that state meanwhile. `finish` gives the writes, `publish` tells the
// caches after they are durable.

type Mending = 'mend-bucket' | 'drop-list';

const rowsPerFirstBlock = 64;

/** Entries with more operations than this are applied in slices; each slice takes a few milliseconds. */
export const operationsPerSlice = 256;
/** Blocks under change above which those that a sorted entry has passed are finished: each holds 16 KiB and more. */
const openBlocksMax = 128;

export class CommitBuilder {
  readonly entries: EntryBuilder;
  readonly lists: ListBuilder;
  readonly large: PendingLargeCells;
  readonly deletions: PrefixDeletion[] = [];
  readonly #chunkRuns: ChunkRun[] = [];
  readonly reader: PinnedReader;
  readonly #context: CommitContext;
  readonly #memory: ImageMemory;
  readonly #blocks = new OpenBlocks();
  readonly #buckets = new Map<BucketId, PendingBucket | undefined>();
  readonly meta: PendingMeta;
  readonly #writes: Write[] = [];
  readonly #blockWrites: Write[] = [];
  readonly #finished = new Map<number, FinishedBlock>();
  readonly #droppedIndexes = new Set<IndexId>();
  readonly #touched = new TouchedRecords();
  /** Defined by this commit. */
  readonly #shapes: number[] = [];
  readonly #hash: HashHalves = { low: 0, high: 0 };
  schema: Uint8Array | undefined;
  position: AppliedPosition | undefined;

  constructor(reader: PinnedReader, context: CommitContext) {
    this.reader = reader;
    this.#context = context;
    this.#memory = context.memory;
    this.meta = new PendingMeta(context.format);
    this.entries = new EntryBuilder(reader, this.#memory, context.builds, this.meta);
    this.lists = new ListBuilder(reader);
    this.large = new PendingLargeCells(reader, this.#memory);
  }

  /** Memory for values that are written with this commit and read by nobody before. */
  get memory(): ImageMemory {
    return this.#memory;
  }

  /** Applies one entry; entries come in log order. */
  apply(entry: LogEntry): void {
    const { operations, bases, position } = entry;
    this.#touched.begin(operations);
    for (let i = 0; i < operations.length; i++)
      this.#operation(operations[i] as RowOperation, position.index, bases?.[i]);
    this.#endEntry();
    this.position = position;
  }

  /**
   * Like `apply`, giving up the event loop every some thousand microseconds.
   * @param isOnly no other entry is applied, and the commit is carried out with `writeBatch`
   */
  async applyInSlices(
    entry: LogEntry,
    timers: Pick<Timers, 'yield'>,
    isOnly = false,
  ): Promise<void> {
    const { operations, bases, position } = entry;
    await this.#touched.beginInSlices(operations, timers);
    const { areDistinct } = this.#touched;
    this.entries.beginSlices(isOnly && areDistinct);
    let isSorted = true;
    for (let i = 0; i < operations.length; i++) {
      if (i % operationsPerSlice === operationsPerSlice - 1) {
        isSorted &&= areDistinct || areInOrder(operations, i - operationsPerSlice, i);
        if (isSorted && this.#blocks.size > openBlocksMax) this.#finishBlocks();
        await timers.yield();
      }
      if (i % operationsPerSlice === 0 && haveExtendedRows(operations, i, i + operationsPerSlice))
        this.meta.use('extendedValues');
      this.#operation(operations[i] as RowOperation, position.index, bases?.[i]);
      if (this.entries.isWaiting) await this.entries.workInSlices(timers);
    }
    await this.lists.endEntryInSlices(timers);
    await this.entries.endInSlices(timers);
    this.#endEntry();
    this.position = position;
  }

  #operation(operation: RowOperation, version: LogIndex, base = -1): void {
    if (base >= 0) requireBase(operation, base, (rid) => this.#record(rid));
    switch (operation.op) {
      case 'put-row':
        this.putRow(operation.rid, operation.row, version);
        return;
      case 'patch-cells':
        this.#patch(operation.rid, operation.patch, version);
        return;
      case 'delete-row':
        this.#deleteRow(operation.rid, version);
        return;
      case 'add-edge':
        this.lists.add(operation.from, 'out', operation.type, operation.rid, operation.to);
        if (operation.both) {
          this.lists.add(operation.to, 'in', operation.type, operation.rid, operation.from);
        }
        return;
      case 'remove-edge':
        this.lists.remove(operation.from, 'out', operation.type, operation.rid);
        if (operation.both) this.lists.remove(operation.to, 'in', operation.type, operation.rid);
        return;
      case 'whole-block':
        this.#wholeBlock(operation.bucket as BucketId, operation.block, operation.image, version);
        return;
      default:
        this.#metaOperation(operation);
    }
  }

  #metaOperation(
    operation: Extract<
      RowOperation,
      { op: 'schema' | 'shape' | 'drop-index' | 'drop-bucket' | 'positions' | 'meta' | Mending }
    >,
  ): void {
    switch (operation.op) {
      case 'schema':
        this.meta.set('schema', operation.document);
        this.schema = operation.document;
        this.#context.deriver.schemaChanged(operation.document);
        // With the index, not with the first record that waits for it.
        if (this.#context.deriver.hasChunks?.() === true) this.meta.use('entryChunks');
        learnWindows(this.#buckets, this.#context.deriver);
        return;
      case 'shape':
        this.#defineShape(operation.id, operation.definition);
        return;
      case 'meta':
        this.meta.set(operation.name, operation.value);
        return;
      case 'positions':
        this.takePositions(operation.bucket as BucketId, operation.next);
        return;
      case 'drop-index':
        this.#dropIndex(operation.index);
        return;
      case 'drop-bucket':
        this.#dropBucket(operation.bucket as BucketId);
        return;
      case 'drop-list':
        this.lists.drop(operation.vertex, operation.direction, operation.type);
        return;
      case 'mend-bucket':
        this.#mendBucket(operation);
    }
  }

  /** Stores a complete row in place of what the record had, with this version. */
  putRow(rid: Rid, row: Uint8Array, version: LogIndex): void {
    const split = splitRow(row, this.#context.shapes.shape(shapeIdOf(row)));
    this.#put(rid, row, split.row, split.large, version);
  }

  /** Like `putRow` for the row of a new record whose large cells were put before. */
  putStoredRow(rid: Rid, row: Uint8Array, version: LogIndex): void {
    this.#put(rid, row, row, [], version);
  }

  /** @param whole the row to derive index entries from @param stored what stands in the block */
  #put(
    rid: Rid,
    whole: Uint8Array,
    stored: Uint8Array,
    large: readonly LargeCell[],
    version: LogIndex,
  ): void {
    const { shapes, labels, deriver, scratch } = this.#context;
    if (hasExtendedValues(whole)) this.meta.use('extendedValues');
    const bucket = this.#bucket(bucketOf(rid));
    const position = positionOf(rid);
    if (!bucket.isSized && position >= rowsPerFirstBlock) {
      this.#settleByFirstBlock(bucketOf(rid), stored.length);
    }
    const slot = position % bucket.slotCount;
    const { builder } = this.#block(bucketOf(rid), (position - slot) / bucket.slotCount);
    const before = this.#recordIn(rid, builder, slot);
    this.#touch(rid, before);
    const shape = shapes.shape(shapeIdOf(whole));
    if (before !== undefined || deriver.isIndexed(shape.type)) {
      const after = new RowRecord(rid, shape, scratch.of(whole), 0, labels, this.large);
      deriver.derive(before, after, this.entries, version);
    }
    if (before !== undefined) this.#takeOut(before, bucket);
    else bucket.live += 1;
    if (bucket.windows !== undefined) countSeen(bucket, before?.type, shape.type, this.#pending);
    for (const cell of large) this.putLarge(rid, cell.property, cell.bytes);
    builder.put(slot, stored, version);
    if (position >= bucket.next) bucket.next = position + 1;
    this.#addToHash(rid, builder, builder.rowOffset(slot), bucket, 1);
  }

  #patch(rid: Rid, patch: Uint8Array, version: LogIndex): void {
    const before = this.#record(rid);
    if (before === undefined) return;
    this.putRow(rid, applyPatch(this.#context.rows, before, patch), version);
  }

  #deleteRow(rid: Rid, version: LogIndex): void {
    const before = this.#record(rid);
    if (before === undefined) return;
    const bucket = this.#bucket(bucketOf(rid));
    this.#touch(rid, before);
    this.#context.deriver.derive(before, undefined, this.entries, version);
    this.#takeOut(before, bucket);
    bucket.live -= 1;
    if (bucket.windows !== undefined) countSeen(bucket, before.type, undefined, this.#pending);
    const slot = positionOf(rid) % bucket.slotCount;
    this.#block(bucketOf(rid), (positionOf(rid) - slot) / bucket.slotCount).builder.remove(slot);
  }

  /**
   * Removals of index entries come before the additions of the same log entry, so what an earlier operation of it added
   * for the same record must be written before it can be taken out.
   */
  #touch(rid: Rid, before: RowRecord | undefined): void {
    if (before !== undefined && this.#touched.has(rid)) {
      this.entries.endEntry();
      this.#touched.forget();
    }
    this.#touched.add(rid);
  }

  #endEntry(): void {
    this.lists.endEntry();
    this.entries.endEntry();
    this.#touched.end();
  }

  /** Content hash and large cells of a row that goes. */
  #takeOut(before: RowRecord, bucket: PendingBucket): void {
    this.#addToHash(before.rid, before.image, before.row, bucket, -1);
    if (!hasOutsideCells(before.image, before.row)) return;
    const length = before.image.view.getUint32(before.row, true);
    const row = before.image.bytes.subarray(before.row, before.row + length);
    for (const property of outsideCellsOf(row, before.shape)) {
      const old = this.large.read(before.rid, property);
      if (old !== undefined) this.#context.retired.add(before.rid, property, old);
      this.putLarge(before.rid, property, undefined);
    }
  }

  #addToHash(rid: Rid, image: Image, at: number, bucket: PendingBucket, sign: 1 | -1): void {
    hashRow(rid, image.view, at, image.view.getUint32(at, true), this.#hash);
    addHash(bucket.hash, this.#hash, sign);
  }

  #record(rid: Rid): RowRecord | undefined {
    const bucket = this.#bucket(bucketOf(rid));
    const position = positionOf(rid);
    if (position >= bucket.next) return undefined;
    const slot = position % bucket.slotCount;
    const { builder } = this.#block(bucketOf(rid), (position - slot) / bucket.slotCount);
    return this.#recordIn(rid, builder, slot);
  }

  #recordIn(rid: Rid, builder: BlockBuilder, slot: number): RowRecord | undefined {
    const row = builder.rowOffset(slot);
    if (row === 0) return undefined;
    const shape = this.#context.shapes.shape(builder.view.getUint16(row + 4, true));
    return new RowRecord(rid, shape, builder, row, this.#context.labels, this.large);
  }

  /** The block decides how many rows its bucket's blocks hold: fewer for large rows, so that a block stays near 8 KB. */
  #settleByFirstBlock(bucketId: BucketId, rowLength: number): void {
    const first = this.#block(bucketId, 0);
    const { builder } = first;
    const average =
      builder.rowCount === 0 ? rowLength : (builder.usedBytes - blockHeaderSize) / builder.rowCount;
    this.settleSize(bucketId, rowsPerBlockFor(average));
  }

  /** Fixes the rows per block of a bucket, unless that was done before, and lays out its first block anew. */
  settleSize(bucketId: BucketId, slotCount: number): void {
    const bucket = this.#bucket(bucketId);
    if (bucket.isSized) return;
    bucket.isSized = true;
    bucket.slotCount = slotCount;
    const { builder } = this.#block(bucketId, 0);
    if (slotCount === rowsPerFirstBlock || builder.rowCount === 0) return;
    const old = this.#takeBuilder();
    const image = new Uint8Array(builder.usedBytes);
    builder.copyTo(image, 0);
    old.startFrom(new Block(imageOf(image), 0, bucketId, 0, rowsPerFirstBlock));
    builder.startEmpty();
    for (let position = 0; position < rowsPerFirstBlock; position++) {
      const at = old.rowOffset(position);
      if (at === 0) continue;
      const row = old.bytes.subarray(at, at + old.view.getUint32(at, true));
      const slot = position % slotCount;
      const target = this.#block(bucketId, (position - slot) / slotCount).builder;
      target.put(slot, row, viewOf(row).getFloat64(rowVersionOffset, true));
    }
    this.#context.spareBuilders.push(old);
  }

  #wholeBlock(bucket: BucketId, number: number, image: Uint8Array, version: LogIndex): void {
    const slotCount = this.#bucket(bucket).slotCount;
    const block = new Block(imageOf(image), 0, bucket, number, slotCount);
    for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
      const at = block.rowOffset(slot);
      const row = image.subarray(at, at + block.view.getUint32(at, true));
      this.putRow(makeRid(bucket, block.firstPosition + slot), row, version);
    }
  }

  takePositions(bucketId: BucketId, next: number): void {
    const bucket = this.#bucket(bucketId);
    if (next > bucket.next) bucket.next = next;
  }

  #dropIndex(index: IndexId): void {
    this.#droppedIndexes.add(index);
    this.entries.drop(index);
    const prefix = bigEndian(index, 4);
    this.deletions.push({ store: 'ix', prefix });
    if (this.#context.state.besideChunks.has(index)) this.deletions.push({ store: 'ft', prefix });
  }

  /** Its rows, their large cells and the edges listed at its vertices. Bucket ids are not used again. */
  #dropBucket(bucket: BucketId): void {
    this.#buckets.set(bucket, undefined);
    for (const { builder } of this.#blocks.takeBucket(bucket))
      this.#context.spareBuilders.push(builder);
    for (const [key, finished] of this.#finished)
      if (finished.bucket === bucket) this.#finished.delete(key);
    const prefix = bigEndian(bucket, 2);
    for (const store of ['blk', 'big', 'adj'] as const) this.deletions.push({ store, prefix });
  }

  /** Rows of blocks that cannot be read are in no count any more. */
  #mendBucket(mended: Extract<RowOperation, { op: 'mend-bucket' }>): void {
    const id = mended.bucket as BucketId;
    const bucket = this.#bucket(id);
    bucket.live += mended.liveChange;
    addHash(bucket.hash, { low: mended.hashLowChange, high: mended.hashHighChange }, 1);
    for (const number of mended.droppedBlocks) {
      const builder = this.#takeBuilder();
      builder.startEmpty();
      this.#blocks.set({ bucket: id, number, builder });
    }
  }

  putLarge(rid: Rid, property: PropertyId, cell: Uint8Array | undefined): void {
    this.#writes.push(this.large.put(rid, property, cell));
  }

  /** Writes that need no more than being carried out with this commit. */
  addWrites(writes: readonly Write[]): void {
    for (const write of writes) this.#writes.push(write);
  }

  /** Chunks that a bulk load laid itself; they belong to lists that this commit does not change otherwise. */
  addChunks(runs: readonly ChunkRun[]): void {
    for (const run of runs) this.#chunkRuns.push(run);
  }

  // --- what is pending

  readonly #pending = (id: BucketId): PendingBucket => this.#bucket(id);

  #bucket(id: BucketId): PendingBucket {
    const known = this.#buckets.get(id);
    if (known !== undefined) return known;
    const stored = this.#buckets.has(id) ? undefined : this.#context.state.bucket(this.reader, id);
    const pending = pendingBucketOf(stored, this.#context.deriver.windowsOn?.(id));
    this.#buckets.set(id, pending);
    return pending;
  }

  // --- bulk loads (lmdb-bulk-writer.ts)

  /** Writes the definitions that are not durable yet. */
  defineShapes(ids: Iterable<number>): void {
    const { shapes } = this.#context;
    for (const id of ids) {
      if (shapes.isSaved(id)) continue;
      this.#defineShape(id, encodeShape(shapes.shape(id)));
    }
  }

  #defineShape(id: number, definition: Uint8Array): void {
    this.meta.set(`shapes/${id}`, definition);
    this.#shapes.push(id);
    this.#context.shapes.define(id, definition);
  }

  /** One past the highest position of the bucket before this commit. */
  durableNext(bucket: BucketId): number {
    return this.#context.state.bucket(this.reader, bucket)?.next ?? 0;
  }

  /** True when the image may become the block as it is: same rows per block, and no such block so far. */
  mayTakeBlock(block: Block): boolean {
    if (this.#bucket(block.bucket).slotCount !== block.slotCount) return false;
    if (this.#blocks.get(block.bucket, block.number) !== undefined) return false;
    if (this.#finished.has(blockKey(block.bucket, block.number))) return false;
    if (block.firstPosition >= this.durableNext(block.bucket)) return true;
    return this.#context.state.block(this.reader, block.bucket, block.number) === undefined;
  }

  /** Writes a whole new block; its rows get the version, and the image is sealed here and must not change any more. */
  takeBlock({ block, slab, size }: BulkBlock, version: LogIndex): void {
    const bucket = this.#bucket(block.bucket);
    for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
      const rid = makeRid(block.bucket, block.firstPosition + slot);
      const at = block.rowOffset(slot);
      block.view.setFloat64(at + rowVersionOffset, version, true);
      this.#addToHash(rid, block, at, bucket, 1);
    }
    bucket.live += block.rowCount;
    const key = new BlkKey();
    key.key = blockKey(block.bucket, block.number);
    const start = block.base;
    sealValue(keyBytes(key, this.reader.window.scratch), slab.bytes, start, start + size);
    this.#writes.push({ store: this.reader.subs.blk, key, slab, start, size });
  }

  #block(bucket: BucketId, number: number): PendingBlock {
    const known = this.#blocks.get(bucket, number);
    if (known !== undefined) return known;
    const builder = this.#takeBuilder();
    const finished = this.#finished.get(blockKey(bucket, number));
    const { state } = this.#context;
    if (finished === undefined) state.startBuilder(this.reader, bucket, number, builder);
    else if (finished.image === undefined) builder.startEmpty();
    else builder.startFrom(finished.image.block);
    const pending = { bucket, number, builder };
    this.#blocks.set(pending);
    return pending;
  }

  #takeBuilder(): BlockBuilder {
    return this.#context.spareBuilders.pop() ?? this.#context.makeBlockBuilder();
  }

  // --- the end

  /** What is to be carried out beside the writes of `finish`. */
  get packed(): PackedWrites {
    const { removalRuns, additionRuns } = this.entries;
    return { chunkRuns: this.#chunkRuns, removalRuns, additionRuns };
  }

  /** All writes of the commit. Nothing may be applied any more. */
  finish(): readonly Write[] {
    return toEnd(this.finishing());
  }

  /** As `finish`, with pauses. */
  *finishing(): Generator<undefined, readonly Write[], undefined> {
    const { subs } = this.reader;
    const writes = this.#blockWrites;
    this.#finishBlocks();
    for (const write of this.#writes) writes.push(write);
    yield* this.lists.finishing(this.#memory, writes, subs.adj);
    this.entries.finish(writes);
    for (const [id, bucket] of this.#buckets) {
      const state = bucket && encodeBucketState(bucketStateOf(bucket));
      this.meta.set(`bucket/${id}`, state);
    }
    for (const deletion of this.deletions) {
      writes.push(this.#context.jobs.recordOf(deletion, this.reader, this.#memory));
    }
    const index = this.position?.index ?? this.reader.index;
    for (const [id, state] of this.#indexStates())
      this.meta.set(`index/${id}`, state && encodeIndexState(state, index));
    if (this.position !== undefined) this.meta.set('applied', encodeApplied(this.position));
    this.meta.addWrites(writes, subs, this.#memory);
    return writes;
  }

  /** Their images are final unless an operation comes back to one, which then starts from its image. */
  #finishBlocks(): void {
    for (const pending of this.#blocks.takeAll()) this.#finishBlock(pending);
  }

  #finishBlock({ bucket, number, builder }: PendingBlock): void {
    const writes = this.#blockWrites;
    const store = this.reader.subs.blk;
    const key = new BlkKey();
    const place = blockKey(bucket, number);
    key.key = place;
    if (builder.rowCount === 0) {
      this.#finished.set(place, { bucket, number, image: undefined });
      writes.push(removal(store, key));
    } else {
      const size = builder.usedBytes + checksumSize;
      const { memory } = this.#context.state.blocks;
      const start = memory.take(size);
      const { slab } = memory;
      builder.copyTo(slab.bytes, start);
      sealValue(keyBytes(key, this.reader.window.scratch), slab.bytes, start, start + size);
      writes.push({ store, key, slab, start, size });
      const block = new Block(slab, start, bucket, number, this.#bucket(bucket).slotCount);
      this.#finished.set(place, { bucket, number, image: { block, slab } });
    }
    this.#context.spareBuilders.push(builder);
  }

  #indexStates(): ReadonlyMap<IndexId, IndexState | undefined> {
    const { state } = this.#context;
    const before = { state, reader: this.reader, dropped: this.#droppedIndexes };
    return indexStatesAfter(this.entries, before);
  }

  /** Makes the caches show the commit, with pauses; it is durable. See `toldCaches`. */
  publishing(held: HeldStates): Generator<undefined, void, undefined> {
    const { meta, lists, entries } = this;
    const [shapes, buckets, finished] = [this.#shapes, this.#buckets, this.#finished];
    const indexStates = this.#indexStates();
    const dropsIndexes = this.#droppedIndexes.size > 0;
    const commit = { meta, lists, entries, shapes, buckets, finished, indexStates, dropsIndexes };
    return toldCaches(this.#context, commit, this.position?.index ?? this.reader.index, held);
  }
}
