import { DatabaseError } from '#core/errors.ts';
import type { Expression as Computed, Slot } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import { QueryScope, type Scope } from '#query/binder/scope.ts';
import type { Command } from '../statements.ts';
import { type Analysis, type AnalyzedQuery, rowEnvironment } from './analysis.ts';
import { bucketIds } from './target.ts';

/**
 * TRUNCATE TYPE, BUCKET and RECORD (sql.md 10.2, 13.4): the records are deleted in the statement's transaction.
 *
 * @throws DatabaseError `Schema` for an unknown type or bucket
 */
export function analyzeTruncate(
  analysis: Analysis,
  node: Command,
  parent: Scope | undefined,
): AnalyzedQuery {
  switch (node.name) {
    case 'TRUNCATE TYPE':
      return truncateType(analysis, node, parent);
    case 'TRUNCATE BUCKET':
      return truncateBucket(analysis, node, parent);
    default:
      return truncateRecords(analysis, node, parent);
  }
}

function truncateType(analysis: Analysis, node: Command, parent: Scope | undefined): AnalyzedQuery {
  const name = textArgument(node, 'type');
  const type = analysis.type(name);
  const isWhole = node.arguments.get('polymorphic') === true;
  const types = isWhole ? analysis.catalog.withSubtypes(type.id) : [type.id];
  const record = analysis.slots.next();
  const scan: LogicalPlan = { op: 'TypeScan', types, as: record };
  const source = guarded(node, scan, record, type.kind, `type '${name}'`);
  return oneRow(analysis, deletion(source, record, parent), [
    ['operation', 'truncate type'],
    ['typeName', name],
    ['transactional', true],
  ]);
}

function truncateBucket(
  analysis: Analysis,
  node: Command,
  parent: Scope | undefined,
): AnalyzedQuery {
  const reference = node.arguments.get('bucket') as string | number;
  const buckets = bucketIds(analysis, [reference]);
  const bucket = analysis.catalog.bucketWithId(buckets[0] as (typeof buckets)[number]);
  if (bucket === undefined)
    throw new DatabaseError('Schema', `Bucket with name '${reference}' was not found`);
  const record = analysis.slots.next();
  const scan: LogicalPlan = { op: 'BucketScan', buckets, as: record };
  const owner = bucket.type === undefined ? undefined : analysis.catalog.typeWithId(bucket.type);
  const source = guarded(node, scan, record, owner?.kind, `bucket '${bucket.name}'`);
  return oneRow(analysis, deletion(source, record, parent), [
    ['operation', 'truncate bucket'],
    ['bucketName', bucket.name],
    ['bucketId', bucket.id],
    ['transactional', true],
  ]);
}

function truncateRecords(
  analysis: Analysis,
  node: Command,
  parent: Scope | undefined,
): AnalyzedQuery {
  const records = node.arguments.get('records');
  if (typeof records !== 'object' || records.kind !== 'expression')
    throw new Error('TRUNCATE RECORD names no records');
  const scope = new QueryScope(parent);
  const rids = analysis.expression(records.value, rowEnvironment(scope));
  const record = analysis.slots.next();
  const deleted = deletion({ op: 'RecordLookup', rids, as: record }, record, parent);
  return rows(analysis, deleted, [['operation', 'truncate record']]);
}

/** Vertices and edges are deleted only with UNSAFE: the first one found ends the statement. */
function guarded(
  node: Command,
  input: LogicalPlan,
  record: Slot,
  kind: 'document' | 'vertex' | 'edge' | undefined,
  what: string,
): LogicalPlan {
  if (kind === undefined || kind === 'document' || node.arguments.get('unsafe') === true)
    return input;
  const held = kind === 'vertex' ? 'vertices' : 'edges';
  const message = `'${node.name}' command cannot truncate ${what} because it contains ${held}. Use the UNSAFE keyword to delete them with it`;
  const isAbsent: Computed = { op: 'IsNull', operand: { op: 'Slot', slot: record } };
  const predicate: Computed = {
    op: 'Call',
    function: 'util.validate',
    arguments: [isAbsent, { op: 'Constant', value: message }],
  };
  return { op: 'Filter', input, predicate };
}

function deletion(source: LogicalPlan, record: Slot, parent: Scope | undefined): QueryScope {
  const scope = new QueryScope(parent);
  scope.source(source, { kind: 'value', slot: record });
  scope.stage((input) => ({
    op: 'Delete',
    input: { op: 'Eager', input, slots: [record] },
    record,
    detach: true,
  }));
  return scope;
}

type Columns = readonly (readonly [name: string, value: string | number | boolean])[];

function oneRow(analysis: Analysis, scope: QueryScope, columns: Columns): AnalyzedQuery {
  const slot = analysis.slots.next();
  scope.stage((input) => ({
    op: 'Aggregate',
    input,
    keys: [],
    first: [],
    aggregates: [{ slot, function: 'count', arguments: [], distinct: false }],
    dialect: 'sql',
  }));
  return rows(analysis, scope, columns);
}

function rows(analysis: Analysis, scope: QueryScope, columns: Columns): AnalyzedQuery {
  analysis.writeCount += 1;
  const made = columns.map(([name, value]) => ({ name, slot: analysis.slots.next(), value }));
  scope.stage((input) => ({
    op: 'Project',
    input,
    columns: made.map(({ slot, value }) => ({ slot, value: { op: 'Constant', value } })),
  }));
  return {
    plan: scope.close(),
    output: { kind: 'columns', columns: made.map(({ name, slot }) => ({ name, slot })) },
    metadata: new Map(),
    statementLimit: undefined,
  };
}

function textArgument(node: Command, name: string): string {
  const value = node.arguments.get(name);
  if (typeof value !== 'string') throw new Error(`${node.name} has no ${name}`);
  return value;
}
