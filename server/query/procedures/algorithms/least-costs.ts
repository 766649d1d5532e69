import type { Run } from './algorithm.ts';
import type { Adjacency } from './graph-view.ts';

/** Least costs from one node (Dijkstra), with the way by which each node was reached. */

export interface CostSearch {
  readonly adjacency: Adjacency;
  /** By number of the edge; none negative. */
  readonly weights: Float64Array;
  readonly from: number;
  /** The search ends there. */
  readonly to?: number;
  /** Least cost that is left, at most, for A*. */
  readonly estimate?: (node: number) => number;
  /** Nodes and edges that are not to be used. */
  readonly barredNodes?: ReadonlySet<number>;
  readonly barredEdges?: ReadonlySet<number>;
}

export interface Costs {
  /** Infinite: not within reach. */
  readonly costs: Float64Array;
  /** The node and edge before; -1 at the start. */
  readonly before: Int32Array;
  readonly edges: Int32Array;
}

/** What a search writes for each node, and which nodes those are, so that it is empty again at the cost of what was written. */
export class CostTable implements Costs {
  readonly costs: Float64Array;
  readonly before: Int32Array;
  readonly edges: Int32Array;
  readonly isSettled: Uint8Array;
  readonly #reached: Int32Array;
  #reachedCount = 0;

  private constructor(nodeCount: number) {
    this.costs = new Float64Array(nodeCount).fill(Number.POSITIVE_INFINITY);
    this.before = new Int32Array(nodeCount).fill(-1);
    this.edges = new Int32Array(nodeCount).fill(-1);
    this.isSettled = new Uint8Array(nodeCount);
    this.#reached = new Int32Array(nodeCount);
  }

  /** An empty one. */
  static for(nodeCount: number): CostTable {
    const free = spare;
    if (free?.costs.length !== nodeCount) return new CostTable(nodeCount);
    spare = undefined;
    return free;
  }

  reach(node: number, cost: number): void {
    if (this.costs[node] === Number.POSITIVE_INFINITY) {
      this.#reached[this.#reachedCount] = node;
      this.#reachedCount += 1;
    }
    this.costs[node] = cost;
  }

  /** Nobody reads it again: the next search takes it. */
  release(): void {
    for (let at = 0; at < this.#reachedCount; at += 1) {
      const node = this.#reached[at] as number;
      this.costs[node] = Number.POSITIVE_INFINITY;
      this.before[node] = -1;
      this.edges[node] = -1;
      this.isSettled[node] = 0;
    }
    this.#reachedCount = 0;
    if (this.costs.length <= spareNodesMax) spare = this;
  }
}

/** 21 bytes each. Made anew for each search they were most of the time of a short one, and of the collector's. */
const spareNodesMax = 1_000_000;
let spare: CostTable | undefined;

/** A heap of numbers by cost, with ties by number so that runs agree. */
export class CostHeap {
  readonly #items: number[] = [];
  readonly #costs: number[] = [];

  get size(): number {
    return this.#items.length;
  }

  push(item: number, cost: number): void {
    let at = this.#items.length;
    this.#items.push(item);
    this.#costs.push(cost);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** @returns the item of least cost, whose cost stands in `cost` */
  pop(): number {
    const item = this.#items[0] as number;
    this.cost = this.#costs[0] as number;
    const lastItem = this.#items.pop() as number;
    const lastCost = this.#costs.pop() as number;
    if (this.#items.length === 0) return item;
    this.#items[0] = lastItem;
    this.#costs[0] = lastCost;
    let at = 0;
    for (;;) {
      const left = at * 2 + 1;
      if (left >= this.#items.length) return item;
      const right = left + 1;
      const least = right < this.#items.length && this.#isBefore(right, left) ? right : left;
      if (!this.#isBefore(least, at)) return item;
      this.#swap(at, least);
      at = least;
    }
  }

  cost = 0;

  #isBefore(a: number, b: number): boolean {
    const difference = (this.#costs[a] as number) - (this.#costs[b] as number);
    return (
      difference < 0 ||
      (difference === 0 && (this.#items[a] as number) < (this.#items[b] as number))
    );
  }

  #swap(a: number, b: number): void {
    const item = this.#items[a] as number;
    const cost = this.#costs[a] as number;
    this.#items[a] = this.#items[b] as number;
    this.#costs[a] = this.#costs[b] as number;
    this.#items[b] = item;
    this.#costs[b] = cost;
  }
}

export function* leastCosts(
  run: Run,
  { adjacency, weights, from, to, estimate, barredNodes, barredEdges }: CostSearch,
): Generator<'pause', CostTable, undefined> {
  const { nodeCount } = run.graph;
  const table = CostTable.for(nodeCount);
  const { costs, before, edges, isSettled } = table;
  const heap = new CostHeap();
  table.reach(from, 0);
  heap.push(from, estimate?.(from) ?? 0);
  while (heap.size > 0) {
    const node = heap.pop();
    // An estimate may be wrong for a while: a node that became cheaper is looked at again.
    if (isSettled[node] === 1 && estimate === undefined) continue;
    isSettled[node] = 1;
    if (node === to) break;
    const end = adjacency.offsets[node + 1] as number;
    const start = adjacency.offsets[node] as number;
    if (run.work.isSpent(4 + 4 * (end - start))) yield 'pause';
    for (let at = start; at < end; at += 1) {
      const next = adjacency.nodes[at] as number;
      const edge = adjacency.edges[at] as number;
      if (barredNodes?.has(next) || barredEdges?.has(edge)) continue;
      const cost = (costs[node] as number) + (weights[edge] as number);
      if (cost >= (costs[next] as number)) continue;
      table.reach(next, cost);
      before[next] = node;
      edges[next] = edge;
      heap.push(next, cost + (estimate?.(next) ?? 0));
    }
  }
  return table;
}

/** The way to a node from the start; undefined when it was not reached. */
export function wayTo(
  node: number,
  { costs, before, edges }: Costs,
): { readonly nodes: number[]; readonly edges: number[] } | undefined {
  if (costs[node] === Number.POSITIVE_INFINITY) return undefined;
  const nodes = [node];
  const way: number[] = [];
  for (let at = node; before[at] !== -1; ) {
    way.push(edges[at] as number);
    at = before[at] as number;
    nodes.push(at);
  }
  return { nodes: nodes.reverse(), edges: way.reverse() };
}
