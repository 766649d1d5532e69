import { DatabaseError } from '#core/errors.ts';
import {
  type BucketId,
  formatRid,
  type IndexId,
  type LogIndex,
  makeRid,
  type Rid,
  type TypeId,
} from '#core/value/rid.ts';
import { AdjacencyCache, type CachedList } from './adjacency-cache.ts';
import { edgesInRuns, type FoundEdges } from './edge-run-lookup.ts';
import { ListMemory, type ListWindow } from './list-memory.ts';
import {
  chunkDegree,
  chunkEntryCount,
  chunkHeaderSize,
  chunkLast,
  chunkMergedRun,
  describeChunk,
  readEntries,
} from '../format/adjacency-chunk.ts';
import type { BlockBuilder } from '../commit/block-builder.ts';
import { Block, blockFormat, rowOffsetsOffset, usedEndOffset } from '../format/block.ts';
import { BlockCache } from './block-cache.ts';
import type { BlockWindow } from './block-window.ts';
import { checksumSize } from '../format/checksum.ts';
import type { BucketState, IndexState } from '../format/counters.ts';
import type { AdjacencyList, Direction } from '../engine.ts';
import { ImageMemory } from '../checkpoint/image-memory.ts';
import type { PinnedReader } from './pinned-reader.ts';
import { AdjKey, BlkKey, blockKey, IxKey, readRidBytes } from '../format/sub-databases.ts';
import { UniqueEntryCache } from './unique-entry-cache.ts';
import { type HeldStates, Versioned } from './versioned.ts';

/** Shared by all lookups of vertices without edges. */
const noEdges: CachedList = {
  count: 0,
  edges: new Float64Array(),
  vertices: new Float64Array(),
  since: 0 as LogIndex,
};

export const droppedIndex = -1;

interface ListPlace {
  readonly vertex: Rid;
  readonly direction: Direction;
  readonly type: TypeId;
}

interface ListNumbers {
  /** Edges that stand in the chunks; the numbers of others come behind theirs. */
  readonly listed: number;
  readonly edges: Float64Array;
  readonly vertices: Float64Array;
}

export interface StateReaderOptions {
  readonly blockCacheBytes: number;
  readonly adjacencyCacheBytes: number;
  /** See `AdjacencyCache`. */
  readonly takesFirstLists?: boolean;
  readonly entryCacheBytes: number;
}

/**
 * Reads states: the caches of the newest images in front, LMDB behind. A cached image serves every snapshot that is not
 * older than the image; older snapshots read through their own reader. Images are checked when they come out of LMDB.
 */
export class StateReader {
  readonly blocks: BlockCache;
  readonly lists: AdjacencyCache;
  /** Memory of rows without their blocks. */
  readonly rows = new ImageMemory();
  readonly uniqueEntries: UniqueEntryCache;
  /** undefined as a value: dropped. */
  readonly buckets = new Map<BucketId, Versioned<BucketState | undefined>>();
  readonly entryCounts = new Map<IndexId, Versioned<number>>();
  /** Of indexes whose entries lie in chunks, how many changes stand beside these now; `droppedIndex` of those that are gone. */
  readonly besideChunks = new Map<IndexId, number>();
  /** LSN of the last change of adjacency by edge type, since the engine was opened. */
  readonly listsChanged = new Map<TypeId, LogIndex>();
  /** As `listsChanged`, of all types that have none. */
  #listsSince = 0 as LogIndex;
  readonly #numbers = new ListMemory();
  readonly #blkKey = new BlkKey();
  readonly #adjKey = new AdjKey();
  readonly #ixKey = new IxKey();

  constructor(options: StateReaderOptions) {
    const lists = new AdjacencyCache(options.adjacencyCacheBytes, options.takesFirstLists);
    this.lists = lists;
    this.blocks = new BlockCache(options.blockCacheBytes, () => lists.spareBytes);
    this.uniqueEntries = new UniqueEntryCache(options.entryCacheBytes);
  }

  bucket(reader: PinnedReader, bucket: BucketId): BucketState | undefined {
    return this.buckets.get(bucket)?.at(reader.index);
  }

  /** The newest state of a bucket; undefined: dropped. `held` as in `Versioned.replacedBy`. */
  setBucket(id: BucketId, state: BucketState | undefined, since: LogIndex, held: HeldStates): void {
    const old = this.buckets.get(id);
    this.buckets.set(id, old?.replacedBy(state, since, held) ?? new Versioned(state, since));
  }

  setIndexState(id: IndexId, state: IndexState, since: LogIndex, held: HeldStates): void {
    const old = this.entryCounts.get(id);
    const { entries, besideChunks } = state;
    this.entryCounts.set(
      id,
      old?.replacedBy(entries, since, held) ?? new Versioned(entries, since),
    );
    if (besideChunks !== undefined || this.besideChunks.has(id))
      this.besideChunks.set(id, besideChunks ?? droppedIndex);
  }

  /** Lists and unique keys may have changed with the state `since`, by whoever writes: nothing that is kept of them holds. */
  forgetEntries(since: LogIndex): void {
    this.lists.clear();
    this.uniqueEntries.clear();
    this.#listsSince = since;
  }

  entryCount(reader: PinnedReader, index: IndexId): number {
    return this.entryCounts.get(index)?.at(reader.index) ?? 0;
  }

  /** Cost: two array reads when cached; else an LMDB get, a checksum and a copy. */
  block(reader: PinnedReader, bucket: BucketId, number: number): Block | undefined {
    return this.cachedBlock(reader, bucket, number) ?? this.#loadBlock(reader, bucket, number);
  }

  cachedBlock(reader: PinnedReader, bucket: BucketId, number: number): Block | undefined {
    const cached = this.blocks.get(bucket, number);
    if (cached === undefined || cached.since > reader.index) return undefined;
    cached.isUsed = true;
    return cached;
  }

  /** Begins to change a block, if there is none an empty one. Its old image stays out of the cache, where the new one comes. */
  startBuilder(
    reader: PinnedReader,
    bucket: BucketId,
    number: number,
    builder: BlockBuilder,
  ): void {
    const cached = this.cachedBlock(reader, bucket, number);
    if (cached !== undefined) {
      builder.startFrom(cached);
    } else if (this.#findBlock(reader, bucket, number) === undefined) {
      builder.startEmpty();
    } else {
      const { bytes, base, view } = reader.window;
      builder.startFromBytes(bytes, base, view.getUint32(base + usedEndOffset, true));
    }
  }

  /**
   * A copy of one row of a block that is not to come into the cache.
   * @returns where it starts in `rows.slab`; -1 when there is no such row
   */
  looseRow(reader: PinnedReader, bucket: BucketId, number: number, slot: number): number {
    if (this.#findBlock(reader, bucket, number) === undefined) return -1;
    const { view, bytes, base } = reader.window;
    const units = view.getUint16(base + rowOffsetsOffset + slot * 2, true);
    if (units === 0) return -1;
    const row = base + units * 8;
    const length = view.getUint32(row, true);
    const start = this.rows.take(length);
    bytes.copy(this.rows.slab.bytes, start, row, row + length);
    return start;
  }

  /** As `block` for a scan: what it reads drives nothing out of the cache, but lands in its window. */
  passingBlock(
    reader: PinnedReader,
    bucket: BucketId,
    number: number,
    window: BlockWindow,
  ): Block | undefined {
    return (
      this.cachedBlock(reader, bucket, number) ??
      this.#loadBlock(reader, bucket, number, this.blocks.isFull ? window : undefined)
    );
  }

  /** Into the cache, or past it into `passing`. */
  #loadBlock(
    reader: PinnedReader,
    bucket: BucketId,
    number: number,
    passing?: BlockWindow,
  ): Block | undefined {
    const versions = this.#findBlock(reader, bucket, number);
    if (versions === undefined) return undefined;
    const { slotCount } = versions.at(reader.index) as BucketState;
    const { window } = reader;
    const length = window.length - checksumSize;
    const memory = passing ?? this.blocks.memory;
    const start = memory.take(length);
    const { slab } = memory;
    window.bytes.copy(slab.bytes, start, window.base, window.base + length);
    const block = new Block(slab, start, bucket, number, slotCount);
    if (passing !== undefined) return passing.hold(block);
    // The state has not changed since the snapshot, so the image is the newest one.
    if (versions.since <= reader.index) this.blocks.put(block, slab, versions.since);
    return block;
  }

  /** Reads a block into the window. @returns the states of its bucket; undefined when there is no such block */
  #findBlock(
    reader: PinnedReader,
    bucket: BucketId,
    number: number,
  ): Versioned<BucketState | undefined> | undefined {
    const versions = this.buckets.get(bucket);
    const state = versions?.at(reader.index);
    if (versions === undefined || state === undefined) return undefined;
    const { slotCount } = state;
    this.#blkKey.key = blockKey(bucket, number);
    const describe = () => describeBlock(bucket, number * slotCount, slotCount);
    if (!reader.findChecked(reader.subs.blk, this.#blkKey, describe)) return undefined;
    const format = reader.window.bytes[reader.window.base];
    if (format === blockFormat) return versions;
    throw new DatabaseError(
      'CorruptedRecord',
      `${describe()} have the unknown block format ${format}`,
    );
  }

  /** @param passing memory for a list that does not come into the cache; absent: memory of its own */
  adjacency(
    reader: PinnedReader,
    vertex: Rid,
    direction: Direction,
    type: TypeId,
    passing?: ListWindow,
  ): AdjacencyList {
    const cached = this.lists.get(vertex, direction, type);
    if (cached !== undefined && cached.since <= reader.index) return cached;
    return this.#loadList(reader, { vertex, direction, type }, passing);
  }

  #loadList(
    reader: PinnedReader,
    place: ListPlace,
    passing: ListWindow | undefined,
  ): AdjacencyList {
    const { vertex, direction, type } = place;
    const waiting = this.#waitingEdges(reader, vertex, direction, type);
    const isListed = this.#findChunk(reader, vertex, direction, type, 0);
    const { window } = reader;
    const listed = isListed ? chunkDegree(window.view, window.base) : 0;
    const count = listed + (waiting?.edges.length ?? 0);
    if (count === 0) return noEdges;
    const since = this.listsChanged.get(type) ?? this.#listsSince;
    const isKept = since <= reader.index && this.lists.admits(vertex, direction, type);
    const memory = isKept || passing === undefined ? this.#numbers : passing;
    const { edges, vertices } = memory.take(count);
    if (waiting !== undefined) {
      edges.set(waiting.edges, listed);
      vertices.set(waiting.vertices, listed);
    }
    if (listed > 0) this.#readChunks(reader, place, { listed, edges, vertices });
    const list: CachedList = { count, edges, vertices, since };
    if (isKept) {
      this.lists.put(vertex, direction, type, list);
      this.blocks.trim();
    }
    return list;
  }

  /** What runs have for the vertex beside its list; undefined: no run of the type waits. */
  #waitingEdges(
    reader: PinnedReader,
    vertex: Rid,
    direction: Direction,
    type: TypeId,
  ): FoundEdges | undefined {
    if (!reader.hasRunsOf(type)) return undefined;
    const { window } = reader;
    const isListed = this.#findChunk(reader, vertex, direction, type, 0);
    const mergedRun = isListed ? chunkMergedRun(window.view, window.base) : 0;
    return edgesInRuns(reader, { vertex, direction, type, mergedRun });
  }

  /** From chunk 0, which is in the window, on. */
  #readChunks(
    reader: PinnedReader,
    { vertex, direction, type }: ListPlace,
    { listed: count, edges, vertices }: ListNumbers,
  ): void {
    const { window } = reader;
    const last = chunkLast(window.view, window.base);
    let at = 0;
    for (let chunk = 0; chunk <= last; chunk++) {
      if (chunk > 0 && !this.#findChunk(reader, vertex, direction, type, chunk)) continue;
      if (at + chunkEntryCount(window.view, window.base) > count) break;
      at = readEntries(window.view, window.base, edges, vertices, at);
    }
    if (at !== count) {
      throw new DatabaseError(
        'CorruptedRecord',
        `the ${direction} edges of ${formatRid(vertex)} are damaged: ${at} of ${count} were found`,
      );
    }
  }

  degree(reader: PinnedReader, vertex: Rid, direction: Direction, type: TypeId): number {
    const cached = this.lists.get(vertex, direction, type);
    if (cached !== undefined && cached.since <= reader.index) return cached.count;
    const waiting = this.#waitingEdges(reader, vertex, direction, type)?.edges.length ?? 0;
    if (!this.#findChunk(reader, vertex, direction, type, 0)) return waiting;
    return chunkDegree(reader.window.view, reader.window.base) + waiting;
  }

  /** Reads a chunk into the window. */
  #findChunk(
    reader: PinnedReader,
    vertex: Rid,
    direction: Direction,
    type: TypeId,
    chunk: number,
  ): boolean {
    const key = this.#adjKey;
    key.vertex = vertex;
    key.direction = direction;
    key.type = type;
    key.chunk = chunk;
    return (
      reader.findChecked(reader.subs.adj, key, () => describeChunk(vertex, direction)) &&
      reader.window.length >= chunkHeaderSize
    );
  }

  /** @param length of the key in the bytes given */
  uniqueEntry(
    reader: PinnedReader,
    index: IndexId,
    key: Uint8Array,
    length: number,
  ): Rid | undefined {
    const known = this.uniqueEntries.get(index, key, length, reader.index);
    return known ?? this.#loadEntry(reader, index, key.subarray(0, length));
  }

  #loadEntry(reader: PinnedReader, index: IndexId, key: Uint8Array): Rid | undefined {
    const ixKey = this.#ixKey;
    ixKey.index = index;
    ixKey.components = key;
    if (!reader.find(reader.subs.ix, ixKey)) return undefined;
    const rid = readRidBytes(reader.window.bytes, reader.window.base);
    // Every change of an index changes or confirms its number of entries.
    const since = this.entryCounts.get(index)?.since;
    if (since !== undefined && since <= reader.index)
      this.uniqueEntries.put(index, key, rid, since);
    return rid;
  }
}

/** `records #4:128 to #4:191`: what a damaged block holds. */
export function describeBlock(bucket: BucketId, firstPosition: number, slotCount: number): string {
  const first = formatRid(makeRid(bucket, firstPosition));
  return `records ${first} to ${formatRid(makeRid(bucket, firstPosition + slotCount - 1))}`;
}
