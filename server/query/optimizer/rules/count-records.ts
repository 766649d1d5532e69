import type { LogicalPlan } from '../../algebra/plan.ts';
import type { OptimizerRule } from '../rule.ts';

/** `count(*)` over a whole type reads the counters of its buckets. */
export const countRecords: OptimizerRule = {
  name: 'count-records',
  needs: ['Aggregate'],
  why: 'SELECT count(*) FROM Person would read every block of the type',
  apply(plan, { catalog }) {
    if (plan.op !== 'Aggregate' || plan.keys.length > 0 || plan.first.length > 0) return undefined;
    const [aggregate] = plan.aggregates;
    if (plan.aggregates.length !== 1 || aggregate === undefined) return undefined;
    if (aggregate.function.toLowerCase() !== 'count' || aggregate.arguments.length > 0)
      return undefined;
    // A trigger on READ may keep records from being seen: then they are counted one by one.
    if (catalog.definitions.hasReadTriggers) return undefined;
    return counted(plan.input, aggregate.slot);
  },
};

/** Columns do not change the number of rows; what they would compute is not asked for. */
function counted(plan: LogicalPlan, as: number): LogicalPlan | undefined {
  if (plan.op === 'Project') return counted(plan.input, as);
  if (plan.op === 'TypeScan' && plan.range === undefined)
    return { op: 'RecordCount', types: plan.types, as };
  if (plan.op === 'BucketScan' && plan.range === undefined)
    return { op: 'RecordCount', types: [], buckets: plan.buckets, as };
  return undefined;
}
