import type { PausingWork } from '#core/pausing-work.ts';
import { LookShare } from '#core/turn-end.ts';
import type { Expression } from './expression.ts';
import { expressionsOf, inputsOf, type PlanVisitor, visitExpression } from './plan-walk.ts';
import type { LogicalPlan } from './plan.ts';
import { operandsOf, pushReversed } from './walk.ts';

/** Nodes, and operands of long expressions, between two pauses of `walkPlanInSteps`: of code that is compiled a millisecond or less. */
const visitsPerPause = { first: 250, most: 2_000 };

/**
 * As `walkPlan`, with pauses in wide plans and in long expressions; not in plans inside of expressions. Part by part: to ask first how many
 * there are, or whether one of them holds a plan, is a walk as long as this one.
 */
export function* walkPlanInSteps(plan: LogicalPlan, visitor: PlanVisitor): PausingWork<void> {
  const waiting: LogicalPlan[] = [plan];
  const parts: Expression[] = [];
  const share = new LookShare(visitsPerPause);
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    visitor.plan?.(node);
    const inputs = inputsOf(node);
    pushReversed(parts, expressionsOf(node));
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      if (part.op === 'SubPlan') visitExpression(part, visitor);
      else {
        visitor.expression?.(part);
        pushReversed(parts, operandsOf(part));
      }
      if (share.isSpent(1)) yield;
    }
    pushReversed(waiting, inputs);
    if (share.isSpent(1)) yield;
  }
}
