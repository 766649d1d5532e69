import type { Expression } from '../../algebra/expression.ts';
import type { LogicalPlan } from '../../algebra/plan.ts';
import { slotsReadBy } from '../../algebra/slots.ts';
import type { OptimizerRule } from '../rule.ts';

/**
 * Counting the rows of a last step is adding up degrees: the edges themselves are not walked. With groups, rows without
 * neighbours are left out first, since they made no group.
 */
export const countDegrees: OptimizerRule = {
  name: 'count-degrees',
  needs: ['Aggregate'],
  why: 'counting the neighbours of a vertex with 200,000 edges would walk them all',
  apply(plan, context) {
    if (plan.op !== 'Aggregate') return undefined;
    const expand = plan.input;
    if (expand.op !== 'Expand' || expand.into || expand.toTypes !== undefined) return undefined;
    if (expand.move.kind !== 'vertex' && expand.move.kind !== 'edge') return undefined;
    const countsRows = plan.aggregates.every(
      (aggregate) =>
        aggregate.function.toLowerCase() === 'count' &&
        !aggregate.distinct &&
        (aggregate.arguments.length === 0 ||
          aggregate.arguments.every(
            (argument) => argument.op === 'Slot' && argument.slot === expand.to,
          )),
    );
    if (!countsRows || plan.aggregates.length === 0) return undefined;
    const counted = new Set(plan.aggregates.map((aggregate) => aggregate.slot));
    const read = slotsReadBy({ ...plan, aggregates: [] });
    if (read.has(expand.to) || (expand.edge !== undefined && read.has(expand.edge)))
      return undefined;
    const as = context.newSlot();
    const degree: Expression = { op: 'Slot', slot: as };
    const degrees: LogicalPlan = {
      op: 'Degree',
      input: expand.input,
      from: expand.from,
      move: expand.move,
      as,
    };
    const hasGroups = plan.keys.length > 0 || plan.first.length > 0;
    const input: LogicalPlan = hasGroups
      ? { op: 'Filter', input: degrees, predicate: above0(degree) }
      : degrees;
    const sums = plan.aggregates.map((aggregate) => ({
      ...aggregate,
      slot: context.newSlot(),
      function: 'sum',
      arguments: [degree],
    }));
    return {
      op: 'Project',
      input: { ...plan, input, aggregates: sums },
      columns: [...counted].map((slot, at) => ({
        slot,
        value: orZero({ op: 'Slot', slot: sums[at]?.slot ?? as }),
      })),
    };
  },
};

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
