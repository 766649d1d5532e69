import { rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { algorithm, type Rows, type Run } from './algorithm.ts';
import { blocksOf } from './blocks.ts';
import { Groups } from './groups.ts';

/** What hangs together: components, cycles, orders (cypher.md 11). */

const component = { node: 'NODE', componentId: 'INTEGER' };

export const componentAlgorithms: readonly Procedure[] = [
  algorithm({
    name: 'wcc',
    description: 'Weakly connected components, from 0',
    parameters: ['relTypes?'],
    columns: component,
    *rows(run) {
      const groups = yield* connectedGroups(run);
      const number = numbering();
      for (let node = 0; node < run.graph.nodeCount; node += 1)
        yield rowWith({ node: run.nodeAt(node), componentId: number(groups.of(node)) });
    },
  }),
  algorithm({
    name: 'scc',
    description: 'Strongly connected components, from 0',
    parameters: ['relTypes?'],
    columns: component,
    *rows(run) {
      const components = yield* strongComponents(run);
      const number = numbering();
      for (let node = 0; node < run.graph.nodeCount; node += 1)
        yield rowWith({
          node: run.nodeAt(node),
          componentId: number(components[node] as number),
        });
    },
  }),
  algorithm({
    name: 'articulationPoints',
    description: 'Nodes without which a component falls apart',
    parameters: ['relTypes?'],
    columns: { node: 'NODE' },
    *rows(run) {
      const { cutNodes } = yield* blocksOf(run);
      for (let node = 0; node < run.graph.nodeCount; node += 1)
        if (cutNodes[node] === 1) yield rowWith({ node: run.nodeAt(node) });
    },
  }),
  algorithm({
    name: 'bridges',
    description: 'Relationships without which a component falls apart',
    parameters: ['relTypes?'],
    columns: { source: 'NODE', target: 'NODE' },
    *rows(run) {
      const { bridges } = yield* blocksOf(run);
      const { sources, targets } = run.graph;
      for (const edge of bridges)
        yield rowWith({
          source: run.nodeAt(sources[edge] as number),
          target: run.nodeAt(targets[edge] as number),
        });
    },
  }),
  algorithm({
    name: 'biconnectedComponents',
    description: 'Parts that no single node holds together; a node may be in several',
    parameters: ['relTypes?'],
    columns: component,
    *rows(run) {
      const { components } = yield* blocksOf(run);
      for (let id = 0; id < components.length; id += 1)
        for (const node of components[id] as readonly number[])
          yield rowWith({ node: run.nodeAt(node), componentId: id });
    },
  }),
  algorithm({
    name: 'topologicalSort',
    description: 'Places of nodes before all that they lead to; -1 in and behind a cycle',
    parameters: ['relTypes?'],
    columns: { node: 'NODE', order: 'INTEGER' },
    rows: topologicalSort,
  }),
  algorithm({
    name: 'cycleDetection',
    description: 'Nodes on directed cycles',
    parameters: ['relTypes?'],
    columns: { node: 'NODE', inCycle: 'BOOLEAN', hasCycle: 'BOOLEAN' },
    rows: cycleDetection,
  }),
  algorithm({
    name: 'bipartite',
    description: 'Two sides such that all relationships lead from one to the other',
    parameters: ['relTypes?'],
    columns: { node: 'NODE', partition: 'INTEGER', isBipartite: 'BOOLEAN' },
    *rows(run) {
      const { sides, isBipartite } = yield* sidesOf(run);
      for (let node = 0; node < sides.length; node += 1)
        yield rowWith({ node: run.nodeAt(node), partition: sides[node] as number, isBipartite });
    },
  }),
];

/** Numbers from 0 in the order in which keys are seen first. */
export function numbering(): (key: number) => number {
  const numbers = new Map<number, number>();
  return (key) => {
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, numbers.size);
    return numbers.size - 1;
  };
}

export function* connectedGroups(run: Run): Generator<'pause', Groups, undefined> {
  const { nodeCount, edgeCount, sources, targets } = run.graph;
  run.reserve(nodeCount * 8);
  const groups = new Groups(nodeCount);
  for (let edge = 0; edge < edgeCount; edge += 1) {
    groups.join(sources[edge] as number, targets[edge] as number);
    if (run.work.isSpent(3)) yield 'pause';
  }
  return groups;
}

/** Tarjan, on a stack of its own. */
export function* strongComponents(run: Run): Generator<'pause', Int32Array, undefined> {
  const { nodeCount } = run.graph;
  const { offsets, nodes } = yield* run.adjacency('OUT');
  run.reserve(nodeCount * 20);
  const components = new Int32Array(nodeCount).fill(-1);
  const numbers = new Int32Array(nodeCount).fill(-1);
  const lows = new Int32Array(nodeCount);
  const places = offsets.slice(0, nodeCount);
  const open: number[] = [];
  const stack: number[] = [];
  let count = 0;
  let componentCount = 0;
  for (let start = 0; start < nodeCount; start += 1) {
    if (numbers[start] !== -1) continue;
    stack.push(start);
    while (stack.length > 0) {
      if (run.work.isSpent(2)) yield 'pause';
      const node = stack.at(-1) as number;
      if (numbers[node] === -1) {
        numbers[node] = count;
        lows[node] = count;
        count += 1;
        open.push(node);
      }
      const place = places[node] as number;
      if (place < (offsets[node + 1] as number)) {
        places[node] = place + 1;
        const next = nodes[place] as number;
        if (numbers[next] === -1) stack.push(next);
        else if (components[next] === -1)
          lows[node] = Math.min(lows[node] as number, numbers[next] as number);
        continue;
      }
      stack.pop();
      const parent = stack.at(-1);
      if (parent !== undefined)
        lows[parent] = Math.min(lows[parent] as number, lows[node] as number);
      if (lows[node] !== numbers[node]) continue;
      for (;;) {
        const member = open.pop() as number;
        components[member] = componentCount;
        if (member === node) break;
      }
      componentCount += 1;
    }
  }
  return components;
}

function* topologicalSort(run: Run): Rows {
  const { nodeCount } = run.graph;
  const order = yield* topologicalOrder(run);
  run.reserve(nodeCount * 4);
  const places = new Int32Array(nodeCount).fill(-1);
  order.forEach((node, at) => {
    places[node] = at;
  });
  for (const node of order)
    yield rowWith({ node: run.nodeAt(node), order: places[node] as number });
  for (let node = 0; node < nodeCount; node += 1)
    if (places[node] === -1) yield rowWith({ node: run.nodeAt(node), order: -1 });
}

/** Kahn; nodes in and behind cycles are left out. */
export function* topologicalOrder(run: Run): Generator<'pause', readonly number[], undefined> {
  const { nodeCount } = run.graph;
  const { offsets, nodes } = yield* run.adjacency('OUT');
  run.reserve(nodeCount * 12);
  const waiting = new Int32Array(nodeCount);
  for (let at = 0; at < nodes.length; at += 1) {
    const node = nodes[at] as number;
    waiting[node] = (waiting[node] as number) + 1;
    if (run.work.isSpent(1)) yield 'pause';
  }
  const order: number[] = [];
  for (let node = 0; node < nodeCount; node += 1) if (waiting[node] === 0) order.push(node);
  for (let at = 0; at < order.length; at += 1) {
    const node = order[at] as number;
    const to = offsets[node + 1] as number;
    if (run.work.isSpent(1 + to - (offsets[node] as number))) yield 'pause';
    for (let place = offsets[node] as number; place < to; place += 1) {
      const next = nodes[place] as number;
      const left = (waiting[next] as number) - 1;
      waiting[next] = left;
      if (left === 0) order.push(next);
    }
  }
  return order;
}

function* cycleDetection(run: Run): Rows {
  const { nodeCount, edgeCount, sources, targets } = run.graph;
  const components = yield* strongComponents(run);
  const sizes = new Map<number, number>();
  for (const id of components) sizes.set(id, (sizes.get(id) ?? 0) + 1);
  const inCycle = new Uint8Array(nodeCount);
  let hasCycle = false;
  for (let node = 0; node < nodeCount; node += 1)
    if ((sizes.get(components[node] as number) ?? 0) > 1) inCycle[node] = 1;
  for (let edge = 0; edge < edgeCount; edge += 1) {
    if (sources[edge] === targets[edge]) inCycle[sources[edge] as number] = 1;
    if (run.work.isSpent(1)) yield 'pause';
  }
  for (const flag of inCycle) hasCycle ||= flag === 1;
  for (let node = 0; node < nodeCount; node += 1)
    yield rowWith({ node: run.nodeAt(node), inCycle: inCycle[node] === 1, hasCycle });
}

/** 0 and 1 by turns from the first node of each component. */
export function* sidesOf(
  run: Run,
): Generator<'pause', { readonly sides: Int8Array; readonly isBipartite: boolean }, undefined> {
  const { nodeCount } = run.graph;
  const { offsets, nodes } = yield* run.adjacency('BOTH');
  run.reserve(nodeCount * 5);
  const sides = new Int8Array(nodeCount).fill(-1);
  let isBipartite = true;
  for (let start = 0; start < nodeCount; start += 1) {
    if (sides[start] !== -1) continue;
    sides[start] = 0;
    const queue = [start];
    for (let at = 0; at < queue.length; at += 1) {
      const node = queue[at] as number;
      const to = offsets[node + 1] as number;
      if (run.work.isSpent(1 + to - (offsets[node] as number))) yield 'pause';
      for (let place = offsets[node] as number; place < to; place += 1) {
        const next = nodes[place] as number;
        if (sides[next] === -1) {
          sides[next] = 1 - (sides[node] as number);
          queue.push(next);
        } else if (sides[next] === sides[node]) isBipartite = false;
      }
    }
  }
  return { sides, isBipartite };
}
