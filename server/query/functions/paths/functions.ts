import { DatabaseError } from '#core/errors.ts';
import type { Rid } from '#core/value/rid.ts';
import { double, isList, isMap, type Value } from '#core/value/value.ts';
import type { EvaluationContext, LongWork, WorkMeter } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { unitsPerBody } from '../../evaluate/turns/long-calls.ts';
import {
  booleanArgument,
  describe,
  integerArgument,
  isNumeric,
  numberArgument,
  optionsArgument,
  refusal,
  textArgument,
  toDouble,
  wordArgument,
} from '../arguments.ts';
import { longScalar } from '../define.ts';
import { edgeTypesNamed } from '../graph/edge-types.ts';
import {
  GraphSearch,
  linksOf,
  type PathDirection,
  type PathSteps,
  vertexArgument,
} from './graph-search.ts';
import { estimate, heuristicNames, tieBreaker } from './heuristics.ts';
import { shortestPath } from './shortest-path.ts';
import { bellmanFordPath, weightedPath, type WeightedPathOptions } from './weighted-path.ts';

type Options = ReadonlyMap<string, Value>;

/** Paths between two vertices (sql-functions.md 4.1). Results are record ids from source to destination. */
export const pathFunctions: readonly ScalarFunction[] = [
  longScalar('shortestPath(src, dst [, direction [, edgeTypes [, options]]])', [2, 5], fewestEdges),
  longScalar(
    'dijkstra(src, dst, weightProp [, direction | options])',
    [3, 4],
    (args, context, meter) => leastWeight(args, { context, meter }, 'dijkstra()'),
  ),
  longScalar('astar(src, dst, weightProp [, options])', [3, 4], guided),
  longScalar('bellmanFord(src, dst, weightProp [, direction | options])', [3, 4], relaxed),
  longScalar(
    "duanSSSP(src, dst [, weightProp='weight' [, direction]])",
    [2, 4],
    (args, context, meter) =>
      leastWeight(
        [args[0] as Value, args[1] as Value, args[2] ?? 'weight', args[3] ?? null],
        { context, meter },
        'duanSSSP()',
      ),
  ),
];

/** The links of a path; the search is closed at its end, also when nobody wants it any more. */
function* linksAlong(search: GraphSearch, steps: PathSteps): LongWork {
  try {
    return linksOf(yield* steps);
  } finally {
    search.close();
  }
}

function* relaxed(args: readonly Value[], context: EvaluationContext, meter: WorkMeter): LongWork {
  const what = 'bellmanFord()';
  const { source, destination } = ends(args, context);
  const { direction } = directionOrOptions(args[3] ?? null, ['direction'], what);
  const search = new GraphSearch(context, edgeTypesNamed([], context.view.catalog), meter);
  const weightProperty = textArgument(args[2], what);
  const steps = bellmanFordPath(source, destination, search, { weightProperty, direction });
  return yield* linksAlong(search, steps);
}

function ends(
  args: readonly Value[],
  context: EvaluationContext,
): { readonly source: Rid; readonly destination: Rid } {
  return {
    source: vertexArgument(args[0] as Value, 'sourceVertex', context),
    destination: vertexArgument(args[1] as Value, 'destinationVertex', context),
  };
}

const shortestPathOptions = ['direction', 'edgeType', 'edgeTypeNames', 'maxDepth', 'edge'];

function* fewestEdges(
  args: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
): LongWork {
  const what = 'shortestPath()';
  const { source, destination } = ends(args, context);
  const isByOptions = isMap(args[2] ?? null);
  if (isByOptions && args.length > 3)
    throw refusal(`${what}: nothing may follow the options in the third place`);
  const given = (isByOptions ? args[2] : args[4]) ?? null;
  const options: Options =
    given === null ? new Map() : optionsArgument(given, what, shortestPathOptions);
  const direction = (isByOptions ? null : args[2]) ?? options.get('direction') ?? 'BOTH';
  const types = args[3] ?? options.get('edgeTypeNames') ?? options.get('edgeType') ?? null;
  const search = new GraphSearch(
    context,
    edgeTypesNamed(namesIn(types, what), context.view.catalog),
    meter,
  );
  const steps = shortestPath(source, destination, search, {
    direction: directionNamed(direction, what),
    maxDepth: depthIn(options, what),
    withEdges: booleanArgument(options.get('edge') ?? false, `${what} option edge`),
  });
  return yield* linksAlong(search, steps);
}

function* leastWeight(
  args: readonly Value[],
  { context, meter }: { readonly context: EvaluationContext; readonly meter: WorkMeter },
  what: string,
): LongWork {
  const { source, destination } = ends(args, context);
  const { direction, options } = directionOrOptions(
    args[3] ?? null,
    ['direction', 'edgeTypeNames', 'maxDepth', 'emptyIfMaxDepth'],
    what,
  );
  const types = edgeTypesNamed(
    namesIn(options.get('edgeTypeNames') ?? null, what),
    context.view.catalog,
  );
  const search = new GraphSearch(context, types, meter);
  const steps = weightedPath(source, destination, search, {
    weightProperty: textArgument(args[2], what),
    direction,
    maxDepth: depthIn(options, what),
    emptyIfMaxDepth: booleanArgument(options.get('emptyIfMaxDepth') ?? true, what),
    remainingCost: () => 0,
  });
  return yield* linksAlong(search, steps);
}

const astarOptions = [
  'direction',
  'edgeTypeNames',
  'vertexAxisNames',
  'heuristicFormula',
  'customHeuristicFormula',
  'dFactor',
  'tieBreaker',
  'maxDepth',
  'emptyIfMaxDepth',
  'parallel',
];

/** @param heuristic full name of a function of the schema that estimates the cost that remains */
export function* guided(
  args: readonly Value[],
  context: EvaluationContext,
  meter: WorkMeter,
  heuristic?: string,
): LongWork {
  const what = 'astar()';
  const { source, destination } = ends(args, context);
  const { direction, options } = directionOrOptions(args[3] ?? null, astarOptions, what);
  const types = edgeTypesNamed(
    namesIn(options.get('edgeTypeNames') ?? null, what),
    context.view.catalog,
  );
  const search = new GraphSearch(context, types, meter);
  const steps = weightedPath(source, destination, search, {
    weightProperty: textArgument(args[2], what),
    direction,
    maxDepth: depthIn(options, what),
    emptyIfMaxDepth: booleanArgument(options.get('emptyIfMaxDepth') ?? false, what),
    remainingCost:
      heuristic === undefined
        ? heuristicOf(options, source, destination, search)
        : askedHeuristic(heuristic, { source, destination, options }, context, meter),
  });
  return yield* linksAlong(search, steps);
}

function heuristicOf(
  options: Options,
  source: Rid,
  destination: Rid,
  search: GraphSearch,
): (vertex: Rid) => number {
  const what = 'astar()';
  const name = wordArgument(options.get('heuristicFormula') ?? 'MANHATTAN', what, heuristicNames);
  if (name === 'CUSTOM')
    throw refusal(
      `${what}: heuristicFormula CUSTOM needs customHeuristicFormula, both written as texts in the call`,
    );
  const axes = namesIn(options.get('vertexAxisNames') ?? null, what);
  if (axes.length === 0) return () => 0;
  const factor = numberArgument(options.get('dFactor') ?? 1, what);
  const breaksTies = booleanArgument(options.get('tieBreaker') ?? true, what);
  const place = (vertex: Rid) => axes.map((axis) => search.coordinate(vertex, axis));
  const start = place(source);
  const goal = place(destination);
  return (vertex) => {
    const at = place(vertex);
    const rest = estimate(name, at, goal, factor);
    return breaksTies ? rest + tieBreaker(at, start, goal) : rest;
  };
}

/**
 * An estimate by a function of the schema. It is given what the reference gives: names of the coordinates, source, destination, the
 * vertex, the one before it, the number of edges so far, and `dFactor`.
 */
function askedHeuristic(
  name: string,
  way: { readonly source: Rid; readonly destination: Rid; readonly options: Options },
  context: EvaluationContext,
  meter: WorkMeter,
): WeightedPathOptions['remainingCost'] {
  const what = 'astar()';
  const axes = namesIn(way.options.get('vertexAxisNames') ?? null, what);
  const factor = double(numberArgument(way.options.get('dFactor') ?? 1, what));
  const vertexOf = (rid: Rid): Value => context.view.record(rid) ?? null;
  return function* (vertex, before, edgeCount) {
    if (meter.isSpent(unitsPerBody)) yield;
    const { callFunction } = context;
    if (callFunction === undefined)
      throw new DatabaseError('NotSupported', `not supported here: function '${name}'`);
    const ends = [vertexOf(way.source), vertexOf(way.destination)];
    const given = [axes, ...ends, vertexOf(vertex), vertexOf(before), edgeCount, factor];
    const estimate = yield* callFunction(name, given);
    if (estimate === null) return 0;
    if (!isNumeric(estimate))
      throw refusal(`${what}: function '${name}' must give a number, not ${describe(estimate)}`);
    return toDouble(estimate);
  };
}

function directionOrOptions(
  value: Value,
  allowed: readonly string[],
  what: string,
): { readonly direction: PathDirection; readonly options: Options } {
  if (!isMap(value))
    return { direction: directionNamed(value ?? 'OUT', what), options: new Map<string, Value>() };
  const options = optionsArgument(value, what, allowed);
  return { direction: directionNamed(options.get('direction') ?? 'OUT', what), options };
}

function directionNamed(value: Value, what: string): PathDirection {
  return wordArgument(value, `${what} direction`, ['OUT', 'IN', 'BOTH']);
}

function namesIn(value: Value, what: string): readonly string[] {
  if (value === null) return [];
  return isList(value)
    ? value.map((name) => textArgument(name, what))
    : [textArgument(value, what)];
}

/** Null and negative numbers mean no limit. */
function depthIn(options: Options, what: string): number {
  const value = options.get('maxDepth') ?? null;
  if (value === null) return Infinity;
  const depth = integerArgument(value, `${what} option maxDepth`);
  return depth < 0 ? Infinity : depth;
}
