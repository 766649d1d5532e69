import type { Expression } from '../../algebra/expression.ts';
import type { LogicalPlan } from '../../algebra/plan.ts';
import type { OptimizerRule } from '../rule.ts';

/**
 * A limit above a sort tells the sort how many rows to keep; rows skipped in between count as well. Projections between them
 * change nothing.
 */
export const limitSort: OptimizerRule = {
  name: 'limit-sort',
  needs: ['Sort'],
  why: 'ORDER BY ... LIMIT 10 would sort all rows to give ten',
  apply(plan) {
    if (plan.op !== 'Limit') return undefined;
    const input = limited(plan.input, plan.count, undefined);
    return input && { ...plan, input };
  },
};

function limited(
  plan: LogicalPlan,
  count: Expression,
  skip: Expression | undefined,
): LogicalPlan | undefined {
  if (plan.op === 'Project') {
    const input = limited(plan.input, count, skip);
    return input && { ...plan, input };
  }
  if (plan.op === 'Skip' && skip === undefined) {
    const input = limited(plan.input, count, plan.count);
    return input && { ...plan, input };
  }
  if (plan.op !== 'Sort' || plan.limit !== undefined) return undefined;
  const limit = skip === undefined ? bare(count) : sum(count, skip);
  return limit && { ...plan, limit };
}

function bare(count: Expression): Expression | undefined {
  return count.op === 'Constant' || count.op === 'Parameter' || count.op === 'Variable'
    ? count
    : undefined;
}

/** Only plain numbers are added here: what LIMIT and SKIP do with other values is their own business. */
function sum(count: Expression, skip: Expression): Expression | undefined {
  if (count.op !== 'Constant' || skip.op !== 'Constant') return undefined;
  const a = count.value;
  const b = skip.value;
  if (typeof a !== 'number' || typeof b !== 'number' || a < 0 || b < 0) return undefined;
  return { op: 'Constant', value: Math.min(a + b, Number.MAX_SAFE_INTEGER) };
}
