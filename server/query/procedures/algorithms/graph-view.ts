import type { Catalog } from '#catalog/catalog.ts';
import type { Rid, TypeId } from '#core/value/rid.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { edgeTypesNamed } from '../../functions/graph/edge-types.ts';
import { grownFloats, grownIntegers, VertexTable } from '../../functions/paths/vertex-table.ts';
import type { ExecutionContext } from '../../operators/operator.ts';
import { Work } from './work.ts';

/*
 * The graph as algorithms see it: nodes are numbers from 0 on, adjacency is compressed sparse rows. One view of a database is kept
 * for each choice of relationship types and shared by all calls until something is committed; what is kept is bounded by
 * `algorithms.graphViewMaxSize`. Start with `openGraph`.
 */

/** Neighbours of node i stand from `offsets[i]` up to `offsets[i + 1]`; `edges` are numbers of edges. */
export interface Adjacency {
  readonly offsets: Int32Array;
  readonly nodes: Int32Array;
  readonly edges: Int32Array;
}

export type GraphDirection = 'OUT' | 'IN' | 'BOTH';

export class GraphView {
  readonly #table: VertexTable;
  readonly edgeCount: number;
  /** Ends and record ids by number of the edge. */
  readonly sources: Int32Array;
  readonly targets: Int32Array;
  readonly #edgeIds: Float64Array;
  readonly #adjacency = new Map<GraphDirection | 'simple', Adjacency>();

  constructor(
    table: VertexTable,
    edges: {
      readonly count: number;
      readonly sources: Int32Array;
      readonly targets: Int32Array;
      readonly ids: Float64Array;
    },
  ) {
    this.#table = table;
    this.edgeCount = edges.count;
    this.sources = edges.sources;
    this.targets = edges.targets;
    this.#edgeIds = edges.ids;
  }

  get nodeCount(): number {
    return this.#table.size;
  }

  /** What it holds, and what it will when all of its adjacencies are asked for. */
  get bytes(): number {
    return this.nodeCount * (8 + 16 + 16) + this.edgeCount * (16 + 2 * 8 + 16 + 8);
  }

  ridOf(node: number): Rid {
    return this.#table.ridOf(node);
  }

  edgeRidOf(edge: number): Rid {
    return this.#edgeIds[edge] as Rid;
  }

  /** -1 for what is no node of the graph. */
  numberOf(rid: Rid): number {
    return this.#table.numberOf(rid);
  }

  /** Made when it is asked for first. BOTH holds a loop once. */
  *adjacency(direction: GraphDirection): Generator<'pause', Adjacency, undefined> {
    const known = this.#adjacency.get(direction);
    if (known !== undefined) return known;
    const made = yield* sparseRows(this, direction);
    this.#adjacency.set(direction, made);
    return made;
  }

  /** Each neighbour once, in order, without loops and directions. */
  *simple(): Generator<'pause', Adjacency, undefined> {
    const known = this.#adjacency.get('simple');
    if (known !== undefined) return known;
    const made = yield* withoutDoubles(this.nodeCount, yield* this.adjacency('BOTH'));
    this.#adjacency.set('simple', made);
    return made;
  }
}

function* sparseRows(
  { nodeCount, edgeCount, sources, targets }: GraphView,
  direction: GraphDirection,
): Generator<'pause', Adjacency, undefined> {
  const work = new Work();
  const offsets = new Int32Array(nodeCount + 1);
  const isOut = direction !== 'IN';
  const isIn = direction !== 'OUT';
  let count = 0;
  for (let edge = 0; edge < edgeCount; edge += 1) {
    if (work.isSpent(1)) yield 'pause';
    const source = sources[edge] as number;
    const target = targets[edge] as number;
    if (isOut) count += 1;
    if (isOut) offsets[source + 1] = (offsets[source + 1] as number) + 1;
    if (!isIn || (isOut && source === target)) continue;
    offsets[target + 1] = (offsets[target + 1] as number) + 1;
    count += 1;
  }
  for (let node = 0; node < nodeCount; node += 1) {
    if (work.isSpent(1)) yield 'pause';
    offsets[node + 1] = (offsets[node + 1] as number) + (offsets[node] as number);
  }
  const places = offsets.slice();
  const nodes = new Int32Array(count);
  const edges = new Int32Array(count);
  const put = (from: number, to: number, edge: number): void => {
    const place = places[from] as number;
    places[from] = place + 1;
    nodes[place] = to;
    edges[place] = edge;
  };
  for (let edge = 0; edge < edgeCount; edge += 1) {
    if (work.isSpent(4)) yield 'pause';
    const source = sources[edge] as number;
    const target = targets[edge] as number;
    if (isOut) put(source, target, edge);
    if (isIn && !(isOut && source === target)) put(target, source, edge);
  }
  return { offsets, nodes, edges };
}

function* withoutDoubles(
  nodeCount: number,
  all: Adjacency,
): Generator<'pause', Adjacency, undefined> {
  const work = new Work();
  const offsets = new Int32Array(nodeCount + 1);
  const nodes = new Int32Array(all.nodes.length);
  const edges = new Int32Array(all.nodes.length);
  let count = 0;
  for (let node = 0; node < nodeCount; node += 1) {
    const from = all.offsets[node] as number;
    const to = all.offsets[node + 1] as number;
    if (work.isSpent(1 + 4 * (to - from))) yield 'pause';
    const sorted = all.nodes.slice(from, to).sort();
    let last = -1;
    for (let at = 0; at < sorted.length; at += 1) {
      const neighbour = sorted[at] as number;
      if (neighbour === last || neighbour === node) continue;
      last = neighbour;
      nodes[count] = neighbour;
      count += 1;
    }
    offsets[node + 1] = count;
  }
  return { offsets, nodes: nodes.slice(0, count), edges: edges.slice(0, count) };
}

/** What is kept of one database: by catalog, which is another after each change of the schema. */
interface Kept {
  snapshotIndex: number;
  readonly views: Map<string, GraphView>;
  bytes: number;
}

const kept = new WeakMap<Catalog, Kept>();

/** May others have the view: nothing in it is the transaction's own, or hidden from anybody. */
function isShareable({ view, transaction }: ExecutionContext): boolean {
  if (view.requireRead !== undefined || transaction !== undefined) return false;
  return view.catalog.types().every(({ buckets }) => buckets.every((id) => !view.isChanged(id)));
}

/**
 * The view of the relationship types; none of the names: all.
 * @throws DatabaseError `TooLarge` when the statement may not hold it
 */
export function* openGraph(
  context: ExecutionContext,
  typeNames: readonly string[],
  reserve: (bytes: number) => void,
): Generator<'pause', GraphView, undefined> {
  const { view } = context;
  const mayShare = isShareable(context);
  const key = JSON.stringify([...typeNames].sort());
  const known = mayShare ? keptOf(view)?.views.get(key) : undefined;
  if (known !== undefined) {
    reserve(known.bytes);
    return known;
  }
  const types = edgeTypesNamed(typeNames, view.catalog);
  const built = yield* build(view, types, reserve);
  if (mayShare) keep(context, key, built);
  return built;
}

function keptOf(view: ReadView): Kept | undefined {
  const found = kept.get(view.catalog);
  return found?.snapshotIndex === view.snapshotIndex ? found : undefined;
}

function keep({ view, limits }: ExecutionContext, key: string, built: GraphView): void {
  const bytesMax = limits.graphViewBytesMax ?? 0;
  if (built.bytes > bytesMax) return;
  let found = keptOf(view);
  if (found === undefined) {
    const before = kept.get(view.catalog);
    if (before !== undefined && before.snapshotIndex > view.snapshotIndex) return;
    found = { snapshotIndex: view.snapshotIndex, views: new Map(), bytes: 0 };
    kept.set(view.catalog, found);
  }
  for (const [oldest, held] of found.views) {
    if (found.bytes + built.bytes <= bytesMax) break;
    found.views.delete(oldest);
    found.bytes -= held.bytes;
  }
  found.views.set(key, built);
  found.bytes += built.bytes;
}

const itemsPerReserve = 8_192;

function* build(
  view: ReadView,
  edgeTypes: readonly TypeId[],
  reserve: (bytes: number) => void,
): Generator<'pause', GraphView, undefined> {
  const work = new Work();
  const table = new VertexTable();
  const { catalog } = view;
  for (const type of catalog.types()) {
    if (type.kind !== 'vertex' || type.isDropped === true) continue;
    for (const bucket of type.buckets) {
      view.requireRead?.(bucket);
      const cursor = view.scan(bucket, 'ascending');
      for (;;) {
        if (work.isSpent(8)) yield 'pause';
        const record = cursor.next();
        if (record === undefined) break;
        if (record === vetoed || record.kind !== 'vertex') continue;
        if (table.size % itemsPerReserve === 0) reserve(itemsPerReserve * 64);
        table.add(record.rid);
      }
    }
  }
  const edges = new EdgeList(table, reserve);
  for (const id of edgeTypes) {
    const type = catalog.typeWithId(id);
    if (type.lightweight === true) yield* listed(view, id, table, edges, work);
    else
      for (const bucket of type.buckets) {
        view.requireRead?.(bucket);
        const cursor = view.scan(bucket, 'ascending');
        for (;;) {
          if (work.isSpent(16)) yield 'pause';
          const record = cursor.next();
          if (record === undefined) break;
          if (record === vetoed || record.kind !== 'edge' || record.type !== id) continue;
          edges.add(record.out, record.in, record.rid);
        }
      }
  }
  return new GraphView(table, edges);
}

/** Edges without records of their own stand in the lists of their sources only. */
function* listed(
  view: ReadView,
  type: TypeId,
  table: VertexTable,
  edges: EdgeList,
  work: Work,
): Generator<'pause', void, undefined> {
  for (let node = 0; node < table.size; node += 1) {
    const source = table.ridOf(node);
    const list = view.adjacency(source, 'out', type);
    for (let at = 0; at < list.count; at += 1)
      edges.add(source, list.vertices[at] as Rid, list.edges[at] as Rid);
    if (work.isSpent(64 + list.count * 8)) yield 'pause';
  }
}

class EdgeList {
  readonly #table: VertexTable;
  readonly #reserve: (bytes: number) => void;
  count = 0;
  sources = new Int32Array(64);
  targets = new Int32Array(64);
  ids = new Float64Array(64);

  constructor(table: VertexTable, reserve: (bytes: number) => void) {
    this.#table = table;
    this.#reserve = reserve;
  }

  add(out: Rid, into: Rid, rid: Rid): void {
    const source = this.#table.numberOf(out);
    const target = this.#table.numberOf(into);
    if (source < 0 || target < 0) return;
    if (this.count % itemsPerReserve === 0) this.#reserve(itemsPerReserve * 64);
    if (this.count === this.sources.length) {
      this.sources = grownIntegers(this.sources, this.count * 2);
      this.targets = grownIntegers(this.targets, this.count * 2);
      this.ids = grownFloats(this.ids, this.count * 2);
    }
    this.sources[this.count] = source;
    this.targets[this.count] = target;
    this.ids[this.count] = rid;
    this.count += 1;
  }
}
