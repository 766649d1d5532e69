import type { Rid, TypeId } from '#core/value/rid.ts';
import type { Direction } from '../engine.ts';
import type { ImageMemory, Slab } from '../checkpoint/image-memory.ts';
import { AdjKey, adjKeySize, type Store } from '../format/sub-databases.ts';

/**
 * Adjacency chunks to be written, of one type and direction in order of their vertices. Packed into arrays: a bulk load
 * has hundreds of thousands of them, and an object for each would weigh more than the chunk.
 */
export class ChunkRun {
  readonly type: TypeId;
  readonly direction: Direction;
  count = 0;
  /** Of all chunks together, with their keys. */
  byteCount = 0;
  #vertices = new Float64Array(1024);
  #numbers = new Uint32Array(1024);
  #starts = new Uint32Array(1024);
  #sizes = new Uint16Array(1024);
  #slabNumbers = new Uint32Array(1024);
  readonly #slabs: Slab[] = [];

  constructor(type: TypeId, direction: Direction) {
    this.type = type;
    this.direction = direction;
  }

  /** Adds the chunk whose bytes `memory` gave out last. */
  add(vertex: Rid, number: number, memory: ImageMemory, start: number, size: number): void {
    const at = this.count++;
    if (at === this.#vertices.length) this.#grow();
    if (this.#slabs.at(-1) !== memory.slab) this.#slabs.push(memory.slab);
    this.#vertices[at] = vertex;
    this.#numbers[at] = number;
    this.#starts[at] = start;
    this.#sizes[at] = size;
    this.byteCount += size + adjKeySize;
    this.#slabNumbers[at] = this.#slabs.length - 1;
  }

  vertexAt(at: number): number {
    return at < this.count ? (this.#vertices[at] as number) : Number.POSITIVE_INFINITY;
  }

  put(at: number, adj: Pick<Store, 'put'>, key: AdjKey): void {
    key.vertex = this.#vertices[at] as Rid;
    key.direction = this.direction;
    key.type = this.type;
    key.chunk = this.#numbers[at] as number;
    const { source } = this.#slabs[this.#slabNumbers[at] as number] as Slab;
    source.start = this.#starts[at] as number;
    source.end = source.start + (this.#sizes[at] as number);
    adj.put(key, source);
  }

  /** As `BulkBlocks.release`. */
  release(): void {
    for (const slab of this.#slabs) slab.release();
    this.count = 0;
  }

  #grow(): void {
    const length = this.#vertices.length * 2;
    this.#vertices = new Float64Array(this.#vertices.buffer.transfer(length * 8));
    this.#numbers = new Uint32Array(this.#numbers.buffer.transfer(length * 4));
    this.#starts = new Uint32Array(this.#starts.buffer.transfer(length * 4));
    this.#sizes = new Uint16Array(this.#sizes.buffer.transfer(length * 2));
    this.#slabNumbers = new Uint32Array(this.#slabNumbers.buffer.transfer(length * 4));
  }
}

/** The chunks of all runs in order of their vertices, which their keys begin with: LMDB is fastest so. */
export class ChunkMerge {
  readonly #runs: readonly ChunkRun[];
  readonly #heads: number[];
  readonly #key = new AdjKey();

  constructor(runs: readonly ChunkRun[]) {
    this.#runs = runs;
    this.#heads = runs.map(() => 0);
  }

  /** Puts the chunks of so many vertices. @returns whether there are more */
  put(adj: Pick<Store, 'put'>, vertexCount: number): boolean {
    const runs = this.#runs;
    const heads = this.#heads;
    for (let left = vertexCount; left > 0; left -= 1) {
      let best = 0;
      let vertex = Number.POSITIVE_INFINITY;
      for (let run = 0; run < runs.length; run++) {
        const head = (runs[run] as ChunkRun).vertexAt(heads[run] as number);
        if (head >= vertex) continue;
        best = run;
        vertex = head;
      }
      const run = runs[best];
      if (run === undefined || vertex === Number.POSITIVE_INFINITY) return false;
      let head = heads[best] as number;
      while (run.vertexAt(head) === vertex) run.put(head++, adj, this.#key);
      heads[best] = head;
    }
    return true;
  }
}
