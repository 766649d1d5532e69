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
  readonly direction: PathDirection;
  readonly vertices = new VertexTable();
  /** Numbers, by their own numbers, of the vertices from which they were met. */
  #from = new Int32Array(this.vertices.capacity);
  #edges = new Float64Array(this.vertices.capacity);
  frontier: readonly number[] = [0];

  constructor(start: Rid, direction: PathDirection) {
    this.direction = direction;
    this.vertices.add(start);
  }

  /** @returns the number of a vertex that was not met before, else -1 */
  meet(vertex: Rid, from: number, edge: Rid): number {
    const { size } = this.vertices;
    if (this.vertices.add(vertex) !== size) return -1;
    if (size === this.#from.length) {
      this.#from = grownIntegers(this.#from, size * 2);
      this.#edges = grownFloats(this.#edges, size * 2);
    }
    this.#from[size] = from;
    this.#edges[size] = edge;
    return size;
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
  const front = new Side(source, direction);
  const back = new Side(destination, reversed(direction));
  for (let depth = 0; depth < maxDepth; depth++) {
    if (front.frontier.length === 0 || back.frontier.length === 0) return [];
    const isFront = front.frontier.length <= back.frontier.length;
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
}

/** One level further; a vertex that the other side knows ends the search. */
function* grow(
  side: Side,
  other: Side,
  search: GraphSearch,
): Generator<undefined, Rid | undefined, undefined> {
  const next: number[] = [];
  for (const number of side.frontier) {
    search.start(side.vertices.ridOf(number), side.direction);
    while (search.next()) {
      if (search.isSpent()) yield;
      const { neighbour } = search;
      const met = side.meet(neighbour, number, search.edge);
      if (met < 0) continue;
      search.remember();
      next.push(met);
      if (other.vertices.numberOf(neighbour) >= 0) return neighbour;
    }
  }
  side.frontier = next;
  return undefined;
}
