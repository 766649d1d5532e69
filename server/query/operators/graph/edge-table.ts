import { DatabaseError } from '#core/errors.ts';
import { type BucketId, bucketOf, positionMax, positionOf, type Rid } from '#core/value/rid.ts';
import { BlockWindow } from '#storage/read/block-window.ts';
import type { Direction } from '#storage/engine.ts';
import type { Block } from '#storage/format/block.ts';
import type { Shape } from '#storage/format/shape.ts';
import { requireWholeBucket } from '#storage/read/whole-bucket.ts';
import type { HeldMemory } from '../hold/held-memory.ts';
import type { ExecutionContext } from '../operator.ts';
import { spareMemory, takeNumbers } from '../hold/spare-memory.ts';

// All edges of one type in one direction as compressed sparse rows: the neighbours of all vertices in one array, and for each
// vertex where its own begin. Gathered from the blocks of the edges, 15 to 100 ns an edge, where a look at the list of a vertex
// that stands in no cache costs 2 us. The neighbours of a vertex come in the order of the edges' record ids.

export interface EdgeTableOrder {
  /** Of the edge type; the transaction changed none of them. */
  readonly buckets: readonly BucketId[];
  readonly direction: Direction;
  readonly content: TableContent;
}

/** Complete and unchanging, but for `start` and `end`, until it is given up. */
export class EdgeTable {
  readonly neighbours: Float64Array<ArrayBuffer>;
  /** Buckets of the neighbours. */
  readonly neighbourBuckets: ReadonlySet<BucketId>;
  /** By bucket of the vertex; the neighbours of position p stand from `starts[p]` up to `starts[p + 1]`. */
  #starts: readonly (Uint32Array<ArrayBuffer> | undefined)[];
  /** Where the neighbours of the vertex looked at last stand: from here up to `end`. */
  start = 0;
  end = 0;

  constructor(
    neighbours: Float64Array<ArrayBuffer>,
    neighbourBuckets: ReadonlySet<BucketId>,
    starts: readonly (Uint32Array<ArrayBuffer> | undefined)[],
  ) {
    this.neighbours = neighbours;
    this.neighbourBuckets = neighbourBuckets;
    this.#starts = starts;
  }

  /** What it takes. */
  get bytes(): number {
    let bytes = this.neighbours.byteLength;
    for (const starts of this.#starts) bytes += starts?.byteLength ?? 0;
    return bytes;
  }

  /** Sets `start` and `end`. Cost: some four reads of memory. */
  look(vertex: Rid): void {
    const bucket = bucketOf(vertex);
    const starts = this.#starts[bucket];
    const position = vertex - bucket * positionMax;
    if (starts === undefined || position + 1 >= starts.length) {
      this.start = 0;
      this.end = 0;
      return;
    }
    this.start = starts[position] as number;
    this.end = starts[position + 1] as number;
  }

  degree(vertex: Rid): number {
    this.look(vertex);
    return this.end - this.start;
  }

  /** The degrees of `ids` from `from` up to `to`, added up. */
  sumOfDegrees(ids: Float64Array, from: number, to: number): number {
    let sum = 0;
    for (let at = from; at < to; at += 1) {
      const id = ids[at] as number;
      const bucket = Math.floor(id / positionMax);
      const starts = this.#starts[bucket];
      const position = id - bucket * positionMax;
      if (starts === undefined || position + 1 >= starts.length) continue;
      sum += (starts[position + 1] as number) - (starts[position] as number);
    }
    return sum;
  }

  /** Gives the memory to others, once; nobody may look any more. */
  giveUp(): void {
    spareMemory.giveBack(this.neighbours.buffer);
    giveBackStarts(this.#starts);
    this.#starts = [];
  }
}

/** Blocks of edges between two pauses. */
const blocksPerTurn = 16;
/** Vertices between two pauses, one after the other in memory. */
const sumsPerTurn = 32 * 1024;
/** Edges between two pauses that go to places all over the table: 50 to 100 ns each, and a slice is to end after 2 ms. */
const placesPerTurn = 4096;
/** Room for vertices that have no such edges, in vertices per edge; with less sense in it the lists are read. */
const verticesPerEdgeMax = 16;
/** For each byte taken as many are left to others. */
const sharesLeft = 3;

/** What a table is asked for. */
export type TableContent = 'neighbours' | 'degrees';

/**
 * Makes the table in turns: reads the edges (`#from`, `#to`), counting those of each vertex; adds the counts up; puts each
 * neighbour in its place, unless only degrees are wanted.
 */
export class EdgeTableBuilder {
  readonly #context: ExecutionContext;
  readonly #memory: HeldMemory;
  readonly #buckets: readonly BucketId[];
  readonly #direction: Direction;
  readonly #content: TableContent;
  /** Edges that are kept until they have their places. */
  readonly #edgeCount: number;
  readonly #from: Float64Array<ArrayBuffer>;
  readonly #to: Float64Array<ArrayBuffer>;
  /** Two places more than positions: while counting, place p + 2 is that of position p; p + 1 where nothing is put in its place. */
  #starts: (Uint32Array<ArrayBuffer> | undefined)[] = [];
  readonly #window = new BlockWindow();
  #shapeId = -1;
  #endpointsOffset = -1;
  #bucketNumber = 0;
  #blockNumber = 0;
  #rowCount = 0;
  #read = 0;
  readonly #neighbourBuckets = new Set<BucketId>();
  #lastBucket = -1;
  #places = 0;
  readonly #vertexPlacesMax: number;
  #phase: 'edges' | 'sums' | 'neighbours' = 'edges';
  #at = 0;
  #sum = 0;
  #neighbours: Float64Array<ArrayBuffer> | undefined;
  #bytes = 0;

  /**
   * @param memory of all tables of the statement
   * @throws DatabaseError `TooLarge`, `Busy` when the statement has not the memory
   */
  constructor(
    context: ExecutionContext,
    memory: HeldMemory,
    { buckets, direction, content }: EdgeTableOrder,
  ) {
    this.#context = context;
    this.#memory = memory;
    this.#buckets = buckets;
    this.#direction = direction;
    this.#content = content;
    let count = 0;
    for (const bucket of buckets) count += context.view.snapshot.recordCount(bucket);
    this.#vertexPlacesMax = Math.max(65_536, count * verticesPerEdgeMax);
    this.#edgeCount = content === 'degrees' ? 0 : count;
    this.#reserve(this.#edgeCount * 16);
    this.#from = takeNumbers(this.#edgeCount);
    this.#to = takeNumbers(this.#edgeCount);
  }

  /**
   * One turn of work. @returns the table when it is complete; 'sparse' when the vertices would take too much room
   * @throws DatabaseError as the constructor, and `CorruptedRecord`
   */
  advance(): EdgeTable | 'sparse' | undefined {
    if (this.#phase === 'edges') {
      if (!this.#readBlocks()) return 'sparse';
    } else if (this.#phase === 'sums') this.#addUp();
    else return this.#place();
    return undefined;
  }

  get #countsOnly(): boolean {
    return this.#content === 'degrees';
  }

  /** Gives back, once, what it holds beside the table, or all of it. */
  release(kept: EdgeTable | undefined): void {
    spareMemory.giveBack(this.#from.buffer);
    spareMemory.giveBack(this.#to.buffer);
    if (kept === undefined) {
      if (this.#neighbours !== undefined) spareMemory.giveBack(this.#neighbours.buffer);
      giveBackStarts(this.#starts);
    }
    this.#neighbours = undefined;
    this.#starts = [];
    const bytes = kept === undefined ? this.#bytes : this.#edgeCount * 16;
    this.#memory.account.release(bytes);
    this.#bytes -= bytes;
  }

  /** Takes no more than a part of what the statement may still have, so that what needs memory finds some. */
  #reserve(bytes: number): void {
    const { memory } = this.#context;
    memory.reserve(bytes * sharesLeft);
    memory.release(bytes * sharesLeft);
    this.#bytes += bytes;
    this.#memory.addBytes(bytes);
  }

  /** @returns false when it is not worth the room */
  #readBlocks(): boolean {
    const { snapshot } = this.#context.view;
    for (let count = 0; count < blocksPerTurn; count += 1) {
      const bucket = this.#buckets[this.#bucketNumber];
      if (bucket === undefined) {
        this.#phase = 'sums';
        this.#bucketNumber = 0;
        return true;
      }
      if (this.#blockNumber >= snapshot.blockCount(bucket)) {
        requireWholeBucket(snapshot, bucket, this.#rowCount);
        this.#bucketNumber += 1;
        this.#blockNumber = 0;
        this.#rowCount = 0;
        continue;
      }
      const block = snapshot.passingBlock(bucket, this.#blockNumber, this.#window);
      this.#blockNumber += 1;
      if (block === undefined) continue;
      this.#rowCount += block.rowCount;
      if (!this.#readRows(block)) return false;
    }
    return true;
  }

  #readRows(block: Block): boolean {
    const { view } = block;
    const countsOnly = this.#countsOnly;
    const shift = countsOnly ? 1 : 2;
    const fromOffset = this.#direction === 'out' ? 0 : 8;
    for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
      const row = block.rowOffset(slot);
      const shapeId = view.getUint16(row + 4, true);
      if (shapeId !== this.#shapeId) {
        const { shape } = this.#context.view.snapshot.recordAt(block, slot);
        this.#shapeId = shapeId;
        this.#endpointsOffset = endpointsOf(shape);
      }
      const ends = row + this.#endpointsOffset;
      const from = view.getFloat64(ends + fromOffset, true) as Rid;
      if (!countsOnly) this.#keep(from, view.getFloat64(ends + 8 - fromOffset, true) as Rid);
      const starts = this.#starts[bucketOf(from)] ?? this.#addBucket(bucketOf(from));
      if (starts === undefined) return false;
      const place = positionOf(from) + shift;
      starts[place] = (starts[place] as number) + 1;
    }
    return true;
  }

  #keep(from: Rid, to: Rid): void {
    const read = this.#read++;
    this.#from[read] = from;
    this.#to[read] = to;
    const toBucket = bucketOf(to);
    if (toBucket === this.#lastBucket) return;
    this.#lastBucket = toBucket;
    this.#neighbourBuckets.add(toBucket);
  }

  #addBucket(bucket: BucketId): Uint32Array | undefined {
    const length = this.#context.view.snapshot.nextPosition(bucket) + 2;
    this.#places += length;
    if (this.#places > this.#vertexPlacesMax) return undefined;
    this.#reserve(length * 4);
    const starts = zeros(length);
    while (this.#starts.length < bucket) this.#starts.push(undefined);
    this.#starts[bucket] = starts;
    return starts;
  }

  #addUp(): void {
    const starts = this.#starts[this.#bucketNumber];
    if (starts !== undefined) {
      const end = Math.min(starts.length, this.#at + sumsPerTurn);
      let sum = this.#sum;
      for (let place = this.#at; place < end; place += 1) {
        sum += starts[place] as number;
        starts[place] = sum;
      }
      this.#sum = sum;
      this.#at = end;
      if (end < starts.length) return;
    }
    this.#at = 0;
    this.#bucketNumber += 1;
    if (this.#bucketNumber < this.#starts.length) return;
    this.#reserve(this.#edgeCount * 8);
    this.#neighbours = takeNumbers(this.#edgeCount);
    this.#phase = 'neighbours';
  }

  #place(): EdgeTable | undefined {
    const neighbours = this.#neighbours as Float64Array<ArrayBuffer>;
    const end = Math.min(this.#read, this.#at + placesPerTurn);
    for (let edge = this.#at; edge < end; edge += 1) {
      const from = this.#from[edge] as Rid;
      const starts = this.#starts[bucketOf(from)] as Uint32Array;
      const place = positionOf(from) + 1;
      const next = starts[place] as number;
      starts[place] = next + 1;
      neighbours[next] = this.#to[edge] as number;
    }
    this.#at = end;
    if (end < this.#read) return undefined;
    return new EdgeTable(neighbours, this.#neighbourBuckets, this.#starts);
  }
}

/** To clear more than this in one turn takes too long; new memory is clear. */
const clearedMax = 512 * 1024;

function zeros(count: number): Uint32Array<ArrayBuffer> {
  if (count > clearedMax) return new Uint32Array(count);
  return new Uint32Array(spareMemory.take(count * 4), 0, count).fill(0);
}

function giveBackStarts(buckets: readonly (Uint32Array<ArrayBuffer> | undefined)[]): void {
  for (const starts of buckets)
    if (starts !== undefined && starts.length <= clearedMax) spareMemory.giveBack(starts.buffer);
}

function endpointsOf(shape: Shape): number {
  if (shape.isEdge) return shape.endpointsOffset;
  throw new DatabaseError('CorruptedRecord', `a record without ends stands among edges`);
}
