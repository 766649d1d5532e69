import { bucketOf, positionOf, type Rid, type TypeId } from '#core/rid.ts';
import type { Timers } from '#core/runtime.ts';
import {
  chunkEntryCount,
  chunkHeaderSize,
  chunkLast,
  narrowEntriesMax,
  writeNarrow,
} from './adjacency-chunk.ts';
import { ChunkRun } from './bulk-chunks.ts';
import { checksumSize, sealValue } from './checksum.ts';
import type { CommitBuilder } from './commit-builder.ts';
import type { Direction } from './engine.ts';
import { ImageMemory } from './image-memory.ts';
import { sortedOrder } from './radix-sort.ts';
import { describeChunk } from './state-reader.ts';
import { AdjKey, keyBytes } from './sub-databases.ts';

/** Edges between two turns of the event loop: a millisecond or two; a vertex counts as `edgesPerVertex`. */
const edgesPerSlice = 8192;
const edgesPerVertex = 8;
/** Numbers looked through between two turns. */
const numbersPerSlice = 262_144;

const entrySize = 12;

/** Numbers of an edge in `EdgeColumn.rids`: its record id and those of its ends. */
const numbersPerEdge = 3;
const place = { edge: 0, from: 1, to: 2 } as const;

/**
 * Gathered edges of one type, in the order they came. The three ids of an edge lie together, because they are read in the order
 * of the vertices, where each read misses the processor's cache.
 */
export class EdgeColumn {
  rids = new Float64Array(1024 * numbersPerEdge);
  count = 0;

  add(edge: Rid, from: Rid, to: Rid): void {
    const at = this.count++ * numbersPerEdge;
    if (at === this.rids.length) this.rids = lengthened(this.rids);
    this.rids[at] = edge;
    this.rids[at + place.from] = from;
    this.rids[at + place.to] = to;
  }

  /** Gives the memory back at once; nothing is read after that. */
  release(): void {
    this.rids.buffer.transfer(0);
  }
}

/** By half, in place of the old one: what is left behind would weigh as much again until it is collected. */
function lengthened(numbers: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const edges = Math.ceil((numbers.length / numbersPerEdge) * 1.5);
  return new Float64Array(numbers.buffer.transfer(edges * numbersPerEdge * 8));
}

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
        const { rids, count } = column;
        const isNarrow = await areNarrow(rids, count * numbersPerEdge, timers);
        const common = { type, rids, count, isNarrow };
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
  const { rids, count } = run;
  const keys = { numbers: rids, count, first: run.vertex, stride: numbersPerEdge };
  const order = await sortedOrder(keys, timers);
  const builder = new RunBuilder(commit, run, order);
  let untilYield = edgesPerSlice;
  for (let start = 0; start < count; ) {
    const vertex = rids[(order[start] as number) * numbersPerEdge + run.vertex] as Rid;
    let end = start + 1;
    while (end < count) {
      const next = (order[end] as number) * numbersPerEdge + run.vertex;
      if (rids[next] !== vertex) break;
      end += 1;
    }
    if (!builder.place(vertex, start, end)) {
      for (let i = start; i < end; i++) {
        const at = (order[i] as number) * numbersPerEdge;
        const [edge, other] = [rids[at] as Rid, rids[at + run.other] as Rid];
        commit.lists.add(vertex, run.direction, run.type, edge, other);
      }
    }
    untilYield -= end - start + edgesPerVertex;
    start = end;
    if (untilYield <= 0) {
      untilYield = edgesPerSlice;
      await timers.yield();
    }
  }
  return builder.chunks;
}

interface Run {
  readonly type: TypeId;
  readonly direction: Direction;
  /** As in `EdgeColumn`. */
  readonly rids: Float64Array;
  /** Which of an edge's numbers is the vertex of this run, and which the other end. */
  readonly vertex: number;
  readonly other: number;
  readonly count: number;
  /** All positions fit narrow entries. */
  readonly isNarrow: boolean;
}

/** One pass in order is a tenth of one in the order of the vertices. */
async function areNarrow(
  rids: Float64Array,
  count: number,
  timers: Pick<Timers, 'yield'>,
): Promise<boolean> {
  let high = 0;
  for (let from = 0; from < count; from += numbersPerSlice) {
    const to = Math.min(from + numbersPerSlice, count);
    for (let i = from; i < to; i++) high |= (rids[i] as number) / 2 ** 32;
    await timers.yield();
  }
  // The five bits between those of a narrow position and those of the bucket.
  return (high & 31) === 0;
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

  constructor(commit: CommitBuilder, run: Run, order: Uint32Array) {
    this.#commit = commit;
    this.#run = run;
    this.#order = order;
    this.chunks = new ChunkRun(run.type, run.direction);
    this.#key.direction = run.direction;
    this.#key.type = run.type;
  }

  /**
   * Adds the edges `order[start, end)` of the vertex behind those it has.
   * @returns false when they need wide entries or the vertex has several chunks: nothing was done then
   */
  place(vertex: Rid, start: number, end: number): boolean {
    if (!this.#run.isNarrow && !this.#areNarrow(start, end)) return false;
    this.#key.vertex = vertex;
    this.#key.chunk = 0;
    const mayExist = positionOf(vertex) < this.#commit.durableNext(bucketOf(vertex));
    let stored = 0;
    if (mayExist && this.#isStored(vertex)) {
      const { view, base } = this.#commit.reader.window;
      if (chunkLast(view, base) > 0 || view.getUint8(base + 10) !== 0) return false;
      stored = chunkEntryCount(view, base);
    }
    this.#write(vertex, stored, start, end);
    return true;
  }

  #isStored(vertex: Rid): boolean {
    const { reader } = this.#commit;
    const describe = () => describeChunk(vertex, this.#run.direction);
    return reader.findChecked(reader.subs.adj, this.#key, describe);
  }

  #areNarrow(start: number, end: number): boolean {
    const { rids, other } = this.#run;
    for (let i = start; i < end; i++) {
      const at = (this.#order[i] as number) * numbersPerEdge;
      if ((rids[at] as number) % 2 ** 37 >= 2 ** 32) return false;
      if ((rids[at + other] as number) % 2 ** 37 >= 2 ** 32) return false;
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
    const { rids, other } = this.#run;
    const edge = (this.#order[index] as number) * numbersPerEdge;
    writeNarrow(view, at, rids[edge] as Rid);
    writeNarrow(view, at + 6, rids[edge + other] as Rid);
  }
}
