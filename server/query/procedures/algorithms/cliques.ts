import type { Run } from './algorithm.ts';
import type { Adjacency } from './graph-view.ts';

/** A set of nodes that may still be added, one of those that were tried, and the candidates that are tried next. */
interface Frame {
  readonly candidates: Set<number>;
  readonly excluded: Set<number>;
  readonly untried: number[];
}

function both(a: ReadonlySet<number>, b: ReadonlySet<number>): Set<number> {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  const shared = new Set<number>();
  for (const node of small) if (large.has(node)) shared.add(node);
  return shared;
}

/** Maximal cliques (Bron and Kerbosch, with a pivot), on a stack of its own. */
export function* cliques(
  run: Run,
  { offsets, nodes }: Adjacency,
  sizeMin: number,
): Generator<readonly number[] | 'pause', void, undefined> {
  const { nodeCount } = run.graph;
  run.reserve(nodes.length * 40);
  const neighbours = Array.from(
    { length: nodeCount },
    (_, node) => new Set(nodes.subarray(offsets[node] as number, offsets[node + 1] as number)),
  );
  const of = (node: number): Set<number> => neighbours[node] as Set<number>;
  const frameOf = (candidates: Set<number>, excluded: Set<number>): Frame => {
    let pivot = -1;
    let most = -1;
    for (const node of [...candidates, ...excluded]) {
      const count = both(of(node), candidates).size;
      if (count <= most) continue;
      most = count;
      pivot = node;
    }
    const untried =
      pivot < 0 ? [] : [...candidates].filter((node) => !of(pivot).has(node)).sort((a, b) => b - a);
    return { candidates, excluded, untried };
  };
  for (let start = 0; start < nodeCount; start += 1) {
    const later = new Set<number>();
    const earlier = new Set<number>();
    for (const node of of(start)) (node > start ? later : earlier).add(node);
    const clique = [start];
    const stack = [frameOf(later, earlier)];
    if (later.size === 0 && earlier.size === 0 && sizeMin <= 1) yield [start];
    while (stack.length > 0) {
      const top = stack.at(-1) as Frame;
      if (run.work.isSpent(1 + top.candidates.size * 4)) yield 'pause';
      const node = top.untried.pop();
      if (node === undefined) {
        stack.pop();
        clique.pop();
        continue;
      }
      const candidates = both(top.candidates, of(node));
      const excluded = both(top.excluded, of(node));
      top.candidates.delete(node);
      top.excluded.add(node);
      clique.push(node);
      if (candidates.size === 0 && excluded.size === 0) {
        if (clique.length >= sizeMin) yield [...clique].sort((a, b) => a - b);
        clique.pop();
      } else stack.push(frameOf(candidates, excluded));
    }
  }
}
