import type { Run } from './algorithm.ts';
import { LevelSearch } from './distances.ts';

interface Arc {
  readonly from: number;
  readonly to: number;
  readonly cost: number;
  /** Its number in the list of the level before. */
  readonly of: number;
}

/** Edges of the least tree from the root to all that it reaches (Chu, Liu and Edmonds): cycles are drawn together, then opened. */
export function* arborescence(
  run: Run,
  root: number,
  weights: Float64Array,
): Generator<'pause', readonly number[], undefined> {
  const { nodeCount, edgeCount, sources, targets } = run.graph;
  const search = new LevelSearch(run, yield* run.adjacency('OUT'));
  yield* search.from(root);
  run.reserve(edgeCount * 64);
  const arcs: Arc[] = [];
  for (let edge = 0; edge < edgeCount; edge += 1) {
    if (run.work.isSpent(4)) yield 'pause';
    const from = sources[edge] as number;
    const to = targets[edge] as number;
    if (from === to || to === root || search.distances[from] === -1) continue;
    arcs.push({ from, to, cost: weights[edge] as number, of: edge });
  }
  const chosen = yield* leastArcs(run, arcs, root, nodeCount);
  return chosen.map((at) => (arcs[at] as Arc).of).sort((a, b) => a - b);
}

/** @returns numbers of arcs in the list; a level of recursion at least halves the nodes on cycles */
function* leastArcs(
  run: Run,
  arcs: readonly Arc[],
  root: number,
  nodeCount: number,
): Generator<'pause', number[], undefined> {
  const least = new Int32Array(nodeCount).fill(-1);
  for (let at = 0; at < arcs.length; at += 1) {
    const { to, cost } = arcs[at] as Arc;
    const known = least[to] as number;
    if (known === -1 || cost < (arcs[known] as Arc).cost) least[to] = at;
    if (run.work.isSpent(2)) yield 'pause';
  }
  const { groups, groupCount, cycleNodes } = cyclesOf(arcs, least, root, nodeCount);
  if (cycleNodes.length === 0) return [...least].filter((at) => at !== -1);
  const isOnCycle = new Uint8Array(nodeCount);
  for (const node of cycleNodes) isOnCycle[node] = 1;
  const inner: Arc[] = [];
  for (let at = 0; at < arcs.length; at += 1) {
    const { from, to, cost } = arcs[at] as Arc;
    const [a, b] = [groups[from] as number, groups[to] as number];
    if (run.work.isSpent(2)) yield 'pause';
    if (a === b) continue;
    const saved = isOnCycle[to] === 1 ? (arcs[least[to] as number] as Arc).cost : 0;
    inner.push({ from: a, to: b, cost: cost - saved, of: at });
  }
  const found = yield* leastArcs(run, inner, groups[root] as number, groupCount);
  const chosen = found.map((at) => (inner[at] as Arc).of);
  // A cycle is entered once: there its own arc makes way.
  const entered = new Set(chosen.map((at) => (arcs[at] as Arc).to));
  for (const node of cycleNodes) if (!entered.has(node)) chosen.push(least[node] as number);
  return chosen;
}

/** Cycles among the least arcs: each is one group, as is every other node. */
function cyclesOf(
  arcs: readonly Arc[],
  least: Int32Array,
  root: number,
  nodeCount: number,
): {
  readonly groups: Int32Array;
  readonly groupCount: number;
  readonly cycleNodes: readonly number[];
} {
  const groups = new Int32Array(nodeCount).fill(-1);
  const metFrom = new Int32Array(nodeCount).fill(-1);
  const cycleNodes: number[] = [];
  let groupCount = 0;
  for (let start = 0; start < nodeCount; start += 1) {
    let node = start;
    while (node !== root && metFrom[node] === -1 && least[node] !== -1) {
      metFrom[node] = start;
      node = (arcs[least[node] as number] as Arc).from;
    }
    if (node === root || metFrom[node] !== start || groups[node] !== -1) continue;
    for (let at = node; groups[at] === -1; at = (arcs[least[at] as number] as Arc).from) {
      groups[at] = groupCount;
      cycleNodes.push(at);
    }
    groupCount += 1;
  }
  for (let node = 0; node < nodeCount; node += 1) {
    if (groups[node] !== -1) continue;
    groups[node] = groupCount;
    groupCount += 1;
  }
  return { groups, groupCount, cycleNodes };
}
