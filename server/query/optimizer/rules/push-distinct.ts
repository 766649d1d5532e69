import type { Expression, Slot } from '../../algebra/expression.ts';
import { walkPlan } from '../../algebra/plan-walk.ts';
import type { LogicalPlan } from '../../algebra/plan.ts';
import { belowProject } from '../projected.ts';
import type { OptimizerRule } from '../rule.ts';

/**
 * A projection gives one row per row, so what is distinct above it can be made distinct below it; `@rid` tells elements
 * apart as the elements themselves do.
 */
export const pushDistinct: OptimizerRule = {
  name: 'push-distinct',
  needs: ['Distinct'],
  why: 'distinct elements of a graph step are cheap to tell apart inside the step, and dear above a projection',
  apply(plan) {
    if (plan.op !== 'Distinct' || plan.input.op !== 'Project') return undefined;
    const project = plan.input;
    const slots: Expression[] = [];
    const lowered = belowProject(project.columns);
    for (const part of plan.on) {
      const slot = slotTold(lowered(part), project.input);
      if (slot === undefined) return undefined;
      slots.push(slot);
    }
    return { ...project, input: { ...plan, input: project.input, on: slots } };
  },
};

/** The slot that differs exactly where the expression does. */
function slotTold(
  expression: Expression | undefined,
  input: LogicalPlan,
): (Expression & { readonly op: 'Slot' }) | undefined {
  if (expression?.op === 'Slot') return expression;
  if (expression?.op !== 'Attribute' || expression.attribute !== 'rid') return undefined;
  const { of } = expression;
  return of.op === 'Slot' && isEndOfStep(of.slot, input) ? of : undefined;
}

/** It holds an element or null; what other slots hold may have no `@rid`, or share one. */
function isEndOfStep(slot: Slot, plan: LogicalPlan): boolean {
  let isEnd = false;
  walkPlan(plan, {
    plan(node) {
      if (node.op === 'Expand' && node.to === slot) isEnd = true;
    },
  });
  return isEnd;
}
