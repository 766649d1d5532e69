import { double } from '#core/value/value.ts';
import { rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { algorithm, type Rows, type Run } from './algorithm.ts';
import { cliques } from './cliques.ts';
import type { Adjacency } from './graph-view.ts';
import { degreeOf, sharedNeighbours } from './neighbourhoods.ts';
import { sortedInTurns } from './sorting.ts';

/** How close together the graph is: triangles, cores, cliques, colours (cypher.md 11). Each pair of neighbours counts once. */

export const densityAlgorithms: readonly Procedure[] = [
  algorithm({
    name: 'triangleCount',
    description:
      'Triangles that a node is in, and the share of pairs of its neighbours that are joined',
    parameters: ['relTypes?'],
    columns: { node: 'NODE', triangles: 'INTEGER', clusteringCoefficient: 'FLOAT' },
    rows: (run) =>
      clustering(run, (node, triangles, coefficient) => ({
        node: run.nodeAt(node),
        triangles,
        clusteringCoefficient: double(coefficient),
      })),
  }),
  algorithm({
    name: 'localClusteringCoefficient',
    description: 'Share of pairs of neighbours that are joined',
    parameters: ['relTypes?'],
    columns: { node: 'NODE', localClusteringCoefficient: 'FLOAT' },
    rows: (run) =>
      clustering(run, (node, _, coefficient) => ({
        node: run.nodeAt(node),
        localClusteringCoefficient: double(coefficient),
      })),
  }),
  algorithm({
    name: 'kcore',
    description: 'The largest k such that a node is in a part where all have k neighbours',
    parameters: ['relTypes?'],
    columns: { node: 'NODE', coreNumber: 'INTEGER' },
    *rows(run) {
      const { cores } = yield* coresOf(run);
      for (let node = 0; node < cores.length; node += 1)
        yield rowWith({ node: run.nodeAt(node), coreNumber: cores[node] as number });
    },
  }),
  algorithm({
    name: 'kTruss',
    description: 'Nodes of parts where every relationship is in k - 2 triangles',
    parameters: ['relTypes?', 'k?'],
    columns: { nodeId: 'STRING', trussNumber: 'INTEGER' },
    rows: trusses,
  }),
  algorithm({
    name: 'clique',
    description: 'Nodes all joined to each other, to which no other node can be added',
    parameters: ['relTypes?', 'minSize?'],
    columns: { clique: 'LIST', size: 'INTEGER' },
    *rows(run) {
      const sizeMin = run.count('minSize', 3, { min: 1 });
      for (const found of cliques(run, yield* run.graph.simple(), sizeMin)) {
        if (found === 'pause') yield 'pause';
        else yield rowWith({ clique: found.map((node) => run.nodeAt(node)), size: found.length });
      }
    },
  }),
  algorithm({
    name: 'densestSubgraph',
    description: 'The part with most relationships for each node, at least half of the best',
    parameters: ['relTypes?'],
    columns: { node: 'NODE', inDenseSubgraph: 'BOOLEAN', density: 'FLOAT' },
    rows: densest,
  }),
  algorithm({
    name: 'graphColoring',
    description: 'Colours such that neighbours differ, nodes of many neighbours first',
    parameters: ['relTypes?'],
    columns: { node: 'NODE', color: 'INTEGER', chromaticNumber: 'INTEGER' },
    rows: coloring,
  }),
];

/** For each pair of neighbours with a < b their shared neighbours. */
export function* trianglesOf(
  run: Run,
  simple: Adjacency,
): Generator<'pause', Float64Array, undefined> {
  const { nodeCount } = run.graph;
  run.reserve(nodeCount * 8);
  const triangles = new Float64Array(nodeCount);
  const add = (node: number): void => {
    triangles[node] = (triangles[node] as number) + 1;
  };
  for (let a = 0; a < nodeCount; a += 1)
    for (let at = simple.offsets[a] as number; at < (simple.offsets[a + 1] as number); at += 1) {
      const b = simple.nodes[at] as number;
      if (b < a) continue;
      if (run.work.isSpent(1 + degreeOf(simple, a) + degreeOf(simple, b))) yield 'pause';
      sharedNeighbours(simple, a, b, (c) => {
        if (c < b) return;
        add(a);
        add(b);
        add(c);
      });
    }
  return triangles;
}

function* clustering(
  run: Run,
  row: (node: number, triangles: number, coefficient: number) => Parameters<typeof rowWith>[0],
): Rows {
  const simple = yield* run.graph.simple();
  const triangles = yield* trianglesOf(run, simple);
  for (let node = 0; node < triangles.length; node += 1) {
    const degree = degreeOf(simple, node);
    const pairs = (degree * (degree - 1)) / 2;
    const count = triangles[node] as number;
    yield rowWith(row(node, count, pairs === 0 ? 0 : count / pairs));
  }
}

/** Nodes are taken away by least degree; `order` is that of their going. */
export function* coresOf(
  run: Run,
): Generator<'pause', { readonly cores: Int32Array; readonly order: Int32Array }, undefined> {
  const { nodeCount } = run.graph;
  const simple = yield* run.graph.simple();
  const { offsets, nodes } = simple;
  run.reserve(nodeCount * 20);
  const degrees = new Int32Array(nodeCount);
  let degreeMax = 0;
  for (let node = 0; node < nodeCount; node += 1) {
    degrees[node] = degreeOf(simple, node);
    degreeMax = Math.max(degreeMax, degrees[node] as number);
  }
  // Nodes by degree in one array, with the place where each degree begins (Batagelj and Zaversnik).
  const begins = new Int32Array(degreeMax + 2);
  for (const degree of degrees) begins[degree + 1] = (begins[degree + 1] as number) + 1;
  for (let degree = 0; degree <= degreeMax; degree += 1)
    begins[degree + 1] = (begins[degree + 1] as number) + (begins[degree] as number);
  const order = new Int32Array(nodeCount);
  const places = new Int32Array(nodeCount);
  const next = begins.slice();
  for (let node = 0; node < nodeCount; node += 1) {
    const degree = degrees[node] as number;
    const place = next[degree] as number;
    next[degree] = place + 1;
    order[place] = node;
    places[node] = place;
  }
  const put = (node: number, place: number): void => {
    order[place] = node;
    places[node] = place;
  };
  for (let at = 0; at < nodeCount; at += 1) {
    const node = order[at] as number;
    if (run.work.isSpent(1 + 2 * degreeOf(simple, node))) yield 'pause';
    for (let place = offsets[node] as number; place < (offsets[node + 1] as number); place += 1) {
      const neighbour = nodes[place] as number;
      const degree = degrees[neighbour] as number;
      if (degree <= (degrees[node] as number)) continue;
      const first = begins[degree] as number;
      const other = order[first] as number;
      const from = places[neighbour] as number;
      put(neighbour, first);
      put(other, from);
      begins[degree] = first + 1;
      degrees[neighbour] = degree - 1;
    }
  }
  return { cores: degrees, order };
}

/** Pairs leave by how few triangles they are in; a node's number is the largest of its pairs. */
function* trusses(run: Run): Rows {
  const k = run.count('k', 3, { min: 2 });
  const { nodeCount } = run.graph;
  const simple = yield* run.graph.simple();
  run.reserve(simple.nodes.length * 100);
  const neighbours = Array.from({ length: nodeCount }, () => new Map<number, number>());
  let pairCount = 0;
  for (let a = 0; a < nodeCount; a += 1)
    for (let at = simple.offsets[a] as number; at < (simple.offsets[a + 1] as number); at += 1) {
      const b = simple.nodes[at] as number;
      if (run.work.isSpent(1 + degreeOf(simple, a) + degreeOf(simple, b))) yield 'pause';
      (neighbours[a] as Map<number, number>).set(b, sharedNeighbours(simple, a, b).shared);
      pairCount += 1;
    }
  const numbers = new Int32Array(nodeCount);
  for (let level = 3; pairCount > 0; level += 1) {
    let leaving: [number, number][] = [];
    for (let a = 0; a < nodeCount; a += 1)
      for (const [b, support] of neighbours[a] as Map<number, number>) {
        if (run.work.isSpent(1)) yield 'pause';
        // Pairs that are still there are in the truss of the level before.
        numbers[a] = level - 1;
        if (a < b && support < level - 2) leaving.push([a, b]);
      }
    while (leaving.length > 0) {
      const next: [number, number][] = [];
      for (const [a, b] of leaving) {
        const [ofA, ofB] = [neighbours[a], neighbours[b]] as [
          Map<number, number>,
          Map<number, number>,
        ];
        if (!ofA.delete(b)) continue;
        ofB.delete(a);
        pairCount -= 2;
        if (run.work.isSpent(1 + ofA.size)) yield 'pause';
        for (const c of ofA.keys()) {
          if (!ofB.has(c)) continue;
          for (const [x, y] of [
            [a, c],
            [b, c],
          ] as const) {
            const left = ((neighbours[x] as Map<number, number>).get(y) ?? 0) - 1;
            (neighbours[x] as Map<number, number>).set(y, left);
            (neighbours[y] as Map<number, number>).set(x, left);
            if (left < level - 2) next.push([Math.min(x, y), Math.max(x, y)]);
          }
        }
      }
      leaving = next;
    }
  }
  for (let node = 0; node < nodeCount; node += 1)
    if ((numbers[node] as number) >= k)
      yield rowWith({ nodeId: run.idAt(node), trussNumber: numbers[node] as number });
}

function* densest(run: Run): Rows {
  const { nodeCount } = run.graph;
  const simple = yield* run.graph.simple();
  const { order } = yield* coresOf(run);
  const isGone = new Uint8Array(nodeCount);
  let pairs = simple.nodes.length / 2;
  let best = nodeCount === 0 ? 0 : pairs / nodeCount;
  let bestAt = 0;
  for (let at = 0; at < nodeCount; at += 1) {
    const density = pairs / (nodeCount - at);
    if (density > best) {
      best = density;
      bestAt = at;
    }
    const node = order[at] as number;
    if (run.work.isSpent(1 + degreeOf(simple, node))) yield 'pause';
    const to = simple.offsets[node + 1] as number;
    for (let place = simple.offsets[node] as number; place < to; place += 1)
      if (isGone[simple.nodes[place] as number] === 0) pairs -= 1;
    isGone[node] = 1;
  }
  const isDense = new Uint8Array(nodeCount).fill(1);
  for (let at = 0; at < bestAt; at += 1) isDense[order[at] as number] = 0;
  for (let node = 0; node < nodeCount; node += 1)
    yield rowWith({
      node: run.nodeAt(node),
      inDenseSubgraph: isDense[node] === 1,
      density: double(best),
    });
}

function* coloring(run: Run): Rows {
  const { nodeCount } = run.graph;
  const simple = yield* run.graph.simple();
  run.reserve(nodeCount * 12);
  const order = yield* sortedInTurns(
    Int32Array.from({ length: nodeCount }, (_, at) => at),
    (a, b) => degreeOf(simple, b) - degreeOf(simple, a) || a - b,
    run.work,
  );
  const colors = new Int32Array(nodeCount).fill(-1);
  const usedBy = new Int32Array(nodeCount + 1).fill(-1);
  let count = 0;
  for (const node of order) {
    const to = simple.offsets[node + 1] as number;
    if (run.work.isSpent(1 + 2 * degreeOf(simple, node))) yield 'pause';
    for (let at = simple.offsets[node] as number; at < to; at += 1) {
      const color = colors[simple.nodes[at] as number] as number;
      if (color >= 0) usedBy[color] = node;
    }
    let color = 0;
    while (usedBy[color] === node) color += 1;
    colors[node] = color;
    count = Math.max(count, color + 1);
  }
  for (let node = 0; node < nodeCount; node += 1)
    yield rowWith({
      node: run.nodeAt(node),
      color: colors[node] as number,
      chromaticNumber: count,
    });
}
