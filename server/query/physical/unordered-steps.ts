import type { PausingWork } from '#core/pausing-work.ts';
import type { Slot } from '../algebra/expression.ts';
import type { AggregateColumn, LogicalPlan } from '../algebra/plan.ts';
import { walkPlanInSteps } from '../algebra/plan-walk-in-steps.ts';
import { slotsRead } from '../algebra/slots.ts';

/**
 * The steps to neighbours whose rows end in counts, so that nobody can tell in which order they came. Cost: two walks over the
 * plan.
 */
export function* unorderedSteps(plan: LogicalPlan): PausingWork<ReadonlySet<LogicalPlan>> {
  const steps = new Set<LogicalPlan>();
  const wholes = new Set<Slot>();
  const aggregates: (LogicalPlan & { readonly op: 'Aggregate' })[] = [];
  yield* walkPlanInSteps(plan, {
    plan(node) {
      if (node.op === 'Degree' || node.op === 'BranchCount') wholes.add(node.as);
      if (node.op === 'Aggregate') aggregates.push(node);
    },
  });
  for (const aggregate of aggregates) {
    yield;
    if (aggregate.first.length > 0) continue;
    if (aggregate.aggregates.every((column) => isBlindToOrder(column, wholes)))
      addSteps(aggregate.input, steps);
  }
  return steps;
}

/** Counts are, and sums of whole numbers; sums of doubles differ in their last bits. */
function isBlindToOrder(column: AggregateColumn, wholes: ReadonlySet<Slot>): boolean {
  const name = column.function.toLowerCase();
  if (name === 'count') return true;
  if (name !== 'sum') return false;
  return column.arguments.every((argument) =>
    [...slotsRead(argument)].every((slot) => wholes.has(slot)),
  );
}

/** Adds the steps below as far down as each row goes its way whatever came before it. */
function addSteps(plan: LogicalPlan, steps: Set<LogicalPlan>): void {
  switch (plan.op) {
    case 'Expand':
      steps.add(plan);
      addSteps(plan.input, steps);
      return;
    case 'Filter':
    case 'Project':
    case 'Unwind':
    case 'Degree':
    case 'BranchCount':
    case 'ExpandPath':
      addSteps(plan.input, steps);
      return;
    case 'Apply':
      addSteps(plan.outer, steps);
      if (plan.mode.kind !== 'collect') addSteps(plan.inner, steps);
      return;
    default:
  }
}
