import type { Run } from './algorithm.ts';
import { numbering } from './components.ts';
import { Groups } from './groups.ts';

/** Louvain: nodes move to the neighbouring community of most gain; then communities become nodes, and so on. */

export interface LouvainOptions {
  /** By number of the edge. */
  readonly weights: Float64Array;
  /** Rounds of moves at each level, and levels. */
  readonly rounds: number;
  /** Least gain of modularity by which another level is worth it. */
  readonly tolerance: number;
  readonly resolution: number;
}

/** A graph of communities: each neighbour once, with the weight between; `loops` is the weight inside, counted twice. */
interface Level {
  readonly size: number;
  readonly offsets: Int32Array;
  readonly nodes: Int32Array;
  readonly weights: Float64Array;
  readonly loops: Float64Array;
}

/** @returns communities by node, numbered from 0 in the order of nodes */
export function* louvain(
  run: Run,
  { weights, rounds, tolerance, resolution }: LouvainOptions,
): Generator<'pause', Int32Array, undefined> {
  const { nodeCount } = run.graph;
  run.reserve(nodeCount * 40 + run.graph.edgeCount * 24);
  let level = yield* firstLevel(run, weights);
  let communities = new Int32Array(nodeCount).map((_, at) => at);
  for (let round = 0; round < rounds; round += 1) {
    const { parts, gain } = yield* moves(run, level, { rounds, resolution });
    const number = numbering();
    const renamed = parts.map((part) => number(part));
    communities = communities.map((community) => renamed[community] as number);
    let size = 0;
    for (const part of renamed) size = Math.max(size, part + 1);
    if (size === level.size || gain < tolerance) break;
    level = yield* merged(run, level, renamed, size);
  }
  const number = numbering();
  return communities.map((community) => number(community));
}

function* firstLevel(run: Run, weights: Float64Array): Generator<'pause', Level, undefined> {
  const { nodeCount, edgeCount, sources, targets } = run.graph;
  const { offsets, nodes, edges } = yield* run.adjacency('BOTH');
  const own = new Float64Array(edges.length);
  const loops = new Float64Array(nodeCount);
  for (let at = 0; at < edges.length; at += 1) {
    own[at] = weights[edges[at] as number] as number;
    if (run.work.isSpent(1)) yield 'pause';
  }
  for (let edge = 0; edge < edgeCount; edge += 1) {
    const node = sources[edge] as number;
    if (node === targets[edge])
      loops[node] = (loops[node] as number) + 2 * (weights[edge] as number);
    if (run.work.isSpent(1)) yield 'pause';
  }
  return { size: nodeCount, offsets, nodes, weights: own, loops };
}

function* strengthsOf(
  run: Run,
  { size, offsets, nodes, weights, loops }: Level,
): Generator<'pause', Float64Array, undefined> {
  const strengths = new Float64Array(size);
  for (let node = 0; node < size; node += 1) {
    const to = offsets[node + 1] as number;
    if (run.work.isSpent(1 + to - (offsets[node] as number))) yield 'pause';
    let sum = loops[node] as number;
    for (let at = offsets[node] as number; at < to; at += 1)
      if (nodes[at] !== node) sum += weights[at] as number;
    strengths[node] = sum;
  }
  return strengths;
}

function* moves(
  run: Run,
  level: Level,
  { rounds, resolution }: { readonly rounds: number; readonly resolution: number },
): Generator<'pause', { readonly parts: Int32Array; readonly gain: number }, undefined> {
  const { size, offsets, nodes, weights } = level;
  const strengths = yield* strengthsOf(run, level);
  let total = 0;
  for (const strength of strengths) total += strength;
  const parts = new Int32Array(size).map((_, at) => at);
  const sums = strengths.slice();
  const between = new Float64Array(size);
  const met: number[] = [];
  let gain = 0;
  let isChanged = total > 0;
  for (let round = 0; round < rounds && isChanged; round += 1) {
    isChanged = false;
    for (let node = 0; node < size; node += 1) {
      const to = offsets[node + 1] as number;
      if (run.work.isSpent(2 + 3 * (to - (offsets[node] as number)))) yield 'pause';
      const own = parts[node] as number;
      met.length = 0;
      for (let at = offsets[node] as number; at < to; at += 1) {
        const next = nodes[at] as number;
        if (next === node) continue;
        const part = parts[next] as number;
        if (between[part] === 0) met.push(part);
        between[part] = (between[part] as number) + (weights[at] as number);
      }
      const strength = strengths[node] as number;
      sums[own] = (sums[own] as number) - strength;
      const worth = (part: number): number =>
        (between[part] as number) - (resolution * strength * (sums[part] as number)) / total;
      let best = own;
      let bestWorth = worth(own);
      for (const part of met) {
        const found = worth(part);
        if (found > bestWorth + 1e-12) {
          best = part;
          bestWorth = found;
        }
      }
      if (best !== own) {
        gain += (2 * (bestWorth - worth(own))) / total;
        parts[node] = best;
        isChanged = true;
      }
      sums[best] = (sums[best] as number) + strength;
      for (const part of met) between[part] = 0;
    }
  }
  return { parts, gain };
}

function* merged(
  run: Run,
  level: Level,
  parts: Int32Array,
  size: number,
): Generator<'pause', Level, undefined> {
  const loops = new Float64Array(size);
  const rows = Array.from({ length: size }, () => new Map<number, number>());
  for (let node = 0; node < level.size; node += 1) {
    const part = parts[node] as number;
    loops[part] = (loops[part] as number) + (level.loops[node] as number);
    const row = rows[part] as Map<number, number>;
    const to = level.offsets[node + 1] as number;
    if (run.work.isSpent(1 + 4 * (to - (level.offsets[node] as number)))) yield 'pause';
    for (let at = level.offsets[node] as number; at < to; at += 1) {
      const next = level.nodes[at] as number;
      if (next === node) continue;
      const other = parts[next] as number;
      const weight = level.weights[at] as number;
      if (other === part) loops[part] = (loops[part] as number) + weight;
      else row.set(other, (row.get(other) ?? 0) + weight);
    }
  }
  const offsets = new Int32Array(size + 1);
  for (let part = 0; part < size; part += 1)
    offsets[part + 1] = (offsets[part] as number) + (rows[part] as Map<number, number>).size;
  const count = offsets[size] as number;
  const nodes = new Int32Array(count);
  const weights = new Float64Array(count);
  let at = 0;
  for (const row of rows)
    for (const [other, weight] of row) {
      nodes[at] = other;
      weights[at] = weight;
      at += 1;
      if (run.work.isSpent(1)) yield 'pause';
    }
  return { size, offsets, nodes, weights, loops };
}

/** Newman's modularity of a partition, without directions. */
export function* modularityOf(
  run: Run,
  communities: Int32Array,
  weights: Float64Array,
  resolution: number,
): Generator<'pause', number, undefined> {
  const { edgeCount, sources, targets } = run.graph;
  const strengths = new Map<number, number>();
  const add = (community: number, weight: number): void => {
    strengths.set(community, (strengths.get(community) ?? 0) + weight);
  };
  let total = 0;
  let inside = 0;
  for (let edge = 0; edge < edgeCount; edge += 1) {
    if (run.work.isSpent(2)) yield 'pause';
    const weight = weights[edge] as number;
    const a = communities[sources[edge] as number] as number;
    const b = communities[targets[edge] as number] as number;
    total += weight;
    if (a === b) inside += weight;
    add(a, weight);
    add(b, weight);
  }
  if (total === 0) return 0;
  let expected = 0;
  for (const strength of strengths.values()) expected += (strength / (2 * total)) ** 2;
  return inside / total - resolution * expected;
}

/** Parts of a community that do not hang together become communities of their own. */
export function* splitApart(
  run: Run,
  communities: Int32Array,
): Generator<'pause', Int32Array, undefined> {
  const { nodeCount, edgeCount, sources, targets } = run.graph;
  const groups = new Groups(nodeCount);
  for (let edge = 0; edge < edgeCount; edge += 1) {
    const a = sources[edge] as number;
    const b = targets[edge] as number;
    if (communities[a] === communities[b]) groups.join(a, b);
    if (run.work.isSpent(2)) yield 'pause';
  }
  const number = numbering();
  return communities.map((_, node) => number(groups.of(node)));
}
