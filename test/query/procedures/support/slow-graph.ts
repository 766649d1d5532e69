import type { Edge, TestGraph } from './random-graph.ts';

/** Slow and obvious answers about small graphs: matrices, and all subsets or paths tried one by one. */

export type Way = 'OUT' | 'BOTH';

export const numbers = (size: number): number[] => Array.from({ length: size }, (_, at) => at);

/** Ends of the edges as they are walked. */
export function arcs({ edges }: TestGraph, way: Way): readonly Edge[] {
  if (way === 'OUT') return edges;
  return edges.flatMap((e) => (e.from === e.to ? [e] : [e, { ...e, from: e.to, to: e.from }]));
}

/** Least sums of weights (Floyd and Warshall). */
export function distances(
  graph: TestGraph,
  way: Way,
  weight = (e: Edge): number => e.weight,
): number[][] {
  const all = numbers(graph.size);
  const least = all.map((a) => all.map((b) => (a === b ? 0 : Number.POSITIVE_INFINITY)));
  const at = (a: number, b: number): number => (least[a] as number[])[b] as number;
  for (const arc of arcs(graph, way))
    (least[arc.from] as number[])[arc.to] = Math.min(at(arc.from, arc.to), weight(arc));
  for (const k of all)
    for (const a of all)
      for (const b of all) (least[a] as number[])[b] = Math.min(at(a, b), at(a, k) + at(k, b));
  return least;
}

export const steps = (graph: TestGraph, way: Way): number[][] => distances(graph, way, () => 1);

export function neighbours({ size, edges }: TestGraph): Set<number>[] {
  const sets = numbers(size).map(() => new Set<number>());
  for (const { from, to } of edges) {
    if (from === to) continue;
    sets[from]?.add(to);
    sets[to]?.add(from);
  }
  return sets;
}

export function componentCount(graph: TestGraph, without?: number): number {
  const kept = {
    ...graph,
    edges: graph.edges.filter(({ from, to }) => from !== without && to !== without),
  };
  const reach = steps(kept, 'BOTH');
  return numbers(graph.size).filter(
    (b) =>
      b !== without && !numbers(b).some((a) => a !== without && Number.isFinite(reach[a]?.[b])),
  ).length;
}

export interface SimplePath {
  readonly nodes: readonly number[];
  readonly weight: number;
}

/** All paths that meet no node twice. */
export function simplePaths(graph: TestGraph, from: number, to: number, way: Way): SimplePath[] {
  const found: SimplePath[] = [];
  const walk = (nodes: readonly number[], weight: number): void => {
    const last = nodes.at(-1) as number;
    if (last === to) {
      found.push({ nodes, weight });
      return;
    }
    for (const arc of arcs(graph, way))
      if (arc.from === last && !nodes.includes(arc.to))
        walk([...nodes, arc.to], weight + arc.weight);
  };
  walk([from], 0);
  return found;
}

export function subsets(size: number): number[][] {
  return numbers(2 ** size).map((bits) => numbers(size).filter((at) => (bits >> at) & 1));
}

/** Least weight of a tree that spans the nodes within themselves; infinite when they do not hang together. */
export function spanningWeight({ edges }: TestGraph, nodes: readonly number[]): number {
  const inside = new Set(nodes.slice(0, 1));
  let total = 0;
  while (inside.size < nodes.length) {
    const leaving = edges
      .filter(({ from, to }) => nodes.includes(from) && nodes.includes(to))
      .filter(({ from, to }) => inside.has(from) !== inside.has(to))
      .sort((a, b) => a.weight - b.weight);
    const [best] = leaving;
    if (best === undefined) return Number.POSITIVE_INFINITY;
    total += best.weight;
    inside.add(best.from).add(best.to);
  }
  return total;
}

export function modularity(
  graph: TestGraph,
  community: (node: number) => unknown,
  weight = (e: Edge): number => e.weight,
): number {
  const total = graph.edges.reduce((sum, e) => sum + weight(e), 0);
  if (total === 0) return 0;
  const degree = numbers(graph.size).map((node) =>
    graph.edges.reduce(
      (sum, e) => sum + (e.from === node ? weight(e) : 0) + (e.to === node ? weight(e) : 0),
      0,
    ),
  );
  let sum = 0;
  for (const a of numbers(graph.size))
    for (const b of numbers(graph.size)) {
      if (community(a) !== community(b)) continue;
      const between = graph.edges.reduce(
        (w, e) =>
          w +
          (e.from === a && e.to === b ? weight(e) : 0) +
          (e.from === b && e.to === a ? weight(e) : 0),
        0,
      );
      sum += between - ((degree[a] as number) * (degree[b] as number)) / (2 * total);
    }
  return sum / (2 * total);
}
