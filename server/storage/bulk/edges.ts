import {
  bucketOf,
  type BucketId,
  noRid,
  positionOf,
  type Rid,
  type TypeId,
} from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import {
  chunkEntryCount,
  chunkHeaderSize,
  chunkLast,
  describeChunk,
  isWideChunk,
  narrowEntriesMax,
  writeNarrow,
} from '../format/adjacency-chunk.ts';
import { ChunkRun } from './chunks.ts';
import { checksumSize, sealValue } from '../format/checksum.ts';
import type { CommitBuilder } from '../commit/builder.ts';
import type { EdgeCounts } from './writer.ts';
import { EdgeColumn, numbersPerEdge, place } from './edge-column.ts';
import { ImageMemory } from '../checkpoint/image-memory.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';
import { EdgePages } from './edge-pages.ts';
import { PackedRids, RidRanges } from '../format/packed-rids.ts';
import { NewEdgeRuns } from './new-edge-runs.ts';
import { type ListedEdges, SortedEdges } from './sorted-edges.ts';
import { AdjKey, keyBytes, lastKeyOf, readRidBytes } from '../format/sub-databases.ts';

/** Edges between two turns of the event loop: a millisecond or two; a vertex counts as `edgesPerVertex`. */
const edgesPerSlice = 8192;
const edgesPerVertex = 8;

/** Fewer go into their lists at once. */
const runEdgesMin = 32_768;

const entrySize = 12;

/** The adjacency of a bulk load: typed arrays until the end, then sorted by vertex and written once. */
export class BulkEdges {
  readonly #columns = new Map<TypeId, { readonly both: EdgeColumn; readonly source: EdgeColumn }>();
  /** Of the commits it was built for: more than one when they were refused. */
  readonly #images: { release(): void }[] = [];

  add(type: TypeId, edge: Rid, from: Rid, to: Rid, both: boolean): void {
    this.column(type, both).add(edge, from, to);
  }

  /** Where edges of the type are added. */
  column(type: TypeId, both: boolean): EdgeColumn {
    let columns = this.#columns.get(type);
    if (columns === undefined) {
      columns = { both: new EdgeColumn(), source: new EdgeColumn() };
      this.#columns.set(type, columns);
    }
    return both ? columns.both : columns.source;
  }

  /** Those that have edges. */
  filledColumns(): {
    readonly type: TypeId;
    readonly both: boolean;
    readonly column: EdgeColumn;
  }[] {
    return [...this.#columns].flatMap(([type, { both, source }]) => [
      ...(both.count > 0 ? [{ type, both: true, column: both }] : []),
      ...(source.count > 0 ? [{ type, both: false, column: source }] : []),
    ]);
  }

  /** How many edges each type has, at both of their ends and at the source only. */
  counts(): ReadonlyMap<TypeId, EdgeCounts> {
    const counts = new Map<TypeId, EdgeCounts>();
    for (const [type, { both, source }] of this.#columns)
      counts.set(type, { both: both.count, source: source.count });
    return counts;
  }

  /** Moves the edges behind those that were counted to `rest`; none may be added here after that. */
  moveBehind(counts: ReadonlyMap<TypeId, EdgeCounts>, rest: BulkEdges): void {
    for (const [type, { both, source }] of this.#columns) {
      const counted = counts.get(type) ?? { both: 0, source: 0 };
      if (both.count > counted.both) rest.column(type, true).addFrom(both, counted.both);
      if (source.count > counted.source) rest.column(type, false).addFrom(source, counted.source);
    }
    this.cutAt(counts);
  }

  /** Forgets the edges behind those that were counted; none may be added after that. */
  cutAt(counts: ReadonlyMap<TypeId, EdgeCounts>): void {
    for (const [type, { both, source }] of this.#columns) {
      both.cutAt(counts.get(type)?.both ?? 0);
      source.cutAt(counts.get(type)?.source ?? 0);
    }
  }

  /** The commit is over: collecting tens of megabytes could take until the next ones are gathered. */
  release(): void {
    for (const { both, source } of this.#columns.values()) {
      both.release();
      source.release();
    }
    for (const images of this.#images) images.release();
  }

  /** Puts the adjacency into a commit. @param isFollowed see `BulkWriter.isFollowed` */
  async build(
    commit: CommitBuilder,
    timers: Pick<Timers, 'yield'>,
    isFollowed: boolean | undefined,
  ): Promise<void> {
    const runs = new NewEdgeRuns(commit.reader.edgeRuns);
    const chunkRuns: ChunkRun[] = [];
    for (const [type, { both, source }] of this.#columns) {
      for (const column of [both, source]) {
        if (column.count === 0) continue;
        const { segments, count } = column;
        const isNarrow = await areNarrow(segments, timers);
        const common = { type, segments, count, isNarrow };
        const out = { ...common, direction: 'out', vertex: place.from, other: place.to } as const;
        const back = { ...common, direction: 'in', vertex: place.to, other: place.from } as const;
        const run = goesInRun(commit.reader, out, isFollowed) ? runs.begin(out) : undefined;
        const packed = run === undefined ? undefined : await packedRidsOf(column, timers);
        for (const listed of column === both ? [out, back] : [out]) {
          const sorted = await SortedEdges.sort(listed, timers);
          if (run === undefined) chunkRuns.push(await buildChunks(commit, timers, sorted));
          else {
            const pages = new EdgePages(sorted, { run, packed }, commit.reader);
            this.#images.push(pages);
            await pages.build(timers);
            commit.addWrites(pages.writes);
          }
        }
      }
      commit.lists.touch(type);
    }
    commit.addChunks(chunkRuns);
    for (const run of chunkRuns) this.#images.push(run);
    runs.end(commit.meta);
  }
}

/**
 * Whether the edges wait beside the lists of their vertices, to be brought in with those of other commits: a commit that lays many
 * lists anew makes each of them as long as it is by then.
 */
function goesInRun(
  reader: PinnedReader,
  { type, count }: ListedEdges,
  isFollowed: boolean | undefined,
): boolean {
  if (count < runEdgesMin) return false;
  if (reader.hasRunsOf(type)) return true;
  return isFollowed ?? lastKeyOf(reader.subs.adj, reader.subs).length > 0;
}

/** The chunks of one type and direction in order of their vertices. */
async function buildChunks(
  commit: CommitBuilder,
  timers: Pick<Timers, 'yield'>,
  edges: SortedEdges,
): Promise<ChunkRun> {
  const builder = new RunBuilder(commit, edges);
  for (let start = 0; start < edges.of.count; ) {
    start = builder.placeSlice(start);
    await timers.yield();
  }
  return builder.chunks;
}

async function packedRidsOf(
  { segments, count }: EdgeColumn,
  timers: Pick<Timers, 'yield'>,
): Promise<PackedRids | undefined> {
  const ranges = new RidRanges();
  let left = count * numbersPerEdge;
  for (const segment of segments) {
    ranges.add(segment.subarray(0, Math.max(0, left)));
    left -= segment.length;
    await timers.yield();
  }
  return PackedRids.of(ranges);
}

/** One pass in order is a tenth of one in the order of the vertices. */
async function areNarrow(
  segments: readonly Float64Array[],
  timers: Pick<Timers, 'yield'>,
): Promise<boolean> {
  let high = 0;
  for (const segment of segments) {
    high |= highBits(segment);
    await timers.yield();
  }
  // The five bits between those of a narrow position and those of the bucket.
  return (high & 31) === 0;
}

/** All bits above the lowest 32 that any of the numbers has. */
function highBits(numbers: Float64Array): number {
  let high = 0;
  for (let i = 0; i < numbers.length; i++) high |= (numbers[i] as number) / 2 ** 32;
  return high;
}

/** Lays chunks of narrow entries straight from the arrays; leaves the rare cases to the list builder. */
class RunBuilder {
  readonly chunks: ChunkRun;
  readonly #commit: CommitBuilder;
  readonly #run: ListedEdges;
  readonly #edges: SortedEdges;
  readonly #key = new AdjKey();
  /** Apart from that of others, so that it can be given back when the commit is over. */
  readonly #memory = new ImageMemory();
  readonly #hasRuns: boolean;
  /** The last vertex that has stored lists. */
  readonly #lastStored: Rid;
  /** Bucket of the last vertex, and where it ended before this commit. */
  #bucket = -1 as BucketId;
  #bucketNext = 0;

  constructor(commit: CommitBuilder, edges: SortedEdges) {
    const { subs } = commit.reader;
    const run = edges.of;
    this.#commit = commit;
    this.#run = run;
    this.#edges = edges;
    this.chunks = new ChunkRun(run.type, run.direction);
    this.#key.direction = run.direction;
    this.#key.type = run.type;
    this.#hasRuns = commit.reader.hasRunsOf(run.type);
    const lastKey = lastKeyOf(subs.adj, subs);
    this.#lastStored = lastKey.length === 0 ? noRid : readRidBytes(lastKey, 0);
  }

  /** Adds the edges from `order[start]` on, of some vertices. @returns where the next ones begin */
  placeSlice(start: number): number {
    const { count } = this.#run;
    let at = start;
    for (let left = edgesPerSlice; left > 0 && at < count; ) {
      const end = this.#placeVertex(at);
      left -= end - at + edgesPerVertex;
      at = end;
    }
    return at;
  }

  #placeVertex(start: number): number {
    const { vertex: side, direction, type, other } = this.#run;
    const edges = this.#edges;
    const vertex = edges.ridAt(start, side);
    const end = edges.endOfVertex(start);
    if (this.#place(vertex, start, end)) return end;
    for (let i = start; i < end; i++) {
      const edge = edges.ridAt(i, place.edge);
      this.#commit.lists.add(vertex, direction, type, edge, edges.ridAt(i, other));
    }
    return end;
  }

  /**
   * Adds the edges `order[start, end)` of the vertex behind those it has.
   * @returns false when they need wide entries, the vertex has several chunks or edges may wait in runs: nothing was done then
   */
  #place(vertex: Rid, start: number, end: number): boolean {
    if (this.#hasRuns || (!this.#run.isNarrow && !this.#areNarrow(start, end))) return false;
    this.#key.vertex = vertex;
    this.#key.chunk = 0;
    let stored = 0;
    if (this.#mayBeStored(vertex) && this.#isStored(vertex)) {
      const { view, base } = this.#commit.reader.window;
      if (chunkLast(view, base) > 0 || isWideChunk(view, base)) return false;
      stored = chunkEntryCount(view, base);
    }
    this.#write(vertex, stored, start, end);
    return true;
  }

  /** Whether lists of the vertex are worth a look: it is no new one, and not behind all that have some. */
  #mayBeStored(vertex: Rid): boolean {
    if (vertex > this.#lastStored) return false;
    const bucket = bucketOf(vertex);
    if (bucket !== this.#bucket) {
      this.#bucket = bucket;
      this.#bucketNext = this.#commit.durableNext(bucket);
    }
    return positionOf(vertex) < this.#bucketNext;
  }

  #isStored(vertex: Rid): boolean {
    const { reader } = this.#commit;
    const describe = () => describeChunk(vertex, this.#run.direction);
    return reader.findChecked(reader.subs.adj, this.#key, describe);
  }

  #areNarrow(start: number, end: number): boolean {
    const { other } = this.#run;
    for (let i = start; i < end; i++) {
      if (this.#edges.ridAt(i, place.edge) % 2 ** 37 >= 2 ** 32) return false;
      if (this.#edges.ridAt(i, other) % 2 ** 37 >= 2 ** 32) return false;
    }
    return true;
  }

  /** @param stored entries of chunk 0 that stand in the reader's window and go first */
  #write(vertex: Rid, stored: number, start: number, end: number): void {
    const { reader } = this.#commit;
    const memory = this.#memory;
    const degree = stored + end - start;
    const last = Math.ceil(degree / narrowEntriesMax) - 1;
    let next = start;
    for (let chunk = 0; chunk <= last; chunk++) {
      const old = chunk === 0 ? stored : 0;
      const count = Math.min(narrowEntriesMax, old + end - next);
      const size = chunkHeaderSize + count * entrySize + checksumSize;
      const base = memory.take(size);
      const { bytes, view } = memory.slab;
      view.setUint32(base, chunk === 0 ? degree : 0, true);
      view.setUint32(base + 4, chunk === 0 ? last : 0, true);
      view.setUint32(base + 8, count, true);
      view.setUint32(base + 12, 0, true);
      let at = base + chunkHeaderSize;
      if (old > 0) {
        const oldStart = reader.window.base + chunkHeaderSize;
        reader.window.bytes.copy(bytes, at, oldStart, oldStart + old * entrySize);
        at += old * entrySize;
      }
      for (let i = old; i < count; i++, at += entrySize) this.#entry(view, at, next++);
      this.#key.chunk = chunk;
      sealValue(keyBytes(this.#key, reader.window.scratch), bytes, base, base + size);
      this.chunks.add(vertex, chunk, memory, base, size);
    }
  }

  #entry(view: DataView, at: number, index: number): void {
    const { other } = this.#run;
    writeNarrow(view, at, this.#edges.ridAt(index, place.edge));
    writeNarrow(view, at + 6, this.#edges.ridAt(index, other));
  }
}
