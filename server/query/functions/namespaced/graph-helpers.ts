import { labelsOf } from '#catalog/labels.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { isList, isRecord, type Value } from '#core/value/value.ts';
import type { Direction } from '#storage/engine.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { describe, refusal, textArgument, wordArgument } from '../arguments.ts';
import { type ArgumentCount, nullSafe } from '../define.ts';
import { edgeTypesNamed } from '../graph/edge-types.ts';
import { followed } from '../graph/navigation.ts';

/** `node.*` and `rel.*` (sql-functions.md 9): questions about one vertex or one edge. */
export const graphHelpers: readonly ScalarFunction[] = [
  onVertex('id(n)', [1, 1], (vertex) => vertex.rid),
  onVertex('labels(n)', [1, 1], (vertex, _, context) => [
    ...labelsOf(context.view.catalog, vertex.type),
  ]),
  onVertex('degree(n [, types [, direction]])', [1, 3], (vertex, args, context) =>
    degreeOf(vertex, args, directionsOf(args[2]), context),
  ),
  onVertex('degree.in(n [, types])', [1, 2], (vertex, args, context) =>
    degreeOf(vertex, args, ['in'], context),
  ),
  onVertex('degree.out(n [, types])', [1, 2], (vertex, args, context) =>
    degreeOf(vertex, args, ['out'], context),
  ),
  onVertex(
    'relationship.exists(n [, types [, direction]])',
    [1, 3],
    (vertex, args, context) => degreeOf(vertex, args, directionsOf(args[2]), context) > 0,
  ),
  onVertex('relationship.types(n [, direction])', [1, 2], (vertex, args, context) => {
    const { catalog } = context.view;
    const names: string[] = [];
    for (const type of edgeTypesNamed([], catalog))
      if (directionsOf(args[1]).some((side) => context.view.degree(vertex.rid, side, type) > 0))
        names.push(catalog.typeWithId(type).name);
    return names;
  }),
  onEdge('id', (edge) => edge.rid),
  onEdge('type', (edge) => edge.typeName),
  onEdge('startNode', (edge, context) => context.view.record(edge.out) ?? null),
  onEdge('endNode', (edge, context) => context.view.record(edge.in) ?? null),
];

type OnVertex = (vertex: StoredRecord, args: readonly Value[], context: EvaluationContext) => Value;

function onVertex(syntax: string, count: ArgumentCount, evaluate: OnVertex): ScalarFunction {
  const what = `node.${syntax.slice(0, syntax.indexOf('('))}()`;
  return nullSafe(`node.${syntax}`, count, (args, context) =>
    evaluate(recordOf(args[0] as Value, 'vertex', what, context), args, context),
  );
}

function onEdge(
  name: string,
  evaluate: (edge: StoredRecord, context: EvaluationContext) => Value,
): ScalarFunction {
  return nullSafe(`rel.${name}(r)`, [1, 1], (args, context) =>
    evaluate(recordOf(args[0] as Value, 'edge', `rel.${name}()`, context), context),
  );
}

function recordOf(
  value: Value,
  kind: 'vertex' | 'edge',
  what: string,
  context: EvaluationContext,
): StoredRecord {
  const record = followed(value, context);
  if (!isRecord(record) || record.kind !== kind)
    throw refusal(`${what} requires a record of kind ${kind}, not ${describe(value)}`);
  return record;
}

function directionsOf(value: Value | undefined): readonly Direction[] {
  const word = wordArgument(value ?? 'BOTH', 'direction', ['OUT', 'IN', 'BOTH']);
  return word === 'BOTH' ? ['out', 'in'] : [word === 'OUT' ? 'out' : 'in'];
}

function degreeOf(
  vertex: StoredRecord,
  args: readonly Value[],
  directions: readonly Direction[],
  context: EvaluationContext,
): number {
  const named = args[1] ?? null;
  const list = named === null ? [] : isList(named) ? named : [named];
  const names = list.map((name) => textArgument(name, 'node.degree()'));
  let degree = 0;
  for (const type of edgeTypesNamed(names, context.view.catalog))
    for (const direction of directions) degree += context.view.degree(vertex.rid, direction, type);
  return degree;
}
