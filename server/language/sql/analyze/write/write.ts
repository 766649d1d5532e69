import { DatabaseError } from '#core/errors.ts';
import type { TypeDefinition } from '#catalog/catalog.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { Expression as Computed, Slot } from '#query/algebra/expression.ts';
import type { Assignment, LogicalPlan, PathElement } from '#query/algebra/plan.ts';
import { valueOfSet } from '#query/algebra/set-value.ts';
import { slotsRead } from '#query/algebra/slots.ts';
import { valueOfRow, rowOfOutput } from '#query/binder/row.ts';
import { QueryScope, type Scope } from '#query/binder/scope.ts';
import type { Expression } from '../../ast.ts';
import type {
  CreateEdge,
  Destination,
  Insert,
  InsertBody,
  NameReference,
  PathStep,
  SetItem,
} from '../../statements.ts';
import {
  type Analysis,
  type AnalyzedQuery,
  type Environment,
  rowEnvironment,
} from '../analysis.ts';
import { assignedContent, assignedValue, requireAssignable } from './assigned-value.ts';
import { contentOf, valuesAssignments } from './insert-body.ts';
import { assignedEntryTypes, assignedType, copiedColumnTypes } from '../expression/known-type.ts';
import { shapeOf } from '../projection.ts';
import { finishRows } from '../result-pipeline.ts';
import { bucketHint } from '../target.ts';

/** INSERT, CREATE VERTEX and CREATE EDGE (sql.md 8, 10.4, 10.5). */
export function analyzeInsert(
  analysis: Analysis,
  node: Insert,
  parent: Scope | undefined,
): AnalyzedQuery {
  const scope = new QueryScope(parent);
  const { type, bucket } = destinationOf(analysis, node.into);
  requireKind(type, node);
  const as = analysis.slots.next();
  const assignments = insertAssignments(analysis, node, scope, as);
  analysis.writeCount += 1;
  scope.stage((input) => ({ op: 'Insert', input, type: type.id, bucket, assignments, as }));
  return writtenRows(analysis, scope, as, node.returning);
}

/** The records in slot `as`, or what RETURN makes of them. */
export function writtenRows(
  analysis: Analysis,
  scope: QueryScope,
  as: Slot,
  returning: Insert['returning'],
): AnalyzedQuery {
  scope.isSingleRow = false;
  scope.row = { kind: 'value', slot: as };
  const output = finishRows(analysis, scope, shapeOf(analysis, returning), noClauses);
  return { plan: scope.close(), output, metadata: new Map(), statementLimit: undefined };
}

export const noClauses = {
  groupBy: [],
  orderBy: [],
  unwind: [],
  skip: undefined,
  limit: undefined,
  timeout: undefined,
};

function requireKind(type: TypeDefinition, node: Insert): void {
  if (type.kind === 'edge')
    throw new DatabaseError(
      'IllegalArgument',
      `Cannot ${node.command === 'INSERT' ? 'insert into' : 'create a vertex of'} edge type '${type.name}' without endpoints; use CREATE EDGE`,
    );
  if (node.command === 'CREATE VERTEX' && type.kind !== 'vertex')
    throw new DatabaseError('IllegalArgument', `Type '${type.name}' is not a vertex type`);
}

function insertAssignments(
  analysis: Analysis,
  node: Insert,
  scope: QueryScope,
  as: Slot,
): readonly Assignment[] {
  const { body, source } = node;
  if (source !== undefined) {
    const query = analysis.query(source, scope);
    const row = rowOfOutput(query.output);
    const slots: Slot[] =
      row.kind === 'columns' ? [...row.columns.values()] : row.kind === 'value' ? [row.slot] : [];
    const { plan, entryTypes } = copiedColumnTypes(analysis, query.plan, row);
    for (const { type } of entryTypes) slots.push(...slotsRead(type));
    scope.source({ op: 'Eager', input: plan, slots }, row);
    const copied: Assignment = { kind: 'content', value: valueOfRow(row), entryTypes };
    // A body beside FROM sets its properties on every copy.
    return [copied, ...(body === undefined ? [] : bodyAssignments(analysis, body, scope, as))];
  }
  return body === undefined ? [] : bodyAssignments(analysis, body, scope, as);
}

function bodyAssignments(
  analysis: Analysis,
  body: InsertBody,
  scope: QueryScope,
  as: Slot,
): readonly Assignment[] {
  switch (body.kind) {
    case 'set':
      return setAssignments(analysis, body.items, newRecordEnvironment(scope, as));
    case 'content':
      return [contentOf(analysis, body.value, scope)];
    default:
      return valuesAssignments(analysis, body, scope);
  }
}

/** Right sides see the properties that the new record has so far. */
export function newRecordEnvironment(scope: QueryScope, as: Slot): Environment {
  return {
    scope: {
      kind: 'element',
      parent: scope,
      level: scope.level + 1,
      row: { kind: 'value', slot: as },
      isCurrent: false,
      bindings: new Map(),
    },
    row: { kind: 'value', slot: as },
    names: undefined,
    aggregation: undefined,
    isLazy: false,
  };
}

export function setAssignments(
  analysis: Analysis,
  items: readonly SetItem[],
  env: Environment,
): readonly Assignment[] {
  return items.map((item) => {
    requireAssignable(analysis, item.property, item.at);
    const value = assignedValue(analysis, item.value, env);
    const { property, operator } = item;
    const path = pathOf(analysis, item.path, env);
    return {
      kind: 'set',
      property,
      path,
      operator,
      value,
      valueType:
        path.length > 0 ? undefined : setType(analysis, { property, operator, value }, env),
    };
  });
}

function setType(
  analysis: Analysis,
  set: Pick<Assignment & { readonly kind: 'set' }, 'property' | 'operator' | 'value'>,
  { scope, row }: Environment,
): Computed | undefined {
  const value =
    set.operator !== '=' && row.kind === 'value'
      ? valueOfSet({ ...set, path: [] }, row.slot)
      : set.value;
  return assignedType(analysis, value, scope);
}

export function pathOf(
  analysis: Analysis,
  path: readonly PathStep[],
  env: Environment,
): readonly PathElement[] {
  return path.map((step) =>
    step.kind === 'property'
      ? { kind: 'property', name: step.name }
      : { kind: 'element', key: analysis.expression(step.key, env) },
  );
}

/** Type and bucket that INTO names. */
function destinationOf(
  analysis: Analysis,
  into: Destination,
): { readonly type: TypeDefinition; readonly bucket: BucketId | undefined } {
  const bucket =
    typeof into.bucket === 'object' ? bucketParameter(analysis, into.bucket.name) : into.bucket;
  const found = bucket === undefined ? undefined : targetBucket(analysis, bucket);
  if (into.type !== undefined) {
    const type = analysis.type(nameOf(analysis, into.type));
    if (found !== undefined && found.type !== type.id)
      throw new DatabaseError(
        'IllegalArgument',
        `Bucket '${found.name}' does not belong to type '${type.name}'`,
      );
    return { type, bucket: found?.id };
  }
  if (found === undefined) throw new DatabaseError('Syntax', 'Missing target');
  if (found.type === undefined)
    throw new DatabaseError('IllegalArgument', `Bucket '${found.name}' does not belong to a type`);
  return { type: analysis.catalog.typeWithId(found.type), bucket: found.id };
}

function bucketParameter(analysis: Analysis, name: string): string | number {
  const value = analysis.nameParameter(name);
  return typeof value === 'number' ? value : String(value);
}

function targetBucket(analysis: Analysis, bucket: string | number) {
  const found =
    typeof bucket === 'number'
      ? analysis.catalog.bucketWithId(bucket as BucketId)
      : analysis.catalog.bucketNamed(bucket);
  if (found !== undefined) return found;
  throw new DatabaseError(
    'Syntax',
    `Target bucket '${bucket}' not found`,
    bucketHint(analysis.catalog, bucket),
  );
}

/** The name, or the text that a script variable of that name holds. */
export function nameOf(analysis: Analysis, reference: NameReference): string {
  if (!reference.isVariable) return reference.name;
  const value = analysis.variables.get(reference.name);
  if (typeof value === 'string') return value;
  // Outside scripts a name may start with `$` like any other.
  if (value === undefined || value === null) return `$${reference.name}`;
  throw new DatabaseError('IllegalArgument', `variable $${reference.name} does not hold a name`);
}

export function analyzeCreateEdge(
  analysis: Analysis,
  node: CreateEdge,
  parent: Scope | undefined,
): AnalyzedQuery {
  const scope = new QueryScope(parent);
  const { type, bucket } = destinationOf(analysis, node.into);
  if (type.kind !== 'edge')
    throw new DatabaseError('IllegalArgument', `Type '${type.name}' is not an edge type`);
  const unidirectional = node.isUnidirectional;
  if (unidirectional && type.bidirectional)
    throw new DatabaseError(
      'IllegalArgument',
      'Cannot create unidirectional edge on a bidirectional edge type',
    );
  const as = analysis.slots.next();
  const outside = rowEnvironment(scope);
  const from = analysis.expression(node.from, outside);
  const to = analysis.expression(node.to, outside);
  const assignments: Assignment[] = [];
  if (node.content !== undefined) assignments.push(edgeContent(analysis, node.content, outside));
  assignments.push(...setAssignments(analysis, node.items, newRecordEnvironment(scope, as)));
  analysis.writeCount += 1;
  scope.stage(
    (input): LogicalPlan => ({
      op: 'InsertEdge',
      input,
      type: type.id,
      bucket,
      from,
      to,
      ifNotExists: node.ifNotExists,
      unidirectional,
      assignments,
      as,
    }),
  );
  return writtenRows(analysis, scope, as, undefined);
}

function edgeContent(analysis: Analysis, node: Expression, env: Environment): Assignment {
  const value = edgeProperties(analysis, node, env);
  return { kind: 'content', value, ...assignedEntryTypes(analysis, value, env.scope) };
}

/** A map, or a list of exactly one. */
function edgeProperties(analysis: Analysis, node: Expression, env: Environment): Computed {
  if (node.kind !== 'list' && node.kind !== 'constants')
    return assignedContent(analysis, node, env);
  const items = node.kind === 'list' ? node.items : [];
  const values = node.kind === 'constants' ? node.values : [];
  if (items.length + values.length !== 1)
    throw analysis.fault(node.at, 'Expected one entry in the json array as content');
  const [only] = items;
  return only === undefined
    ? { op: 'Constant', value: values[0] ?? null }
    : assignedContent(analysis, only, env);
}
