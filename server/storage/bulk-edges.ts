import { bucketOf, positionOf, type Rid, type TypeId } from '#core/rid.ts';
import type { Timers } from '#core/runtime.ts';
import { chunkHeaderSize, narrowEntriesMax, writeNarrow } from './adjacency-chunk.ts';
import { checksumSize, sealValue } from './checksum.ts';
import type { CommitBuilder } from './commit-builder.ts';
import type { Direction } from './engine.ts';
import { sortedOrder } from './radix-sort.ts';
import { AdjKey, keyBytes } from './sub-databases.ts';
import type { Write } from './write-batch.ts';

/** Vertices between two turns of the event loop: a few milliseconds. */
const verticesPerSlice = 4096;

const entrySize = 12;

/** Gathered edges of one type, in the order they came. */
class EdgeColumn {
  edges = new Float64Array(1024);
  from = new Float64Array(1024);
  to = new Float64Array(1024);
  count = 0;

  add(edge: Rid, from: Rid, to: Rid): void {
    const at = this.count++;
    if (at === this.edges.length) {
      this.edges = doubled(this.edges);
      this.from = doubled(this.from);
      this.to = doubled(this.to);
    }
    this.edges[at] = edge;
    this.from[at] = from;
    this.to[at] = to;
  }
}

function doubled(numbers: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(numbers.length * 2);
  grown.set(numbers);
  return grown;
}

/** The adjacency of a bulk load: typed arrays until the end, then sorted by vertex and written once. */
export class BulkEdges {
  readonly #columns = new Map<TypeId, { readonly both: EdgeColumn; readonly source: EdgeColumn }>();

  add(type: TypeId, edge: Rid, from: Rid, to: Rid, both: boolean): void {
    let columns = this.#columns.get(type);
    if (columns === undefined) {
      columns = { both: new EdgeColumn(), source: new EdgeColumn() };
      this.#columns.set(type, columns);
    }
    (both ? columns.both : columns.source).add(edge, from, to);
  }

  /** Puts the adjacency into a commit. */
  async build(commit: CommitBuilder, timers: Pick<Timers, 'yield'>): Promise<void> {
    const runs: Write[][] = [];
    for (const [type, { both, source }] of this.#columns) {
      for (const column of [both, source]) {
        if (column.count === 0) continue;
        runs.push(await buildRun(commit, timers, type, 'out', column.from, column.to, column));
        if (column === source) continue;
        runs.push(await buildRun(commit, timers, type, 'in', column.to, column.from, column));
      }
      commit.lists.touch(type);
    }
    commit.addWrites(mergeByVertex(runs));
  }
}

/** The chunks of one type and direction in order of their vertices. */
async function buildRun(
  commit: CommitBuilder,
  timers: Pick<Timers, 'yield'>,
  type: TypeId,
  direction: Direction,
  vertices: Float64Array,
  others: Float64Array,
  column: EdgeColumn,
): Promise<Write[]> {
  const { count, edges } = column;
  const order = sortedOrder(vertices, count);
  const writes: Write[] = [];
  let untilYield = verticesPerSlice;
  for (let start = 0; start < count; ) {
    const vertex = vertices[order[start] as number] as Rid;
    let end = start + 1;
    while (end < count && vertices[order[end] as number] === vertex) end += 1;
    if (isPlain(commit, vertex, direction, type, edges, others, order, start, end)) {
      writePlain(commit, writes, { vertex, direction, type }, edges, others, order, start, end);
    } else {
      for (let i = start; i < end; i++) {
        const at = order[i] as number;
        commit.lists.add(vertex, direction, type, edges[at] as Rid, others[at] as Rid);
      }
    }
    start = end;
    if (--untilYield === 0) {
      untilYield = verticesPerSlice;
      await timers.yield();
    }
  }
  return writes;
}

/** True when the vertex has no such edges yet and all positions fit the narrow entries. */
function isPlain(
  commit: CommitBuilder,
  vertex: Rid,
  direction: Direction,
  type: TypeId,
  edges: Float64Array,
  others: Float64Array,
  order: Uint32Array,
  start: number,
  end: number,
): boolean {
  for (let i = start; i < end; i++) {
    const at = order[i] as number;
    if ((edges[at] as number) % 2 ** 37 >= 2 ** 32 || (others[at] as number) % 2 ** 37 >= 2 ** 32) {
      return false;
    }
  }
  const isNew = positionOf(vertex) >= commit.durableNext(bucketOf(vertex));
  return isNew || commit.lists.isEmpty(vertex, direction, type);
}

function writePlain(
  commit: CommitBuilder,
  writes: Write[],
  list: { readonly vertex: Rid; readonly direction: Direction; readonly type: TypeId },
  edges: Float64Array,
  others: Float64Array,
  order: Uint32Array,
  start: number,
  end: number,
): void {
  const { adj } = commit.reader.subs;
  const degree = end - start;
  const last = Math.ceil(degree / narrowEntriesMax) - 1;
  for (let chunk = 0; chunk <= last; chunk++) {
    const first = start + chunk * narrowEntriesMax;
    const count = Math.min(narrowEntriesMax, end - first);
    const size = chunkHeaderSize + count * entrySize + checksumSize;
    const { slab, start: base } = commit.memory.allocate(size);
    const { view } = slab;
    view.setUint32(base, chunk === 0 ? degree : 0, true);
    view.setUint32(base + 4, chunk === 0 ? last : 0, true);
    view.setUint32(base + 8, count, true);
    view.setUint32(base + 12, 0, true);
    for (let i = 0, at = base + chunkHeaderSize; i < count; i++, at += entrySize) {
      const edge = order[first + i] as number;
      writeNarrow(view, at, edges[edge] as Rid);
      writeNarrow(view, at + 6, others[edge] as Rid);
    }
    const key = new AdjKey();
    key.vertex = list.vertex;
    key.direction = list.direction;
    key.type = list.type;
    key.chunk = chunk;
    sealValue(keyBytes(key, commit.reader.window.scratch), slab.bytes, base, base + size);
    writes.push({ store: adj, key, value: slab.bytes.subarray(base, base + size) });
  }
}

/** LMDB is fastest when keys come in order, and keys begin with the vertex. */
function mergeByVertex(runs: readonly Write[][]): Write[] {
  const [only] = runs;
  if (runs.length <= 1) return only ?? [];
  const merged: Write[] = [];
  const heads = runs.map(() => 0);
  for (;;) {
    let best = -1;
    let bestVertex = Number.POSITIVE_INFINITY;
    for (let run = 0; run < runs.length; run++) {
      const write = runs[run]?.[heads[run] as number];
      if (write === undefined) continue;
      const { vertex } = write.key as AdjKey;
      if (vertex >= bestVertex) continue;
      best = run;
      bestVertex = vertex;
    }
    if (best < 0) return merged;
    const run = runs[best] as Write[];
    let head = heads[best] as number;
    for (; head < run.length; head++) {
      const write = run[head] as Write;
      if ((write.key as AdjKey).vertex !== bestVertex) break;
      merged.push(write);
    }
    heads[best] = head;
  }
}
