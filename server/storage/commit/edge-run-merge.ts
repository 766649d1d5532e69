import { bucketOf, noRid, type Rid, type TypeId } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import { ChunkRun } from '../bulk/chunks.ts';
import { ImageMemory } from '../checkpoint/image-memory.ts';
import { removal } from '../checkpoint/write-batch.ts';
import {
  chunkDegree,
  chunkEntryCount,
  chunkHeaderSize,
  chunkLast,
  chunkMergedRun,
  describeChunk,
  entrySizeOf,
  isWideChunk,
  narrowEntriesMax,
} from '../format/adjacency-chunk.ts';
import { allocateBytes, type Image, imageOf } from '../format/bytes.ts';
import { checksumSize, sealValue } from '../format/checksum.ts';
import type { Direction } from '../format/direction.ts';
import { type EdgeRuns, edgeRunsName, encodeEdgeRuns } from '../format/edge-runs.ts';
import { AdjKey, keyBytes, lastKeyOf, readRidBytes } from '../format/sub-databases.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';
import type { CommitBuilder } from './builder.ts';
import { EdgeRunCursor } from './edge-run-cursor.ts';

/** Entries brought into lists in one commit: some 50 ms of the main thread. A vertex counts as `entriesPerVertex`. */
const entriesPerCommit = 262_144;
/** Between two turns of the event loop. */
const entriesPerSlice = 4_096;
const entriesPerVertex = 4;
const entrySize = entrySizeOf(false);
const directions: readonly Direction[] = ['out', 'in'];

/** Which runs are merged, and from which vertex on. */
export interface MergeTask {
  /** Number of the last run that is brought in; later ones wait for the next merge. */
  readonly upTo: number;
  readonly from: Rid;
}

/**
 * Brings edges that wait in runs into the lists of their vertices, all directions and types of a vertex together: in the order of the
 * keys, so that new lists are written behind each other. Each list says then which runs it holds, so a stop in between does no harm:
 * pages of which all lists were made are deleted with the same commit, what is met twice is passed over.
 */
export class EdgeRunMerge {
  readonly #commit: CommitBuilder;
  readonly #reader: PinnedReader;
  readonly #task: MergeTask;
  readonly #runs: EdgeRuns;
  readonly #cursors: readonly EdgeRunCursor[];
  readonly #types: readonly TypeId[];
  readonly #chunks: readonly ChunkRun[];
  readonly #memory = new ImageMemory();
  readonly #key = new AdjKey();
  /** The last vertex that has stored lists. */
  readonly #lastStored: Rid;
  /** Narrow entries of the list that is being made. */
  #entries: Image = imageOf(allocateBytes(narrowEntriesMax * entrySize));
  #length = 0;

  constructor(commit: CommitBuilder, task: MergeTask) {
    const { reader } = commit;
    this.#commit = commit;
    this.#reader = reader;
    this.#task = task;
    this.#runs = reader.edgeRuns;
    const merged = this.#runs.waiting.filter(({ number }) => number <= task.upTo);
    this.#cursors = merged.flatMap((run) =>
      directions.map((direction) => new EdgeRunCursor(reader, run, direction, task.from)),
    );
    this.#types = [...new Set(merged.map(({ type }) => type))].sort((a, b) => a - b);
    this.#chunks = directions.flatMap((direction) =>
      this.#types.map((type) => new ChunkRun(type, direction)),
    );
    const lastKey = lastKeyOf(reader.subs.adj, reader.subs);
    this.#lastStored = lastKey.length === 0 ? noRid : readRidBytes(lastKey, 0);
  }

  /** Puts the lists of some vertices into the commit. @returns the vertex to go on with; undefined: that was all */
  async run(timers: Pick<Timers, 'yield'>): Promise<Rid | undefined> {
    let untilYield = entriesPerSlice;
    let left = entriesPerCommit;
    let vertex = this.#leastVertex();
    for (; vertex !== undefined && left > 0; vertex = this.#leastVertex()) {
      const cost = this.#mergeVertex(vertex) + entriesPerVertex;
      left -= cost;
      untilYield -= cost;
      if (untilYield > 0) continue;
      untilYield = entriesPerSlice;
      await timers.yield();
    }
    const { subs } = this.#reader;
    for (const cursor of this.#cursors)
      this.#commit.addWrites(cursor.takePassed().map((key) => removal(subs.runs, key)));
    this.#commit.addChunks(this.#chunks);
    if (vertex === undefined) this.#end();
    return vertex;
  }

  /** As `BulkBlocks.release`. */
  release(): void {
    for (const run of this.#chunks) run.release();
  }

  #end(): void {
    const { upTo } = this.#task;
    const waiting = this.#runs.waiting.filter(({ number }) => number > upTo);
    const { lastNumber } = this.#runs;
    this.#commit.meta.set(edgeRunsName, encodeEdgeRuns({ lastNumber, waiting }));
  }

  #leastVertex(): Rid | undefined {
    let least = Number.POSITIVE_INFINITY;
    for (const { vertex } of this.#cursors) if (vertex < least) least = vertex;
    return least === Number.POSITIVE_INFINITY ? undefined : (least as Rid);
  }

  /** @returns how many entries that were */
  #mergeVertex(vertex: Rid): number {
    let count = 0;
    let list = 0;
    for (const direction of directions)
      for (const type of this.#types)
        count += this.#mergeList(vertex, direction, type, this.#chunks[list++] as ChunkRun);
    return count;
  }

  #mergeList(vertex: Rid, direction: Direction, type: TypeId, chunks: ChunkRun): number {
    if (!this.#isNext(vertex, direction, type)) return 0;
    const key = this.#key;
    key.vertex = vertex;
    key.direction = direction;
    key.type = type;
    key.chunk = 0;
    const isStored = vertex <= this.#lastStored && this.#findList();
    const { view, base, bytes } = this.#reader.window;
    const degree = isStored ? chunkDegree(view, base) : 0;
    const mergedRun = isStored ? chunkMergedRun(view, base) : 0;
    const isPlain = !isStored || (chunkLast(view, base) === 0 && !isWideChunk(view, base));
    this.#length = 0;
    if (isStored && isPlain) {
      const start = base + chunkHeaderSize;
      const length = chunkEntryCount(view, base) * entrySize;
      bytes.copy(this.#roomFor(length).bytes, 0, start, start + length);
      this.#length = length;
    }
    const stored = this.#length;
    const areNarrow = this.#takeEntries(vertex, direction, type, mergedRun);
    const added = (this.#length - stored) / entrySize;
    // A vertex whose bucket was dropped has no lists any more.
    if (this.#commit.durableNext(bucketOf(vertex)) === 0) return added;
    if (!areNarrow || !isPlain) this.#commit.lists.absorb(vertex, direction, type);
    else if (added > 0) this.#layChunks(vertex, chunks);
    else if (isStored && degree === 0) this.#removeMark(type);
    return added;
  }

  #isNext(vertex: Rid, direction: Direction, type: TypeId): boolean {
    for (const cursor of this.#cursors)
      if (cursor.vertex === vertex && cursor.direction === direction && cursor.type === type)
        return true;
    return false;
  }

  #findList(): boolean {
    const { vertex, direction } = this.#key;
    const describe = () => describeChunk(vertex, direction);
    return this.#reader.findChecked(this.#reader.subs.adj, this.#key, describe);
  }

  /** Adds the entries of runs that the list does not hold yet. @returns false when some are wide: these are not added */
  #takeEntries(vertex: Rid, direction: Direction, type: TypeId, mergedRun: number): boolean {
    let areNarrow = true;
    for (const cursor of this.#cursors) {
      if (cursor.direction !== direction || cursor.type !== type) continue;
      for (; cursor.vertex === vertex; cursor.next()) {
        if (cursor.run <= mergedRun) continue;
        const { page } = cursor;
        if (page.areNarrow) {
          const length = page.entryCount * entrySize;
          page.layNarrow(this.#roomFor(length), this.#length);
          this.#length += length;
        } else areNarrow = false;
      }
    }
    return areNarrow;
  }

  /** The entries, with room for more. */
  #roomFor(more: number): Image {
    const length = this.#length + more;
    const { bytes } = this.#entries;
    if (length > bytes.length) {
      const grown = allocateBytes(Math.max(length, bytes.length * 2));
      bytes.copy(grown, 0, 0, this.#length);
      this.#entries = imageOf(grown);
    }
    return this.#entries;
  }

  /** The list holds nothing, and told so until now. */
  #removeMark(type: TypeId): void {
    const hasLater = this.#runs.waiting.some(
      (run) => run.type === type && run.number > this.#task.upTo,
    );
    if (hasLater) return;
    const key = new AdjKey();
    const { vertex, direction } = this.#key;
    Object.assign(key, { vertex, direction, type, chunk: 0 });
    this.#commit.addWrites([removal(this.#reader.subs.adj, key)]);
  }

  #layChunks(vertex: Rid, chunks: ChunkRun): void {
    const { window } = this.#reader;
    const degree = this.#length / entrySize;
    const last = Math.ceil(degree / narrowEntriesMax) - 1;
    for (let chunk = 0; chunk <= last; chunk += 1) {
      const first = chunk * narrowEntriesMax * entrySize;
      const length = Math.min(narrowEntriesMax * entrySize, this.#length - first);
      const size = chunkHeaderSize + length + checksumSize;
      const base = this.#memory.take(size);
      const { bytes, view } = this.#memory.slab;
      view.setUint32(base, chunk === 0 ? degree : 0, true);
      view.setUint32(base + 4, chunk === 0 ? last : 0, true);
      view.setUint32(base + 8, length / entrySize, true);
      view.setUint32(base + 12, chunk === 0 ? this.#task.upTo : 0, true);
      this.#entries.bytes.copy(bytes, base + chunkHeaderSize, first, first + length);
      this.#key.chunk = chunk;
      sealValue(keyBytes(this.#key, window.scratch), bytes, base, base + size);
      chunks.add(vertex, chunk, this.#memory, base, size);
    }
  }
}
