import { DatabaseError } from '#core/errors.ts';
import type { Slot } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import { QueryScope, type Scope } from '#query/binder/scope.ts';
import type { Command } from '../../statements.ts';
import { type Analysis, type AnalyzedQuery, rowEnvironment } from '../analysis.ts';
import { maintenance, textArgument } from '../maintain.ts';
import { bucketIds } from '../target.ts';

/**
 * TRUNCATE TYPE, BUCKET and RECORD (sql.md 10.2, 13.4).
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
      return truncateType(analysis, node);
    case 'TRUNCATE BUCKET':
      return truncateBucket(analysis, node);
    default:
      return truncateRecords(analysis, node, parent);
  }
}

function truncateType(analysis: Analysis, node: Command): AnalyzedQuery {
  const name = textArgument(node, 'type');
  const type = analysis.type(name);
  const isWhole = node.arguments.get('polymorphic') === true;
  const types = isWhole ? analysis.catalog.withSubtypes(type.id) : [type.id];
  return maintenance(analysis, {
    kind: 'truncate',
    what: 'type',
    name,
    types,
    buckets: types.flatMap((id) => analysis.catalog.typeWithId(id).buckets),
    unsafe: node.arguments.get('unsafe') === true,
  });
}

function truncateBucket(analysis: Analysis, node: Command): AnalyzedQuery {
  const reference = node.arguments.get('bucket') as string | number;
  const buckets = bucketIds(analysis, [reference]);
  const bucket = analysis.catalog.bucketWithId(buckets[0] as (typeof buckets)[number]);
  if (bucket === undefined)
    throw new DatabaseError('Schema', `Bucket with name '${reference}' was not found`);
  return maintenance(analysis, {
    kind: 'truncate',
    what: 'bucket',
    name: bucket.name,
    types: bucket.type === undefined ? [] : [bucket.type],
    buckets,
    unsafe: node.arguments.get('unsafe') === true,
  });
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
  analysis.writeCount += 1;
  const slot = analysis.slots.next();
  deleted.stage((input) => ({
    op: 'Project',
    input,
    columns: [{ slot, value: { op: 'Constant', value: 'truncate record' } }],
  }));
  return {
    plan: deleted.close(),
    output: { kind: 'columns', columns: [{ name: 'operation', slot }] },
    metadata: new Map(),
    statementLimit: undefined,
  };
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
