import {
  labelsOf,
  MissingTypes,
  missingForLabels,
  noLabelType,
  typeOfLabels,
} from '#catalog/labels.ts';
import type { Effect } from '#core/effects.ts';
import { DatabaseError } from '#core/errors.ts';
import { valuesOf } from '#core/value/integer-width.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { bucketOf, type Rid } from '#core/value/rid.ts';
import { isList, isMap, isRecord, type Value, type ValueMap } from '#core/value/value.ts';
import { vetoed } from '#transaction/trigger/trigger-runner.ts';
import { cypherEquals } from '../evaluate/comparison/cypher-comparison.ts';
import { LiveRecord } from '../evaluate/live-record.ts';
import { edgeTypesNamed } from '../functions/graph/edge-types.ts';
import type { ExecutionContext } from '../operators/operator.ts';
import { transactionOf } from '../operators/write/writing.ts';
import { argumentFault, reading, rowWith } from './define.ts';
import type { Procedure } from './procedure.ts';

/** `refactor.*` (cypher.md 10): nodes made one, and copies of nodes with their relationships. */

type Rows = Generator<ValueMap | 'pause', void, undefined>;

const writes: readonly Effect[] = ['insert', 'update', 'delete'];

export const refactorProcedures: readonly Procedure[] = [
  {
    ...reading({
      name: 'refactor.mergeNodes',
      description: 'Makes nodes one: the first stays, and has the relationships of all',
      parameters: [
        { name: 'nodes', type: 'LIST' },
        { name: 'config', type: 'MAP', default: null },
      ],
      columns: { node: 'NODE' },
      rows: mergeNodes,
    }),
    effects: writes,
  },
  {
    ...reading({
      name: 'refactor.cloneNodesWithRelationships',
      description: 'Copies of nodes with their relationships',
      parameters: [
        { name: 'nodes', type: 'LIST' },
        { name: 'config', type: 'MAP', default: null },
      ],
      columns: { input: 'INTEGER', output: 'NODE', error: 'STRING' },
      rows: cloneNodes,
    }),
    effects: writes,
  },
];

function nodesIn(value: Value): readonly StoredRecord[] {
  const nodes = new Map<Rid, StoredRecord>();
  for (const item of value !== null && isList(value) ? value : [value]) {
    if (item === null || !isRecord(item) || item.kind !== 'vertex')
      throw argumentFault('refactor.* takes a list of nodes');
    if (!nodes.has(item.rid)) nodes.set(item.rid, item);
  }
  return [...nodes.values()];
}

function optionsIn(value: Value): ValueMap {
  if (value === null) return new Map();
  if (isMap(value)) return value;
  throw argumentFault('the options of refactor.* must be a map');
}

type Keeping = 'overwrite' | 'discard' | 'combine';

function keepingOf(options: ValueMap): Keeping {
  const word = options.get('properties') ?? 'overwrite';
  if (word === 'overwrite' || word === 'discard' || word === 'combine') return word;
  throw argumentFault("'properties' must be overwrite, discard or combine");
}

function* mergeNodes(
  [list = null, config = null]: readonly Value[],
  context: ExecutionContext,
): Rows {
  const nodes = nodesIn(list);
  const keeping = keepingOf(optionsIn(config));
  const [first, ...others] = nodes;
  if (first === undefined) return;
  const transaction = transactionOf(context);
  requireTypes(nodes, first, context);
  const properties = new Map(current(first, context));
  for (const other of others)
    for (const [name, value] of current(other, context)) keep(properties, name, value, keeping);
  const merged = new Set(nodes.map(({ rid }) => rid));
  for (const other of others) {
    yield* moveEdges(other.rid, first.rid, merged, context);
    context.requireWrite?.('delete', other.typeName);
    if (transaction.delete(other.rid)) context.statistics.nodesDeleted += 1;
    yield 'pause';
  }
  context.requireWrite?.('update', first.typeName);
  takeLabels(nodes, first.rid, context);
  transaction.update(first.rid, properties);
  context.statistics.propertiesSet += properties.size;
  yield rowWith({ node: live(first.rid, context) });
}

function current(node: StoredRecord, { view }: ExecutionContext): ValueMap {
  const record = view.record(node.rid);
  if (record === undefined) throw argumentFault('refactor.* of a node that has been deleted');
  return valuesOf(record);
}

function keep(into: Map<string, Value>, name: string, value: Value, keeping: Keeping): void {
  const known = into.get(name) ?? null;
  if (known === null || keeping === 'overwrite') into.set(name, value);
  else if (keeping === 'combine' && cypherEquals(known, value) !== true) {
    const all = isList(known) ? [...known] : [known];
    for (const item of value !== null && isList(value) ? value : [value])
      if (!all.some((one) => cypherEquals(one, item) === true)) all.push(item);
    into.set(name, all);
  }
}

/** Labels of all nodes, when the survivor is to have them. */
function labelsOfAll(
  nodes: readonly StoredRecord[],
  { view }: ExecutionContext,
): readonly string[] {
  const labels = new Set<string>();
  for (const { type } of nodes)
    for (const label of labelsOf(view.catalog, type)) if (label !== noLabelType) labels.add(label);
  return [...labels].sort();
}

/** Types that are missing are made before anything is written: the statement is run again then. */
function requireTypes(
  nodes: readonly StoredRecord[],
  first: StoredRecord,
  context: ExecutionContext,
): void {
  const labels = labelsOfAll(nodes, context);
  const { catalog } = transactionOf(context);
  const missing = missingForLabels(catalog, labels, bucketOf(first.rid));
  if (missing.length > 0) throw new MissingTypes([...missing]);
}

function takeLabels(nodes: readonly StoredRecord[], into: Rid, context: ExecutionContext): void {
  const transaction = transactionOf(context);
  const type = typeOfLabels(transaction.catalog, labelsOfAll(nodes, context));
  const own = context.view.record(into)?.type;
  if (type !== undefined && own !== undefined && type.id !== own)
    transaction.setType(into, type.id);
}

interface EdgePlace {
  readonly edge: StoredRecord;
  readonly out: Rid;
  readonly in: Rid;
}

/** Relationships of the node, each once. */
function edgesOf(node: Rid, { view }: ExecutionContext): readonly EdgePlace[] {
  const found = new Map<Rid, EdgePlace>();
  for (const type of edgeTypesNamed([], view.catalog)) {
    if (view.catalog.typeWithId(type).lightweight)
      throw new DatabaseError(
        'NotSupported',
        'not supported: refactor.* with edges without records',
      );
    for (const direction of ['out', 'in'] as const) {
      const { count, edges } = view.adjacency(node, direction, type);
      for (let at = 0; at < count; at += 1) {
        const edge = view.record(edges[at] as Rid);
        if (edge !== undefined) found.set(edge.rid, { edge, out: edge.out, in: edge.in });
      }
    }
  }
  return [...found.values()];
}

const edgesPerTurn = 64;

function* moveEdges(
  from: Rid,
  to: Rid,
  merged: ReadonlySet<Rid>,
  context: ExecutionContext,
): Generator<'pause', void, undefined> {
  const transaction = transactionOf(context);
  let count = 0;
  for (const { edge, out, in: into } of edgesOf(from, context)) {
    const ends = [out, into].map((end) => (end === from || merged.has(end) ? to : end));
    insertCopy(edge, ends[0] as Rid, ends[1] as Rid, context);
    context.requireWrite?.('delete', edge.typeName);
    transaction.delete(edge.rid);
    context.statistics.relationshipsDeleted += 1;
    count += 1;
    if (count % edgesPerTurn === 0) yield 'pause';
  }
}

function insertCopy(edge: StoredRecord, out: Rid, into: Rid, context: ExecutionContext): void {
  const properties = valuesOf(edge);
  const made = transactionOf(context).insertEdge(edge.type, out, into, new Map(properties));
  if (made === vetoed) return;
  context.statistics.relationshipsCreated += 1;
  context.statistics.propertiesSet += properties.size;
}

function live(rid: Rid, context: ExecutionContext): Value {
  const record = context.view.record(rid);
  return record === undefined ? null : new LiveRecord(record, context);
}

function* cloneNodes(
  [list = null, config = null]: readonly Value[],
  context: ExecutionContext,
): Rows {
  const transaction = transactionOf(context);
  const skipped = optionsIn(config).get('skipProperties') ?? null;
  const names = new Set(skipped !== null && isList(skipped) ? skipped : []);
  for (const node of nodesIn(list)) {
    const properties = new Map([...current(node, context)].filter(([name]) => !names.has(name)));
    const copy = transaction.insertVertex(node.type, properties);
    if (copy === vetoed) continue;
    context.statistics.nodesCreated += 1;
    context.statistics.propertiesSet += properties.size;
    context.statistics.labelsAdded += labelsOf(context.view.catalog, node.type).length;
    let count = 0;
    for (const { edge, out, in: into } of edgesOf(node.rid, context)) {
      const ends = [out, into].map((end) => (end === node.rid ? copy.rid : end));
      insertCopy(edge, ends[0] as Rid, ends[1] as Rid, context);
      count += 1;
      if (count % edgesPerTurn === 0) yield 'pause';
    }
    yield rowWith({ input: node.rid, output: live(copy.rid, context), error: null });
  }
}
