import type { Rid } from '#core/rid.ts';
import { refusal } from '../arguments.ts';
import type { GraphSearch, PathDirection, PathSteps } from './graph-search.ts';
import { PriorityQueue } from './priority-queue.ts';

export interface WeightedPathOptions {
  readonly weightProperty: string;
  readonly direction: PathDirection;
  /** Longest path in edges. */
  readonly maxDepth: number;
  /** When the depth ended the search: `[]`, or else the path to the last vertex that was reached. */
  readonly emptyIfMaxDepth: boolean;
  /** A lower bound of the cost that remains, 0 for Dijkstra's algorithm. */
  readonly remainingCost: (vertex: Rid, before: Rid | undefined) => number;
}

/** A way to a vertex; ways share their beginnings. */
interface Way {
  readonly vertex: Rid;
  readonly before: Way | undefined;
  readonly cost: number;
  readonly edgeCount: number;
}

/**
 * A path of least total weight (Dijkstra 1959; with a lower bound of the rest A*, Hart, Nilsson and Raphael 1968). With a
 * limit of edges a dearer way to a vertex is followed too when it has fewer edges.
 *
 * @throws DatabaseError `IllegalArgument` for a negative weight
 */
export function* weightedPath(
  source: Rid,
  destination: Rid,
  search: GraphSearch,
  options: WeightedPathOptions,
): PathSteps {
  const { weightProperty, direction, maxDepth, remainingCost } = options;
  const queue = new PriorityQueue<Way>();
  /** The fewest edges with which a vertex was taken from the queue; costs only grow. */
  const taken = new Map<Rid, number>();
  let last: Way | undefined;
  let isCut = false;
  queue.add(0, { vertex: source, before: undefined, cost: 0, edgeCount: 0 });
  for (let way = queue.take(); way !== undefined; way = queue.take()) {
    const known = taken.get(way.vertex);
    if (known !== undefined && known <= (maxDepth === Infinity ? Infinity : way.edgeCount))
      continue;
    if (known === undefined) search.remember();
    taken.set(way.vertex, way.edgeCount);
    if (way.vertex === destination) return verticesOf(way);
    last = way;
    if (way.edgeCount >= maxDepth) {
      isCut = true;
      continue;
    }
    search.start(way.vertex, direction);
    while (search.next()) {
      if (search.isSpent()) yield;
      const { neighbour } = search;
      const weight = search.weight(search.edge, weightProperty);
      if (weight < 0) throw refusal(`negative weight ${weight}: use bellmanFord()`);
      const cost = way.cost + weight;
      const next = { vertex: neighbour, before: way, cost, edgeCount: way.edgeCount + 1 };
      queue.add(cost + remainingCost(neighbour, way.vertex), next);
    }
  }
  return isCut && !options.emptyIfMaxDepth && last !== undefined ? verticesOf(last) : [];
}

function verticesOf(end: Way): Rid[] {
  const vertices: Rid[] = [];
  for (let way: Way | undefined = end; way !== undefined; way = way.before)
    vertices.push(way.vertex);
  return vertices.reverse();
}

/**
 * A path of least total weight where weights may be negative (Bellman 1958, Ford 1956), relaxing only vertices that
 * changed in the round before.
 *
 * @throws DatabaseError `IllegalArgument` when a cycle of negative weight can be reached
 */
export function* bellmanFordPath(
  source: Rid,
  destination: Rid,
  search: GraphSearch,
  options: { readonly weightProperty: string; readonly direction: PathDirection },
): PathSteps {
  const costs = new Map<Rid, number>([[source, 0]]);
  const before = new Map<Rid, Rid>();
  let changed: ReadonlySet<Rid> = new Set([source]);
  for (let round = 0; changed.size > 0; round++) {
    if (round > costs.size)
      throw refusal('bellmanFord(): the graph has a cycle of negative weight');
    const next = new Set<Rid>();
    for (const vertex of changed) {
      const cost = costs.get(vertex) as number;
      search.start(vertex, options.direction);
      while (search.next()) {
        if (search.isSpent()) yield;
        const { neighbour } = search;
        const reached = cost + search.weight(search.edge, options.weightProperty);
        const known = costs.get(neighbour);
        if (known !== undefined && known <= reached) continue;
        if (known === undefined) search.remember();
        costs.set(neighbour, reached);
        before.set(neighbour, vertex);
        next.add(neighbour);
      }
    }
    changed = next;
  }
  if (!costs.has(destination)) return [];
  const vertices: Rid[] = [destination];
  for (let at = destination; at !== source; ) {
    at = before.get(at) as Rid;
    vertices.push(at);
  }
  return vertices.reverse();
}
