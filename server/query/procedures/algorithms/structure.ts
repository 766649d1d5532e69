import { double } from '#core/value/value.ts';
import { rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { algorithm, type Rows, type Run } from './algorithm.ts';
import type { Adjacency } from './graph-view.ts';
import { degreeOf } from './neighbourhoods.ts';
import { seededRandom } from './work.ts';

/** Numbers about the graph as a whole, and how far what begins somewhere spreads (cypher.md 11). */

export const structureAlgorithms: readonly Procedure[] = [
  algorithm({
    name: 'graphSummary',
    description: 'Counts and degrees of the graph',
    parameters: ['relTypes?', 'direction?'],
    columns: {
      nodeCount: 'INTEGER',
      edgeCount: 'INTEGER',
      avgDegree: 'FLOAT',
      maxDegree: 'INTEGER',
      minDegree: 'INTEGER',
      density: 'FLOAT',
      isolatedNodes: 'INTEGER',
      selfLoops: 'INTEGER',
    },
    rows: summary,
  }),
  algorithm({
    name: 'assortativity',
    description: 'Correlation of the degrees at both ends of relationships',
    parameters: ['relTypes?'],
    columns: { assortativity: 'FLOAT', edgeCount: 'INTEGER' },
    rows: assortativity,
  }),
  algorithm({
    name: 'richClub',
    description: 'Share of pairs of nodes with more neighbours than a degree that are joined',
    parameters: ['relTypes?', 'minDegree?'],
    columns: {
      degree: 'INTEGER',
      richClubCoefficient: 'FLOAT',
      nodeCount: 'INTEGER',
      edgeCount: 'INTEGER',
    },
    rows: richClub,
  }),
  algorithm({
    name: 'influenceMaximization',
    description: 'k nodes from which most others are reached, each step with a probability',
    parameters: ['k', 'relTypes?', 'simulations?', 'probability?'],
    columns: { nodeId: 'STRING', rank: 'INTEGER', marginalGain: 'FLOAT' },
    rows: influence,
  }),
];

function* summary(run: Run): Rows {
  const { nodeCount, edgeCount, sources, targets } = run.graph;
  const direction = run.direction();
  run.reserve(nodeCount * 8);
  const degrees = new Int32Array(nodeCount);
  const touched = new Uint8Array(nodeCount);
  let selfLoops = 0;
  for (let edge = 0; edge < edgeCount; edge += 1) {
    if (run.work.isSpent(2)) yield 'pause';
    const source = sources[edge] as number;
    const target = targets[edge] as number;
    if (source === target) selfLoops += 1;
    touched[source] = 1;
    touched[target] = 1;
    if (direction !== 'IN') degrees[source] = (degrees[source] as number) + 1;
    if (direction !== 'OUT') degrees[target] = (degrees[target] as number) + 1;
  }
  let sum = 0;
  let most = 0;
  let least = Number.POSITIVE_INFINITY;
  let isolatedNodes = 0;
  for (let node = 0; node < nodeCount; node += 1) {
    const degree = degrees[node] as number;
    sum += degree;
    most = Math.max(most, degree);
    least = Math.min(least, degree);
    if (touched[node] === 0) isolatedNodes += 1;
  }
  yield rowWith({
    nodeCount,
    edgeCount,
    avgDegree: double(nodeCount === 0 ? 0 : sum / nodeCount),
    maxDegree: most,
    minDegree: nodeCount === 0 ? 0 : least,
    density: double(nodeCount < 2 ? 0 : edgeCount / (nodeCount * (nodeCount - 1))),
    isolatedNodes,
    selfLoops,
  });
}

/** Pearson's correlation, each relationship from both of its ends. */
function* assortativity(run: Run): Rows {
  const { edgeCount, sources, targets } = run.graph;
  const both = yield* run.adjacency('BOTH');
  let products = 0;
  let sums = 0;
  let squares = 0;
  for (let edge = 0; edge < edgeCount; edge += 1) {
    if (run.work.isSpent(4)) yield 'pause';
    const a = degreeOf(both, sources[edge] as number);
    const b = degreeOf(both, targets[edge] as number);
    products += a * b;
    sums += (a + b) / 2;
    squares += (a * a + b * b) / 2;
  }
  const mean = edgeCount === 0 ? 0 : sums / edgeCount;
  const variance = edgeCount === 0 ? 0 : squares / edgeCount - mean * mean;
  const covariance = edgeCount === 0 ? 0 : products / edgeCount - mean * mean;
  const value = variance > 1e-12 ? covariance / variance : 0;
  yield rowWith({ assortativity: double(value), edgeCount });
}

function* richClub(run: Run): Rows {
  const { nodeCount } = run.graph;
  const least = run.count('minDegree', 2);
  const simple = yield* run.graph.simple();
  let most = 0;
  for (let node = 0; node < nodeCount; node += 1) most = Math.max(most, degreeOf(simple, node));
  const nodesAt = new Float64Array(most + 2);
  const pairsAt = new Float64Array(most + 2);
  const add = (counts: Float64Array, at: number): void => {
    counts[at] = (counts[at] as number) + 1;
  };
  for (let a = 0; a < nodeCount; a += 1) {
    const degree = degreeOf(simple, a);
    add(nodesAt, degree);
    if (run.work.isSpent(1 + degree)) yield 'pause';
    for (let at = simple.offsets[a] as number; at < (simple.offsets[a + 1] as number); at += 1) {
      const b = simple.nodes[at] as number;
      if (a < b) add(pairsAt, Math.min(degree, degreeOf(simple, b)));
    }
  }
  for (let degree = most; degree >= 0; degree -= 1) {
    nodesAt[degree] = (nodesAt[degree] as number) + (nodesAt[degree + 1] as number);
    pairsAt[degree] = (pairsAt[degree] as number) + (pairsAt[degree + 1] as number);
  }
  for (let degree = least; degree < most; degree += 1) {
    const count = nodesAt[degree + 1] as number;
    if (count < 2) return;
    const pairs = pairsAt[degree + 1] as number;
    yield rowWith({
      degree,
      richClubCoefficient: double((2 * pairs) / (count * (count - 1))),
      nodeCount: count,
      edgeCount: pairs,
    });
  }
}

/** Greedy; a node whose gain of an earlier round is below the best of this one need not be tried again. */
function* influence(run: Run): Rows {
  const { nodeCount } = run.graph;
  const k = Math.min(run.count('k', 1, { min: 1 }), nodeCount);
  const trials = run.count('simulations', 100, { min: 1, max: 100_000 });
  const probability = run.number('probability', 0.1);
  const out = yield* run.adjacency('OUT');
  run.reserve(nodeCount * 32);
  const chosen: number[] = [];
  let reached = 0;
  const gains = Array.from({ length: nodeCount }, (_, node) => ({
    node,
    gain: nodeCount,
    round: 0,
    isChosen: false,
  }));
  for (let rank = 1; rank <= k; rank += 1) {
    for (;;) {
      let best: (typeof gains)[number] | undefined;
      for (const one of gains) {
        if (run.work.isSpent(1)) yield 'pause';
        if (!one.isChosen && (best === undefined || one.gain > best.gain)) best = one;
      }
      if (best === undefined) return;
      if (best.round === rank) {
        best.isChosen = true;
        chosen.push(best.node);
        reached += best.gain;
        yield rowWith({ nodeId: run.idAt(best.node), rank, marginalGain: double(best.gain) });
        break;
      }
      const spread = yield* spreadOf(run, out, [...chosen, best.node], { trials, probability });
      best.gain = spread - reached;
      best.round = rank;
    }
  }
}

/** How many nodes are reached on average; the same chances for every set of seeds. */
function* spreadOf(
  run: Run,
  { offsets, nodes }: Adjacency,
  seeds: readonly number[],
  { trials, probability }: { readonly trials: number; readonly probability: number },
): Generator<'pause', number, undefined> {
  let total = 0;
  for (let trial = 0; trial < trials; trial += 1) {
    const random = seededRandom(trial + 1);
    const isReached = new Set(seeds);
    const queue = [...seeds];
    for (let head = 0; head < queue.length; head += 1) {
      const node = queue[head] as number;
      const to = offsets[node + 1] as number;
      if (run.work.isSpent(2 + 2 * (to - (offsets[node] as number)))) yield 'pause';
      for (let at = offsets[node] as number; at < to; at += 1) {
        const next = nodes[at] as number;
        if (random() >= probability || isReached.has(next)) continue;
        isReached.add(next);
        queue.push(next);
      }
    }
    total += queue.length;
  }
  return total / trials;
}
