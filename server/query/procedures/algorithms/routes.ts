import { double, type Value } from '#core/value/value.ts';
import { isNumeric, toDouble } from '../../functions/arguments.ts';
import { rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { algorithm, type Rows, type Run } from './algorithm.ts';
import { topologicalOrder } from './components.ts';
import type { Adjacency } from './graph-view.ts';
import { type Costs, leastCosts, wayTo } from './least-costs.ts';
import { seededRandom } from './work.ts';

/** Weighted paths, paths one after the other, walks (cypher.md 11). */

const weighted = { path: 'PATH', weight: 'FLOAT' };

export const routeAlgorithms: readonly Procedure[] = [
  algorithm({
    name: 'dijkstra',
    description: 'Path of least weight',
    parameters: ['from', 'to', 'relTypes?', 'weight?', 'direction?'],
    columns: weighted,
    *rows(run) {
      yield* cheapest(run, undefined);
    },
  }),
  algorithm({
    name: 'dijkstra.singleSource',
    description: 'Least weights to all nodes within reach',
    parameters: ['from', 'relTypes?', 'weight?', 'direction?'],
    columns: { node: 'NODE', cost: 'FLOAT' },
    *rows(run) {
      const from = run.node('from');
      const weights = yield* run.positiveWeights(run.text('weight'));
      const adjacency = yield* run.adjacency(run.direction('OUT'));
      const { costs } = yield* leastCosts(run, { adjacency, weights, from });
      for (let node = 0; node < costs.length; node += 1) {
        const cost = costs[node] as number;
        if (run.work.isSpent(1)) yield 'pause';
        if (cost !== Number.POSITIVE_INFINITY)
          yield rowWith({ node: run.nodeAt(node), cost: double(cost) });
      }
    },
  }),
  algorithm({
    name: 'astar',
    description: 'Path of least weight, guided by coordinates of the nodes',
    parameters: ['from', 'to', 'relTypes?', 'weight?', 'latProp?', 'lonProp?'],
    columns: weighted,
    *rows(run) {
      yield* cheapest(run, estimateOf(run));
    },
  }),
  algorithm({
    name: 'bellmanford',
    description: 'Path of least weight, with weights below 0',
    parameters: ['from', 'to', 'relTypes?', 'weight?'],
    columns: { path: 'PATH', weight: 'FLOAT', negativeCycle: 'BOOLEAN' },
    rows: bellmanFord,
  }),
  algorithm({
    name: 'allsimplepaths',
    description: 'Paths that meet no node twice',
    parameters: ['from', 'to', 'relTypes?', 'maxDepth?', 'direction?'],
    columns: { path: 'PATH' },
    rows: simplePaths,
  }),
  algorithm({
    name: 'kShortestPaths',
    description: 'The k paths of least weight that meet no node twice',
    parameters: ['from', 'to', 'k', 'relTypes?', 'weight?'],
    columns: { path: 'PATH', weight: 'FLOAT', rank: 'INTEGER' },
    rows: bestPaths,
  }),
  algorithm({
    name: 'longestPath',
    description: 'Largest weight of a path to each node of a graph without cycles',
    parameters: ['relTypes?', 'weight?'],
    columns: { node: 'NODE', distance: 'FLOAT', source: 'NODE' },
    rows: longestPaths,
  }),
  algorithm({
    name: 'randomWalk',
    description: 'A walk of random steps',
    parameters: ['start', 'steps', 'relTypes?', 'direction?', 'seed?'],
    columns: { path: 'PATH', steps: 'INTEGER' },
    rows: randomWalk,
  }),
];

function* cheapest(run: Run, estimate: ((node: number) => number) | undefined): Rows {
  const from = run.node('from');
  const to = run.node('to');
  const weights = yield* run.positiveWeights(run.text('weight'));
  const adjacency = yield* run.adjacency(run.direction());
  const found = yield* leastCosts(run, {
    adjacency,
    weights,
    from,
    to,
    ...(estimate && { estimate }),
  });
  const row = costRow(run, to, found);
  found.release();
  if (row !== undefined) yield rowWith(row);
}

function costRow(
  run: Run,
  to: number,
  found: Costs,
): { readonly path: Value; readonly weight: Value } | undefined {
  const way = wayTo(to, found);
  if (way === undefined) return undefined;
  return {
    path: run.pathOf(way.nodes, way.edges),
    weight: double(found.costs[to] as number),
  };
}

const earthRadiusKm = 6_371;

/** Kilometres to the target where both have coordinates: weights are to be at least these. */
function estimateOf(run: Run): ((node: number) => number) | undefined {
  const latitude = run.text('latProp');
  const longitude = run.text('lonProp');
  if (latitude === undefined || longitude === undefined) return undefined;
  const radians = (node: number, property: string): number => {
    const value = run.context.view.record(run.graph.ridOf(node))?.get(property) ?? null;
    return value !== null && isNumeric(value) ? (toDouble(value) * Math.PI) / 180 : Number.NaN;
  };
  const to = run.node('to');
  const lat = radians(to, latitude);
  const lon = radians(to, longitude);
  return (node) => {
    const own = radians(node, latitude);
    const haversine =
      Math.sin((own - lat) / 2) ** 2 +
      Math.cos(own) * Math.cos(lat) * Math.sin((radians(node, longitude) - lon) / 2) ** 2;
    const km = 2 * earthRadiusKm * Math.asin(Math.min(1, Math.sqrt(haversine)));
    return Number.isNaN(km) ? 0 : km;
  };
}

/** Along the relationships; a negative cycle within reach leaves no path of least weight. */
function* bellmanFord(run: Run): Rows {
  const from = run.node('from');
  const to = run.node('to');
  const { nodeCount, edgeCount, sources, targets } = run.graph;
  const weights = yield* run.weights(run.text('weight'));
  run.reserve(nodeCount * 16);
  const costs = new Float64Array(nodeCount).fill(Number.POSITIVE_INFINITY);
  const before = new Int32Array(nodeCount).fill(-1);
  const edges = new Int32Array(nodeCount).fill(-1);
  costs[from] = 0;
  let isChanged = true;
  for (let round = 0; round < nodeCount && isChanged; round += 1) {
    isChanged = false;
    for (let edge = 0; edge < edgeCount; edge += 1) {
      if (run.work.isSpent(1)) yield 'pause';
      const source = sources[edge] as number;
      const target = targets[edge] as number;
      const cost = (costs[source] as number) + (weights[edge] as number);
      if (!(cost < (costs[target] as number))) continue;
      costs[target] = cost;
      before[target] = source;
      edges[target] = edge;
      isChanged = true;
    }
  }
  if (isChanged) {
    yield rowWith({ path: null, weight: null, negativeCycle: true });
    return;
  }
  const row = costRow(run, to, { costs, before, edges });
  if (row !== undefined) yield rowWith({ ...row, negativeCycle: false });
}

function* simplePaths(run: Run): Rows {
  const from = run.node('from');
  const to = run.node('to');
  const max = run.value('maxDepth') === null ? Number.POSITIVE_INFINITY : run.count('maxDepth', 0);
  const { offsets, nodes, edges } = yield* run.adjacency(run.direction());
  const isOnPath = new Uint8Array(run.graph.nodeCount);
  const path = [from];
  const walked: number[] = [];
  const places = [offsets[from] as number];
  isOnPath[from] = 1;
  if (from === to) yield rowWith({ path: run.pathOf(path, []) });
  while (path.length > 0) {
    if (run.work.isSpent(1)) yield 'pause';
    const node = path.at(-1) as number;
    const place = places.at(-1) as number;
    const isEnd = node === to || walked.length >= max;
    if (isEnd || place === (offsets[node + 1] as number)) {
      isOnPath[node] = 0;
      path.pop();
      places.pop();
      walked.pop();
      continue;
    }
    places[places.length - 1] = place + 1;
    const next = nodes[place] as number;
    if (isOnPath[next] === 1) continue;
    path.push(next);
    walked.push(edges[place] as number);
    places.push(offsets[next] as number);
    isOnPath[next] = 1;
    if (next === to) yield rowWith({ path: run.pathOf(path, walked) });
  }
}

interface Way {
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly cost: number;
}

/** Yen: each next path leaves one of those before at some node. */
function* bestPaths(run: Run): Rows {
  const from = run.node('from');
  const to = run.node('to');
  const k = run.count('k', 1, { min: 1, max: 10_000 });
  const weights = yield* run.positiveWeights(run.text('weight'));
  const adjacency = yield* run.adjacency(run.direction());
  const reached = yield* leastCosts(run, { adjacency, weights, from, to });
  const first = wayTo(to, reached);
  reached.release();
  if (first === undefined) return;
  const sum = (edges: readonly number[]): number =>
    edges.reduce((total, edge) => total + (weights[edge] as number), 0);
  const found: Way[] = [{ ...first, cost: sum(first.edges) }];
  const candidates = new Map<string, Way>();
  for (let rank = 1; ; rank += 1) {
    const last = found[rank - 1];
    if (last === undefined) return;
    yield rowWith({
      path: run.pathOf(last.nodes, last.edges),
      weight: double(last.cost),
      rank,
    });
    if (rank === k) return;
    yield* branches(run, { adjacency, weights, to, found, last, candidates, sum });
    const [best] = [...candidates].sort(([, a], [, b]) => compareWays(a, b));
    if (best === undefined) return;
    candidates.delete(best[0]);
    found.push(best[1]);
  }
}

function compareWays(a: Way, b: Way): number {
  return (
    a.cost - b.cost || a.edges.length - b.edges.length || (`${a.edges}` < `${b.edges}` ? -1 : 1)
  );
}

function* branches(
  run: Run,
  search: {
    readonly adjacency: Adjacency;
    readonly weights: Float64Array;
    readonly to: number;
    readonly found: readonly Way[];
    readonly last: Way;
    readonly candidates: Map<string, Way>;
    sum(edges: readonly number[]): number;
  },
): Generator<'pause', void, undefined> {
  const { adjacency, weights, to, found, last, candidates, sum } = search;
  for (let at = 0; at < last.edges.length; at += 1) {
    const root = last.edges.slice(0, at);
    const isSameRoot = ({ edges }: Way): boolean => root.every((edge, i) => edges[i] === edge);
    const barredEdges = new Set(found.filter(isSameRoot).flatMap(({ edges }) => edges[at] ?? []));
    const barredNodes = new Set(last.nodes.slice(0, at));
    const from = last.nodes[at] as number;
    const costs = yield* leastCosts(run, {
      adjacency,
      weights,
      from,
      to,
      barredNodes,
      barredEdges,
    });
    const rest = wayTo(to, costs);
    costs.release();
    if (rest === undefined) continue;
    const edges = [...root, ...rest.edges];
    const nodes = [...last.nodes.slice(0, at), ...rest.nodes];
    candidates.set(edges.join(' '), { nodes, edges, cost: sum(edges) });
  }
}

function* longestPaths(run: Run): Rows {
  const { nodeCount } = run.graph;
  const order = yield* topologicalOrder(run);
  if (order.length < nodeCount) throw run.fault('the graph has a cycle');
  const weights = yield* run.weights(run.text('weight'));
  const { offsets, nodes, edges } = yield* run.adjacency('IN');
  run.reserve(nodeCount * 12);
  const lengths = new Float64Array(nodeCount);
  const sources = new Int32Array(nodeCount);
  for (const node of order) {
    sources[node] = node;
    const to = offsets[node + 1] as number;
    if (run.work.isSpent(1 + to - (offsets[node] as number))) yield 'pause';
    for (let at = offsets[node] as number; at < to; at += 1) {
      const before = nodes[at] as number;
      const length = (lengths[before] as number) + (weights[edges[at] as number] as number);
      if (length <= (lengths[node] as number)) continue;
      lengths[node] = length;
      sources[node] = sources[before] as number;
    }
  }
  for (let node = 0; node < nodeCount; node += 1)
    yield rowWith({
      node: run.nodeAt(node),
      distance: double(lengths[node] as number),
      source: run.nodeAt(sources[node] as number),
    });
}

function* randomWalk(run: Run): Rows {
  const steps = run.count('steps', 0);
  const seed =
    run.value('seed') === null
      ? undefined
      : run.count('seed', 0, { min: -(2 ** 53), max: 2 ** 53 });
  const random = seededRandom(seed ?? run.context.runtime.random.uint32());
  const { offsets, nodes, edges } = yield* run.adjacency(run.direction());
  const path = [run.node('start')];
  const walked: number[] = [];
  run.reserve(steps * 16);
  while (walked.length < steps) {
    if (run.work.isSpent(1)) yield 'pause';
    const node = path.at(-1) as number;
    const from = offsets[node] as number;
    const degree = (offsets[node + 1] as number) - from;
    if (degree === 0) break;
    const place = from + Math.floor(random() * degree);
    path.push(nodes[place] as number);
    walked.push(edges[place] as number);
  }
  yield rowWith({ path: run.pathOf(path, walked), steps: walked.length });
}
