import type { Expression, Slot } from '../algebra/expression.ts';
import type { AggregateColumn, LogicalPlan, PlanNode } from '../algebra/plan.ts';
import type { OptimizerContext } from './rule.ts';

/** `count(*)`, or `count(x)` of a slot that is never null. */
export function isCountOfRows(aggregate: AggregateColumn, neverNull: ReadonlySet<Slot>): boolean {
  return (
    aggregate.function.toLowerCase() === 'count' &&
    !aggregate.distinct &&
    aggregate.arguments.every((argument) => argument.op === 'Slot' && neverNull.has(argument.slot))
  );
}

/**
 * The aggregate over rows that stand for several: each count becomes the sum of the products of `weights`. With groups, rows
 * that stand for none are left out, since they made no group.
 */
export function sumOfWeights(
  plan: PlanNode<'Aggregate'>,
  weighted: LogicalPlan,
  weights: readonly Slot[],
  context: OptimizerContext,
): LogicalPlan {
  const weight = weights
    .map((slot): Expression => ({ op: 'Slot', slot }))
    .reduce((left, right) => ({ op: 'Arithmetic', operator: '*', left, right, dialect: 'sql' }));
  const hasGroups = plan.keys.length > 0 || plan.first.length > 0;
  const input: LogicalPlan = hasGroups
    ? { op: 'Filter', input: weighted, predicate: above0(weight) }
    : weighted;
  const sums = plan.aggregates.map((aggregate) => ({
    ...aggregate,
    slot: context.newSlot(),
    function: 'sum',
    arguments: [weight],
  }));
  return {
    op: 'Project',
    input: { ...plan, input, aggregates: sums },
    columns: plan.aggregates.map((aggregate, at) => ({
      slot: aggregate.slot,
      value: orZero({ op: 'Slot', slot: sums[at]?.slot as Slot }),
    })),
  };
}

function above0(value: Expression): Expression {
  return {
    op: 'Compare',
    operator: '>',
    left: value,
    right: { op: 'Constant', value: 0 },
    dialect: 'sql',
  };
}

/** A sum over no rows is null, a count is 0. */
function orZero(value: Expression): Expression {
  return { op: 'Coalesce', operands: [value, { op: 'Constant', value: 0 }] };
}
