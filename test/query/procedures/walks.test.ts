// Algorithms over paths, distances and components against slow, obvious answers on 200 random graphs each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CostTable } from '#query/procedures/algorithms/least-costs.ts';
import { nodeValue, onGraphs, rowsOf, type TestGraph } from './support/random-graph.ts';
import {
  arcs,
  componentCount,
  distances,
  numbers,
  simplePaths,
  spanningWeight,
  steps,
  subsets,
  type Way,
} from './support/slow-graph.ts';

function near(actual: unknown, expected: number, what = ''): void {
  assert.ok(
    Math.abs((actual as number) - expected) < 1e-6,
    `${what} ${String(actual)}, not ${expected}`,
  );
}

/** A column by node. */
function column(
  graph: TestGraph,
  rows: readonly Readonly<Record<string, unknown>>[],
  name: string,
  key = 'node',
) {
  assert.equal(rows.length, graph.size);
  return new Map(rows.map((row) => [row[key] as number, row[name] as number]));
}

const finite = (list: readonly number[] | undefined): number[] =>
  (list ?? []).filter((length) => length > 0 && Number.isFinite(length));

for (const way of ['OUT', 'BOTH'] as const) {
  test(`closeness, harmonic, eccentricity, bfs, dfs and apsp agree with all distances (${way})`, () => {
    onGraphs((graph) => {
      const reach = steps(graph, way);
      const closeness = column(graph, rowsOf(graph, 'closeness', null, way, false), 'score');
      const harmonic = column(graph, rowsOf(graph, 'harmonic', null, way, false), 'score');
      const farthest = column(graph, rowsOf(graph, 'eccentricity', null, way), 'eccentricity');
      for (const node of numbers(graph.size)) {
        const lengths = finite(reach[node]);
        const sum = lengths.reduce((a, b) => a + b, 0);
        near(closeness.get(node), sum === 0 ? 0 : lengths.length / sum, 'closeness');
        near(
          harmonic.get(node),
          lengths.reduce((a, b) => a + 1 / b, 0),
          'harmonic',
        );
        assert.equal(farthest.get(node), Math.max(0, ...lengths));
        const met = rowsOf(graph, 'bfs', nodeValue(graph, node), null, way);
        for (const row of met) assert.equal(row['depth'], reach[node]?.[row['node'] as number]);
        assert.equal(met.length, lengths.length);
        assert.equal(
          rowsOf(graph, 'dfs', nodeValue(graph, node), null, way).length,
          lengths.length,
        );
      }
    });
  });

  test(`betweenness counts shortest paths (${way})`, () => {
    onGraphs(
      (graph) => {
        const config = new Map<string, string | boolean>([
          ['direction', way],
          ['normalized', false],
        ]);
        const scores = column(graph, rowsOf(graph, 'betweenness', config), 'score');
        const through = new Float64Array(graph.size);
        for (const a of numbers(graph.size))
          for (const b of numbers(graph.size)) {
            if (a === b) continue;
            const all = simplePaths(graph, a, b, way);
            const least = Math.min(...all.map(({ nodes }) => nodes.length));
            const shortest = all.filter(({ nodes }) => nodes.length === least);
            for (const { nodes } of shortest)
              for (const node of nodes.slice(1, -1))
                through[node] = (through[node] as number) + 1 / shortest.length;
          }
        for (const node of numbers(graph.size))
          near(
            scores.get(node),
            (through[node] as number) / (way === 'BOTH' ? 2 : 1),
            'betweenness',
          );
      },
      {},
      60,
    );
  });
}

test('weighted paths are the least of all simple paths', () => {
  onGraphs((graph) => {
    const [from, to] = [0, graph.size - 1];
    const [a, b] = [nodeValue(graph, from), nodeValue(graph, to)];
    const least = distances(graph, 'BOTH');
    const check = (rows: readonly Readonly<Record<string, unknown>>[], way: Way): void => {
      const expected = distances(graph, way)[from]?.[to] as number;
      assert.equal(rows.length, Number.isFinite(expected) ? 1 : 0);
      if (rows[0] === undefined) return;
      near(rows[0]['weight'], expected);
      const { nodes, edges } = rows[0]['path'] as { nodes: number[]; edges: number[] };
      near(
        edges.reduce((sum, at) => sum + (graph.edges[at]?.weight ?? Number.NaN), 0),
        expected,
      );
      edges.forEach((edge, at) => {
        const ends = [nodes[at], nodes[at + 1]];
        assert.ok(
          arcs(graph, way).some((e) => e.from === ends[0] && e.to === ends[1]),
          `${edge}`,
        );
      });
    };
    check(rowsOf(graph, 'dijkstra', a, b, null, 'w'), 'BOTH');
    check(rowsOf(graph, 'dijkstra', a, b, 'E', 'w', 'OUT'.toLowerCase()), 'OUT');
    check(rowsOf(graph, 'astar', a, b, null, 'w', 'x', 'y'), 'BOTH');
    check(rowsOf(graph, 'bellmanford', a, b, null, 'w'), 'OUT');
    const single = rowsOf(graph, 'dijkstra.singleSource', a, null, 'w');
    const outward = distances(graph, 'OUT')[from] as number[];
    assert.equal(single.length, outward.filter(Number.isFinite).length);
    for (const row of single) near(row['cost'], outward[row['node'] as number] as number);
    for (const row of rowsOf(graph, 'apsp', 'w'))
      near(row['distance'], least[row['source'] as number]?.[row['target'] as number] as number);
    const all = simplePaths(graph, from, to, 'BOTH');
    assert.equal(rowsOf(graph, 'allsimplepaths', a, b).length, all.length);
    const best = rowsOf(graph, 'kShortestPaths', a, b, 4, null, 'w').map((row) => row['weight']);
    const expected = all.map(({ weight }) => weight).sort((x, y) => x - y);
    assert.deepEqual(best, expected.slice(0, 4));
  });
});

test('the longest paths of a graph without cycles', () => {
  onGraphs(
    (graph) => {
      const found = column(graph, rowsOf(graph, 'longestPath', null, 'w'), 'distance');
      for (const node of numbers(graph.size)) {
        const all = numbers(graph.size).flatMap((a) => simplePaths(graph, a, node, 'OUT'));
        near(found.get(node), Math.max(...all.map(({ weight }) => weight)));
      }
    },
    { isAcyclic: true },
  );
});

test('components, cycles and orders agree with what reaches what', () => {
  onGraphs((graph) => {
    const [out, both] = [steps(graph, 'OUT'), steps(graph, 'BOTH')];
    const weak = column(graph, rowsOf(graph, 'wcc'), 'componentId');
    const strong = column(graph, rowsOf(graph, 'scc'), 'componentId');
    const order = column(graph, rowsOf(graph, 'topologicalSort'), 'order');
    const cycles = rowsOf(graph, 'cycleDetection');
    const inCycle = new Set(cycles.filter((row) => row['inCycle']).map((row) => row['node']));
    const isCyclic = (node: number): boolean =>
      graph.edges.some((e) => e.from === node && Number.isFinite(out[e.to]?.[node]));
    for (const a of numbers(graph.size)) {
      assert.equal(inCycle.has(a), isCyclic(a));
      assert.equal(
        order.get(a) === -1,
        numbers(graph.size).some((c) => isCyclic(c) && Number.isFinite(out[c]?.[a])),
      );
      for (const b of numbers(graph.size)) {
        assert.equal(weak.get(a) === weak.get(b), Number.isFinite(both[a]?.[b]));
        const isMutual = Number.isFinite(out[a]?.[b]) && Number.isFinite(out[b]?.[a]);
        assert.equal(strong.get(a) === strong.get(b), isMutual);
      }
    }
    for (const { from, to } of graph.edges)
      if ((order.get(to) as number) >= 0)
        assert.ok((order.get(from) as number) < (order.get(to) as number));
    for (const { hasCycle } of cycles) assert.equal(hasCycle, inCycle.size > 0);
  });
});

test('cut nodes, bridges and blocks agree with taking them away', () => {
  onGraphs((graph) => {
    const count = componentCount(graph);
    const isAlone = (node: number): boolean =>
      !graph.edges.some((e) => e.from !== e.to && (e.from === node || e.to === node));
    const cut = new Set(rowsOf(graph, 'articulationPoints').map((row) => row['node']));
    for (const node of numbers(graph.size))
      assert.equal(
        cut.has(node),
        componentCount(graph, node) > count - (isAlone(node) ? 1 : 0),
        `node ${node}`,
      );
    const bridges = graph.edges.filter(
      (edge) => componentCount({ ...graph, edges: graph.edges.filter((e) => e !== edge) }) > count,
    );
    assert.equal(rowsOf(graph, 'bridges').length, bridges.length);
    const blocks = new Map<unknown, Set<unknown>>();
    for (const row of rowsOf(graph, 'biconnectedComponents')) {
      const block = blocks.get(row['componentId']) ?? new Set();
      blocks.set(row['componentId'], block.add(row['node']));
    }
    for (const { from, to } of graph.edges.filter((e) => e.from !== e.to))
      assert.equal(
        [...blocks.values()].filter((block) => block.has(from) && block.has(to)).length,
        1,
      );
    for (const [id, block] of blocks) {
      for (const [other, members] of blocks)
        if (id !== other) assert.ok([...block].filter((node) => members.has(node)).length <= 1);
      const kept = graph.edges.filter((e) => block.has(e.from) && block.has(e.to));
      const rest = graph.size - block.size;
      for (const node of block.size > 2 ? block : [])
        assert.equal(componentCount({ ...graph, edges: kept }, node as number) - rest, 1);
    }
  });
});

test('the two sides, and the pairs of them', () => {
  onGraphs((graph) => {
    const isSplit = (left: readonly number[]): boolean =>
      graph.edges.every(({ from, to }) => left.includes(from) !== left.includes(to));
    const expected = subsets(graph.size).some(isSplit);
    const rows = rowsOf(graph, 'bipartite');
    for (const { isBipartite } of rows) assert.equal(isBipartite, expected);
    if (!expected) {
      assert.throws(() => rowsOf(graph, 'bipartiteMatching'), /not bipartite/);
      return;
    }
    assert.ok(
      isSplit(rows.filter((row) => row['partition'] === 0).map((row) => row['node'] as number)),
    );
    const most = (edges: TestGraph['edges']): number => {
      const [first, ...others] = edges;
      if (first === undefined) return 0;
      const free = others.filter(
        (e) => ![e.from, e.to].some((end) => end === first.from || end === first.to),
      );
      return Math.max(most(others), 1 + most(free));
    };
    const pairs = rowsOf(graph, 'bipartiteMatching');
    assert.equal(pairs.length, most(graph.edges));
    assert.equal(
      new Set(pairs.flatMap((row) => [row['node1'], row['node2']])).size,
      pairs.length * 2,
    );
  });
});

test('trees of least weight, and the largest flow', () => {
  onGraphs((graph) => {
    const all = numbers(graph.size);
    const weak = rowsOf(graph, 'wcc');
    const parts = all.map((id) =>
      weak.filter((row) => row['componentId'] === id).map((row) => row['node'] as number),
    );
    const least = parts.reduce(
      (sum, part) => sum + (part.length > 0 ? spanningWeight(graph, part) : 0),
      0,
    );
    const tree = rowsOf(graph, 'mst', 'w');
    near(
      tree.reduce((sum, row) => sum + (row['weight'] as number), 0),
      least,
      'mst',
    );
    const reached = all.filter((node) => Number.isFinite(steps(graph, 'OUT')[0]?.[node]));
    const into = reached
      .slice(1)
      .map((node) =>
        graph.edges.filter((e) => e.to === node && e.from !== node && reached.includes(e.from)),
      );
    let best = reached.length === 1 ? 0 : Number.POSITIVE_INFINITY;
    const choose = (chosen: TestGraph['edges']): void => {
      const choices = into[chosen.length];
      if (choices === undefined) {
        const reach = steps({ ...graph, edges: chosen }, 'OUT')[0];
        if (reached.every((node) => Number.isFinite(reach?.[node])))
          best = Math.min(
            best,
            chosen.reduce((sum, e) => sum + e.weight, 0),
          );
        return;
      }
      for (const edge of choices) choose([...chosen, edge]);
    };
    choose([]);
    const grown = rowsOf(graph, 'msa', nodeValue(graph, 0), null, 'w');
    assert.equal(grown.length, reached.length - 1);
    near(
      grown.reduce((sum, row) => sum + (row['weight'] as number), 0),
      best,
      'msa',
    );
  });
});

test('the largest flow, and a tree that holds some nodes', () => {
  onGraphs((graph) => {
    const sink = graph.size - 1;
    if (sink > 0) {
      const cuts = subsets(graph.size).filter((part) => part.includes(0) && !part.includes(sink));
      const crossing = (part: readonly number[]): number =>
        graph.edges.reduce(
          (sum, e) => sum + (part.includes(e.from) && !part.includes(e.to) ? e.weight : 0),
          0,
        );
      const [flow] = rowsOf(
        graph,
        'maxFlow',
        nodeValue(graph, 0),
        nodeValue(graph, sink),
        null,
        'w',
      );
      near(flow?.['maxFlow'], Math.min(...cuts.map(crossing)), 'maxFlow');
    }
    const weak = rowsOf(graph, 'wcc').filter((row) => row['componentId'] === 0);
    const wanted = weak.map((row) => row['node'] as number).filter((_, at) => at % 2 === 0);
    const steiner = rowsOf(
      graph,
      'steinerTree',
      wanted.map((node) => nodeValue(graph, node)),
      null,
      'w',
    );
    const weight = steiner.reduce((sum, row) => sum + (row['weight'] as number), 0);
    const optimum = Math.min(
      ...subsets(graph.size)
        .filter((set) => wanted.every((node) => set.includes(node)))
        .map((set) => spanningWeight(graph, set)),
    );
    assert.ok(weight >= optimum && weight <= 2 * optimum, `steiner ${weight}, best ${optimum}`);
  });
});

test('a random walk follows relationships, and the same seed gives the same walk', () => {
  onGraphs((graph) => {
    const walk = () => rowsOf(graph, 'randomWalk', nodeValue(graph, 0), 6, null, 'OUT', 5);
    const [row] = walk();
    const { nodes, edges } = (row as NonNullable<typeof row>)['path'] as {
      nodes: number[];
      edges: number[];
    };
    edges.forEach((edge, at) => {
      assert.deepEqual(
        [graph.edges[edge]?.from, graph.edges[edge]?.to],
        [nodes[at], nodes[at + 1]],
      );
    });
    assert.ok(row?.['steps'] === 6 || !graph.edges.some((e) => e.from === nodes.at(-1)));
    assert.deepEqual(walk(), [row]);
  });
});

test('a table of costs is empty when it is taken again, and nobody has the same one', () => {
  const first = CostTable.for(4);
  const second = CostTable.for(4);
  assert.notEqual(first, second);
  first.reach(2, 1.5);
  first.reach(2, 1);
  first.before[2] = 0;
  first.edges[2] = 7;
  first.isSettled[2] = 1;
  first.release();
  const again = CostTable.for(4);
  assert.equal(again, first);
  assert.deepEqual(
    [...again.costs, ...again.before, ...again.edges, ...again.isSettled],
    [...second.costs, ...second.before, ...second.edges, ...second.isSettled],
  );
  assert.equal(again.costs[2], Number.POSITIVE_INFINITY);
});
