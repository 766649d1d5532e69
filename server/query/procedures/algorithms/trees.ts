import { double, isList } from '#core/value/value.ts';
import { rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { algorithm, type Rows, type Run } from './algorithm.ts';
import { arborescence } from './arborescence.ts';
import { sidesOf } from './components.ts';
import { Groups } from './groups.ts';
import { leastCosts, wayTo } from './least-costs.ts';
import { sortedInTurns } from './sorting.ts';

/** Trees, flows and matchings (cypher.md 11). */

const tree = { source: 'NODE', target: 'NODE', weight: 'FLOAT', totalWeight: 'FLOAT' };

export const treeAlgorithms: readonly Procedure[] = [
  algorithm({
    name: 'mst',
    description: 'Spanning trees of least weight, without directions',
    parameters: ['weight?', 'relTypes?'],
    columns: tree,
    *rows(run) {
      const weights = yield* run.weights(run.text('weight'));
      const all = Int32Array.from({ length: run.graph.edgeCount }, (_, at) => at);
      yield* treeRows(run, yield* spanning(run, all, weights), weights);
    },
  }),
  algorithm({
    name: 'msa',
    description: 'Tree of least weight along the relationships from a root to all within reach',
    parameters: ['root', 'relTypes?', 'weight?'],
    columns: tree,
    *rows(run) {
      const root = run.node('root');
      const weights = yield* run.weights(run.text('weight'));
      yield* treeRows(run, yield* arborescence(run, root, weights), weights);
    },
  }),
  algorithm({
    name: 'steinerTree',
    description: 'A tree of small weight that holds the nodes, at most twice the least',
    parameters: ['nodes', 'relTypes?', 'weight?'],
    columns: tree,
    rows: steinerTree,
  }),
  algorithm({
    name: 'maxFlow',
    description: 'Largest flow from source to sink along the relationships',
    parameters: ['source', 'sink', 'relTypes?', 'capacity?'],
    columns: { maxFlow: 'FLOAT', sourceId: 'STRING', sinkId: 'STRING' },
    rows: maxFlow,
  }),
  algorithm({
    name: 'bipartiteMatching',
    description: 'As many pairs of the two sides as there can be',
    parameters: ['relTypes?'],
    columns: { node1: 'NODE', node2: 'NODE', matchingSize: 'INTEGER' },
    rows: bipartiteMatching,
  }),
];

function* treeRows(run: Run, edges: readonly number[], weights: Float64Array): Rows {
  let total = 0;
  for (const edge of edges) total += weights[edge] as number;
  for (const edge of edges)
    yield rowWith({
      source: run.nodeAt(run.graph.sources[edge] as number),
      target: run.nodeAt(run.graph.targets[edge] as number),
      weight: double(weights[edge] as number),
      totalWeight: double(total),
    });
}

/** Kruskal over some of the edges. */
function* spanning(
  run: Run,
  edges: Int32Array,
  weights: Float64Array,
): Generator<'pause', number[], undefined> {
  run.reserve(edges.length * 8 + run.graph.nodeCount * 8);
  const order = yield* sortedInTurns(
    edges,
    (a, b) => (weights[a] as number) - (weights[b] as number) || a - b,
    run.work,
  );
  const groups = new Groups(run.graph.nodeCount);
  const taken: number[] = [];
  for (const edge of order) {
    const { sources, targets } = run.graph;
    if (groups.join(sources[edge] as number, targets[edge] as number)) taken.push(edge);
    if (run.work.isSpent(2)) yield 'pause';
  }
  return taken;
}

/** Cheapest ways between the nodes, a spanning tree of these, then what leads to no wanted node is cut off (Kou). */
function* steinerTree(run: Run): Rows {
  const given = run.value('nodes');
  if (given === null || !isList(given) || given.length === 0)
    throw run.fault("'nodes' must be a list of nodes");
  const wanted = [...new Set(given.map((value) => run.nodeNumber(value, 'nodes')))];
  const weights = yield* run.positiveWeights(run.text('weight'));
  const adjacency = yield* run.adjacency('BOTH');
  const ways: { a: number; b: number; cost: number; edges: readonly number[] }[] = [];
  for (let a = 0; a < wanted.length; a += 1) {
    const costs = yield* leastCosts(run, { adjacency, weights, from: wanted[a] as number });
    for (let b = a + 1; b < wanted.length; b += 1) {
      const to = wanted[b] as number;
      const way = wayTo(to, costs);
      if (way !== undefined) ways.push({ a, b, cost: costs.costs[to] as number, edges: way.edges });
    }
  }
  ways.sort((x, y) => x.cost - y.cost || x.a - y.a || x.b - y.b);
  const groups = new Groups(wanted.length);
  const used = new Set<number>();
  for (const way of ways)
    if (groups.join(way.a, way.b)) for (const edge of way.edges) used.add(edge);
  if (groups.count > 1) throw run.fault('the nodes do not hang together');
  const edges = yield* spanning(run, Int32Array.from(used), weights);
  yield* treeRows(run, withoutTails(run, edges, new Set(wanted)), weights);
}

function withoutTails(
  { graph }: Run,
  tree: readonly number[],
  wanted: ReadonlySet<number>,
): readonly number[] {
  let edges = tree;
  for (;;) {
    const degrees = new Map<number, number>();
    for (const edge of edges)
      for (const node of [graph.sources[edge] as number, graph.targets[edge] as number])
        degrees.set(node, (degrees.get(node) ?? 0) + 1);
    const isTail = (node: number): boolean => degrees.get(node) === 1 && !wanted.has(node);
    const kept = edges.filter(
      (edge) => !isTail(graph.sources[edge] as number) && !isTail(graph.targets[edge] as number),
    );
    if (kept.length === edges.length) return kept;
    edges = kept;
  }
}

/** Dinic: level by level, then as much as fits along the levels. Arc 2e leads along edge e, arc 2e + 1 back. */
function* maxFlow(run: Run): Rows {
  const source = run.node('source');
  const sink = run.node('sink');
  const capacities = yield* run.positiveWeights(run.text('capacity'));
  const { nodeCount, edgeCount, sources, targets } = run.graph;
  const { offsets, nodes, edges } = yield* run.adjacency('BOTH');
  run.reserve(edgeCount * 16 + nodeCount * 8);
  const left = new Float64Array(edgeCount * 2);
  for (let edge = 0; edge < edgeCount; edge += 1)
    if (sources[edge] !== targets[edge]) left[edge * 2] = capacities[edge] as number;
  const arcFrom = (node: number, at: number): number => {
    const edge = edges[at] as number;
    return sources[edge] === node ? edge * 2 : edge * 2 + 1;
  };
  let flow = 0;
  while (source !== sink) {
    const levels = new Int32Array(nodeCount).fill(-1);
    levels[source] = 0;
    const queue = [source];
    for (let head = 0; head < queue.length; head += 1) {
      const node = queue[head] as number;
      const to = offsets[node + 1] as number;
      if (run.work.isSpent(2 + to - (offsets[node] as number))) yield 'pause';
      for (let at = offsets[node] as number; at < to; at += 1) {
        const next = nodes[at] as number;
        if (levels[next] !== -1 || (left[arcFrom(node, at)] as number) <= 0) continue;
        levels[next] = (levels[node] as number) + 1;
        queue.push(next);
      }
    }
    if (levels[sink] === -1) break;
    const places = offsets.slice(0, nodeCount);
    const path: number[] = [];
    const arcs: number[] = [source];
    while (arcs.length > 0) {
      if (run.work.isSpent(2)) yield 'pause';
      const node = arcs.at(-1) as number;
      if (node === sink) {
        let amount = Number.POSITIVE_INFINITY;
        for (const arc of path) amount = Math.min(amount, left[arc] as number);
        for (const arc of path) {
          left[arc] = (left[arc] as number) - amount;
          left[arc ^ 1] = (left[arc ^ 1] as number) + amount;
        }
        flow += amount;
        path.length = 0;
        arcs.length = 1;
        continue;
      }
      const at = places[node] as number;
      if (at === (offsets[node + 1] as number)) {
        arcs.pop();
        path.pop();
        const parent = arcs.at(-1);
        if (parent !== undefined) places[parent] = (places[parent] as number) + 1;
        continue;
      }
      const next = nodes[at] as number;
      const arc = arcFrom(node, at);
      if ((left[arc] as number) > 0 && levels[next] === (levels[node] as number) + 1) {
        path.push(arc);
        arcs.push(next);
      } else places[node] = at + 1;
    }
  }
  yield rowWith({ maxFlow: double(flow), sourceId: run.idAt(source), sinkId: run.idAt(sink) });
}

/** Ways that change sides of pairs (Kuhn), breadth first so that nothing grows deep. */
function* bipartiteMatching(run: Run): Rows {
  const { sides, isBipartite } = yield* sidesOf(run);
  if (!isBipartite) throw run.fault('the graph is not bipartite');
  const { nodeCount } = run.graph;
  const { offsets, nodes } = yield* run.graph.simple();
  run.reserve(nodeCount * 12);
  const partners = new Int32Array(nodeCount).fill(-1);
  const cameFrom = new Int32Array(nodeCount);
  const metIn = new Int32Array(nodeCount).fill(-1);
  let size = 0;
  for (let start = 0; start < nodeCount; start += 1) {
    if (sides[start] !== 0) continue;
    const queue = [start];
    let end = -1;
    for (let head = 0; head < queue.length && end === -1; head += 1) {
      const node = queue[head] as number;
      const to = offsets[node + 1] as number;
      if (run.work.isSpent(2 + to - (offsets[node] as number))) yield 'pause';
      for (let at = offsets[node] as number; at < to && end === -1; at += 1) {
        const next = nodes[at] as number;
        if (metIn[next] === start) continue;
        metIn[next] = start;
        cameFrom[next] = node;
        const partner = partners[next] as number;
        if (partner === -1) end = next;
        else queue.push(partner);
      }
    }
    if (end === -1) continue;
    size += 1;
    for (let at = end; at !== -1; ) {
      const node = cameFrom[at] as number;
      const before = partners[node] as number;
      partners[at] = node;
      partners[node] = at;
      at = before;
    }
  }
  for (let node = 0; node < nodeCount; node += 1)
    if (sides[node] === 0 && partners[node] !== -1)
      yield rowWith({
        node1: run.nodeAt(node),
        node2: run.nodeAt(partners[node] as number),
        matchingSize: size,
      });
}
