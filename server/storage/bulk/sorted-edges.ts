import type { Rid, TypeId } from '#core/value/rid.ts';
import type { Timers } from '#core/runtime.ts';
import type { Direction } from '../format/direction.ts';
import { numbersPerEdge, segmentBits, segmentMask } from './edge-column.ts';
import { sortedOrder } from './radix-sort.ts';

/** Edges of one type as they are listed in one direction. */
export interface ListedEdges {
  readonly type: TypeId;
  readonly direction: Direction;
  /** As in `EdgeColumn`. */
  readonly segments: readonly Float64Array[];
  /** Which of an edge's numbers is the vertex whose list it is in, and which the other end. */
  readonly vertex: number;
  readonly other: number;
  readonly count: number;
  /** All positions fit narrow entries. */
  readonly isNarrow: boolean;
}

/** These in the order of their vertices, those of a vertex as they came. */
export class SortedEdges {
  readonly of: ListedEdges;
  readonly #order: Uint32Array;
  readonly #segments: readonly Float64Array[];

  private constructor(edges: ListedEdges, order: Uint32Array) {
    this.of = edges;
    this.#segments = edges.segments;
    this.#order = order;
  }

  static async sort(edges: ListedEdges, timers: Pick<Timers, 'yield'>): Promise<SortedEdges> {
    const { segments, count, vertex } = edges;
    const keys = { segments, segmentBits, count, first: vertex, stride: numbersPerEdge };
    return new SortedEdges(edges, await sortedOrder(keys, timers));
  }

  /** @param which of the edge's numbers: `place`, `of.vertex` or `of.other` */
  ridAt(index: number, which: number): Rid {
    const edge = this.#order[index] as number;
    const segment = this.#segments[edge >>> segmentBits] as Float64Array;
    return segment[(edge & segmentMask) * numbersPerEdge + which] as Rid;
  }

  /** One past the last edge that is in the list of the vertex of the edge at `start`. */
  endOfVertex(start: number): number {
    const { count, vertex: side } = this.of;
    const vertex = this.ridAt(start, side);
    let end = start + 1;
    while (end < count && this.ridAt(end, side) === vertex) end += 1;
    return end;
  }
}
