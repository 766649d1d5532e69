import type { Expression as Computed, Output, Slot } from '#query/algebra/expression.ts';
import type { Column, QueryProgram, SortKey } from '#query/algebra/plan.ts';
import { outputOfRow, type Row, valueOfRow } from '#query/binder/row.ts';
import type { QueryScope } from '#query/binder/scope.ts';
import type { Expression } from '../ast.ts';
import type { OrderItem, ResultClauses, UnwoundColumn } from '../statements.ts';
import { someExpression } from '../syntax-walk.ts';
import { markAggregates } from './expression/aggregation.ts';
import { type Aggregation, type Analysis, type Environment, rowEnvironment } from './analysis.ts';
import { operand } from './expression/condition.ts';
import { identityOf } from './expression/expression-identity.ts';
import { memberOfRow } from './names.ts';
import {
  asExpressions,
  expressionsOfShape,
  namedItems,
  type ProjectionShape,
  ProjectionStage,
  rowKeys,
  type ShapedProjection,
  stageColumns,
} from './projection.ts';

/**
 * What follows the rows of a query (sql.md 7.2): projection, aggregation, expand, UNWIND, DISTINCT, ORDER BY, SKIP and LIMIT, in
 * the order that the reference prescribes. Each function puts its stages on top of the scope's plan.
 */
export function finishRows(
  analysis: Analysis,
  scope: QueryScope,
  projection: ShapedProjection,
  clauses: ResultClauses,
): Output {
  const { shape, isDistinct } = projection;
  const grouping = groupingOf(analysis, shape, clauses);
  if (grouping !== undefined) return finishGroups(analysis, scope, projection, clauses, grouping);
  if (shape.kind === 'expand' || clauses.unwind.length > 0) {
    const stage = new ProjectionStage(analysis, scope, shape, undefined);
    stageColumns(scope, stage.compute(everyName));
    const row = reshaped(analysis, scope, shape, stage, clauses, rowEnvironment(scope));
    return finishReshaped(analysis, scope, row, isDistinct, clauses);
  }
  return finishPlain(analysis, scope, projection, clauses);
}

const everyName = (): boolean => true;

/** Neither groups nor UNWIND nor expand: ORDER BY may use what is not projected, and columns it does not need come last. */
function finishPlain(
  analysis: Analysis,
  scope: QueryScope,
  { shape, isDistinct }: ShapedProjection,
  clauses: ResultClauses,
): Output {
  const stage = new ProjectionStage(analysis, scope, shape, undefined);
  if (clauses.orderBy.length > 0) {
    const named = namedItems(analysis, shape);
    const used = namesUsed(clauses.orderBy, named);
    stageColumns(
      scope,
      stage.compute((name) => isDistinct || used.has(name)),
    );
    const env = rowEnvironment(scope);
    const names = new Map(stage.columns());
    // Plain properties are read from the row: an index may give their order, and their columns can wait.
    for (const [name, node] of named)
      if (isPlainProperty(node)) names.set(name, analysis.expression(node, env));
    sort(analysis, scope, clauses.orderBy, { ...env, names });
  }
  if (!isDistinct) {
    skipAndLimit(analysis, scope, clauses);
    stageColumns(scope, stage.compute(everyName));
    return outputOfRow(stage.row(shape, scope.row));
  }
  stageColumns(scope, stage.compute(everyName));
  const row = stage.row(shape, scope.row);
  distinct(scope, row);
  skipAndLimit(analysis, scope, clauses);
  return outputOfRow(row);
}

function isPlainProperty(node: Expression): boolean {
  if (node.kind === 'name') return node.isQuoted || !node.name.startsWith('$');
  return node.kind === 'attribute';
}

/** Projected names that ORDER BY reads and that are more than a property of the row. */
function namesUsed(
  orderBy: readonly OrderItem[],
  named: ReadonlyMap<string, Expression>,
): ReadonlySet<string> {
  const used = new Set<string>();
  for (const item of orderBy)
    someExpression(item.value, (node) => {
      const projected = node.kind === 'name' ? named.get(node.name) : undefined;
      if (projected && node.kind === 'name' && !isPlainProperty(projected)) used.add(node.name);
      return false;
    });
  return used;
}

/** expand and UNWIND: the row that comes out of them. */
function reshaped(
  analysis: Analysis,
  scope: QueryScope,
  shape: ProjectionShape,
  stage: ProjectionStage,
  clauses: ResultClauses,
  env: Environment,
): Row {
  let row: Row;
  if (shape.kind === 'expand') {
    const value = analysis.expression(shape.value, env);
    const as = analysis.slots.next();
    const { scalarName } = shape;
    scope.stage((input) => ({ op: 'ExpandValue', input, value, as, scalarName }));
    row = { kind: 'value', slot: as };
  } else {
    row = stage.row(shape, scope.row);
  }
  for (const column of clauses.unwind) row = unwind(analysis, scope, row, column);
  return row;
}

/** One row per element of a column, which then holds the element; a column that is not there only multiplies the rows. */
function unwind(
  analysis: Analysis,
  scope: QueryScope,
  row: Row,
  { name, alias }: UnwoundColumn,
): Row {
  const source = row.kind === 'columns' && !row.columns.has(name) ? scope.row : row;
  const list = memberOfRow(analysis, source, scope.level, name);
  const as = analysis.slots.next();
  scope.stage((input) => ({ op: 'Unwind', input, list, as, keepEmpty: true }));
  if (row.kind === 'columns')
    return row.columns.has(name)
      ? { kind: 'columns', columns: withElement(row.columns, name, alias, as) }
      : row;
  if (row.kind === 'none') return row;
  const slot = analysis.slots.next();
  const value: Computed = {
    op: 'NestedProjection',
    of: valueOfRow(row),
    element: analysis.slots.next(),
    items: [
      { kind: 'all' },
      ...(alias === name ? [] : [{ kind: 'exclude', name } as const]),
      { kind: 'include', name: alias, value: { op: 'Slot', slot: as } },
    ],
  };
  scope.stage((input) => ({ op: 'Project', input, columns: [{ slot, value }] }));
  return { kind: 'value', slot };
}

/** The columns with the element in the place of its list, under the name that UNWIND gives it. */
function withElement(
  columns: ReadonlyMap<string, Slot>,
  name: string,
  alias: string,
  element: Slot,
): ReadonlyMap<string, Slot> {
  const changed = new Map<string, Slot>();
  for (const [column, slot] of columns) {
    if (column === name) changed.set(alias, element);
    else if (column !== alias) changed.set(column, slot);
  }
  return changed;
}

function finishReshaped(
  analysis: Analysis,
  scope: QueryScope,
  row: Row,
  isDistinct: boolean,
  clauses: ResultClauses,
): Output {
  if (isDistinct) distinct(scope, row);
  if (clauses.orderBy.length > 0) {
    const env: Environment = {
      ...rowEnvironment(scope),
      row: row.kind === 'value' ? row : scope.row,
      names: row.kind === 'columns' ? asExpressions(row.columns) : undefined,
    };
    sort(analysis, scope, clauses.orderBy, env);
  }
  skipAndLimit(analysis, scope, clauses);
  return outputOfRow(row);
}

// --- groups

interface Grouping {
  readonly keys: readonly { readonly identity: string; readonly node: Expression }[];
  readonly aggregating: ReadonlySet<Expression>;
}

/** undefined when the rows are not grouped. */
function groupingOf(
  analysis: Analysis,
  shape: ProjectionShape,
  clauses: ResultClauses,
): Grouping | undefined {
  const aggregating = new Set<Expression>();
  for (const node of expressionsOfShape(shape))
    markAggregates(node, analysis.functions, aggregating);
  for (const item of clauses.orderBy) markAggregates(item.value, analysis.functions, aggregating);
  if (clauses.groupBy.length === 0 && aggregating.size === 0) return undefined;
  const [first] = clauses.groupBy;
  if (shape.kind === 'expand' && first)
    throw analysis.fault(first.at, 'expand() cannot be used with GROUP BY');
  const named = namedItems(analysis, shape);
  const keys = clauses.groupBy.map((node) => {
    // An alias names the projected column, which is then the key.
    const meant = (node.kind === 'name' && named.get(node.name)) || node;
    if (markAggregates(meant, analysis.functions, new Set()))
      throw analysis.fault(node.at, 'Cannot group by an aggregate function');
    return { identity: identityOf(meant, analysis.text), node: meant };
  });
  return { keys, aggregating };
}

function finishGroups(
  analysis: Analysis,
  scope: QueryScope,
  { shape, isDistinct }: ShapedProjection,
  clauses: ResultClauses,
  grouping: Grouping,
): Output {
  const env = rowEnvironment(scope);
  const keys: Column[] = [];
  const keySlots = new Map<string, Slot>();
  for (const { identity, node } of grouping.keys) {
    if (keySlots.has(identity)) continue;
    const slot = analysis.slots.next();
    keys.push({ slot, value: operand(analysis, node, env) });
    keySlots.set(identity, slot);
  }
  const keysOnly = grouping.aggregating.size === 0;
  const aggregation: Aggregation = {
    keys: keySlots,
    keysOnly,
    aggregating: grouping.aggregating,
    rowEnvironment: env,
    first: [],
    firstByIdentity: new Map(),
    aggregates: [],
    aggregateByIdentity: new Map(),
  };
  const star = starOfGroup(analysis, scope, shape, aggregation);
  const groupRow: Row = { kind: 'none' };
  const outer = scope.row;
  if (keysOnly) scope.row = groupRow;
  const stage = new ProjectionStage(analysis, scope, shape, aggregation);
  const columns = stage.compute(everyName);
  const groupEnv: Environment = {
    ...rowEnvironment(scope),
    names: stage.columns(),
    aggregation,
  };
  const expanded =
    shape.kind === 'expand'
      ? analysis.expression(shape.value, { ...groupEnv, names: undefined })
      : undefined;
  const hasReshaped = expanded !== undefined || clauses.unwind.length > 0;
  const sortKeys = hasReshaped ? [] : sortKeysOf(analysis, clauses.orderBy, groupEnv);
  scope.row = outer;
  const { first, aggregates } = aggregation;
  scope.stage((input) => ({
    op: 'Aggregate',
    input,
    keys,
    first,
    aggregates,
    dialect: 'sql',
  }));
  stageColumns(scope, columns);
  // Names of the ungrouped row mean nothing any more.
  scope.row = groupRow;
  let row = stage.row(shape, star);
  if (expanded !== undefined && shape.kind === 'expand') {
    const as = analysis.slots.next();
    const { scalarName } = shape;
    scope.stage((input) => ({ op: 'ExpandValue', input, value: expanded, as, scalarName }));
    row = { kind: 'value', slot: as };
  }
  for (const column of clauses.unwind) row = unwind(analysis, scope, row, column);
  if (hasReshaped) return finishReshaped(analysis, scope, row, isDistinct, clauses);
  if (isDistinct) distinct(scope, row);
  if (sortKeys.length > 0) scope.stage((input) => ({ op: 'Sort', input, keys: sortKeys }));
  skipAndLimit(analysis, scope, clauses);
  return outputOfRow(row);
}

/** What `*` means over groups: the first row of the group. */
function starOfGroup(
  analysis: Analysis,
  scope: QueryScope,
  shape: ProjectionShape,
  aggregation: Aggregation,
): Row {
  const needsRow = shape.kind === 'record' || shape.kind === 'extended';
  if (!needsRow || aggregation.keysOnly || scope.row.kind === 'none') return { kind: 'none' };
  analysis.dependencies.note(scope.level);
  const slot = analysis.slots.next();
  aggregation.first.push({ slot, value: valueOfRow(scope.row) });
  return { kind: 'value', slot };
}

// --- stages

function distinct(scope: QueryScope, row: Row): void {
  scope.stage((input) => ({ op: 'Distinct', input, on: rowKeys(row) }));
}

function sort(
  analysis: Analysis,
  scope: QueryScope,
  orderBy: readonly OrderItem[],
  env: Environment,
): void {
  const keys = sortKeysOf(analysis, orderBy, env);
  scope.stage((input) => ({ op: 'Sort', input, keys }));
}

function sortKeysOf(
  analysis: Analysis,
  orderBy: readonly OrderItem[],
  env: Environment,
): readonly SortKey[] {
  return orderBy.map((item) => ({
    value: operand(analysis, item.value, env),
    descending:
      typeof item.descending === 'boolean'
        ? item.descending
        : analysis.expression(item.descending, env),
  }));
}

/** SKIP and LIMIT, evaluated once. */
export function skipAndLimit(
  analysis: Analysis,
  scope: QueryScope,
  clauses: { readonly skip?: Expression | undefined; readonly limit: Expression | undefined },
): void {
  const { skip, limit } = clauses;
  if (skip !== undefined) {
    const count = rowCount(analysis, scope, skip);
    scope.stage((input) => ({ op: 'Skip', input, count }));
  }
  if (limit === undefined || isNoLimit(limit)) return;
  const count = rowCount(analysis, scope, limit);
  scope.stage((input) => ({ op: 'Limit', input, count }));
}

function rowCount(analysis: Analysis, scope: QueryScope, node: Expression): Computed {
  return operand(analysis, node, { ...rowEnvironment(scope), row: { kind: 'none' } });
}

/** `LIMIT -1` */
function isNoLimit(node: Expression): boolean {
  return node.kind === 'literal' && typeof node.value === 'number' && node.value < 0;
}

/** The LIMIT of a statement when it is a constant (http-api.md 6.3). */
export function writtenLimit(limit: Expression | undefined): QueryProgram['statementLimit'] {
  if (limit?.kind === 'parameter') return { parameter: limit.name };
  if (limit?.kind !== 'literal' || typeof limit.value !== 'number') return undefined;
  return limit.value >= 0 ? limit.value : undefined;
}
