import type { Expression, Slot } from '../../algebra/expression.ts';
import type { AggregateColumn, LogicalPlan } from '../../algebra/plan.ts';
import { rewriteExpression } from '../../algebra/walk.ts';
import { isComponent, usableIndexes } from '../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../rule.ts';

/** Types whose order in an index is the order that min() and max() use. */
const orderedTypes: ReadonlySet<string> = new Set([
  'INTEGER',
  'SHORT',
  'LONG',
  'BYTE',
  'STRING',
  'DATE',
  'DATETIME',
]);

/** min() and max() of an indexed property are the first entry from one end that is not null. */
export const indexExtreme: OptimizerRule = {
  name: 'index-extreme',
  needs: ['Aggregate'],
  why: 'SELECT max(created) FROM Post would read every record',
  apply(plan, context) {
    if (plan.op !== 'Aggregate' || plan.keys.length > 0 || plan.first.length > 0) return undefined;
    const scan = plan.input;
    if (scan.op !== 'TypeScan' || scan.range !== undefined) return undefined;
    const [only, ...others] = plan.aggregates;
    if (only === undefined) return undefined;
    if (others.length === 0) {
      const input = extremeOf(only, scan, context);
      return input && { ...plan, input };
    }
    // Each of several has an end of its own to look at; all of them give one row.
    let whole: LogicalPlan | undefined;
    for (const aggregate of plan.aggregates) {
      const as = context.newSlot();
      const own = { ...aggregate, arguments: aggregate.arguments.map(moved(scan.as, as)) };
      const input = extremeOf(own, { ...scan, as }, context);
      if (input === undefined) return undefined;
      const row: LogicalPlan = { ...plan, input, aggregates: [own] };
      whole = whole ? { op: 'Apply', outer: whole, inner: row, mode: { kind: 'cross' } } : row;
    }
    return whole;
  },
};

type Scan = LogicalPlan & { readonly op: 'TypeScan' };

/** The expression with one slot in place of another. */
function moved(from: Slot, to: Slot): (value: Expression) => Expression {
  return (value) =>
    rewriteExpression(value, (part) =>
      part.op === 'Slot' && part.slot === from ? { op: 'Slot', slot: to } : part,
    );
}

function extremeOf(
  aggregate: AggregateColumn,
  scan: Scan,
  context: OptimizerContext,
): LogicalPlan | undefined {
  const name = aggregate.function.toLowerCase();
  const [value] = aggregate.arguments;
  if ((name !== 'min' && name !== 'max') || value === undefined) return undefined;
  if (aggregate.arguments.length !== 1) return undefined;
  return firstOf(scan, value, name === 'min' ? 'ascending' : 'descending', context);
}

/** The record with the extreme value; all others could not change the result. */
function firstOf(
  scan: Scan,
  value: Expression,
  order: 'ascending' | 'descending',
  context: OptimizerContext,
): LogicalPlan | undefined {
  for (const index of usableIndexes(scan.types, context)) {
    const [component] = index.components;
    if (index.kind !== 'LSM_TREE' || index.components.length !== 1 || component === undefined)
      continue;
    if (component.by !== 'value' || component.caseInsensitive) continue;
    if (!isComponent(value, component, scan.as)) continue;
    const isOrdered = scan.types.every((type) =>
      orderedTypes.has(context.catalog.property(type, component.property)?.type ?? ''),
    );
    if (!isOrdered) continue;
    const search: LogicalPlan = {
      op: 'IndexSearch',
      index: index.id,
      bounds: { equals: [] },
      types: scan.types,
      as: scan.as,
      order,
      // Records without the value matter to nobody here, so the index need not hold them.
      covers: { op: 'Not', operand: { op: 'IsNull', operand: value } },
    };
    return { op: 'Limit', input: search, count: { op: 'Constant', value: 1 } };
  }
  return undefined;
}
