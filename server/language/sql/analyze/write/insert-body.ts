import type { Expression as Computed, Slot } from '#query/algebra/expression.ts';
import type { Assignment } from '#query/algebra/plan.ts';
import type { QueryScope } from '#query/binder/scope.ts';
import type { Expression } from '../../ast.ts';
import type { InsertBody } from '../../statements.ts';
import { type Analysis, type Environment, nullConstant, rowEnvironment } from '../analysis.ts';
import { assignedContent, assignedValue, requireAssignable } from './assigned-value.ts';
import { assignedEntryTypes, assignedType } from '../expression/known-type.ts';

/** The records that CONTENT and VALUES of an INSERT make (sql.md 8). */

/** CONTENT: one record per map. Of a list literal or a list parameter each item makes one record. */
export function contentOf(analysis: Analysis, node: Expression, scope: QueryScope): Assignment {
  const env = rowEnvironment(scope);
  const value = assignedContent(analysis, node, env);
  const isMap = value.op === 'Map' || (value.op === 'Constant' && value.value instanceof Map);
  if (isMap) return { kind: 'content', value, ...assignedEntryTypes(analysis, value, scope) };
  const typed = typedItems(analysis, value, scope);
  if (typed !== undefined) return typed;
  // A missing parameter must not insert nothing without a word: it becomes the one item null, which is refused.
  const list: Computed = {
    op: 'Case',
    branches: [
      {
        when: { op: 'IsNull', operand: value },
        // biome-ignore lint/suspicious/noThenProperty: a branch of CASE is never awaited
        then: { op: 'Constant', value: [null] },
      },
    ],
    otherwise: value,
  };
  const item = unwoundSlot(analysis, scope, list);
  return { kind: 'content', value: { op: 'Slot', slot: item } };
}

/**
 * CONTENT with a list of maps in which more is known of some integers than they show: pairs of a map and its types are unwound.
 * @returns undefined where there is no such
 */
function typedItems(analysis: Analysis, list: Computed, scope: QueryScope): Assignment | undefined {
  if (list.op !== 'List') return undefined;
  const keys = new Set<string>();
  const items = list.items.map((map): Computed => {
    const { entryTypes = [] } = assignedEntryTypes(analysis, map, scope);
    const entries = entryTypes.map(({ key, type }) => ({ key, value: type }));
    for (const { key } of entries) keys.add(key);
    return { op: 'List', items: [map, { op: 'Map', entries }] };
  });
  if (keys.size === 0) return undefined;
  const pair = unwoundSlot(analysis, scope, { op: 'List', items });
  return {
    kind: 'content',
    value: partOf(pair, 0),
    entryTypes: [...keys].map((key) => ({
      key,
      type: { op: 'Property', of: partOf(pair, 1), name: key, dialect: 'sql' },
    })),
  };
}

/** The slot in which each element of the list stands in turn. */
function unwoundSlot(analysis: Analysis, scope: QueryScope, list: Computed): Slot {
  const as = analysis.slots.next();
  scope.stage((input) => ({ op: 'Unwind', input, list, as, keepEmpty: false }));
  return as;
}

function partOf(list: Slot, at: number): Computed {
  return {
    op: 'Element',
    of: { op: 'Slot', slot: list },
    keys: [{ op: 'Constant', value: at }],
    dialect: 'sql',
  };
}

export function valuesAssignments(
  analysis: Analysis,
  body: Extract<InsertBody, { readonly kind: 'values' }>,
  scope: QueryScope,
): readonly Assignment[] {
  const { columns, columnsAt, tuples } = body;
  for (const [number, column] of columns.entries())
    requireAssignable(analysis, column, columnsAt[number] ?? 0);
  const env = rowEnvironment(scope);
  const [only] = tuples;
  const single = tuples.length === 1 && only ? cellsOf(analysis, only, env) : undefined;
  const cells =
    single === undefined
      ? unwoundCells(analysis, body, scope)
      : single.map((value) => ({ value, type: assignedType(analysis, value, scope) }));
  return columns.map((property, at) => ({
    kind: 'set',
    property,
    path: [],
    operator: '=',
    value: cells[at]?.value ?? nullConstant,
    valueType: cells[at]?.type,
  }));
}

/** A value with the type that it does not show. */
interface TypedCell {
  readonly value: Computed;
  readonly type: Computed | undefined;
}

function cellsOf(analysis: Analysis, tuple: Expression, env: Environment): readonly Computed[] {
  if (tuple.kind === 'constants')
    return tuple.values.map((value): Computed => ({ op: 'Constant', value }));
  if (tuple.kind !== 'list') return [];
  return tuple.items.map((item) => assignedValue(analysis, item, env));
}

/**
 * Several tuples: a list of lists that is unwound, so that the plan does not grow with their number. Types that values do not show
 * stand behind the values of each tuple.
 */
function unwoundCells(
  analysis: Analysis,
  body: Extract<InsertBody, { readonly kind: 'values' }>,
  scope: QueryScope,
): readonly TypedCell[] {
  const env = rowEnvironment(scope);
  const { tuples, columns } = body;
  if (tuples.every((one) => one.kind === 'constants')) {
    const value = tuples.map((one) => one.values);
    const tuple = unwoundSlot(analysis, scope, { op: 'Constant', value });
    return columns.map((_, at) => ({ value: partOf(tuple, at), type: undefined }));
  }
  const rows = tuples.map((one) => {
    const values = cellsOf(analysis, one, env);
    return { values, types: values.map((value) => assignedType(analysis, value, scope)) };
  });
  const typed = [...columns.keys()].filter((at) => rows.some((row) => row.types[at] !== undefined));
  const items = rows.map(
    ({ values, types }): Computed => ({
      op: 'List',
      items: [...values, ...typed.map((at) => types[at] ?? nullConstant)],
    }),
  );
  const tuple = unwoundSlot(analysis, scope, { op: 'List', items });
  return columns.map((_, at) => ({
    value: partOf(tuple, at),
    type: typed.includes(at) ? partOf(tuple, columns.length + typed.indexOf(at)) : undefined,
  }));
}
