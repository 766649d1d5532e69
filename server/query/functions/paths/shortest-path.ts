import type { Rid } from '#core/value/rid.ts';
import { type GraphSearch, type PathDirection, type PathSteps, reversed } from './graph-search.ts';
import { grownFloats, grownIntegers, VertexTable } from './vertex-table.ts';

export interface ShortestPathOptions {
  readonly direction: PathDirection;
  /** Longest path in edges. */
  readonly maxDepth: number;
  readonly withEdges: boolean;
}

/** What one end of the search has seen, and the vertices it reached last. */
class Side {
  direction: PathDirection = 'OUT';
  readonly vertices = new VertexTable();
  /** Numbers, by their own numbers, of the vertices from which they were met. */
  #from = new Int32Array(this.vertices.capacity);
  #edges = new Float64Array(this.vertices.capacity);
  /** Vertices are numbered as they are met: those reached last are the numbers from here on. */
  frontierStart = 0;

  /** An empty one. */
  static from(start: Rid, direction: PathDirection): Side {
    const side = spares.pop() ?? new Side();
    side.direction = direction;
    side.frontierStart = 0;
    side.vertices.add(start);
    return side;
  }

  get frontierSize(): number {
    return this.vertices.size - this.frontierStart;
  }

  /** Nobody reads it again: a later search takes it. */
  release(): void {
    if (this.vertices.capacity > spareCapacityMax || spares.length >= spareCountMax) return;
    this.vertices.clear();
    spares.push(this);
  }

  /** @returns false when the vertex was met before */
  meet(vertex: Rid, from: number, edge: Rid): boolean {
    const { size } = this.vertices;
    if (this.vertices.add(vertex) !== size) return false;
    if (size === this.#from.length) {
      this.#from = grownIntegers(this.#from, size * 2);
      this.#edges = grownFloats(this.#edges, size * 2);
    }
    this.#from[size] = from;
    this.#edges[size] = edge;
    return true;
  }

  /** From a vertex back to the start, with the edges between when asked for. */
  routeBack(vertex: Rid, withEdges: boolean): Rid[] {
    const route: Rid[] = [vertex];
    let number = this.vertices.numberOf(vertex);
    while (number > 0) {
      if (withEdges) route.push(this.#edges[number] as Rid);
      number = this.#from[number] as number;
      route.push(this.vertices.ridOf(number));
    }
    return route;
  }
}

/** A statement that looks for many short paths spent a third of its time on making arrays and on collecting them. */
const spares: Side[] = [];
const spareCountMax = 4;
const spareCapacityMax = 4096;

/**
 * A path of fewest edges, by a breadth-first search from both ends that always grows the smaller frontier by a whole level.
 * Vertices that both sides know are first met at the least total depth, so the first meeting decides.
 *
 * @returns record ids from source to destination, `[]` when it is not reachable
 */
export function* shortestPath(
  source: Rid,
  destination: Rid,
  search: GraphSearch,
  { direction, maxDepth, withEdges }: ShortestPathOptions,
): PathSteps {
  if (source === destination) return [source];
  const front = Side.from(source, direction);
  const back = Side.from(destination, reversed(direction));
  try {
    for (let depth = 0; depth < maxDepth; depth++) {
      if (front.frontierSize === 0 || back.frontierSize === 0) return [];
      const isFront = front.frontierSize <= back.frontierSize;
      const meeting: Rid | undefined = yield* isFront
        ? grow(front, back, search)
        : grow(back, front, search);
      if (meeting === undefined) continue;
      const route = front.routeBack(meeting, withEdges).reverse();
      const rest = back.routeBack(meeting, withEdges);
      for (let i = 1; i < rest.length; i++) route.push(rest[i] as Rid);
      return route;
    }
    return [];
  } finally {
    front.release();
    back.release();
  }
}

/** One level further; a vertex that the other side knows ends the search. */
function* grow(
  side: Side,
  other: Side,
  search: GraphSearch,
): Generator<undefined, Rid | undefined, undefined> {
  const end = side.vertices.size;
  for (let number = side.frontierStart; number < end; number += 1) {
    search.start(side.vertices.ridOf(number), side.direction);
    while (search.next()) {
      if (search.isSpent()) yield;
      const { neighbour } = search;
      if (!side.meet(neighbour, number, search.edge)) continue;
      search.remember();
      if (other.vertices.numberOf(neighbour) >= 0) return neighbour;
    }
  }
  side.frontierStart = end;
  return undefined;
}
