import type { PausingWork } from '#core/pausing-work.ts';
import { LookShare } from '#core/turn-end.ts';
import type { Expression } from './expression.ts';
import { expressionsOf, inputsOf, type PlanVisitor, visitExpression } from './plan-walk.ts';
import type { LogicalPlan } from './plan.ts';
import { operandsOf, partCountOf, pushReversed } from './walk.ts';

/** Nodes, and operands of long expressions, between two pauses of `walkPlanInSteps`: of code that is compiled a millisecond or less. */
const visitsPerPause = { first: 125, most: 1_000 };

/** An expression of fewer parts is walked at once. */
const partsAtOnce = 256;

/** As `walkPlan`, with pauses in wide plans and in long expressions; not in plans inside of expressions. */
export function* walkPlanInSteps(plan: LogicalPlan, visitor: PlanVisitor): PausingWork<void> {
  const waiting: LogicalPlan[] = [plan];
  const parts: Expression[] = [];
  /** The part at hand belongs to a long expression, which is gone through when so many others are left. */
  let isLong = false;
  let longEnd = -1;
  const share = new LookShare(visitsPerPause);
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    visitor.plan?.(node);
    const inputs = inputsOf(node);
    pushReversed(parts, expressionsOf(node));
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const isSingle = isLong || part.op === 'SubPlan' || operandsOf(part).length === 0;
      const partCount = isSingle ? 1 : partCountOf(part, partsAtOnce);
      if (!isLong && partCount > partsAtOnce) {
        isLong = true;
        longEnd = parts.length;
      }
      if (!isLong || part.op === 'SubPlan') visitExpression(part, visitor);
      else {
        // Counted at each level, a deep expression would take the square of its depth.
        visitor.expression?.(part);
        pushReversed(parts, operandsOf(part));
      }
      if (parts.length === longEnd) {
        isLong = false;
        longEnd = -1;
      }
      if (share.isSpent(1 + (partCount >> 4))) yield;
    }
    pushReversed(waiting, inputs);
    if (share.isSpent(1)) yield;
  }
}
