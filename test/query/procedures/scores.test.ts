// Ranks, communities, similarities and density against slow, obvious answers on 200 random graphs each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeValue, onGraphs, rowsOf, type TestGraph } from './support/random-graph.ts';
import { arcs, modularity, neighbours, numbers, steps, subsets } from './support/slow-graph.ts';

type Row = Readonly<Record<string, unknown>>;

function near(actual: unknown, expected: number, what = ''): void {
  assert.ok(
    Math.abs((actual as number) - expected) < 1e-6,
    `${what} ${String(actual)}, not ${expected}`,
  );
}

function byNode(graph: TestGraph, rows: readonly Row[], name: string, key = 'node'): number[] {
  assert.equal(rows.length, graph.size);
  return numbers(graph.size).map((node) => rows.find((row) => row[key] === node)?.[name] as number);
}

const options = (values: Readonly<Record<string, number | string | boolean>>) =>
  new Map(Object.entries(values));
const degreeOut = (graph: TestGraph, node: number): number =>
  graph.edges.filter((e) => e.from === node).length;
const into = (graph: TestGraph, node: number, part: (from: number) => number): number =>
  graph.edges.reduce((sum, e) => sum + (e.to === node ? part(e.from) : 0), 0);

/** Applies a step to all nodes, some rounds. */
function rounds(
  graph: TestGraph,
  start: (node: number) => number,
  count: number,
  step: (scores: readonly number[], node: number) => number,
): number[] {
  let scores = numbers(graph.size).map(start);
  for (let round = 0; round < count; round += 1) {
    const before = scores;
    scores = numbers(graph.size).map((node) => step(before, node));
  }
  return scores;
}

const unit = (list: readonly number[]): number[] => {
  const length = Math.hypot(...list);
  return list.map((x) => (length > 0 ? x / length : 0));
};

test('PageRank, ArticleRank and Katz are their sums, round by round', () => {
  onGraphs((graph) => {
    const n = graph.size;
    const lost = (scores: readonly number[]): number =>
      numbers(n).reduce(
        (sum, node) => sum + (degreeOut(graph, node) === 0 ? (scores[node] as number) : 0),
        0,
      );
    const walk = (share: (node: number) => number) =>
      rounds(
        graph,
        share,
        30,
        (scores, node) =>
          share(node) * (0.15 + 0.85 * lost(scores)) +
          0.85 * into(graph, node, (from) => (scores[from] as number) / degreeOut(graph, from)),
      );
    const found = byNode(
      graph,
      rowsOf(graph, 'pagerank', options({ maxIterations: 30, tolerance: 0 })),
      'score',
    );
    walk(() => 1 / n).forEach((score, node) => {
      near(found[node], score, 'pagerank');
    });
    near(
      found.reduce((a, b) => a + b, 0),
      1,
    );
    const own = byNode(
      graph,
      rowsOf(graph, 'personalizedPageRank', nodeValue(graph, 0), null, 0.85, 30, 0),
      'score',
      'nodeId',
    );
    walk((node) => (node === 0 ? 1 : 0)).forEach((score, node) => {
      near(own[node], score, 'personalized');
    });
    const average = graph.edges.length / n;
    const article = byNode(
      graph,
      rowsOf(graph, 'articlerank', options({ maxIterations: 9, tolerance: -1 })),
      'score',
    );
    rounds(
      graph,
      () => 0.15,
      9,
      (scores, node) =>
        0.15 +
        0.85 *
          into(
            graph,
            node,
            (from) => (scores[from] as number) / (degreeOut(graph, from) + average),
          ),
    ).forEach((score, node) => {
      near(article[node], score, 'articlerank');
    });
    const katz = byNode(graph, rowsOf(graph, 'katz', null, 0.05, 9, -1), 'score', 'nodeId');
    rounds(
      graph,
      () => 0,
      9,
      (scores, node) => 1 + 0.05 * into(graph, node, (from) => scores[from] as number),
    ).forEach((score, node) => {
      near(katz[node], score, 'katz');
    });
  });
});

test('eigenvectors, hubs and authorities', () => {
  onGraphs((graph) => {
    const sum = (scores: readonly number[], node: number): number =>
      arcs(graph, 'BOTH').reduce(
        (total, e) => total + (e.to === node ? (scores[e.from] as number) : 0),
        0,
      );
    let scores = unit(numbers(graph.size).map(() => 1));
    for (let round = 0; round < 12; round += 1) {
      const before = scores;
      scores = unit(before.map((own, node) => own + sum(before, node)));
    }
    const found = byNode(graph, rowsOf(graph, 'eigenvector', null, null, 12, -1), 'score');
    scores.forEach((score, node) => {
      near(found[node], score, 'eigenvector');
    });
    let hubs = numbers(graph.size).map(() => 1);
    let authorities = hubs;
    for (let round = 0; round < 8; round += 1) {
      const from = hubs;
      authorities = unit(
        hubs.map((_, node) => into(graph, node, (other) => from[other] as number)),
      );
      hubs = unit(
        hubs.map((_, node) =>
          graph.edges.reduce(
            (t, e) => t + (e.from === node ? (authorities[e.to] as number) : 0),
            0,
          ),
        ),
      );
    }
    const rows = rowsOf(graph, 'hits', null, 8, -1);
    byNode(graph, rows, 'hubScore').forEach((score, node) => {
      near(score, hubs[node] as number, 'hub');
    });
    byNode(graph, rows, 'authorityScore').forEach((score, node) => {
      near(score, authorities[node] as number, 'authority');
    });
  });
});

test('degrees, the summary, assortativity, votes', () => {
  onGraphs((graph) => {
    const { size, edges } = graph;
    const out = numbers(size).map((node) => degreeOut(graph, node));
    const incoming = numbers(size).map((node) => into(graph, node, () => 1));
    const rows = rowsOf(graph, 'degree');
    assert.deepEqual(byNode(graph, rows, 'outDegree'), out);
    assert.deepEqual(byNode(graph, rows, 'inDegree'), incoming);
    const [summary] = rowsOf(graph, 'graphSummary');
    const all = numbers(size).map((node) => (out[node] as number) + (incoming[node] as number));
    assert.deepEqual(
      [
        summary?.['nodeCount'],
        summary?.['edgeCount'],
        summary?.['maxDegree'],
        summary?.['minDegree'],
        summary?.['selfLoops'],
        summary?.['isolatedNodes'],
      ],
      [
        size,
        edges.length,
        Math.max(...all),
        Math.min(...all),
        edges.filter((e) => e.from === e.to).length,
        all.filter((d) => d === 0).length,
      ],
    );
    const degrees = numbers(size).map(
      (node) => arcs(graph, 'BOTH').filter((e) => e.from === node).length,
    );
    const pairs = edges.flatMap(
      (e) =>
        [
          [degrees[e.from], degrees[e.to]],
          [degrees[e.to], degrees[e.from]],
        ] as [number, number][],
    );
    const mean = pairs.reduce((sum, [x]) => sum + x, 0) / (pairs.length || 1);
    const covariance = pairs.reduce((sum, [x, y]) => sum + (x - mean) * (y - mean), 0);
    const variance = pairs.reduce((sum, [x]) => sum + (x - mean) ** 2, 0);
    near(
      rowsOf(graph, 'assortativity')[0]?.['assortativity'],
      variance > 1e-9 ? covariance / variance : 0,
      'assortativity',
    );
    const sets = neighbours(graph);
    const average = sets.reduce((sum, set) => sum + set.size, 0) / size;
    const ability = sets.map(() => 1);
    const chosen: number[] = [];
    for (;;) {
      const votes = sets.map((set, node) =>
        chosen.includes(node) ? -1 : [...set].reduce((sum, v) => sum + (ability[v] as number), 0),
      );
      const most = Math.max(...votes);
      if (most <= 0) break;
      const best = votes.findIndex((vote) => vote > most - 1e-9);
      chosen.push(best);
      ability[best] = 0;
      for (const v of sets[best] as Set<number>)
        ability[v] = Math.max(0, (ability[v] as number) - 1 / average);
    }
    assert.deepEqual(
      rowsOf(graph, 'voteRank').map((row) => row['nodeId']),
      chosen,
    );
  });
});

test('communities: modularity is what is said, moves cannot better it, Leiden hangs together', () => {
  onGraphs((graph) => {
    const rows = rowsOf(
      graph,
      'louvain',
      options({ weightProperty: 'w', maxIterations: 50, tolerance: 0 }),
    );
    const found = byNode(graph, rows, 'communityId');
    near(
      rows[0]?.['modularity'],
      modularity(graph, (node) => found[node]),
      'louvain',
    );
    assert.ok((rows[0]?.['modularity'] as number) >= modularity(graph, (node) => node) - 1e-9);
    const leiden = byNode(graph, rowsOf(graph, 'leiden'), 'community', 'nodeId');
    for (const a of numbers(graph.size))
      for (const b of numbers(graph.size)) {
        if (leiden[a] !== leiden[b]) continue;
        const inside = graph.edges.filter(
          (e) => leiden[e.from] === leiden[a] && leiden[e.to] === leiden[a],
        );
        assert.ok(Number.isFinite(steps({ ...graph, edges: inside }, 'BOTH')[a]?.[b]));
      }
    const [score] = rowsOf(graph, 'modularityScore', 'group');
    near(
      score?.['modularity'],
      modularity(
        graph,
        (node) => graph.groups[node],
        () => 1,
      ),
      'modularityScore',
    );
    assert.equal(score?.['communities'], new Set(graph.groups).size);
    for (const row of rowsOf(graph, 'conductance', 'group')) {
      const is = (node: number): boolean => graph.groups[node] === row['community'];
      const internal = graph.edges.filter((e) => is(e.from) && is(e.to)).length;
      const boundary = graph.edges.filter((e) => is(e.from) !== is(e.to)).length;
      assert.deepEqual([row['internalEdges'], row['boundaryEdges']], [internal, boundary]);
      near(row['conductance'], boundary === 0 ? 0 : boundary / (2 * internal + boundary));
    }
  });
});

test('labels, speakers and clusters stay within components; a cut is what its parts say', () => {
  onGraphs((graph) => {
    const reach = steps(graph, 'BOTH');
    const isReached = (a: number, b: number): boolean => Number.isFinite(reach[a]?.[b]);
    const labels = byNode(
      graph,
      rowsOf(graph, 'labelpropagation', options({ maxIterations: 100 })),
      'communityId',
    );
    const clusters = byNode(
      graph,
      rowsOf(graph, 'hierarchicalClustering', null, 2),
      'cluster',
      'nodeId',
    );
    for (const a of numbers(graph.size))
      for (const b of numbers(graph.size))
        if (labels[a] === labels[b] || clusters[a] === clusters[b]) assert.ok(isReached(a, b));
    const parts = new Set(
      numbers(graph.size).map((a) => numbers(graph.size).findIndex((b) => isReached(a, b))),
    ).size;
    assert.equal(new Set(clusters).size, Math.max(parts, Math.min(2, graph.size)));
    for (const row of rowsOf(graph, 'slpa')) {
      const heard = row['communities'] as number[];
      assert.ok(
        heard.length > 0 && heard.every((label) => isReached(row['node'] as number, label)),
      );
    }
    const rows = rowsOf(graph, 'maxKCut', 2, options({ weightProperty: 'w' }));
    const part = byNode(graph, rows, 'community');
    const cut = (side: (node: number) => unknown): number =>
      graph.edges.reduce((sum, e) => sum + (side(e.from) === side(e.to) ? 0 : e.weight), 0);
    near(
      rows[0]?.['cutWeight'],
      cut((node) => part[node]),
      'cut',
    );
    for (const moved of numbers(graph.size))
      assert.ok(
        cut((node) => (node === moved ? 1 - (part[node] as number) : part[node])) <=
          (rows[0]?.['cutWeight'] as number),
      );
  });
});

test('similarities are those of the sets of neighbours', () => {
  onGraphs((graph) => {
    const sets = neighbours(graph);
    const of = (node: number): Set<number> => sets[node] as Set<number>;
    const shared = (a: number, b: number): number[] => [...of(a)].filter((node) => of(b).has(node));
    const union = (a: number, b: number): number => new Set([...of(a), ...of(b)]).size;
    const expected: Record<string, (a: number, b: number) => number> = {
      jaccard: (a, b) => shared(a, b).length / (union(a, b) || 1),
      adamicAdar: (a, b) => shared(a, b).reduce((sum, c) => sum + 1 / Math.log(of(c).size), 0),
      resourceAllocation: (a, b) => shared(a, b).reduce((sum, c) => sum + 1 / of(c).size, 0),
      commonNeighbors: (a, b) => shared(a, b).length,
      preferentialAttachment: (a, b) => of(a).size * of(b).size,
    };
    for (const [name, value] of Object.entries(expected)) {
      const rows = rowsOf(graph, name, nodeValue(graph, 0));
      assert.equal(
        rows.length,
        numbers(graph.size).filter((b) => b > 0 && value(0, b) > 0).length,
        name,
      );
      for (const row of rows) near(Object.values(row)[2], value(0, row['node2'] as number), name);
    }
    const last = graph.size - 1;
    const [total] = rowsOf(graph, 'totalNeighbors', nodeValue(graph, 0), nodeValue(graph, last));
    assert.equal(total?.['coefficient'], union(0, last));
    for (const row of rowsOf(graph, 'knn', 3))
      near(
        row['similarity'],
        expected['jaccard']?.(row['node1'] as number, row['node2'] as number) as number,
        'knn',
      );
    for (const a of numbers(graph.size)) {
      const alike = numbers(graph.size).filter((b) => b !== a && shared(a, b).length > 0).length;
      assert.equal(
        rowsOf(graph, 'knn', 3).filter((row) => row['node1'] === a).length,
        Math.min(3, alike),
      );
    }
    const sources = numbers(graph.size).map((node) =>
      graph.edges.filter((e) => e.to === node).map((e) => e.from),
    );
    const simRank = (a: number, b: number, round: number): number => {
      if (a === b) return 1;
      const [x, y] = [sources[a] as number[], sources[b] as number[]];
      if (round === 0 || x.length * y.length === 0) return 0;
      const sum = x
        .flatMap((i) => y.map((j) => simRank(i, j, round - 1)))
        .reduce((p, q) => p + q, 0);
      return (0.8 * sum) / (x.length * y.length);
    };
    const [rank] = rowsOf(
      graph,
      'simRank',
      nodeValue(graph, 0),
      nodeValue(graph, last),
      null,
      0.8,
      3,
    );
    near(rank?.['similarity'], simRank(0, last, 3), 'simRank');
  });
});

test('triangles, cores, trusses, cliques, colours and the densest part', () => {
  onGraphs((graph) => {
    const sets = neighbours(graph);
    const is = (a: number, b: number): boolean => sets[a]?.has(b) === true;
    const all = numbers(graph.size);
    const pairsIn = (nodes: readonly number[]): [number, number][] =>
      nodes.flatMap((a) =>
        nodes.filter((b) => a < b && is(a, b)).map((b): [number, number] => [a, b]),
      );
    const triangles = byNode(graph, rowsOf(graph, 'triangleCount'), 'triangles');
    const local = byNode(
      graph,
      rowsOf(graph, 'localClusteringCoefficient'),
      'localClusteringCoefficient',
    );
    const cores = byNode(graph, rowsOf(graph, 'kcore'), 'coreNumber');
    for (const node of all) {
      const own = pairsIn([...(sets[node] as Set<number>)].sort((a, b) => a - b)).length;
      const degree = sets[node]?.size as number;
      assert.equal(triangles[node], own);
      near(local[node], degree < 2 ? 0 : own / ((degree * (degree - 1)) / 2));
      const core = Math.max(
        ...subsets(graph.size)
          .filter((set) => set.includes(node))
          .map((set) => Math.min(...set.map((a) => set.filter((b) => is(a, b)).length))),
      );
      assert.equal(cores[node], core);
    }
    const isClique = (set: readonly number[]): boolean =>
      pairsIn(set).length === (set.length * (set.length - 1)) / 2;
    const maximal = subsets(graph.size).filter(
      (set) =>
        set.length >= 2 &&
        isClique(set) &&
        !all.some((a) => !set.includes(a) && isClique([...set, a].sort((x, y) => x - y))),
    );
    const cliques = rowsOf(graph, 'clique', null, 2).map((row) => String(row['clique']));
    assert.deepEqual(cliques.sort(), maximal.map(String).sort());
    const dense = rowsOf(graph, 'densestSubgraph');
    const inside = dense
      .filter((row) => row['inDenseSubgraph'])
      .map((row) => row['node'] as number);
    const best = Math.max(
      ...subsets(graph.size)
        .filter((set) => set.length > 0)
        .map((set) => pairsIn(set).length / set.length),
    );
    near(
      dense[0]?.['density'],
      pairsIn(inside.sort((a, b) => a - b)).length / inside.length,
      'density',
    );
    assert.ok((dense[0]?.['density'] as number) >= best / 2 - 1e-9);
    const colors = byNode(graph, rowsOf(graph, 'graphColoring'), 'color');
    for (const [a, b] of pairsIn(all)) assert.notEqual(colors[a], colors[b]);
    const trusses = new Map(
      rowsOf(graph, 'kTruss', null, 2).map((row) => [row['nodeId'], row['trussNumber']]),
    );
    const numbersOf = new Map<number, number>();
    for (let k = 2; k <= graph.size; k += 1) {
      let pairs = pairsIn(all);
      for (let before = -1; before !== pairs.length; ) {
        before = pairs.length;
        const has = (a: number, b: number): boolean =>
          pairs.some(([x, y]) => (x === a && y === b) || (x === b && y === a));
        pairs = pairs.filter(([a, b]) => all.filter((c) => has(a, c) && has(b, c)).length >= k - 2);
      }
      for (const node of pairs.flat()) numbersOf.set(node, k);
    }
    assert.deepEqual([...trusses].sort(), [...numbersOf].sort());
    for (const row of rowsOf(graph, 'richClub', null, 0)) {
      const rich = all.filter((node) => (sets[node]?.size as number) > (row['degree'] as number));
      assert.deepEqual([row['nodeCount'], row['edgeCount']], [rich.length, pairsIn(rich).length]);
    }
  });
});

test('influence with certain steps is reach', () => {
  onGraphs((graph) => {
    const reach = steps(graph, 'OUT').map((row) => row.filter(Number.isFinite).length);
    const [first] = rowsOf(graph, 'influenceMaximization', 1, null, 1, 1);
    assert.equal(first?.['marginalGain'], Math.max(...reach));
  });
});
