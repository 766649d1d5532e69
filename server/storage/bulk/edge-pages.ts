import type { Timers } from '#core/runtime.ts';
import type { Rid } from '#core/value/rid.ts';
import { ImageMemory, type Slab } from '../checkpoint/image-memory.ts';
import type { Write } from '../checkpoint/write-batch.ts';
import { checksumSize, sealValue } from '../format/checksum.ts';
import { EdgePageWriter, partEntriesMax } from '../format/edge-page.ts';
import type { PackedRids } from '../format/packed-rids.ts';
import { EdgePageKey, keyBytes } from '../format/sub-databases.ts';
import type { PinnedReader } from '../read/pinned-reader.ts';
import { place } from './edge-column.ts';
import type { SortedEdges } from './sorted-edges.ts';

/** Edges between two turns of the event loop: a millisecond or two. */
const edgesPerSlice = 8192;

/** The pages of an edge run in one direction, from sorted edges; they are written behind all that are there. */
export class EdgePages {
  readonly writes: Write[] = [];
  readonly #edges: SortedEdges;
  readonly #run: number;
  readonly #reader: PinnedReader;
  readonly #page: EdgePageWriter;
  readonly #memory = new ImageMemory();
  readonly #slabs = new Set<Slab>();

  constructor(
    edges: SortedEdges,
    { run, packed }: { readonly run: number; readonly packed: PackedRids | undefined },
    reader: PinnedReader,
  ) {
    this.#edges = edges;
    this.#run = run;
    this.#reader = reader;
    this.#page = new EdgePageWriter({ packed, isWide: !edges.of.isNarrow });
  }

  async build(timers: Pick<Timers, 'yield'>): Promise<void> {
    const { count } = this.#edges.of;
    for (let start = 0; start < count; ) {
      start = this.#placeSlice(start);
      await timers.yield();
    }
    this.#finishPage(0);
  }

  /** As `BulkBlocks.release`. */
  release(): void {
    for (const slab of this.#slabs) slab.release();
    this.#slabs.clear();
    this.writes.length = 0;
  }

  #placeSlice(start: number): number {
    const { count, vertex: side } = this.#edges.of;
    let at = start;
    while (at < count && at - start < edgesPerSlice) {
      const end = this.#edges.endOfVertex(at);
      this.#placeVertex(this.#edges.ridAt(at, side), at, end);
      at = end;
    }
    return at;
  }

  #placeVertex(vertex: Rid, start: number, end: number): void {
    if (end - start <= partEntriesMax) {
      if (!this.#page.hasRoomFor(vertex, end - start)) {
        this.#finishPage(0);
        this.#page.start(vertex);
      }
      this.#placeEdges(vertex, start, end);
      return;
    }
    this.#finishPage(0);
    for (let at = start, part = 0; at < end; at += partEntriesMax, part += 1) {
      this.#page.start(vertex);
      this.#placeEdges(vertex, at, Math.min(at + partEntriesMax, end));
      this.#finishPage(part);
    }
  }

  #placeEdges(vertex: Rid, start: number, end: number): void {
    const edges = this.#edges;
    const { other } = edges.of;
    this.#page.startVertex(vertex, end - start);
    for (let i = start; i < end; i += 1)
      this.#page.add(edges.ridAt(i, place.edge), edges.ridAt(i, other));
  }

  #finishPage(part: number): void {
    const page = this.#page;
    if (page.isEmpty) return;
    const { type, direction } = this.#edges.of;
    const { subs, window } = this.#reader;
    const key = new EdgePageKey();
    Object.assign(key, { run: this.#run, type, direction, vertex: page.first, part });
    const size = page.length + checksumSize;
    const start = this.#memory.take(size);
    const { slab } = this.#memory;
    page.bytes.copy(slab.bytes, start, 0, page.length);
    sealValue(keyBytes(key, window.scratch), slab.bytes, start, start + size);
    this.#slabs.add(slab);
    this.writes.push({ store: subs.runs, key, slab, start, size });
    page.clear();
  }
}
