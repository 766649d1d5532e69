import type { Rid } from '#core/value/rid.ts';

/** Numbers of an edge in `EdgeColumn.segments`: its record id and those of its ends. */
export const numbersPerEdge = 3;
export const place = { edge: 0, from: 1, to: 2 } as const;
/** Edges of a segment: 786 KB. */
export const segmentBits = 15;
const segmentEdges = 2 ** segmentBits;
export const segmentMask = segmentEdges - 1;
const firstEdges = 1024;

/**
 * Gathered edges of one type, in the order they came. The three ids of an edge lie together, because they are read in the order
 * of the vertices, where each read misses the processor's cache. The memory grows by segments: an array that is copied to grow
 * takes two and a half times as much while it does.
 */
export class EdgeColumn {
  /** All full but the last one. */
  readonly segments: Float64Array<ArrayBuffer>[] = [];
  count = 0;
  /** The last segment. */
  #segment: Float64Array = new Float64Array();
  /** Edges that fit in the segments. */
  #capacity = 0;

  add(edge: Rid, from: Rid, to: Rid): void {
    if (this.count === this.#capacity) this.#makeRoom();
    const segment = this.#segment;
    const at = (this.count & segmentMask) * numbersPerEdge;
    segment[at] = edge;
    segment[at + place.from] = from;
    segment[at + place.to] = to;
    this.count += 1;
  }

  /** Adds the edges `[start, end)` of the arrays; their ids follow each other from `first` on. */
  addRun(first: Rid, from: Float64Array, to: Float64Array, start: number, end: number): void {
    for (let next = start; next < end; ) {
      if (this.count === this.#capacity) this.#makeRoom();
      const room = Math.min(end - next, this.#capacity - this.count);
      this.#fill(first + next - start, from.subarray(next, next + room), to.subarray(next));
      next += room;
    }
  }

  #fill(first: number, from: Float64Array, to: Float64Array): void {
    const segment = this.#segment;
    let at = (this.count & segmentMask) * numbersPerEdge;
    for (let i = 0; i < from.length; i += 1, at += numbersPerEdge) {
      segment[at] = first + i;
      segment[at + place.from] = from[i] as number;
      segment[at + place.to] = to[i] as number;
    }
    this.count += from.length;
  }

  /** The first segment begins small. */
  #makeRoom(): void {
    const { segments, count } = this;
    const isFirst = count < segmentEdges;
    const edges = isFirst ? Math.min(Math.max(firstEdges, count * 4), segmentEdges) : segmentEdges;
    const segment = new Float64Array(edges * numbersPerEdge);
    const old = isFirst ? segments.pop() : undefined;
    if (old !== undefined) segment.set(old);
    segments.push(segment);
    this.#segment = segment;
    this.#capacity = isFirst ? edges : count + edges;
  }

  /** Adds copies of the edges of another column from `start` on. */
  addFrom({ segments, count }: EdgeColumn, start: number): void {
    for (let next = start; next < count; ) {
      if (this.count === this.#capacity) this.#makeRoom();
      const first = next & segmentMask;
      const room = Math.min(count - next, segmentEdges - first, this.#capacity - this.count);
      const from = (segments[next >>> segmentBits] as Float64Array).subarray(
        first * numbersPerEdge,
        (first + room) * numbersPerEdge,
      );
      this.#segment.set(from, (this.count & segmentMask) * numbersPerEdge);
      this.count += room;
      next += room;
    }
  }

  /** Forgets the edges from `count` on; none may be added after that. */
  cutAt(count: number): void {
    this.count = count;
  }

  /** Gives the memory back at once; nothing is read after that. */
  release(): void {
    for (const segment of this.segments) segment.buffer.transfer(0);
  }
}
