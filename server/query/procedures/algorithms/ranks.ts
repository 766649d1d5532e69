import { double } from '#core/value/value.ts';
import { rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { algorithm, type Rows, type Run } from './algorithm.ts';
import type { Adjacency } from './graph-view.ts';

/** Importance of nodes by repeated passing on of scores, and by degrees (cypher.md 11). */

const scored = { node: 'NODE', score: 'FLOAT' };
const scoredId = { nodeId: 'STRING', score: 'FLOAT' };

export const rankAlgorithms: readonly Procedure[] = [
  algorithm({
    name: 'pagerank',
    description: 'PageRank; the scores add up to 1',
    parameters: ['{}?'],
    columns: scored,
    *rows(run) {
      yield* scoreRows(run, yield* pageRank(run, run.number('tolerance', 1e-4), undefined));
    },
  }),
  algorithm({
    name: 'personalizedPageRank',
    description: 'PageRank of a walk that returns to one node',
    parameters: ['source', 'relTypes?', 'dampingFactor?', 'maxIterations?', 'tolerance?'],
    columns: scoredId,
    *rows(run) {
      const scores = yield* pageRank(run, run.number('tolerance', 1e-6), run.node('source'));
      yield* scoreRows(run, scores);
    },
  }),
  algorithm({
    name: 'articlerank',
    description: 'ArticleRank: PageRank in which nodes of few relationships pass on less',
    parameters: ['{}?'],
    columns: scored,
    rows: articleRank,
  }),
  algorithm({
    name: 'degree',
    description: 'Degrees; the score is the share of other nodes',
    parameters: ['relTypes?', 'direction?'],
    columns: {
      node: 'NODE',
      inDegree: 'INTEGER',
      outDegree: 'INTEGER',
      degree: 'INTEGER',
      score: 'FLOAT',
    },
    rows: degrees,
  }),
  algorithm({
    name: 'eigenvector',
    description: 'Eigenvector centrality of length 1',
    parameters: ['relTypes?', 'direction?', 'maxIterations?', 'tolerance?'],
    columns: scored,
    rows: eigenvector,
  }),
  algorithm({
    name: 'hits',
    description: 'Hubs and authorities, each of length 1',
    parameters: ['relTypes?', 'maxIterations?', 'tolerance?'],
    columns: { node: 'NODE', hubScore: 'FLOAT', authorityScore: 'FLOAT' },
    rows: hits,
  }),
  algorithm({
    name: 'katz',
    description: 'Katz centrality with a base score of 1',
    parameters: ['relTypes?', 'alpha?', 'maxIterations?', 'tolerance?'],
    columns: scoredId,
    rows: katz,
  }),
  algorithm({
    name: 'voteRank',
    description: 'Spreaders by repeated vote, best first',
    parameters: ['relTypes?', 'topK?'],
    columns: { nodeId: 'STRING', rank: 'INTEGER' },
    rows: voteRank,
  }),
];

/** Emits both forms of the node; the call takes the column that it has. */
function* scoreRows(run: Run, scores: Float64Array): Rows {
  for (let node = 0; node < scores.length; node += 1)
    yield rowWith({
      node: run.nodeAt(node),
      nodeId: run.idAt(node),
      score: double(scores[node] as number),
    });
}

/** What each node takes in from its neighbours, weighted. */
function* gathered(
  run: Run,
  { offsets, nodes, edges }: Adjacency,
  parts: Float64Array,
  weights: Float64Array | undefined,
  into: Float64Array,
): Generator<'pause', void, undefined> {
  for (let node = 0; node < into.length; node += 1) {
    const from = offsets[node] as number;
    const to = offsets[node + 1] as number;
    if (run.work.isSpent(1 + to - from)) yield 'pause';
    let sum = 0;
    if (weights === undefined)
      for (let at = from; at < to; at += 1) sum += parts[nodes[at] as number] as number;
    else
      for (let at = from; at < to; at += 1)
        sum += (parts[nodes[at] as number] as number) * (weights[edges[at] as number] as number);
    into[node] = sum;
  }
}

/** Directed, along the relationships; what ends nowhere is spread as the start is. */
function* pageRank(
  run: Run,
  tolerance: number,
  source: number | undefined,
): Generator<'pause', Float64Array, undefined> {
  const { nodeCount } = run.graph;
  const damping = run.number('dampingFactor', 0.85);
  const rounds = run.count('maxIterations', 20, { max: 10_000 });
  const property = run.text('weightProperty');
  const weights = property === undefined ? undefined : yield* run.positiveWeights(property);
  const incoming = yield* run.adjacency('IN');
  run.reserve(nodeCount * 32);
  const given = yield* outgoingWeights(run, weights);
  let scores = new Float64Array(nodeCount);
  if (source === undefined) scores.fill(1 / nodeCount);
  else scores[source] = 1;
  let next = new Float64Array(nodeCount);
  const parts = new Float64Array(nodeCount);
  for (let round = 0; round < rounds; round += 1) {
    let dangling = 0;
    for (let node = 0; node < nodeCount; node += 1) {
      const out = given[node] as number;
      if (out > 0) parts[node] = (scores[node] as number) / out;
      else {
        parts[node] = 0;
        dangling += scores[node] as number;
      }
      if (run.work.isSpent(1)) yield 'pause';
    }
    yield* gathered(run, incoming, parts, weights, next);
    const base = 1 - damping + damping * dangling;
    let change = 0;
    for (let node = 0; node < nodeCount; node += 1) {
      const share = source === undefined ? base / nodeCount : node === source ? base : 0;
      const score = share + damping * (next[node] as number);
      change += Math.abs(score - (scores[node] as number));
      next[node] = score;
      if (run.work.isSpent(1)) yield 'pause';
    }
    [scores, next] = [next, scores];
    if (change < tolerance) break;
  }
  return scores;
}

function* outgoingWeights(
  { graph, work }: Run,
  weights: Float64Array | undefined,
): Generator<'pause', Float64Array, undefined> {
  const sums = new Float64Array(graph.nodeCount);
  for (let edge = 0; edge < graph.edgeCount; edge += 1) {
    const source = graph.sources[edge] as number;
    sums[source] = (sums[source] as number) + (weights?.[edge] ?? 1);
    if (work.isSpent(1)) yield 'pause';
  }
  return sums;
}

function* articleRank(run: Run): Rows {
  const { nodeCount, edgeCount } = run.graph;
  const damping = run.number('dampingFactor', 0.85);
  const rounds = run.count('maxIterations', 20, { max: 10_000 });
  const tolerance = run.number('tolerance', 1e-4);
  const incoming = yield* run.adjacency('IN');
  run.reserve(nodeCount * 32);
  const given = yield* outgoingWeights(run, undefined);
  const average = nodeCount === 0 ? 0 : edgeCount / nodeCount;
  let scores = new Float64Array(nodeCount).fill(1 - damping);
  let next = new Float64Array(nodeCount);
  const parts = new Float64Array(nodeCount);
  for (let round = 0; round < rounds; round += 1) {
    for (let node = 0; node < nodeCount; node += 1)
      parts[node] = (scores[node] as number) / ((given[node] as number) + average);
    yield* gathered(run, incoming, parts, undefined, next);
    let change = 0;
    for (let node = 0; node < nodeCount; node += 1) {
      const score = 1 - damping + damping * (next[node] as number);
      change = Math.max(change, Math.abs(score - (scores[node] as number)));
      next[node] = score;
      if (run.work.isSpent(1)) yield 'pause';
    }
    [scores, next] = [next, scores];
    if (change < tolerance) break;
  }
  yield* scoreRows(run, scores);
}

function* degrees(run: Run): Rows {
  const direction = run.direction();
  const out = yield* run.adjacency('OUT');
  const into = yield* run.adjacency('IN');
  const { nodeCount } = run.graph;
  for (let node = 0; node < nodeCount; node += 1) {
    const outDegree = (out.offsets[node + 1] as number) - (out.offsets[node] as number);
    const inDegree = (into.offsets[node + 1] as number) - (into.offsets[node] as number);
    const degree =
      direction === 'OUT' ? outDegree : direction === 'IN' ? inDegree : inDegree + outDegree;
    yield rowWith({
      node: run.nodeAt(node),
      inDegree,
      outDegree,
      degree,
      score: double(nodeCount > 1 ? degree / (nodeCount - 1) : 0),
    });
  }
}

/** Makes the length 1. @returns the length before */
function normalize(scores: Float64Array): number {
  let squares = 0;
  for (let node = 0; node < scores.length; node += 1) squares += (scores[node] as number) ** 2;
  const length = Math.sqrt(squares);
  if (length > 0)
    for (let node = 0; node < scores.length; node += 1)
      scores[node] = (scores[node] as number) / length;
  return length;
}

function distance(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += Math.abs((a[at] as number) - (b[at] as number));
  return sum;
}

/** Power iteration with a part of the score before, so that it settles on bipartite graphs, too. */
function* eigenvector(run: Run): Rows {
  const { nodeCount } = run.graph;
  const direction = run.direction();
  const rounds = run.count('maxIterations', 20, { max: 10_000 });
  const tolerance = run.number('tolerance', 1e-6);
  const into = direction === 'BOTH' ? 'BOTH' : direction === 'OUT' ? 'IN' : 'OUT';
  const adjacency = yield* run.adjacency(into);
  run.reserve(nodeCount * 16);
  let scores = new Float64Array(nodeCount).fill(1);
  let next = new Float64Array(nodeCount);
  normalize(scores);
  for (let round = 0; round < rounds; round += 1) {
    yield* gathered(run, adjacency, scores, undefined, next);
    for (let node = 0; node < nodeCount; node += 1)
      next[node] = (next[node] as number) + (scores[node] as number);
    normalize(next);
    const change = distance(scores, next);
    [scores, next] = [next, scores];
    if (run.work.isSpent(nodeCount * 3)) yield 'pause';
    if (change < tolerance * nodeCount) break;
  }
  yield* scoreRows(run, scores);
}

function* hits(run: Run): Rows {
  const { nodeCount } = run.graph;
  const rounds = run.count('maxIterations', 20, { max: 10_000 });
  const tolerance = run.number('tolerance', 1e-6);
  const out = yield* run.adjacency('OUT');
  const into = yield* run.adjacency('IN');
  run.reserve(nodeCount * 24);
  const hubs = new Float64Array(nodeCount).fill(1);
  const authorities = new Float64Array(nodeCount).fill(1);
  const before = new Float64Array(nodeCount);
  for (let round = 0; round < rounds; round += 1) {
    before.set(hubs);
    yield* gathered(run, into, hubs, undefined, authorities);
    normalize(authorities);
    yield* gathered(run, out, authorities, undefined, hubs);
    normalize(hubs);
    if (run.work.isSpent(nodeCount * 4)) yield 'pause';
    if (distance(before, hubs) < tolerance) break;
  }
  for (let node = 0; node < nodeCount; node += 1)
    yield rowWith({
      node: run.nodeAt(node),
      hubScore: double(hubs[node] as number),
      authorityScore: double(authorities[node] as number),
    });
}

function* katz(run: Run): Rows {
  const { nodeCount } = run.graph;
  const alpha = run.number('alpha', 0.005);
  const rounds = run.count('maxIterations', 100, { max: 10_000 });
  const tolerance = run.number('tolerance', 1e-6);
  const incoming = yield* run.adjacency('IN');
  run.reserve(nodeCount * 16);
  let scores = new Float64Array(nodeCount);
  let next = new Float64Array(nodeCount);
  for (let round = 0; round < rounds; round += 1) {
    yield* gathered(run, incoming, scores, undefined, next);
    let change = 0;
    for (let node = 0; node < nodeCount; node += 1) {
      const score = 1 + alpha * (next[node] as number);
      change += Math.abs(score - (scores[node] as number));
      next[node] = score;
      if (run.work.isSpent(1)) yield 'pause';
    }
    [scores, next] = [next, scores];
    if (change < tolerance) break;
  }
  yield* scoreRows(run, scores);
}

/** Each chosen node weakens the votes of its neighbours by the inverse of the average degree. */
function* voteRank(run: Run): Rows {
  const { nodeCount } = run.graph;
  const wanted = Math.min(run.count('topK', nodeCount || 1, { min: 1 }), nodeCount);
  const { offsets, nodes } = yield* run.graph.simple();
  run.reserve(nodeCount * 17);
  const abilities = new Float64Array(nodeCount).fill(1);
  const votes = new Float64Array(nodeCount);
  const isChosen = new Uint8Array(nodeCount);
  const weakening = nodes.length === 0 ? 0 : nodeCount / nodes.length;
  for (let rank = 1; rank <= wanted; rank += 1) {
    let best = -1;
    for (let node = 0; node < nodeCount; node += 1) {
      const from = offsets[node] as number;
      const to = offsets[node + 1] as number;
      if (run.work.isSpent(1 + to - from)) yield 'pause';
      if (isChosen[node] === 1) continue;
      let sum = 0;
      for (let at = from; at < to; at += 1) sum += abilities[nodes[at] as number] as number;
      votes[node] = sum;
      if (sum > 0 && (best < 0 || sum > (votes[best] as number))) best = node;
    }
    if (best < 0) return;
    isChosen[best] = 1;
    abilities[best] = 0;
    for (let at = offsets[best] as number; at < (offsets[best + 1] as number); at += 1) {
      const neighbour = nodes[at] as number;
      abilities[neighbour] = Math.max(0, (abilities[neighbour] as number) - weakening);
    }
    yield rowWith({ nodeId: run.idAt(best), rank });
  }
}
