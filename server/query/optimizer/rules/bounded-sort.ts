import type { Expression } from '../../algebra/expression.ts';
import type { LogicalPlan, PlanNode } from '../../algebra/plan.ts';
import type { OptimizerRule } from '../rule.ts';

/**
 * `ORDER BY p LIMIT k` over a scan tells the scan the worst key that is still wanted, as soon as k rows are kept: rows behind it are
 * passed over on the bytes of the block. (In the literature: a dynamic filter of a top-N.)
 */
export const boundedSort: OptimizerRule = {
  name: 'bounded-sort',
  needs: ['Sort'],
  why: 'ORDER BY name LIMIT 100 would make a text and a row of each record, to keep a hundred',
  apply(plan, context) {
    if (plan.op !== 'Sort' || plan.limit === undefined || plan.bound !== undefined)
      return undefined;
    const [key] = plan.keys;
    if (plan.dialect === 'cypher' || key === undefined || typeof key.descending !== 'boolean')
      return undefined;
    const project = plan.input.op === 'Project' ? plan.input : undefined;
    const scan = scanUnder(project?.input ?? plan.input);
    if (scan === undefined || project?.isLong === true) return undefined;
    // A row that is passed over computes no column, so none may fail.
    if (project?.columns.some(({ value }) => mayFail(value))) return undefined;
    const value = columnOf(key.value, project);
    const isOwn = value.op === 'Property' && value.of.op === 'Slot' && value.of.slot === scan.as;
    if (!isOwn || value.dialect !== 'sql') return undefined;
    return { ...plan, bound: { slot: context.newSlot(), property: value } };
  },
};

function scanUnder(plan: LogicalPlan): PlanNode<'TypeScan' | 'BucketScan'> | undefined {
  let current = plan;
  while (current.op === 'Filter') current = current.input;
  if (current.op !== 'TypeScan' && current.op !== 'BucketScan') return undefined;
  return current.range === undefined ? current : undefined;
}

function columnOf(key: Expression, project: PlanNode<'Project'> | undefined): Expression {
  if (key.op !== 'Slot') return key;
  return project?.columns.find(({ slot }) => slot === key.slot)?.value ?? key;
}

function mayFail(value: Expression): boolean {
  if (value.op === 'Property' || value.op === 'Attribute') return value.of.op !== 'Slot';
  return value.op !== 'Slot' && value.op !== 'Constant' && value.op !== 'Parameter';
}
