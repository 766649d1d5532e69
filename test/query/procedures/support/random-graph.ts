import type { Value } from '#core/value/value.ts';
import { toDouble } from '#query/functions/arguments.ts';
import type { ExecutionContext } from '#query/operators/operator.ts';
import { serverProcedures } from '#query/procedures/registry.ts';
import { seededRandom } from '#query/procedures/algorithms/work.ts';

/** A small directed graph with weights, in a view that knows nothing but it; and rows of algorithms over it. */

export interface Edge {
  readonly from: number;
  readonly to: number;
  readonly weight: number;
}

export interface TestGraph {
  readonly size: number;
  readonly edges: readonly Edge[];
  /** A property of nodes, `group`. */
  readonly groups: readonly number[];
}

const edgeBucket = 2;
const positionCount = 2 ** 37;
const vertexRid = (node: number): number => positionCount + node;
const edgeRid = (edge: number): number => edgeBucket * positionCount + edge;

export interface Shape {
  readonly isAcyclic?: boolean;
  readonly isSimple?: boolean;
}

export function randomGraph(
  seed: number,
  { isAcyclic = false, isSimple = false }: Shape = {},
): TestGraph {
  const random = seededRandom(seed);
  const below = (max: number): number => Math.floor(random() * max);
  const size = 1 + below(8);
  const edges: Edge[] = [];
  const count = below(size * 2 + 1);
  for (let at = 0; at < count; at += 1) {
    let [from, to] = [below(size), below(size)];
    if (isAcyclic && from > to) [from, to] = [to, from];
    if ((isAcyclic || isSimple) && from === to) continue;
    if (
      isSimple &&
      edges.some((e) => (e.from === from && e.to === to) || (e.from === to && e.to === from))
    )
      continue;
    edges.push({ from, to, weight: 1 + below(9) });
  }
  return { size, edges, groups: Array.from({ length: size }, () => below(3)) };
}

type Row = Readonly<Record<string, unknown>>;

function vertexRecord({ groups }: TestGraph, node: number) {
  return {
    valueKind: 'record',
    kind: 'vertex',
    rid: vertexRid(node),
    get: (name: string) => (name === 'group' ? groups[node] : undefined),
  };
}

function edgeRecord({ edges }: TestGraph, at: number) {
  const { from, to, weight } = edges[at] as Edge;
  return {
    valueKind: 'record',
    kind: 'edge',
    type: 2,
    rid: edgeRid(at),
    out: vertexRid(from),
    in: vertexRid(to),
    get: (name: string) => (name === 'w' ? weight : undefined),
  };
}

export function nodeValue(graph: TestGraph, node: number): Value {
  return vertexRecord(graph, node) as unknown as Value;
}

export function contextOf(graph: TestGraph): ExecutionContext {
  const records = [
    graph.groups.map((_, node) => vertexRecord(graph, node)),
    graph.edges.map((_, at) => edgeRecord(graph, at)),
  ];
  const types = [
    { id: 1, name: 'V', kind: 'vertex', buckets: [1], lightweight: false },
    { id: 2, name: 'E', kind: 'edge', buckets: [edgeBucket], lightweight: false },
  ];
  const view = {
    catalog: {
      types: () => types,
      typeWithId: (id: number) => types[id - 1],
      typeNamed: (name: string) => types.find((type) => type.name === name),
      withSubtypes: (id: number) => [id],
    },
    snapshotIndex: 1,
    isChanged: () => false,
    record: (rid: number) => records[Math.floor(rid / positionCount) - 1]?.[rid % positionCount],
    scan: (bucket: number) => {
      let at = 0;
      return { next: () => records[bucket - 1]?.[at++] };
    },
  };
  const context = {
    view,
    transaction: undefined,
    limits: {},
    memory: { reserve: () => undefined, release: () => undefined },
    runtime: { random: { uint32: () => 7 } },
  };
  return context as unknown as ExecutionContext;
}

/** Rows of `algo.<name>` with nodes as numbers. */
export function rowsOf(graph: TestGraph, name: string, ...args: readonly Value[]): readonly Row[] {
  const procedure = serverProcedures.procedure(`algo.${name}`);
  if (procedure === undefined) throw new Error(`no algo.${name}`);
  const { parameters = [], columns = [] } = procedure.signature ?? {};
  const given = parameters.map((_, at) => args[at] ?? null);
  const rows = procedure.start(given, contextOf(graph));
  const found: Row[] = [];
  for (let row = rows.next(); row !== undefined; row = rows.next()) {
    if (row === 'pause') continue;
    const values = row;
    found.push(Object.fromEntries(columns.map((c) => [c.name, plain(values.get(c.name) ?? null)])));
  }
  return found;
}

function plain(value: Value): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'string' && value.startsWith('#1:')) return Number(value.slice(3));
  if (typeof value !== 'object' || value === null) return value;
  const known = value as unknown as {
    valueKind?: string;
    rid?: number;
    nodes?: [];
    relationships?: [];
  };
  if (known.valueKind === 'record') return (known.rid as number) % positionCount;
  if (known.valueKind === 'path')
    return { nodes: known.nodes?.map(plain), edges: known.relationships?.map(plain) };
  return toDouble(value as never);
}

/** Runs the check on graphs of seeds from 1 on; a failure tells its seed. */
export function onGraphs(check: (graph: TestGraph) => void, shape: Shape = {}, count = 200): void {
  for (let seed = 1; seed <= count; seed += 1) {
    const graph = randomGraph(seed, shape);
    try {
      check(graph);
    } catch (error) {
      const { message } = error as Error;
      throw new Error(`seed ${seed}, ${JSON.stringify(graph)}: ${message}`, { cause: error });
    }
  }
}
