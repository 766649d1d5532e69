import type { StoredRecord } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { isList, isMap, isRecord, type Value, type ValueMap } from '#core/value/value.ts';
import type { WorkMeter } from '#core/pausing-work.ts';
import { cypherEquals } from '../../evaluate/comparison/cypher-comparison.ts';
import { edgeTypesNamed } from '../../functions/graph/edge-types.ts';
import { GraphSearch, type PathDirection } from '../../functions/paths/graph-search.ts';
import { shortestPath } from '../../functions/paths/shortest-path.ts';
import { VertexTable } from '../../functions/paths/vertex-table.ts';
import type { ExecutionContext } from '../../operators/operator.ts';
import { rowsOf, rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';

/**
 * `shortestPath()` and `allShortestPaths()` of openCypher (cypher.md 4.6): breadth first from one bound node to another. Each row
 * holds the relationships of one path in the order in which they are walked. No text can name this procedure.
 */
export const shortestPathProcedure: Procedure = {
  name: '#path.shortest',
  signature: {
    description: 'Relationships of the shortest paths between two nodes',
    parameters: ['from', 'to', 'types', 'direction', 'min', 'max', 'count', 'properties'].map(
      (name) => ({ name, type: 'ANY' }),
    ),
    columns: [{ name: 'relationships', type: 'LIST' }],
  },
  effects: [],
  start: (args, context) => rowsOf(pathRows(args, context)),
};

/** Work between two pauses, in units of some microseconds. */
const unitsPerTurn = 1_000;

/** Counts the units of a turn; a call of `isSpent` that answers true begins the next one. */
export function turnMeter(): WorkMeter {
  let left = unitsPerTurn;
  return {
    isSpent(units) {
      left -= units;
      if (left > 0) return false;
      left = unitsPerTurn;
      return true;
    },
  };
}

interface Wanted {
  readonly from: Rid;
  readonly to: Rid;
  readonly direction: PathDirection;
  readonly max: number;
  readonly isAll: boolean;
  readonly properties: ValueMap | undefined;
}

function* pathRows(
  args: readonly Value[],
  context: ExecutionContext,
): Generator<ValueMap | 'pause', void, undefined> {
  const [from, to, types, direction, min, max, count, properties] = args;
  if (!isNode(from) || !isNode(to)) return;
  if (from.rid === to.rid) {
    if (min === 0) yield rowWith({ relationships: [] });
    return;
  }
  const names = types !== undefined && isList(types) ? types.map(String) : undefined;
  // A list without names is of types that are not there.
  if (names?.length === 0) return;
  const search = new GraphSearch(
    context,
    edgeTypesNamed(names ?? [], context.view.catalog),
    turnMeter(),
  );
  const wanted: Wanted = {
    from: from.rid,
    to: to.rid,
    direction: direction as PathDirection,
    max: typeof max === 'number' ? max : Number.POSITIVE_INFINITY,
    isAll: count === 'all',
    properties:
      properties !== undefined && isMap(properties) && properties.size > 0 ? properties : undefined,
  };
  try {
    const isPlain = !wanted.isAll && wanted.properties === undefined;
    yield* isPlain ? onePath(wanted, search, context) : allPaths(wanted, search, context);
  } finally {
    search.close();
  }
}

function isNode(value: Value | undefined): value is StoredRecord {
  return value !== undefined && isRecord(value) && value.kind === 'vertex';
}

function* onePath(
  { from, to, direction, max }: Wanted,
  search: GraphSearch,
  context: ExecutionContext,
): Generator<ValueMap | 'pause', void, undefined> {
  const work = shortestPath(from, to, search, { direction, maxDepth: max, withEdges: true });
  for (;;) {
    const step = work.next();
    if (step.done !== true) {
      yield 'pause';
      continue;
    }
    const edges = step.value.filter((_, at) => at % 2 === 1);
    if (edges.length > 0) yield rowWith({ relationships: recordsOf(edges, context) });
    return;
  }
}

function recordsOf(edges: readonly Rid[], { view }: ExecutionContext): readonly Value[] {
  return edges.map((edge) => view.record(edge) ?? null);
}

/** One way into a vertex from the level before it. */
interface Way {
  readonly from: number;
  readonly edge: Rid;
}

/** Level by level from the source, remembering every way into a vertex from the level before; then back from the target. */
function* allPaths(
  wanted: Wanted,
  search: GraphSearch,
  context: ExecutionContext,
): Generator<ValueMap | 'pause', void, undefined> {
  const { from, to, direction, max, properties, isAll } = wanted;
  const vertices = new VertexTable();
  const ways: Way[][] = [[]];
  const depths: number[] = [0];
  vertices.add(from);
  let frontier: readonly number[] = [0];
  for (let depth = 1; depth <= max && frontier.length > 0; depth += 1) {
    const next: number[] = [];
    for (const number of frontier) {
      search.start(vertices.ridOf(number), direction);
      while (search.next()) {
        if (search.isSpent()) yield 'pause';
        const { edge } = search;
        if (properties !== undefined && !hasProperties(edge, properties, context)) continue;
        const met = vertices.add(search.neighbour);
        if (met === depths.length) {
          depths.push(depth);
          ways.push([]);
          next.push(met);
        }
        if (depths[met] !== depth) continue;
        search.remember();
        (ways[met] as Way[]).push({ from: number, edge });
      }
    }
    const target = vertices.numberOf(to);
    if (target >= 0) {
      yield* routesBack(target, ways, isAll, context);
      return;
    }
    frontier = next;
  }
}

function hasProperties(edge: Rid, properties: ValueMap, { view }: ExecutionContext): boolean {
  const record = view.record(edge);
  if (record === undefined) return false;
  for (const [name, value] of properties)
    if (cypherEquals(record.get(name) ?? null, value) !== true) return false;
  return true;
}

/** All ways back to the source, last edge first, on a stack of positions. */
function* routesBack(
  target: number,
  ways: readonly (readonly Way[])[],
  isAll: boolean,
  context: ExecutionContext,
): Generator<ValueMap | 'pause', void, undefined> {
  const stack: { readonly vertex: number; position: number }[] = [{ vertex: target, position: 0 }];
  const edges: Rid[] = [];
  for (;;) {
    const top = stack.at(-1);
    if (top === undefined) return;
    const way = ways[top.vertex]?.[top.position];
    if (top.vertex !== 0 && way !== undefined) {
      top.position += 1;
      edges.push(way.edge);
      stack.push({ vertex: way.from, position: 0 });
      continue;
    }
    if (top.vertex === 0) {
      yield rowWith({ relationships: recordsOf([...edges].reverse(), context) });
      if (!isAll) return;
    }
    stack.pop();
    edges.pop();
  }
}
