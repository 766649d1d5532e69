import type { LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import {
  ChunkBuilder,
  chunkDegree,
  chunkLast,
  chunkMergedRun,
  describeChunk,
  noListHeader,
} from '../format/adjacency-chunk.ts';
import { sealValue } from '../format/checksum.ts';
import type { Direction } from '../engine.ts';
import type { ImageMemory } from '../checkpoint/image-memory.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';
import { edgesInRuns } from '../read/edge-run-lookup.ts';
import type { StateReader } from '../read/state-reader.ts';
import { AdjKey, keyBytes } from '../format/sub-databases.ts';
import { putLast, removal, type Write } from '../checkpoint/write-batch.ts';

/** The chunks of one vertex, direction and edge type under change. */
interface VertexList {
  readonly vertex: Rid;
  readonly direction: Direction;
  readonly type: TypeId;
  degree: number;
  last: number;
  /** Edge runs of the type up to this number are in the list. */
  mergedRun: number;
  /** Others have to know what the list holds: it is not taken away while such runs wait. */
  hasRuns: boolean;
  /** Chunks read or made so far; undefined when there is none of this number. */
  readonly chunks: Map<number, ChunkBuilder | undefined>;
  readonly changed: Set<number>;
  /** Edges that are to be taken out, all in one pass: one by one, those of a vertex with many would take a search of all each. */
  readonly removed: Set<Rid>;
  /** Edges with their other ends that come behind what is left; perhaps those that were taken out. */
  readonly added: Map<Rid, Rid>;
}

/** Chunks of a dropped list that are taken away: some 5,000 edges. */
const droppedChunks = 16;
/** Chunks looked through between two turns of the event loop: a millisecond. */
const chunksPerSlice = 64;

/** Lists laid, or told to the caches, between two pauses: a millisecond at most. */
const listsPerPause = 512;

function emptyList(vertex: Rid, direction: Direction, type: TypeId): VertexList {
  const chunks = new Map<number, ChunkBuilder | undefined>();
  const [changed, removed] = [new Set<number>(), new Set<Rid>()];
  const added = new Map<Rid, Rid>();
  const list = { vertex, direction, type, degree: 0, last: 0, chunks, changed, removed, added };
  return { ...list, mergedRun: 0, hasRuns: false };
}

/** Gathers the adjacency changes of one commit. */
export class ListBuilder {
  readonly #reader: PinnedReader;
  /** By type * 2 + direction, then by vertex. */
  readonly #lists = new Map<number, Map<Rid, VertexList>>();
  readonly #touched = new Set<TypeId>();
  /** Those from which edges are to be taken out. */
  #removing: VertexList[] = [];
  readonly #key = new AdjKey();

  constructor(reader: PinnedReader) {
    this.#reader = reader;
  }

  add(vertex: Rid, direction: Direction, type: TypeId, edge: Rid, other: Rid): void {
    const list = this.#list(vertex, direction, type);
    if (list.removed.size > 0) list.added.set(edge, other);
    else this.#append(list, edge, other);
  }

  #append(list: VertexList, edge: Rid, other: Rid): void {
    let chunk = this.#chunk(list, list.last);
    if (chunk === undefined) chunk = this.#newChunk(list, list.last);
    if (!chunk.add(edge, other)) {
      list.last += 1;
      this.#newChunk(list, list.last).add(edge, other);
    }
    list.changed.add(list.last);
    list.changed.add(0);
    list.degree += 1;
  }

  /** An edge that is not listed is passed over, so that replay does no harm. */
  remove(vertex: Rid, direction: Direction, type: TypeId, edge: Rid): void {
    const list = this.#list(vertex, direction, type);
    if (list.added.delete(edge)) return;
    if (list.removed.size === 0) this.#removing.push(list);
    list.removed.add(edge);
  }

  /** A log entry is over: what it removes is taken out. Looks at stored chunks, which may be damaged. */
  endEntry(): void {
    if (this.#removing.length > 0) for (const _ of this.#takingOut());
  }

  /** As `endEntry` for a large entry. */
  async endEntryInSlices(timers: Pick<Timers, 'yield'>): Promise<void> {
    let untilYield = chunksPerSlice;
    for (const _ of this.#takingOut()) {
      untilYield -= 1;
      if (untilYield > 0) continue;
      untilYield = chunksPerSlice;
      await timers.yield();
    }
  }

  *#takingOut(): Generator<undefined, void, undefined> {
    const removing = this.#removing;
    this.#removing = [];
    for (const list of removing) yield* this.#takingOutOf(list);
  }

  /** Chunk by chunk, the newest ones first. */
  *#takingOutOf(list: VertexList): Generator<undefined, void, undefined> {
    const { removed } = list;
    for (let number = list.last; number >= 0 && removed.size > 0; number--) {
      const found = this.#chunk(list, number)?.remove(removed) ?? 0;
      if (found > 0) {
        list.changed.add(number);
        list.changed.add(0);
        list.degree -= found;
      }
      yield;
    }
    removed.clear();
    while (list.last > 0 && (this.#chunk(list, list.last)?.count ?? 0) === 0) list.last -= 1;
    for (const [edge, other] of list.added) this.#append(list, edge, other);
    list.added.clear();
  }

  /** Takes the whole list away, also one that cannot be read. What lies beyond its first chunks is never looked at again. */
  drop(vertex: Rid, direction: Direction, type: TypeId): void {
    const list = emptyList(vertex, direction, type);
    this.#holdRuns(list);
    for (let number = 0; number < droppedChunks; number++) {
      list.chunks.set(number, undefined);
      list.changed.add(number);
    }
    this.#listsOf(type, direction).set(vertex, list);
  }

  /** Notes that lists of the type change beside those added here (bulk loads write theirs themselves). */
  touch(type: TypeId): void {
    this.#touched.add(type);
  }

  /** Adds what is to be written to `writes`; pauses after some hundred chunks. */
  *finishing(
    memory: ImageMemory,
    writes: Write[],
    adj: Write['store'],
  ): Generator<undefined, void, undefined> {
    let untilPause = listsPerPause;
    for (const lists of this.#lists.values()) {
      for (const list of lists.values()) {
        for (const number of list.changed) this.#finishChunk(list, number, memory, writes, adj);
        untilPause -= list.changed.size;
        if (untilPause > 0) continue;
        untilPause = listsPerPause;
        yield;
      }
    }
  }

  /** From now on nobody brings lists as they were before the commit into the caches. `publishing` follows. */
  markChanged(state: StateReader, since: LogIndex): void {
    for (const type of this.#touched) {
      state.listsChanged.set(type, since);
      state.lists.removeType(type);
    }
    for (const key of this.#lists.keys()) state.listsChanged.set((key >> 1) as TypeId, since);
  }

  /** Tells the caches; after the commit is durable. */
  *publishing(state: StateReader): Generator<undefined, void, undefined> {
    let untilPause = listsPerPause;
    for (const lists of this.#lists.values()) {
      for (const list of lists.values()) {
        state.lists.remove(list.vertex, list.direction, list.type);
        untilPause -= 1;
        if (untilPause > 0) continue;
        untilPause = listsPerPause;
        yield;
      }
    }
  }

  #finishChunk(
    list: VertexList,
    number: number,
    memory: ImageMemory,
    writes: Write[],
    adj: Write['store'],
  ): void {
    const chunk = list.chunks.get(number);
    const key = new AdjKey();
    key.vertex = list.vertex;
    key.direction = list.direction;
    key.type = list.type;
    key.chunk = number;
    const isEmpty = chunk === undefined || chunk.count === 0;
    // Chunk 0 also keeps the degree, so it stays until the last edge is gone.
    if (isEmpty && (number > 0 || (list.degree === 0 && !list.hasRuns))) {
      writes.push(removal(adj, key));
      return;
    }
    const whole = chunk ?? ChunkBuilder.empty();
    const size = whole.sealedSize;
    const start = memory.take(size);
    const { bytes } = memory.slab;
    whole.write(bytes, start, number === 0 ? list : noListHeader);
    sealValue(keyBytes(key, this.#reader.window.scratch), bytes, start, start + size);
    writes.push(putLast(adj, key, memory, start, size));
  }

  #list(vertex: Rid, direction: Direction, type: TypeId): VertexList {
    const lists = this.#listsOf(type, direction);
    let list = lists.get(vertex);
    if (list === undefined) {
      list = this.#readList(vertex, direction, type);
      lists.set(vertex, list);
    }
    return list;
  }

  #listsOf(type: TypeId, direction: Direction): Map<Rid, VertexList> {
    const key = type * 2 + (direction === 'out' ? 0 : 1);
    let lists = this.#lists.get(key);
    if (lists === undefined) {
      lists = new Map();
      this.#lists.set(key, lists);
    }
    return lists;
  }

  #readList(vertex: Rid, direction: Direction, type: TypeId): VertexList {
    const list = emptyList(vertex, direction, type);
    let mergedRun = 0;
    if (this.#chunk(list, 0) !== undefined) {
      const { view, base } = this.#reader.window;
      list.degree = chunkDegree(view, base);
      list.last = chunkLast(view, base);
      mergedRun = chunkMergedRun(view, base);
    }
    if (!this.#reader.hasRunsOf(type)) return list;
    const { edges, vertices } = edgesInRuns(this.#reader, { vertex, direction, type, mergedRun });
    for (let i = 0; i < edges.length; i += 1)
      this.#append(list, edges[i] as Rid, vertices[i] as Rid);
    this.#holdRuns(list);
    return list;
  }

  /** The list holds all runs of its type, which go on waiting for other lists. */
  #holdRuns(list: VertexList): void {
    for (const { type, number } of this.#reader.edgeRuns.waiting) {
      if (type !== list.type) continue;
      list.hasRuns = true;
      list.mergedRun = number;
    }
  }

  /** Brings the edges of the vertex that wait in runs into its list. */
  absorb(vertex: Rid, direction: Direction, type: TypeId): void {
    this.#list(vertex, direction, type).changed.add(0);
  }

  #chunk(list: VertexList, number: number): ChunkBuilder | undefined {
    if (list.chunks.has(number)) return list.chunks.get(number);
    const key = this.#key;
    key.vertex = list.vertex;
    key.direction = list.direction;
    key.type = list.type;
    key.chunk = number;
    const describe = () => describeChunk(list.vertex, list.direction);
    const chunk = this.#reader.findChecked(this.#reader.subs.adj, key, describe)
      ? ChunkBuilder.from(this.#reader.window.view, this.#reader.window.base)
      : undefined;
    list.chunks.set(number, chunk);
    return chunk;
  }

  #newChunk(list: VertexList, number: number): ChunkBuilder {
    const chunk = ChunkBuilder.empty();
    list.chunks.set(number, chunk);
    list.changed.add(number);
    return chunk;
  }
}
