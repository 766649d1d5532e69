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
  apply: (plan) => withLimitBelow(plan, (node) => node.op === 'Sort' && node.limit === undefined),
};

/** Likewise of groups, which come out in the order in which they are first seen. */
export const limitGroups: OptimizerRule = {
  name: 'limit-groups',
  needs: ['Aggregate'],
  why: 'GROUP BY ... LIMIT 10 would hold every group to give ten',
  apply: (plan) =>
    withLimitBelow(
      plan,
      (node) => node.op === 'Aggregate' && node.keys.length > 0 && node.limit === undefined,
    ),
};

/** The plan of a limit, with its number told to the node below that `isTold` picks. */
function withLimitBelow(
  plan: LogicalPlan,
  isTold: (node: LogicalPlan) => boolean,
): LogicalPlan | undefined {
  if (plan.op !== 'Limit') return undefined;
  const input = limited(plan.input, { count: plan.count, isTold });
  return input && { ...plan, input };
}

interface Wanted {
  readonly count: Expression;
  readonly skip?: Expression;
  readonly isTold: (node: LogicalPlan) => boolean;
}

function limited(plan: LogicalPlan, wanted: Wanted): LogicalPlan | undefined {
  const { count, skip, isTold } = wanted;
  if (plan.op === 'Project') {
    const input = limited(plan.input, wanted);
    return input && { ...plan, input };
  }
  if (plan.op === 'Skip' && skip === undefined) {
    const input = limited(plan.input, { ...wanted, skip: plan.count });
    return input && { ...plan, input };
  }
  if (!isTold(plan)) return undefined;
  const limit = skip === undefined ? bare(count) : sum(count, skip);
  return limit && ({ ...plan, limit } as LogicalPlan);
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
