import type { Expression } from '../../algebra/expression.ts';
import type { LogicalPlan } from '../../algebra/plan.ts';
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
    const [aggregate] = plan.aggregates;
    const scan = plan.input;
    if (plan.aggregates.length !== 1 || aggregate === undefined) return undefined;
    if (scan.op !== 'TypeScan' || scan.range !== undefined) return undefined;
    const name = aggregate.function.toLowerCase();
    const [value] = aggregate.arguments;
    if ((name !== 'min' && name !== 'max') || value === undefined) return undefined;
    if (aggregate.arguments.length !== 1) return undefined;
    const order = name === 'min' ? 'ascending' : 'descending';
    const input = firstOf(scan, value, order, context);
    return input && { ...plan, input };
  },
};

/** The record with the extreme value; all others could not change the result. */
function firstOf(
  scan: LogicalPlan & { readonly op: 'TypeScan' },
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
