import type { TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Expression as Computed, Slot } from '#query/algebra/expression.ts';
import type { Assignment } from '#query/algebra/plan.ts';
import { QueryScope, type Scope } from '#query/binder/scope.ts';
import type { Comparison, Expression } from '../../ast.ts';
import type { Delete, Target, Update, UpdateOperation } from '../../statements.ts';
import {
  type Analysis,
  type AnalyzedQuery,
  type Environment,
  rowEnvironment,
} from '../analysis.ts';
import { assignedContent, assignedValue, requireAssignable } from './assigned-value.ts';
import { withoutParentheses } from '../expression/condition.ts';
import { assignedEntryTypes, assignedType } from '../expression/known-type.ts';
import { skipAndLimit } from '../result-pipeline.ts';
import { filter, limitTime } from '../select.ts';
import { analyzeTarget } from '../target.ts';
import { newRecordEnvironment, pathOf, setAssignments, writtenRows } from './write.ts';

/** UPDATE (sql.md 9). */
export function analyzeUpdate(
  analysis: Analysis,
  node: Update,
  parent: Scope | undefined,
): AnalyzedQuery {
  const scope = new QueryScope(parent);
  if (node.isUpsert) return analyzeUpsert(analysis, node, scope);
  const record = recordsToChange(analysis, node, scope);
  const env = rowEnvironment(scope);
  const assignments = assignmentsOf(analysis, node.operations, env);
  const before = node.returning.mode === 'before' ? analysis.slots.next() : undefined;
  scope.stage((input) => ({ op: 'Eager', input, slots: [record] }));
  stageUpdate(analysis, scope, node, { record, assignments, before });
  return resultOfUpdate(analysis, scope, node, { record, before });
}

/** The records that target, WHERE and LIMIT name, read to the end before the first is changed. */
export function recordsToChange(
  analysis: Analysis,
  node: {
    readonly target: Target;
    readonly where: Expression | undefined;
    readonly limit: Expression | undefined;
  },
  scope: QueryScope,
): Slot {
  analyzeTarget(analysis, node.target, scope);
  const record = recordSlot(analysis, scope);
  if (node.where !== undefined) filter(analysis, scope, node.where);
  skipAndLimit(analysis, scope, { limit: node.limit });
  return record;
}

/** The slot of the record that a row is; rows of columns must carry `@rid`. */
function recordSlot(analysis: Analysis, scope: QueryScope): Slot {
  const { row } = scope;
  if (row.kind === 'value') return row.slot;
  const rid = row.kind === 'columns' ? row.columns.get('@rid') : undefined;
  if (rid === undefined)
    throw new DatabaseError(
      'IllegalArgument',
      'the sub-query to be changed must return records or rows with @rid',
    );
  const slot = analysis.slots.next();
  const inner = { op: 'DynamicSource', value: { op: 'Slot', slot: rid }, as: slot } as const;
  scope.stage((outer) => ({ op: 'Apply', outer, inner, mode: { kind: 'cross' } }));
  scope.row = { kind: 'value', slot };
  return slot;
}

interface UpdateStage {
  readonly record: Slot;
  readonly assignments: readonly Assignment[];
  readonly before: Slot | undefined;
  /** Rows in which this slot is true were just inserted. */
  readonly unless?: Slot;
}

function stageUpdate(
  analysis: Analysis,
  scope: QueryScope,
  node: Update,
  stage: UpdateStage,
): void {
  analysis.writeCount += 1;
  scope.stage((input) => ({
    op: 'Update',
    input,
    applyDefaults: node.appliesDefaults,
    ...stage,
  }));
  commitEvery(analysis, scope, node.batch);
  limitTime(scope, node.timeout);
}

/** `BATCH n`: commits after every n records that were written. */
export function commitEvery(
  analysis: Analysis,
  scope: QueryScope,
  batch: Expression | undefined,
): void {
  if (batch === undefined) return;
  const count = analysis.expression(batch, rowEnvironment(scope));
  scope.stage((input) => ({ op: 'CommitEvery', input, count }));
}

/** Count, records or copies from before, as RETURN says. */
function resultOfUpdate(
  analysis: Analysis,
  scope: QueryScope,
  node: Update,
  row: { readonly record: Slot; readonly before: Slot | undefined },
): AnalyzedQuery {
  const { mode, projection } = node.returning;
  if (mode === 'count') return countOfRows(analysis, scope);
  return writtenRows(analysis, scope, row.before ?? row.record, projection);
}

/** `{"count": n}` */
function countOfRows(analysis: Analysis, scope: QueryScope): AnalyzedQuery {
  const slot = analysis.slots.next();
  const count = { slot, function: 'count', arguments: [], distinct: false };
  scope.stage((input) => ({
    op: 'Aggregate',
    input,
    keys: [],
    first: [],
    aggregates: [count],
    dialect: 'sql',
  }));
  return {
    plan: scope.close(),
    output: { kind: 'columns', columns: [{ name: 'count', slot }] },
    metadata: new Map(),
    statementLimit: undefined,
  };
}

export function assignmentsOf(
  analysis: Analysis,
  operations: readonly UpdateOperation[],
  env: Environment,
): readonly Assignment[] {
  return operations.flatMap((operation): readonly Assignment[] => {
    switch (operation.kind) {
      case 'set':
        return setAssignments(analysis, operation.items, env);
      case 'remove':
        return operation.items.map((item) => {
          requireAssignable(analysis, item.property, item.at);
          return {
            kind: 'remove',
            property: item.property,
            path: pathOf(analysis, item.path, env),
            value: item.value && assignedValue(analysis, item.value, env),
          };
        });
      default: {
        const value = assignedContent(analysis, operation.value, env);
        const types = assignedEntryTypes(analysis, value, env.scope);
        return [{ kind: operation.kind, value, ...types }];
      }
    }
  });
}

// --- UPSERT

interface Equality {
  readonly property: string;
  readonly value: Expression;
  readonly at: number;
}

/**
 * UPDATE ... UPSERT (sql.md 9.9): the record that the unique key of WHERE names is changed, or made from the equalities and the
 * operations in one go, so that mandatory properties may come from either.
 */
function analyzeUpsert(analysis: Analysis, node: Update, scope: QueryScope): AnalyzedQuery {
  const equalities = equalitiesOf(analysis, node);
  const type = upsertedType(analysis, node.target, equalities);
  const record = recordsToChange(analysis, node, scope);
  const outside: Environment = { ...rowEnvironment(scope), row: { kind: 'none' } };
  const keys = equalities.map((equality): Assignment => {
    const value = assignedValue(analysis, equality.value, outside);
    return {
      kind: 'set',
      property: equality.property,
      path: [],
      operator: '=',
      value,
      valueType: assignedType(analysis, value, scope),
    };
  });
  const env = newRecordEnvironment(scope, record);
  const assignments = assignmentsOf(analysis, node.operations, env);
  const inserted = analysis.slots.next();
  analysis.writeCount += 1;
  scope.stage((input) => ({
    op: 'FindOrInsert',
    find: { op: 'Eager', input, slots: [record] },
    type: type.id,
    initial: [...keys, ...assignments],
    as: record,
    inserted,
  }));
  const before = node.returning.mode === 'before' ? analysis.slots.next() : undefined;
  stageUpdate(analysis, scope, node, { record, assignments, before, unless: inserted });
  if (before === undefined) return resultOfUpdate(analysis, scope, node, { record, before });
  const shown = analysis.slots.next();
  const value = beforeOrInitial(keys, { record, before, inserted });
  scope.stage((input) => ({ op: 'Project', input, columns: [{ slot: shown, value }] }));
  return resultOfUpdate(analysis, scope, node, { record, before: shown });
}

/** RETURN BEFORE of a record that was just made: a row with the values that WHERE gave it. */
function beforeOrInitial(
  keys: readonly Assignment[],
  slots: { readonly record: Slot; readonly before: Slot; readonly inserted: Slot },
): Computed {
  const record: Computed = { op: 'Slot', slot: slots.record };
  const entries: { readonly key: string; readonly value: Computed }[] = [
    { key: '@rid', value: { op: 'Attribute', of: record, attribute: 'rid' } },
    { key: '@type', value: { op: 'Attribute', of: record, attribute: 'type' } },
  ];
  for (const key of keys)
    if (key.kind === 'set') entries.push({ key: key.property, value: key.value });
  return {
    op: 'Case',
    branches: [
      {
        when: { op: 'Slot', slot: slots.inserted },
        // biome-ignore lint/suspicious/noThenProperty: a branch of CASE is never awaited
        then: { op: 'Map', entries },
      },
    ],
    otherwise: { op: 'Slot', slot: slots.before },
  };
}

/** WHERE as a list of `property = value`. */
function equalitiesOf(analysis: Analysis, node: Update): readonly Equality[] {
  const { where } = node;
  if (where === undefined) throw noUniqueIndex(analysis, node.at);
  const equalities: Equality[] = [];
  const waiting: Expression[] = [where];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    const inner = withoutParentheses(part);
    if (inner.kind === 'or') throw analysis.fault(inner.at, 'Cannot UPSERT on OR conditions');
    if (inner.kind === 'and') {
      for (const operand of inner.operands.toReversed()) waiting.push(operand);
      continue;
    }
    const equality = inner.kind === 'compare' ? equalityOf(inner) : undefined;
    if (equality === undefined) throw noUniqueIndex(analysis, inner.at);
    equalities.push(equality);
  }
  return equalities;
}

function equalityOf(node: Comparison): Equality | undefined {
  if (node.sign !== '=') return undefined;
  const [left, right] = [withoutParentheses(node.left), withoutParentheses(node.right)];
  if (isProperty(left)) return { property: left.name, value: node.right, at: node.at };
  if (isProperty(right)) return { property: right.name, value: node.left, at: node.at };
  return undefined;
}

function isProperty(node: Expression): node is Extract<Expression, { readonly kind: 'name' }> {
  return node.kind === 'name' && (node.isQuoted || !node.name.startsWith('$'));
}

/** The type of the target, when a unique index finds its record by the equalities alone. */
function upsertedType(
  analysis: Analysis,
  target: Target,
  equalities: readonly Equality[],
): TypeDefinition {
  const at = target.kind === 'type' ? target.at : 0;
  if (target.kind !== 'type') throw noUniqueIndex(analysis, at);
  const type = analysis.type(target.name);
  if (type.kind === 'edge')
    throw new DatabaseError(
      'IllegalArgument',
      `Cannot UPSERT edge type '${type.name}': edges need their ends; use CREATE EDGE ... IF NOT EXISTS`,
    );
  const properties = new Set(equalities.map((equality) => equality.property));
  const isServed = analysis.catalog
    .indexesOn(type.id)
    .some(
      (index) =>
        index.unique &&
        index.components.every(
          (component) => component.by === 'value' && properties.has(component.property),
        ),
    );
  if (!isServed) throw noUniqueIndex(analysis, equalities[0]?.at ?? at);
  return type;
}

function noUniqueIndex(analysis: Analysis, at: number): DatabaseError {
  return analysis.fault(
    at,
    'Upsert must involve an index to retrieve the records. Check the where condition is using the index for the upsert',
  );
}

/** DELETE (sql.md 10.1). */
export function analyzeDelete(
  analysis: Analysis,
  node: Delete,
  parent: Scope | undefined,
): AnalyzedQuery {
  if (node.target.kind === 'index')
    throw new DatabaseError(
      'NotSupported',
      'not supported: DELETE FROM index: entries follow their records; delete the records, or use REBUILD INDEX',
    );
  const scope = new QueryScope(parent);
  const record = recordsToChange(analysis, node, scope);
  analysis.writeCount += 1;
  scope.stage((input) => ({
    op: 'Delete',
    input: { op: 'Eager', input, slots: [record] },
    record,
    detach: true,
  }));
  commitEvery(analysis, scope, node.batch);
  if (!node.returnsBefore) return countOfRows(analysis, scope);
  return writtenRows(analysis, scope, record, undefined);
}
