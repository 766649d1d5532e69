import { valueKey } from '#core/value/equality.ts';
import { double } from '#core/value/value.ts';
import { rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { algorithm, type Rows, type Run } from './algorithm.ts';
import { numbering } from './components.ts';
import { Groups } from './groups.ts';
import { louvain, modularityOf, splitApart } from './louvain.ts';
import { sharedNeighbours } from './neighbourhoods.ts';
import { sortedInTurns } from './sorting.ts';
import { seededRandom } from './work.ts';

/** Communities: found, and judged where a property names them (cypher.md 11). Relationships count without directions. */

export const communityAlgorithms: readonly Procedure[] = [
  algorithm({
    name: 'louvain',
    description: 'Communities by modularity',
    parameters: ['{}?'],
    columns: { node: 'NODE', communityId: 'INTEGER', modularity: 'FLOAT' },
    *rows(run) {
      const weights = yield* run.positiveWeights(run.text('weightProperty'));
      const resolution = 1;
      const communities = yield* louvain(run, {
        weights,
        rounds: run.count('maxIterations', 10, { min: 1, max: 10_000 }),
        tolerance: run.number('tolerance', 1e-4),
        resolution,
      });
      const modularity = double(yield* modularityOf(run, communities, weights, resolution));
      for (let node = 0; node < communities.length; node += 1)
        yield rowWith({
          node: run.nodeAt(node),
          communityId: communities[node] as number,
          modularity,
        });
    },
  }),
  algorithm({
    name: 'leiden',
    description: 'Communities by modularity, each of which hangs together',
    parameters: ['relTypes?', 'maxIterations?', 'resolution?'],
    columns: { nodeId: 'STRING', community: 'INTEGER' },
    *rows(run) {
      const weights = yield* run.weights(undefined);
      const found = yield* louvain(run, {
        weights,
        rounds: run.count('maxIterations', 10, { min: 1, max: 10_000 }),
        tolerance: 1e-4,
        resolution: run.number('resolution', 1),
      });
      const communities = yield* splitApart(run, found);
      for (let node = 0; node < communities.length; node += 1)
        yield rowWith({ nodeId: run.idAt(node), community: communities[node] as number });
    },
  }),
  algorithm({
    name: 'labelpropagation',
    description: 'Communities by what most neighbours belong to',
    parameters: ['{}?'],
    columns: { node: 'NODE', communityId: 'INTEGER' },
    rows: labelPropagation,
  }),
  algorithm({
    name: 'hierarchicalClustering',
    description: 'Clusters by joining the nodes that share most of their neighbours first',
    parameters: ['relTypes?', 'k?'],
    columns: { nodeId: 'STRING', cluster: 'INTEGER' },
    rows: hierarchicalClustering,
  }),
  algorithm({
    name: 'slpa',
    description: 'Overlapping communities by speaking and listening',
    parameters: ['{}?'],
    columns: { node: 'NODE', communities: 'LIST' },
    rows: speakerListener,
  }),
  algorithm({
    name: 'maxKCut',
    description: 'k parts with as much weight between them as local moves find',
    parameters: ['k', '{}?'],
    columns: { node: 'NODE', community: 'INTEGER', cutWeight: 'FLOAT' },
    rows: maxCut,
  }),
  algorithm({
    name: 'modularityScore',
    description: 'Modularity of the communities that a property names',
    parameters: ['property', 'relTypes?'],
    columns: { modularity: 'FLOAT', communities: 'INTEGER', edgeCount: 'INTEGER' },
    *rows(run) {
      const { communities, count } = yield* namedCommunities(run);
      const weights = yield* run.weights(undefined);
      const modularity = yield* modularityOf(run, communities, weights, 1);
      yield rowWith({
        modularity: double(modularity),
        communities: count,
        edgeCount: run.graph.edgeCount,
      });
    },
  }),
  algorithm({
    name: 'conductance',
    description: 'Share of the relationships of a community that leave it',
    parameters: ['property', 'relTypes?'],
    columns: {
      community: 'ANY',
      conductance: 'FLOAT',
      internalEdges: 'INTEGER',
      boundaryEdges: 'INTEGER',
      nodeCount: 'INTEGER',
    },
    rows: conductance,
  }),
];

/** One node after the other takes the label that most of its neighbours have; of several its own, else the least. */
function* labelPropagation(run: Run): Rows {
  const { nodeCount } = run.graph;
  const rounds = run.count('maxIterations', 10, { max: 10_000 });
  const { offsets, nodes } = yield* run.adjacency(run.direction());
  run.reserve(nodeCount * 4);
  const labels = new Int32Array(nodeCount).map((_, at) => at);
  for (let round = 0; round < rounds; round += 1) {
    let isChanged = false;
    for (let node = 0; node < nodeCount; node += 1) {
      const to = offsets[node + 1] as number;
      const from = offsets[node] as number;
      if (run.work.isSpent(1 + 4 * (to - from))) yield 'pause';
      if (from === to) continue;
      const counts = new Map<number, number>();
      let most = 0;
      for (let at = from; at < to; at += 1) {
        const label = labels[nodes[at] as number] as number;
        const count = (counts.get(label) ?? 0) + 1;
        counts.set(label, count);
        most = Math.max(most, count);
      }
      if (counts.get(labels[node] as number) === most) continue;
      let least = Number.POSITIVE_INFINITY;
      for (const [label, count] of counts) if (count === most) least = Math.min(least, label);
      labels[node] = least;
      isChanged = true;
    }
    if (!isChanged) break;
  }
  const number = numbering();
  for (let node = 0; node < nodeCount; node += 1)
    yield rowWith({ node: run.nodeAt(node), communityId: number(labels[node] as number) });
}

function* hierarchicalClustering(run: Run): Rows {
  const { nodeCount } = run.graph;
  const k = run.count('k', 2, { min: 1 });
  const simple = yield* run.graph.simple();
  const pairs: { readonly a: number; readonly b: number; readonly similarity: number }[] = [];
  run.reserve(simple.nodes.length * 32);
  for (let a = 0; a < nodeCount; a += 1)
    for (let at = simple.offsets[a] as number; at < (simple.offsets[a + 1] as number); at += 1) {
      const b = simple.nodes[at] as number;
      if (b < a) continue;
      const { shared, union } = sharedNeighbours(simple, a, b);
      if (run.work.isSpent(1 + union)) yield 'pause';
      // Both are neighbours of each other: themselves they count as shared.
      pairs.push({ a, b, similarity: (shared + 2) / union });
    }
  const order = yield* sortedInTurns(
    pairs,
    (x, y) => y.similarity - x.similarity || x.a - y.a || x.b - y.b,
    run.work,
  );
  const groups = new Groups(nodeCount);
  for (const { a, b } of order) {
    if (groups.count <= k) break;
    groups.join(a, b);
    if (run.work.isSpent(2)) yield 'pause';
  }
  const number = numbering();
  for (let node = 0; node < nodeCount; node += 1)
    yield rowWith({ nodeId: run.idAt(node), cluster: number(groups.of(node)) });
}

/** Each node remembers how often it heard each label; what it heard too rarely is forgotten at the end. */
function* speakerListener(run: Run): Rows {
  const { nodeCount } = run.graph;
  const rounds = run.count('iterations', 20, { max: 10_000 });
  const threshold = run.number('threshold', 0.1);
  const random = seededRandom(run.count('seed', -1, { min: -(2 ** 53), max: 2 ** 53 }));
  const { offsets, nodes } = yield* run.adjacency('BOTH');
  run.reserve(nodeCount * (120 + rounds * 16));
  const heard = Array.from({ length: nodeCount }, (_, node): number[] => [node]);
  for (let round = 0; round < rounds; round += 1)
    for (let listener = 0; listener < nodeCount; listener += 1) {
      const from = offsets[listener] as number;
      const to = offsets[listener + 1] as number;
      if (run.work.isSpent(1 + 4 * (to - from))) yield 'pause';
      if (from === to) continue;
      const counts = new Map<number, number>();
      for (let at = from; at < to; at += 1) {
        const memory = heard[nodes[at] as number] as readonly number[];
        const label = memory[Math.floor(random() * memory.length)] as number;
        counts.set(label, (counts.get(label) ?? 0) + 1);
      }
      let said = -1;
      let most = 0;
      for (const [label, count] of counts)
        if (count > most || (count === most && label < said)) {
          said = label;
          most = count;
        }
      (heard[listener] as number[]).push(said);
    }
  for (let node = 0; node < nodeCount; node += 1) {
    const memory = heard[node] as readonly number[];
    const counts = new Map<number, number>();
    for (const label of memory) counts.set(label, (counts.get(label) ?? 0) + 1);
    if (run.work.isSpent(memory.length)) yield 'pause';
    const communities = [...counts]
      .filter(([, count]) => count / memory.length >= threshold)
      .map(([label]) => label)
      .sort((a, b) => a - b);
    yield rowWith({ node: run.nodeAt(node), communities });
  }
}

function* maxCut(run: Run): Rows {
  const { nodeCount, edgeCount, sources, targets } = run.graph;
  const k = run.count('k', 2, { min: 2, max: 1_000 });
  const rounds = run.count('maxIterations', 100, { max: 10_000 });
  const restarts = run.count('restarts', 3, { min: 1, max: 1_000 });
  const weights = yield* run.weights(run.text('weightProperty'));
  const { offsets, nodes, edges } = yield* run.adjacency('BOTH');
  const random = seededRandom(run.count('seed', 0, { min: -(2 ** 53), max: 2 ** 53 }));
  run.reserve(nodeCount * 8);
  let best: Int32Array | undefined;
  let bestWeight = Number.NEGATIVE_INFINITY;
  for (let start = 0; start < restarts; start += 1) {
    const parts = new Int32Array(nodeCount).map(() => Math.floor(random() * k));
    const inside = new Float64Array(k);
    let isChanged = true;
    for (let round = 0; round < rounds && isChanged; round += 1) {
      isChanged = false;
      for (let node = 0; node < nodeCount; node += 1) {
        const to = offsets[node + 1] as number;
        if (run.work.isSpent(k + to - (offsets[node] as number))) yield 'pause';
        inside.fill(0);
        for (let at = offsets[node] as number; at < to; at += 1) {
          const part = parts[nodes[at] as number] as number;
          if (nodes[at] !== node)
            inside[part] = (inside[part] as number) + (weights[edges[at] as number] as number);
        }
        let least = parts[node] as number;
        for (let part = 0; part < k; part += 1)
          if ((inside[part] as number) < (inside[least] as number)) least = part;
        if (least === parts[node]) continue;
        parts[node] = least;
        isChanged = true;
      }
    }
    let cut = 0;
    for (let edge = 0; edge < edgeCount; edge += 1) {
      if (run.work.isSpent(1)) yield 'pause';
      const isCut = parts[sources[edge] as number] !== parts[targets[edge] as number];
      if (isCut) cut += weights[edge] as number;
    }
    if (cut <= bestWeight) continue;
    bestWeight = cut;
    best = parts;
  }
  for (let node = 0; node < nodeCount; node += 1)
    yield rowWith({
      node: run.nodeAt(node),
      community: best?.[node] as number,
      cutWeight: double(bestWeight),
    });
}

interface Named {
  readonly communities: Int32Array;
  readonly count: number;
  readonly values: ReturnType<Run['value']>[];
}

/** Communities by the values of a property; nodes without it are one each. */
function* namedCommunities(run: Run): Generator<'pause', Named, undefined> {
  const property = run.text('property');
  if (property === undefined) throw run.fault("'property' must be a text");
  const { nodeCount } = run.graph;
  run.reserve(nodeCount * 64);
  const communities = new Int32Array(nodeCount);
  const numbers = new Map<unknown, number>();
  const values: ReturnType<Run['value']>[] = [];
  for (let node = 0; node < nodeCount; node += 1) {
    if (run.work.isSpent(64)) yield 'pause';
    const value = run.context.view.record(run.graph.ridOf(node))?.get(property) ?? null;
    const key = value === null ? Symbol(node) : valueKey(value);
    let number = numbers.get(key);
    if (number === undefined) {
      number = values.length;
      numbers.set(key, number);
      values.push(value);
    }
    communities[node] = number;
  }
  return { communities, count: values.length, values };
}

function* conductance(run: Run): Rows {
  const { communities, values } = yield* namedCommunities(run);
  const { edgeCount, sources, targets } = run.graph;
  const internal = new Float64Array(values.length);
  const boundary = new Float64Array(values.length);
  const sizes = new Float64Array(values.length);
  for (const community of communities) sizes[community] = (sizes[community] as number) + 1;
  for (let edge = 0; edge < edgeCount; edge += 1) {
    if (run.work.isSpent(2)) yield 'pause';
    const a = communities[sources[edge] as number] as number;
    const b = communities[targets[edge] as number] as number;
    if (a === b) internal[a] = (internal[a] as number) + 1;
    else {
      boundary[a] = (boundary[a] as number) + 1;
      boundary[b] = (boundary[b] as number) + 1;
    }
  }
  for (let community = 0; community < values.length; community += 1) {
    const value = values[community] ?? null;
    if (value === null) continue;
    const leaving = boundary[community] as number;
    const volume = 2 * (internal[community] as number) + leaving;
    yield rowWith({
      community: value,
      conductance: double(volume === 0 ? 0 : leaving / volume),
      internalEdges: internal[community] as number,
      boundaryEdges: leaving,
      nodeCount: sizes[community] as number,
    });
  }
}
