import type { Catalog } from '#catalog/catalog.ts';
import { didYouMean } from '#catalog/name-rules.ts';
import { DatabaseError } from '#core/errors.ts';
import type { BucketId, IndexId, TypeId } from '#core/value/rid.ts';
import type { Expression as Computed, Slot } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import { rowOfOutput } from '#query/binder/row.ts';
import type { QueryScope } from '#query/binder/scope.ts';
import type { Expression } from '../ast.ts';
import type { Target } from '../statements.ts';
import { type Analysis, rowEnvironment } from './analysis.ts';
import { boundsOfKey, indexDefinition } from './schema/index-target.ts';

/** What FROM names, as the source of a query's rows (sql.md 7.3); `where` is asked what it says about keys of an index. */
export function analyzeTarget(
  analysis: Analysis,
  target: Target,
  scope: QueryScope,
  where?: Expression,
): void {
  if (target.kind === 'subQuery') {
    const query = analysis.query(target.statement, scope);
    scope.source(query.plan, rowOfOutput(query.output));
    for (const [name, binding] of query.metadata)
      scope.bindings.set(name, { ...binding, level: scope.level });
    return;
  }
  const as = analysis.slots.next();
  scope.source(sourceOf(analysis, target, scope, { as, where }), { kind: 'value', slot: as });
}

function sourceOf(
  analysis: Analysis,
  target: Exclude<Target, { readonly kind: 'subQuery' }>,
  scope: QueryScope,
  { as, where }: { readonly as: Slot; readonly where: Expression | undefined },
): LogicalPlan {
  switch (target.kind) {
    case 'type':
      return { op: 'TypeScan', types: scannedTypes(analysis, target.name), as };
    case 'buckets':
      return {
        op: 'BucketScan',
        buckets: bucketIds(analysis, target.buckets).filter((id) => isScanned(analysis, id)),
        as,
      };
    case 'bucketParameter': {
      const value = analysis.parameter(target.parameter);
      return { op: 'DynamicSource', value, as, names: 'bucket' };
    }
    case 'rids':
      return { op: 'RecordLookup', rids: recordIds(analysis, target.rids, scope), as };
    case 'value': {
      const value = analysis.expression(target.value, rowEnvironment(scope));
      return { op: 'DynamicSource', value, as };
    }
    case 'index': {
      const { id: index } = indexDefinition(analysis, target.name);
      const bounds = boundsOfKey(analysis, target.name, where, scope);
      return { op: 'IndexEntries', index, order: 'ascending', as, ...(bounds && { bounds }) };
    }
    case 'indexValues': {
      const definition = indexDefinition(analysis, target.name);
      const { id: index } = definition;
      const types = analysis.catalog.withSubtypes(definition.type);
      const { order } = target;
      const all: LogicalPlan = {
        op: 'IndexSearch',
        index,
        bounds: { equals: [] },
        types,
        as,
        order,
      };
      return withKeyOnly(analysis, all, index, as);
    }
    default:
      return { op: 'SchemaScan', kind: target.object, name: target.name, as };
  }
}

/** LIGHTWEIGHT edges are found at their ends only (sql.md 1.5 rule 4). */
function scannedTypes(analysis: Analysis, name: string): readonly TypeId[] {
  const { catalog } = analysis;
  return analysis.typeWithSubtypes(name).filter((type) => !catalog.typeWithId(type).lightweight);
}

function isScanned({ catalog }: Analysis, bucket: BucketId): boolean {
  const owner = catalog.bucketWithId(bucket)?.type;
  return owner === undefined || !catalog.typeWithId(owner).lightweight;
}

/** The search completes its rows with the records that an index leaves out; `indexvalues:` is what the index holds. */
function withKeyOnly(
  analysis: Analysis,
  input: LogicalPlan,
  index: IndexId,
  as: Slot,
): LogicalPlan {
  const definition = analysis.catalog.indexWithId(index);
  if (definition.nullStrategy === 'INDEX') return input;
  const operands = definition.components
    .filter(({ property, by }) => by === 'value' && !/[.@]/u.test(property))
    .map(({ property }): Computed => {
      const record: Computed = { op: 'Slot', slot: as };
      const operand: Computed = { op: 'Property', of: record, name: property, dialect: 'sql' };
      return { op: 'Not', operand: { op: 'IsNull', operand } };
    });
  return operands.length === 0
    ? input
    : { op: 'Filter', input, predicate: { op: 'And', operands } };
}

function recordIds(
  analysis: Analysis,
  rids: Extract<Target, { readonly kind: 'rids' }>['rids'],
  scope: QueryScope,
): Computed {
  const env = rowEnvironment(scope);
  const [only] = rids;
  if (rids.length === 1 && only) return analysis.expression(only, env);
  const items = rids.map((rid) => analysis.expression(rid, env));
  if (!items.every((item) => item.op === 'Constant')) return { op: 'List', items };
  return { op: 'Constant', value: items.map((item) => item.value) };
}

/** @throws DatabaseError `Schema` `Bucket with name '<b>' was not found` */
export function bucketIds(
  analysis: Analysis,
  buckets: readonly (string | number)[],
): readonly BucketId[] {
  return buckets.map((bucket) => {
    const found =
      typeof bucket === 'number'
        ? analysis.catalog.bucketWithId(bucket as BucketId)
        : analysis.catalog.bucketNamed(bucket);
    if (found !== undefined) return found.id;
    const what = typeof bucket === 'number' ? 'id' : 'name';
    throw new DatabaseError(
      'Schema',
      `Bucket with ${what} '${bucket}' was not found`,
      bucketHint(analysis.catalog, bucket),
    );
  });
}

/** `help` of an error about an unknown bucket. */
export function bucketHint(catalog: Catalog, bucket: string | number): { help?: string } {
  const names = catalog.buckets().map((known) => known.name);
  const help = typeof bucket === 'number' ? undefined : didYouMean(bucket, names);
  return help === undefined ? {} : { help };
}
