import type { Column, LogicalPlan } from '../../algebra/plan.ts';
import type { OptimizerRule } from '../rule.ts';

/**
 * The keys of a sort over a scan are computed by the scan, which reads them from the bytes of the block. (Aggregations do the
 * same when they are lowered: `physical/lift-aggregate-inputs.ts`.)
 */
export const sortColumns: OptimizerRule = {
  name: 'sort-columns',
  needs: ['Sort'],
  why: 'ORDER BY score would look up the cell by name in a record object per row',
  apply(plan, context) {
    if (plan.op !== 'Sort' || !isScan(plan.input)) return undefined;
    const columns: Column[] = [];
    const keys = plan.keys.map((key) => {
      if (key.value.op === 'Slot' || key.value.op === 'Constant') return key;
      const slot = context.newSlot();
      columns.push({ slot, value: key.value });
      return { ...key, value: { op: 'Slot' as const, slot } };
    });
    if (columns.length === 0) return undefined;
    return { ...plan, input: { op: 'Project', input: plan.input, columns }, keys };
  },
};

function isScan(plan: LogicalPlan): boolean {
  let current = plan;
  while (current.op === 'Filter') current = current.input;
  return current.op === 'TypeScan' || current.op === 'BucketScan';
}
