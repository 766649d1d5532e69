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
  narrowEntriesMax,
  writeNarrow,
} from '../format/adjacency-chunk.ts';
import { ChunkRun } from './chunks.ts';
import { checksumSize, sealValue } from '../format/checksum.ts';
import type { CommitBuilder } from '../commit/builder.ts';
import type { EdgeCounts } from './writer.ts';
import { EdgeColumn, numbersPerEdge, place, segmentBits, segmentMask } from './edge-column.ts';
import type { Direction } from '../engine.ts';
import { ImageMemory } from '../checkpoint/image-memory.ts';
import { sortedOrder } from './radix-sort.ts';
import { describeChunk } from '../read/state-reader.ts';
import { AdjKey, keyBytes, lastKeyOf, readRidBytes } from '../format/sub-databases.ts';

/** Edges between two turns of the event loop: a millisecond or two; a vertex counts as `edgesPerVertex`. */
const edgesPerSlice = 8192;
const edgesPerVertex = 8;

const entrySize = 12;

/** The adjacency of a bulk load: typed arrays until the end, then sorted by vertex and written once. */
export class BulkEdges {
  readonly #columns = new Map<TypeId, { readonly both: EdgeColumn; readonly source: EdgeColumn }>();
  /** Of the commits it was built for: more than one when they were refused. */
  readonly #runs: ChunkRun[] = [];

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
    for (const run of this.#runs) run.release();
  }

  /** Puts the adjacency into a commit. */
  async build(commit: CommitBuilder, timers: Pick<Timers, 'yield'>): Promise<void> {
    const runs: ChunkRun[] = [];
    for (const [type, { both, source }] of this.#columns) {
      for (const column of [both, source]) {
        if (column.count === 0) continue;
        const { segments, count } = column;
        const isNarrow = await areNarrow(segments, timers);
        const common = { type, segments, count, isNarrow };
        const out = { ...common, direction: 'out', vertex: place.from, other: place.to } as const;
        runs.push(await buildRun(commit, timers, out));
        if (column === source) continue;
        const back = { ...common, direction: 'in', vertex: place.to, other: place.from } as const;
        runs.push(await buildRun(commit, timers, back));
      }
      commit.lists.touch(type);
    }
    commit.addChunks(runs);
    for (const run of runs) this.#runs.push(run);
  }
}

/** The chunks of one type and direction in order of their vertices. */
async function buildRun(
  commit: CommitBuilder,
  timers: Pick<Timers, 'yield'>,
  run: Run,
): Promise<ChunkRun> {
  const { segments, count } = run;
  const keys = { segments, segmentBits, count, first: run.vertex, stride: numbersPerEdge };
  const order = await sortedOrder(keys, timers);
  const builder = new RunBuilder(commit, run, order);
  for (let start = 0; start < count; ) {
    start = builder.placeSlice(start);
    await timers.yield();
  }
  return builder.chunks;
}

interface Run {
  readonly type: TypeId;
  readonly direction: Direction;
  /** As in `EdgeColumn`. */
  readonly segments: readonly Float64Array[];
  /** Which of an edge's numbers is the vertex of this run, and which the other end. */
  readonly vertex: number;
  readonly other: number;
  readonly count: number;
  /** All positions fit narrow entries. */
  readonly isNarrow: boolean;
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
  readonly #run: Run;
  readonly #order: Uint32Array;
  readonly #key = new AdjKey();
  /** Apart from that of others, so that it can be given back when the commit is over. */
  readonly #memory = new ImageMemory();
  /** The last vertex that has stored lists. */
  readonly #lastStored: Rid;
  /** Bucket of the last vertex, and where it ended before this commit. */
  #bucket = -1 as BucketId;
  #bucketNext = 0;

  constructor(commit: CommitBuilder, run: Run, order: Uint32Array) {
    const { subs } = commit.reader;
    this.#commit = commit;
    this.#run = run;
    this.#order = order;
    this.chunks = new ChunkRun(run.type, run.direction);
    this.#key.direction = run.direction;
    this.#key.type = run.type;
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
    const { count, vertex: side, direction, type, other } = this.#run;
    const vertex = this.#ridAt(start, side);
    let end = start + 1;
    while (end < count && this.#ridAt(end, side) === vertex) end += 1;
    if (this.#place(vertex, start, end)) return end;
    for (let i = start; i < end; i++) {
      const edge = this.#ridAt(i, place.edge);
      this.#commit.lists.add(vertex, direction, type, edge, this.#ridAt(i, other));
    }
    return end;
  }

  /** One of the three ids of the edge at a place of the order. */
  #ridAt(index: number, which: number): Rid {
    const edge = this.#order[index] as number;
    const segment = this.#run.segments[edge >>> segmentBits] as Float64Array;
    return segment[(edge & segmentMask) * numbersPerEdge + which] as Rid;
  }

  /**
   * Adds the edges `order[start, end)` of the vertex behind those it has.
   * @returns false when they need wide entries or the vertex has several chunks: nothing was done then
   */
  #place(vertex: Rid, start: number, end: number): boolean {
    if (!this.#run.isNarrow && !this.#areNarrow(start, end)) return false;
    this.#key.vertex = vertex;
    this.#key.chunk = 0;
    let stored = 0;
    if (this.#mayBeStored(vertex) && this.#isStored(vertex)) {
      const { view, base } = this.#commit.reader.window;
      if (chunkLast(view, base) > 0 || view.getUint8(base + 10) !== 0) return false;
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
      if (this.#ridAt(i, place.edge) % 2 ** 37 >= 2 ** 32) return false;
      if (this.#ridAt(i, other) % 2 ** 37 >= 2 ** 32) return false;
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
    const { segments, other } = this.#run;
    const edge = this.#order[index] as number;
    const segment = segments[edge >>> segmentBits] as Float64Array;
    const from = (edge & segmentMask) * numbersPerEdge;
    writeNarrow(view, at, segment[from] as Rid);
    writeNarrow(view, at + 6, segment[from + other] as Rid);
  }
}
