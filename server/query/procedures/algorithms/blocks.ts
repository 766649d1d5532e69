import type { Run } from './algorithm.ts';

export interface Blocks {
  /** 1 for nodes without which a component falls apart. */
  readonly cutNodes: Uint8Array;
  /** Numbers of edges. */
  readonly bridges: readonly number[];
  /** Nodes of each biconnected component; a node without relationships is in none. */
  readonly components: readonly (readonly number[])[];
}

/** Blocks of the graph without directions (Hopcroft and Tarjan), on a stack of its own. Parallel edges are no bridges. */
export function* blocksOf(run: Run): Generator<'pause', Blocks, undefined> {
  const { nodeCount } = run.graph;
  const { offsets, nodes, edges } = yield* run.adjacency('BOTH');
  run.reserve(nodeCount * 17 + edges.length * 8);
  const numbers = new Int32Array(nodeCount).fill(-1);
  const lows = new Int32Array(nodeCount);
  const arrivals = new Int32Array(nodeCount).fill(-1);
  const places = offsets.slice(0, nodeCount);
  const cutNodes = new Uint8Array(nodeCount);
  const bridges: number[] = [];
  const components: number[][] = [];
  const stack: number[] = [];
  const walked: number[] = [];
  let count = 0;
  const meet = (node: number): void => {
    numbers[node] = count;
    lows[node] = count;
    count += 1;
    stack.push(node);
  };
  for (let root = 0; root < nodeCount; root += 1) {
    if (numbers[root] !== -1) continue;
    meet(root);
    let rootParts = 0;
    while (stack.length > 0) {
      if (run.work.isSpent(2)) yield 'pause';
      const node = stack.at(-1) as number;
      const place = places[node] as number;
      if (place < (offsets[node + 1] as number)) {
        places[node] = place + 1;
        const next = nodes[place] as number;
        const edge = edges[place] as number;
        if (next === node || edge === arrivals[node]) continue;
        if (numbers[next] === -1) {
          arrivals[next] = edge;
          walked.push(edge);
          meet(next);
        } else if ((numbers[next] as number) < (numbers[node] as number)) {
          walked.push(edge);
          lows[node] = Math.min(lows[node] as number, numbers[next] as number);
        }
        continue;
      }
      stack.pop();
      const parent = stack.at(-1);
      if (parent === undefined) break;
      lows[parent] = Math.min(lows[parent] as number, lows[node] as number);
      const arrival = arrivals[node] as number;
      if ((lows[node] as number) > (numbers[parent] as number)) bridges.push(arrival);
      if ((lows[node] as number) < (numbers[parent] as number)) continue;
      if (parent === root) rootParts += 1;
      else cutNodes[parent] = 1;
      components.push(membersOf(run, walked, arrival));
    }
    if (rootParts > 1) cutNodes[root] = 1;
  }
  return { cutNodes, bridges, components };
}

/** Ends of the edges walked since, and of this one; they are taken off. */
function membersOf(run: Run, walked: number[], arrival: number): number[] {
  const members = new Set<number>();
  for (;;) {
    const edge = walked.pop() as number;
    members.add(run.graph.sources[edge] as number).add(run.graph.targets[edge] as number);
    if (edge === arrival) return [...members].sort((a, b) => a - b);
  }
}
