import type { StoredRecord } from '#core/value/record.ts';
import type { Rid } from '#core/value/rid.ts';
import { isList, isMap, isRecord, type Value, type ValueMap } from '#core/value/value.ts';
import type { WorkMeter } from '#core/pausing-work.ts';
import { doneWork, unitsAtOnce } from '../../evaluate/turns/done-work.ts';
import { cypherEquals } from '../../evaluate/comparison/cypher-comparison.ts';
import { edgeTypesNamed } from '../../functions/graph/edge-types.ts';
import { GraphSearch, type PathDirection } from '../../functions/paths/graph-search.ts';
import { shortestPath } from '../../functions/paths/shortest-path.ts';
import { VertexTable } from '../../functions/paths/vertex-table.ts';
import type { ExecutionContext } from '../../operators/operator.ts';
import { rowsOf, rowWith } from '../define.ts';
import type { Procedure } from '../procedure.ts';
import { closedPaths } from './closed-paths.ts';
import { routesTo, type Way } from './ways.ts';

/** What a search from a node to itself finds: nothing, as the functions do, or the paths that the selectors choose from. */
export type ClosedPaths = 'none' | 'trail' | 'walk';

/**
 * `shortestPath()` and `allShortestPaths()` of openCypher and the selectors of GQL (cypher.md 4.6): breadth first from one bound
 * node to another. Each row holds the relationships of one path in the order in which they are walked. No text can name this
 * procedure.
 */
export const shortestPathProcedure: Procedure = {
  name: '#path.shortest',
  signature: {
    description: 'Relationships of the shortest paths between two nodes',
    parameters: [
      'from',
      'to',
      'types',
      'direction',
      'min',
      'max',
      'count',
      'properties',
      'closed',
    ].map((name) => ({ name, type: 'ANY' })),
    columns: [{ name: 'relationships', type: 'LIST' }],
  },
  effects: [],
  start: (args, context) => rowsOf(pathRows(args, context)),
};

/** Work between two pauses, in units of some microseconds. */
const unitsPerTurn = 1_024;

/** One of them beside an element of a loop; many searches that are short each end a turn together. */
const doneUnitsPerUnit = unitsAtOnce / unitsPerTurn;

/** Counts the units of a turn; a call of `isSpent` that answers true begins the next one. */
export function turnMeter(): WorkMeter {
  let left = unitsPerTurn;
  return {
    isSpent(units) {
      doneWork.units += units * doneUnitsPerUnit;
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
  const [from, to, types, direction, min, max, count, properties, closed] = args;
  if (!isNode(from) || !isNode(to)) return;
  const isClosed = from.rid === to.rid;
  if (isClosed && (min === 0 || closed === 'none')) {
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
    if (isClosed) {
      yield* closedRows(wanted, search, { context, isWalk: closed === 'walk' });
      return;
    }
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

function* closedRows(
  { from, direction, max, isAll, properties }: Wanted,
  search: GraphSearch,
  { context, isWalk }: { readonly context: ExecutionContext; readonly isWalk: boolean },
): Generator<ValueMap | 'pause', void, undefined> {
  const accepts = (edge: Rid) =>
    properties === undefined || hasProperties(edge, properties, context);
  for (const edges of closedPaths({ source: from, direction, max, isWalk, accepts }, search)) {
    if (edges === 'pause') {
      yield edges;
      continue;
    }
    yield rowWith({ relationships: recordsOf(edges, context) });
    if (!isAll) return;
  }
}

function recordsOf(edges: readonly Rid[], { view }: ExecutionContext): readonly Value[] {
  return edges.map((edge) => view.record(edge) ?? null);
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
      for (const edges of routesTo(target, ways)) {
        yield rowWith({ relationships: recordsOf(edges, context) });
        if (!isAll) return;
      }
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
