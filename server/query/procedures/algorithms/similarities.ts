import { cypherEquals } from '../../evaluate/comparison/cypher-comparison.ts';
import { double, type Value } from '#core/value/value.ts';
import { isNumeric, toDouble } from '../../functions/arguments.ts';
import { rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { algorithm, type Rows, type Run } from './algorithm.ts';
import type { Adjacency } from './graph-view.ts';
import { degreeOf, sharedNeighbours } from './neighbourhoods.ts';
import { sortedInTurns } from './sorting.ts';

/** How alike nodes are, by the neighbours they share (cypher.md 11). Each neighbour counts once. */

interface Likeness {
  readonly shared: number;
  readonly union: number;
  /** Sum over the shared neighbours of 1 / log degree, and of 1 / degree. */
  readonly adamicAdar: number;
  readonly allocation: number;
  readonly product: number;
}

export const similarityAlgorithms: readonly Procedure[] = [
  compared('jaccard', 'similarity', 0, ({ shared, union }) =>
    double(union === 0 ? 0 : shared / union),
  ),
  compared('adamicAdar', 'score', 0, ({ adamicAdar }) => double(adamicAdar)),
  compared('resourceAllocation', 'score', 0, ({ allocation }) => double(allocation)),
  compared('commonNeighbors', 'commonNeighbors', 1, ({ shared }) => shared),
  compared('preferentialAttachment', 'score', undefined, ({ product }) => double(product)),
  algorithm({
    name: 'totalNeighbors',
    description: 'How many neighbours two nodes have together',
    parameters: ['node1', 'node2', 'relTypes?', 'direction?'],
    columns: { node1: 'NODE', node2: 'NODE', coefficient: 'FLOAT' },
    *rows(run) {
      const neighbours = yield* neighboursOf(run);
      const [a, b] = [run.node('node1'), run.node('node2')];
      const { union } = sharedNeighbours(neighbours, a, b);
      yield rowWith({ node1: run.nodeAt(a), node2: run.nodeAt(b), coefficient: double(union) });
    },
  }),
  algorithm({
    name: 'sameCommunity',
    description: '1 when a property of both nodes is equal, else 0',
    parameters: ['node1', 'node2', 'property'],
    columns: { node1: 'NODE', node2: 'NODE', coefficient: 'FLOAT' },
    *rows(run) {
      const property = run.text('property');
      if (property === undefined) throw run.fault("'property' must be a text");
      const [a, b] = [run.node('node1'), run.node('node2')];
      const value = (node: number): Value =>
        run.context.view.record(run.graph.ridOf(node))?.get(property) ?? null;
      const isSame = cypherEquals(value(a), value(b)) === true;
      yield rowWith({
        node1: run.nodeAt(a),
        node2: run.nodeAt(b),
        coefficient: double(isSame ? 1 : 0),
      });
    },
  }),
  algorithm({
    name: 'simRank',
    description: 'Two nodes are alike when what leads to them is alike',
    parameters: ['node1', 'node2', 'relTypes?', 'decay?', 'maxIterations?'],
    columns: { similarity: 'FLOAT', nodeAId: 'STRING', nodeBId: 'STRING' },
    rows: simRank,
  }),
  algorithm({
    name: 'knn',
    description: 'For each node the k that are most alike',
    parameters: ['k?', 'relTypes?', 'direction?'],
    columns: { node1: 'NODE', node2: 'NODE', similarity: 'FLOAT' },
    rows: nearest,
  }),
];

/** Sorted neighbours of one direction, each once. */
function* neighboursOf(run: Run): Generator<'pause', Adjacency, undefined> {
  const direction = run.direction();
  if (direction === 'BOTH') return yield* run.graph.simple();
  const { nodeCount } = run.graph;
  const all = yield* run.adjacency(direction);
  run.reserve(all.nodes.length * 4 + nodeCount * 4);
  const offsets = new Int32Array(nodeCount + 1);
  const nodes = new Int32Array(all.nodes.length);
  let count = 0;
  for (let node = 0; node < nodeCount; node += 1) {
    const [from, to] = [all.offsets[node] as number, all.offsets[node + 1] as number];
    if (run.work.isSpent(1 + 4 * (to - from))) yield 'pause';
    let last = -1;
    for (const next of all.nodes.slice(from, to).sort()) {
      if (next === last || next === node) continue;
      last = next;
      nodes[count] = next;
      count += 1;
    }
    offsets[node + 1] = count;
  }
  return { offsets, nodes, edges: nodes };
}

/** A node against all others; with a cutoff those below it, and those that share nothing, are left out. */
function compared(
  name: string,
  column: string,
  cutoff: number | undefined,
  value: (likeness: Likeness) => Value,
): Procedure {
  return algorithm({
    name,
    description: `A node and others by ${name}, best first`,
    parameters: ['node', 'relTypes?', 'direction?', ...(cutoff === undefined ? [] : ['cutoff?'])],
    columns: { node1: 'NODE', node2: 'NODE', [column]: cutoff === 1 ? 'INTEGER' : 'FLOAT' },
    *rows(run) {
      const neighbours = yield* neighboursOf(run);
      const node = run.node('node');
      const least = run.number('cutoff', cutoff ?? 0);
      const found: { readonly other: number; readonly number: number; readonly shown: Value }[] =
        [];
      for (let other = 0; other < run.graph.nodeCount; other += 1) {
        const degree = degreeOf(neighbours, node) + degreeOf(neighbours, other);
        if (run.work.isSpent(1 + degree)) yield 'pause';
        if (other === node) continue;
        const shown = value(likenessOf(neighbours, node, other));
        const number = isNumeric(shown) ? toDouble(shown) : 0;
        if (number > 0 && number >= least) found.push({ other, number, shown });
      }
      run.reserve(found.length * 48);
      const order = yield* sortedInTurns(
        found,
        (a, b) => b.number - a.number || a.other - b.other,
        run.work,
      );
      for (const { other, shown } of order)
        yield rowWith({ node1: run.nodeAt(node), node2: run.nodeAt(other), [column]: shown });
    },
  });
}

function likenessOf(neighbours: Adjacency, a: number, b: number): Likeness {
  let adamicAdar = 0;
  let allocation = 0;
  const { shared, union } = sharedNeighbours(neighbours, a, b, (node) => {
    const degree = degreeOf(neighbours, node);
    if (degree > 1) adamicAdar += 1 / Math.log(degree);
    if (degree > 0) allocation += 1 / degree;
  });
  const product = degreeOf(neighbours, a) * degreeOf(neighbours, b);
  return { shared, union, adamicAdar, allocation, product };
}

/** All pairs at once, so it holds 16 bytes for each pair of nodes. */
function* simRank(run: Run): Rows {
  const { nodeCount } = run.graph;
  const [a, b] = [run.node('node1'), run.node('node2')];
  const decay = run.number('decay', 0.8);
  const rounds = run.count('maxIterations', 5, { max: 1_000 });
  const { offsets, nodes } = yield* run.adjacency('IN');
  run.reserve(nodeCount * nodeCount * 16);
  let scores = new Float64Array(nodeCount * nodeCount);
  let next = new Float64Array(nodeCount * nodeCount);
  for (let node = 0; node < nodeCount; node += 1) scores[node * nodeCount + node] = 1;
  for (let round = 0; round < rounds; round += 1) {
    for (let left = 0; left < nodeCount; left += 1)
      for (let right = 0; right < nodeCount; right += 1) {
        const place = left * nodeCount + right;
        next[place] = left === right ? 1 : 0;
        const [from, to] = [offsets[left] as number, offsets[left + 1] as number];
        const [start, end] = [offsets[right] as number, offsets[right + 1] as number];
        const pairCount = (to - from) * (end - start);
        if (run.work.isSpent(1 + pairCount)) yield 'pause';
        if (left === right || pairCount === 0) continue;
        let sum = 0;
        for (let i = from; i < to; i += 1)
          for (let j = start; j < end; j += 1)
            sum += scores[(nodes[i] as number) * nodeCount + (nodes[j] as number)] as number;
        next[place] = (decay * sum) / pairCount;
      }
    [scores, next] = [next, scores];
  }
  yield rowWith({
    similarity: double(scores[a * nodeCount + b] as number),
    nodeAId: run.idAt(a),
    nodeBId: run.idAt(b),
  });
}

/** By Jaccard; only nodes that share a neighbour can be alike, and these are two steps away. */
function* nearest(run: Run): Rows {
  const { nodeCount } = run.graph;
  const k = run.count('k', 5, { min: 1 });
  const neighbours = yield* neighboursOf(run);
  const back =
    run.direction() === 'BOTH'
      ? neighbours
      : yield* run.adjacency(run.direction() === 'OUT' ? 'IN' : 'OUT');
  const { offsets, nodes } = neighbours;
  for (let node = 0; node < nodeCount; node += 1) {
    const shared = new Map<number, number>();
    for (let at = offsets[node] as number; at < (offsets[node + 1] as number); at += 1) {
      const middle = nodes[at] as number;
      const seen = new Set<number>();
      const to = back.offsets[middle + 1] as number;
      if (run.work.isSpent(1 + 4 * (to - (back.offsets[middle] as number)))) yield 'pause';
      for (let place = back.offsets[middle] as number; place < to; place += 1) {
        const other = back.nodes[place] as number;
        if (other === node || other === middle || seen.has(other)) continue;
        seen.add(other);
        shared.set(other, (shared.get(other) ?? 0) + 1);
      }
    }
    const own = degreeOf(neighbours, node);
    const best = [...shared]
      .map(([other, count]) => ({
        other,
        similarity: count / (own + degreeOf(neighbours, other) - count),
      }))
      .sort((x, y) => y.similarity - x.similarity || x.other - y.other)
      .slice(0, k);
    for (const { other, similarity } of best)
      yield rowWith({
        node1: run.nodeAt(node),
        node2: run.nodeAt(other),
        similarity: double(similarity),
      });
  }
}
