import type { PausingWork } from '#core/pausing-work.ts';
import type { Rid } from '#core/value/rid.ts';
import { refusal } from '../arguments.ts';
import type { GraphSearch, PathDirection, PathSteps } from './graph-search.ts';
import { PriorityQueue } from './priority-queue.ts';
import { grownFloats, grownIntegers, VertexTable } from './vertex-table.ts';

export interface WeightedPathOptions {
  readonly weightProperty: string;
  readonly direction: PathDirection;
  /** Longest path in edges. */
  readonly maxDepth: number;
  /** When the depth ended the search: `[]`, or else the path to the last vertex that was reached. */
  readonly emptyIfMaxDepth: boolean;
  /** A lower bound of the cost that remains, 0 for Dijkstra's algorithm; by work in steps where a function is asked. */
  readonly remainingCost: (
    vertex: Rid,
    before: Rid,
    edgeCount: number,
  ) => number | PausingWork<number>;
}

/** Ways to vertices, by number; they share their beginnings. */
class Ways {
  #vertices = new Int32Array(64);
  #before = new Int32Array(64);
  #edgeCounts = new Int32Array(64);
  #costs = new Float64Array(64);
  #size = 0;

  add(vertex: number, before: number, cost: number): number {
    const way = this.#size;
    if (way === this.#vertices.length) {
      this.#vertices = grownIntegers(this.#vertices, way * 2);
      this.#before = grownIntegers(this.#before, way * 2);
      this.#edgeCounts = grownIntegers(this.#edgeCounts, way * 2);
      this.#costs = grownFloats(this.#costs, way * 2);
    }
    this.#vertices[way] = vertex;
    this.#before[way] = before;
    this.#edgeCounts[way] = before < 0 ? 0 : this.edgeCountOf(before) + 1;
    this.#costs[way] = cost;
    this.#size += 1;
    return way;
  }

  /** Number of the vertex where it ends. */
  vertexOf(way: number): number {
    return this.#vertices[way] as number;
  }

  edgeCountOf(way: number): number {
    return this.#edgeCounts[way] as number;
  }

  costOf(way: number): number {
    return this.#costs[way] as number;
  }

  /** The vertices along it, from the source. */
  along(way: number, vertices: VertexTable): Rid[] {
    const route: Rid[] = [];
    for (let at = way; at >= 0; at = this.#before[at] as number)
      route.push(vertices.ridOf(this.vertexOf(at)));
    return route.reverse();
  }
}

/** What is known of vertices that may be reached: by number, Infinity for nothing yet. */
class LeastNumbers {
  #numbers = new Float64Array(64).fill(Number.POSITIVE_INFINITY);

  of(vertex: number): number {
    return this.#numbers[vertex] ?? Number.POSITIVE_INFINITY;
  }

  set(vertex: number, number: number): void {
    if (vertex >= this.#numbers.length) {
      const before = this.#numbers.length;
      this.#numbers = grownFloats(this.#numbers, Math.max(vertex + 1, before * 2));
      this.#numbers.fill(Number.POSITIVE_INFINITY, before);
    }
    this.#numbers[vertex] = number;
  }
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
  const queue = new PriorityQueue();
  const vertices = new VertexTable();
  const ways = new Ways();
  /** The fewest edges with which a vertex was taken from the queue; costs only grow. */
  const taken = new LeastNumbers();
  const costs = new LeastNumbers();
  costs.set(0, 0);
  let last = -1;
  let isCut = false;
  queue.add(0, ways.add(vertices.add(source), -1, 0));
  for (let way = queue.take(); way >= 0; way = queue.take()) {
    const vertex = ways.vertexOf(way);
    const edgeCount = ways.edgeCountOf(way);
    const known = taken.of(vertex);
    if (known !== Infinity && (maxDepth === Infinity || known <= edgeCount)) continue;
    taken.set(vertex, edgeCount);
    const rid = vertices.ridOf(vertex);
    if (rid === destination) return ways.along(way, vertices);
    last = way;
    if (edgeCount >= maxDepth) {
      isCut = true;
      continue;
    }
    search.start(rid, direction);
    while (search.next()) {
      if (search.isSpent()) yield;
      const weight = search.weight(search.edge, weightProperty);
      if (weight < 0) throw refusal(`negative weight ${weight}: use bellmanFord()`);
      const cost = ways.costOf(way) + weight;
      const neighbour = vertices.add(search.neighbour);
      // A way that is no cheaper than one in the queue is taken after that one, and then left.
      if (maxDepth === Infinity) {
        if (costs.of(neighbour) <= cost) continue;
        costs.set(neighbour, cost);
      }
      search.remember();
      const estimate = remainingCost(search.neighbour, rid, edgeCount + 1);
      const rest = typeof estimate === 'number' ? estimate : yield* estimate;
      queue.add(cost + rest, ways.add(neighbour, way, cost));
    }
  }
  return isCut && !options.emptyIfMaxDepth && last >= 0 ? ways.along(last, vertices) : [];
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
  const vertices = new VertexTable();
  const costs = new LeastNumbers();
  const before = new LeastNumbers();
  /** The round for which a vertex is noted already. */
  const notedFor = new LeastNumbers();
  costs.set(vertices.add(source), 0);
  let changed: readonly number[] = [0];
  for (let round = 0; changed.length > 0; round++) {
    if (round > vertices.size)
      throw refusal('bellmanFord(): the graph has a cycle of negative weight');
    const next: number[] = [];
    for (const vertex of changed) {
      const cost = costs.of(vertex);
      search.start(vertices.ridOf(vertex), options.direction);
      while (search.next()) {
        if (search.isSpent()) yield;
        const reached = cost + search.weight(search.edge, options.weightProperty);
        const neighbour = vertices.add(search.neighbour);
        const known = costs.of(neighbour);
        if (known <= reached) continue;
        if (known === Infinity) search.remember();
        costs.set(neighbour, reached);
        before.set(neighbour, vertex);
        if (notedFor.of(neighbour) === round) continue;
        notedFor.set(neighbour, round);
        next.push(neighbour);
      }
    }
    changed = next;
  }
  const end = vertices.numberOf(destination);
  if (end < 0) return [];
  const route: Rid[] = [destination];
  for (let at = end; at !== 0; ) {
    at = before.of(at);
    route.push(vertices.ridOf(at));
  }
  return route.reverse();
}
