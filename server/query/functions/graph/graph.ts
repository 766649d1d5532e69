import { Link, type StoredRecord } from '#core/value/record.ts';
import type { Rid, TypeId } from '#core/value/rid.ts';
import { isList, isRecord, type Value } from '#core/value/value.ts';
import type { Direction } from '#storage/engine.ts';
import type { EvaluationContext, LongWork, WorkMeter } from '../../evaluate/context.ts';
import { longValue, unitsPerLookup } from '../../evaluate/turns/long-calls.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { RecordReference } from '../../operators/record-reference.ts';
import { textArgument } from '../arguments.ts';
import { requireElements } from '../number/bounds.ts';
import { alias, ANY_NUMBER, nullSafe } from '../define.ts';
import { textSearchNames } from '../search/text-functions.ts';
import { edgeTypesNamed } from './edge-types.ts';

/**
 * Moves along edges (sql-functions.md 4), as functions whose first argument is the current record (the analyzer passes it)
 * and as methods. Links are followed; on a collection the results are flattened by one level; on anything else than a
 * vertex (an edge for the V forms) they are null. Results are full records in adjacency order, types in id order.
 */
const moves: readonly ScalarFunction[] = [
  vertexMove('out', ['out'], 'vertices'),
  vertexMove('in', ['in'], 'vertices'),
  vertexMove('both', ['out', 'in'], 'vertices'),
  vertexMove('outE', ['out'], 'edges'),
  vertexMove('inE', ['in'], 'edges'),
  vertexMove('bothE', ['out', 'in'], 'edges'),
  edgeMove('outV', (edge, context) => endOf(edge.out, context)),
  edgeMove('inV', (edge, context) => endOf(edge.in, context)),
  edgeMove('bothV', (edge, context) => [endOf(edge.out, context), endOf(edge.in, context)]),
];

export const graphFunctions: readonly ScalarFunction[] = moves;

export const graphMethods: readonly ScalarFunction[] = moves.map((move) =>
  alias(`.${move.name}`, move),
);

/** Lower-case names of the functions that get the current record as an additional first argument from the analyzer. */
export const currentRecordFunctions: ReadonlySet<string> = new Set([
  ...moves.map((move) => move.name.toLowerCase()),
  'eval',
  ...textSearchNames,
]);

type Follow = (record: StoredRecord, types: readonly TypeId[], context: EvaluationContext) => Value;

function vertexMove(
  name: string,
  directions: readonly Direction[],
  yields: 'vertices' | 'edges',
): ScalarFunction {
  const what = `${name}()`;
  const follow: Follow = (vertex, types, context) => {
    const found: Value[] = [];
    for (const direction of directions)
      collect(vertex.rid, direction, types, yields, found, context);
    return found;
  };
  // Apart, so that a move at once, which is made for each row, makes no closures.
  const inSlices = (from: Value, types: readonly TypeId[], context: EvaluationContext): Value => {
    const { longCalls } = context;
    return isShort(from) && longCalls !== undefined
      ? // A list of all neighbours of a hub is not made anew in each turn.
        longCalls.result(follow, () => movedAtOnce(from, types, follow, context, longCalls))
      : longValue(context, follow, what, (meter) =>
          movedStepwise(from as readonly Value[], types, follow, context, meter),
        );
  };
  const definition = nullSafe(`${name}(type...)`, [1, ANY_NUMBER], (args, context) => {
    const types = edgeTypesNamed(typeNames(args, name), context.view.catalog);
    const from = args[0] as Value;
    return context.longCalls === undefined && isShort(from)
      ? moved(from, 'vertex', types, follow, context)
      : inSlices(from, types, context);
  });
  return { ...definition, worksInTurns: true };
}

/** What is moved from in one go. */
function isShort(from: Value): boolean {
  return !isList(from) || from.length <= shortListLength;
}

function edgeMove(
  name: string,
  end: (edge: StoredRecord, context: EvaluationContext) => Value,
): ScalarFunction {
  const follow: Follow = (edge, _, context) => end(edge, context);
  return nullSafe(`${name}()`, [1, ANY_NUMBER], (args, context) =>
    moved(args[0] as Value, 'edge', [], follow, context),
  );
}

/** Moves from so many vertices are made in slices. */
const shortListLength = 16;

/** From few vertices: work that is counted and remembered, not shared out. */
function* movedAtOnce(
  from: Value,
  types: readonly TypeId[],
  follow: Follow,
  context: EvaluationContext,
  meter: WorkMeter,
): LongWork {
  const found = moved(from, 'vertex', types, follow, context);
  const vertexCount = isList(from) ? from.length : 1;
  const foundCount = isList(found) ? found.length : 0;
  if (meter.isSpent(foundCount + unitsPerLookup * types.length * vertexCount)) yield;
  return found;
}

/** As `movedAll` from vertices. */
function* movedStepwise(
  values: readonly Value[],
  types: readonly TypeId[],
  follow: Follow,
  context: EvaluationContext,
  meter: WorkMeter,
): LongWork {
  const all: Value[] = [];
  for (let i = 0; i < values.length; i++) {
    const before = all.length;
    const found = moved(values[i] as Value, 'vertex', types, follow, context);
    if (isList(found)) for (let j = 0; j < found.length; j++) all.push(found[j] as Value);
    else if (found !== null) all.push(found);
    requireElements(all.length, 'a graph move', context);
    const lookups = 1 + types.length;
    if (meter.isSpent(all.length - before + unitsPerLookup * lookups)) yield;
  }
  return all;
}

function typeNames(args: readonly Value[], what: string): readonly string[] {
  if (args.length === 1) return [];
  const names: string[] = [];
  for (let i = 1; i < args.length; i++) {
    const argument = args[i] as Value;
    if (argument === null) continue;
    if (isList(argument)) for (const name of argument) names.push(textArgument(name, `${what}()`));
    else names.push(textArgument(argument, `${what}()`));
  }
  return names;
}

function moved(
  value: Value,
  kind: 'vertex' | 'edge',
  types: readonly TypeId[],
  follow: Follow,
  context: EvaluationContext,
): Value {
  if (isList(value)) return movedAll(value, kind, types, follow, context);
  const record = value instanceof Link ? context.view.record(value.rid) : value;
  return record !== undefined && isRecord(record) && record.kind === kind
    ? follow(record, types, context)
    : null;
}

function movedAll(
  values: readonly Value[],
  kind: 'vertex' | 'edge',
  types: readonly TypeId[],
  follow: Follow,
  context: EvaluationContext,
): Value {
  const all: Value[] = [];
  for (let i = 0; i < values.length; i++) {
    const element = values[i] as Value;
    const found = moved(element, kind, types, follow, context);
    if (isList(found)) for (let j = 0; j < found.length; j++) all.push(found[j] as Value);
    else if (found !== null) all.push(found);
    requireElements(all.length, 'a graph move', context);
  }
  return all;
}

function endOf(rid: Rid, context: EvaluationContext): Value {
  return context.view.record(rid) ?? null;
}

function collect(
  vertex: Rid,
  direction: Direction,
  types: readonly TypeId[],
  yields: 'vertices' | 'edges',
  found: Value[],
  context: EvaluationContext,
): void {
  for (let t = 0; t < types.length; t++) {
    const list = context.view.adjacency(vertex, direction, types[t] as TypeId);
    if (list.count === 0) continue;
    requireElements(found.length + list.count, 'a graph move', context);
    const rids = list[yields];
    // Most of them are only counted, compared or walked on from: records are read when somebody looks into them.
    for (let i = 0; i < list.count; i++)
      found.push(new RecordReference(context.view, rids[i] as Rid));
  }
}
