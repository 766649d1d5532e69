import { double } from '#core/value/value.ts';
import { rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { algorithm, type Rows, type Run } from './algorithm.ts';
import type { Adjacency, GraphDirection } from './graph-view.ts';
import { leastCosts } from './least-costs.ts';

/** Algorithms that look at distances from every node, or walk the graph level by level (cypher.md 11). */

const centrality = { node: 'NODE', score: 'FLOAT' };

export const distanceAlgorithms: readonly Procedure[] = [
  algorithm({
    name: 'betweenness',
    description: 'Share of shortest paths that lead through a node',
    parameters: ['{}?'],
    columns: centrality,
    rows: betweenness,
  }),
  algorithm({
    name: 'closeness',
    description: 'Inverse of the average distance to the nodes within reach',
    parameters: ['relTypes?', 'direction?', 'normalized?'],
    columns: centrality,
    *rows(run) {
      const isNormalized = run.flag('normalized', true);
      const others = Math.max(1, run.graph.nodeCount - 1);
      yield* distanceRows(run, ({ reached, sum }) => {
        if (sum === 0) return 0;
        return (reached / sum) * (isNormalized ? reached / others : 1);
      });
    },
  }),
  algorithm({
    name: 'harmonic',
    description: 'Sum of inverse distances',
    parameters: ['relTypes?', 'direction?', 'normalized?'],
    columns: centrality,
    *rows(run) {
      const others = Math.max(1, run.graph.nodeCount - 1);
      const divisor = run.flag('normalized', true) ? others : 1;
      yield* distanceRows(run, ({ inverses }) => inverses / divisor);
    },
  }),
  algorithm({
    name: 'eccentricity',
    description: 'Largest distance to a node within reach',
    parameters: ['relTypes?', 'direction?'],
    columns: {
      node: 'NODE',
      eccentricity: 'INTEGER',
      isCenter: 'BOOLEAN',
      isPeripheral: 'BOOLEAN',
    },
    rows: eccentricities,
  }),
  algorithm({
    name: 'apsp',
    description: 'Least costs between all nodes within reach',
    parameters: ['weight?', 'relTypes?'],
    columns: { source: 'NODE', target: 'NODE', distance: 'FLOAT' },
    rows: allPairs,
  }),
  algorithm({
    name: 'bfs',
    description: 'Nodes within reach, nearest first',
    parameters: ['from', 'relTypes?', 'direction?', 'maxDepth?'],
    columns: { node: 'NODE', depth: 'INTEGER' },
    rows: breadthFirst,
  }),
  algorithm({
    name: 'dfs',
    description: 'Nodes within reach, depth first',
    parameters: ['from', 'relTypes?', 'direction?', 'maxDepth?'],
    columns: { node: 'NODE', depth: 'INTEGER' },
    rows: depthFirst,
  }),
];

/** Distances from one node at a time, in arrays that are used again. */
export class LevelSearch {
  readonly #run: Run;
  readonly #adjacency: Adjacency;
  /** -1: not within reach. */
  readonly distances: Int32Array;
  /** Nodes in the order in which they are met. */
  readonly order: Int32Array;
  count = 0;

  constructor(run: Run, adjacency: Adjacency) {
    const { nodeCount } = run.graph;
    run.reserve(nodeCount * 8);
    this.#run = run;
    this.#adjacency = adjacency;
    this.distances = new Int32Array(nodeCount).fill(-1);
    this.order = new Int32Array(nodeCount);
  }

  *from(start: number, depthMax = Number.POSITIVE_INFINITY): Generator<'pause', void, undefined> {
    const { distances, order } = this;
    const { offsets, nodes } = this.#adjacency;
    for (let at = 0; at < this.count; at += 1) distances[order[at] as number] = -1;
    distances[start] = 0;
    order[0] = start;
    this.count = 1;
    for (let at = 0; at < this.count; at += 1) {
      const node = order[at] as number;
      const depth = (distances[node] as number) + 1;
      if (depth > depthMax) return;
      const to = offsets[node + 1] as number;
      if (this.#run.work.isSpent(1 + to - (offsets[node] as number))) yield 'pause';
      for (let place = offsets[node] as number; place < to; place += 1) {
        const next = nodes[place] as number;
        if (distances[next] !== -1) continue;
        distances[next] = depth;
        order[this.count] = next;
        this.count += 1;
      }
    }
  }
}

interface Reach {
  readonly reached: number;
  readonly sum: number;
  readonly inverses: number;
}

function* distanceRows(run: Run, score: (reach: Reach) => number): Rows {
  const search = new LevelSearch(run, yield* run.adjacency(run.direction()));
  for (let node = 0; node < run.graph.nodeCount; node += 1) {
    yield* search.from(node);
    let sum = 0;
    let inverses = 0;
    for (let at = 1; at < search.count; at += 1) {
      const length = search.distances[search.order[at] as number] as number;
      sum += length;
      inverses += 1 / length;
    }
    const reach = { reached: search.count - 1, sum, inverses };
    yield rowWith({ node: run.nodeAt(node), score: double(score(reach)) });
  }
}

/** Brandes: counts of shortest paths forwards, shares of them backwards. */
function* betweenness(run: Run): Rows {
  const { nodeCount } = run.graph;
  const direction = run.direction();
  const adjacency = yield* run.adjacency(direction);
  const search = new LevelSearch(run, adjacency);
  run.reserve(nodeCount * 24);
  const scores = new Float64Array(nodeCount);
  const pathCounts = new Float64Array(nodeCount);
  const shares = new Float64Array(nodeCount);
  const { offsets, nodes } = adjacency;
  const { distances, order } = search;
  for (let start = 0; start < nodeCount; start += 1) {
    yield* search.from(start);
    for (let at = 0; at < search.count; at += 1) {
      pathCounts[order[at] as number] = 0;
      shares[order[at] as number] = 0;
    }
    pathCounts[start] = 1;
    for (let at = 0; at < search.count; at += 1) {
      const node = order[at] as number;
      const to = offsets[node + 1] as number;
      if (run.work.isSpent(1 + to - (offsets[node] as number))) yield 'pause';
      for (let place = offsets[node] as number; place < to; place += 1) {
        const next = nodes[place] as number;
        if (distances[next] !== (distances[node] as number) + 1) continue;
        pathCounts[next] = (pathCounts[next] as number) + (pathCounts[node] as number);
      }
    }
    for (let at = search.count - 1; at >= 0; at -= 1) {
      const node = order[at] as number;
      const to = offsets[node + 1] as number;
      if (run.work.isSpent(1 + to - (offsets[node] as number))) yield 'pause';
      let share = 0;
      for (let place = offsets[node] as number; place < to; place += 1) {
        const next = nodes[place] as number;
        if (distances[next] !== (distances[node] as number) + 1) continue;
        share +=
          ((pathCounts[node] as number) / (pathCounts[next] as number)) *
          (1 + (shares[next] as number));
      }
      shares[node] = share;
      if (node !== start) scores[node] = (scores[node] as number) + share;
    }
  }
  const pairs = (nodeCount - 1) * (nodeCount - 2);
  // Without directions each pair was counted from both of its ends.
  const counted = direction === 'BOTH' ? 2 : 1;
  const divisor = run.flag('normalized', true) ? (pairs > 0 ? pairs : 1) : counted;
  for (let node = 0; node < nodeCount; node += 1)
    yield rowWith({ node: run.nodeAt(node), score: double((scores[node] as number) / divisor) });
}

function* eccentricities(run: Run): Rows {
  const { nodeCount } = run.graph;
  const search = new LevelSearch(run, yield* run.adjacency(run.direction()));
  run.reserve(nodeCount * 4);
  const farthest = new Int32Array(nodeCount);
  for (let node = 0; node < nodeCount; node += 1) {
    yield* search.from(node);
    farthest[node] = search.distances[search.order[search.count - 1] as number] as number;
  }
  let radius = Number.POSITIVE_INFINITY;
  let diameter = 0;
  for (const eccentricity of farthest) {
    radius = Math.min(radius, eccentricity);
    diameter = Math.max(diameter, eccentricity);
  }
  for (let node = 0; node < nodeCount; node += 1) {
    const eccentricity = farthest[node] as number;
    yield rowWith({
      node: run.nodeAt(node),
      eccentricity,
      isCenter: eccentricity === radius,
      isPeripheral: eccentricity === diameter,
    });
  }
}

function* allPairs(run: Run): Rows {
  const weights = yield* run.positiveWeights(run.text('weight'));
  const adjacency = yield* run.adjacency(run.direction());
  for (let source = 0; source < run.graph.nodeCount; source += 1) {
    const found = yield* leastCosts(run, { adjacency, weights, from: source });
    const { costs } = found;
    for (let target = 0; target < costs.length; target += 1) {
      if (run.work.isSpent(1)) yield 'pause';
      const cost = costs[target] as number;
      if (target === source || cost === Number.POSITIVE_INFINITY) continue;
      yield rowWith({
        source: run.nodeAt(source),
        target: run.nodeAt(target),
        distance: double(cost),
      });
    }
    found.release();
  }
}

function depthMax(run: Run): number {
  return run.value('maxDepth') === null
    ? Number.POSITIVE_INFINITY
    : run.count('maxDepth', 0, { max: Number.MAX_SAFE_INTEGER });
}

function* breadthFirst(run: Run): Rows {
  const direction: GraphDirection = run.direction();
  const search = new LevelSearch(run, yield* run.adjacency(direction));
  yield* search.from(run.node('from'), depthMax(run));
  for (let at = 1; at < search.count; at += 1) {
    const node = search.order[at] as number;
    yield rowWith({ node: run.nodeAt(node), depth: search.distances[node] as number });
  }
}

function* depthFirst(run: Run): Rows {
  const { offsets, nodes } = yield* run.adjacency(run.direction());
  const start = run.node('from');
  const max = depthMax(run);
  const { nodeCount } = run.graph;
  run.reserve(nodeCount * 13);
  const isMet = new Uint8Array(nodeCount);
  const places = offsets.slice(0, nodeCount);
  const stack: number[] = [start];
  isMet[start] = 1;
  while (stack.length > 0) {
    if (run.work.isSpent(1)) yield 'pause';
    const node = stack.at(-1) as number;
    const place = places[node] as number;
    if (stack.length > max || place === (offsets[node + 1] as number)) {
      stack.pop();
      continue;
    }
    places[node] = place + 1;
    const next = nodes[place] as number;
    if (isMet[next] === 1) continue;
    isMet[next] = 1;
    yield rowWith({ node: run.nodeAt(next), depth: stack.length });
    stack.push(next);
  }
}
