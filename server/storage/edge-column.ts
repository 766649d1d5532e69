import type { Rid } from '#core/rid.ts';

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

  add(edge: Rid, from: Rid, to: Rid): void {
    const at = (this.count & segmentMask) * numbersPerEdge;
    let segment: Float64Array | undefined = this.segments[this.count >>> segmentBits];
    if (segment === undefined || at === segment.length) segment = this.#makeRoom();
    this.count += 1;
    segment[at] = edge;
    segment[at + place.from] = from;
    segment[at + place.to] = to;
  }

  /** The first segment begins small. */
  #makeRoom(): Float64Array {
    const { segments, count } = this;
    const isFirst = count < segmentEdges;
    const edges = isFirst ? Math.min(Math.max(firstEdges, count * 4), segmentEdges) : segmentEdges;
    const segment = new Float64Array(edges * numbersPerEdge);
    const old = isFirst ? segments.pop() : undefined;
    if (old !== undefined) segment.set(old);
    segments.push(segment);
    return segment;
  }

  /** Gives the memory back at once; nothing is read after that. */
  release(): void {
    for (const segment of this.segments) segment.buffer.transfer(0);
  }
}
