import type { PausingWork } from '#core/pausing-work.ts';
import type { Expression } from './expression.ts';
import { expressionsOf, inputsOf, type PlanVisitor, visitExpression } from './plan-walk.ts';
import type { LogicalPlan } from './plan.ts';
import { operandsOf, partCountOf, pushReversed } from './walk.ts';

/** Nodes, and operands of long expressions, between two pauses of `walkPlanInSteps`: of code that is compiled a millisecond or less. */
const visitsPerPauseMax = 1_000;
/** Before the first pause, twice as many before each that follows. */
const visitsBeforePause = 125;

/** An expression of fewer parts is walked at once. */
const partsAtOnce = 256;

/** As `walkPlan`, with pauses in wide plans and in long expressions; not in plans inside of expressions. */
export function* walkPlanInSteps(plan: LogicalPlan, visitor: PlanVisitor): PausingWork<void> {
  const waiting: LogicalPlan[] = [plan];
  const parts: Expression[] = [];
  let visitsPerPause = visitsBeforePause;
  let visitsLeft = visitsPerPause;
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    visitor.plan?.(node);
    const inputs = inputsOf(node);
    pushReversed(parts, expressionsOf(node));
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const operands = operandsOf(part);
      visitsLeft -= 1;
      if (operands.length === 0) visitExpression(part, visitor);
      else {
        const partCount = partCountOf(part, partsAtOnce);
        if (partCount <= partsAtOnce) {
          visitExpression(part, visitor);
          visitsLeft -= partCount >> 4;
        } else {
          visitor.expression?.(part);
          pushReversed(parts, operands);
        }
      }
      if (visitsLeft > 0) continue;
      visitsPerPause = Math.min(visitsPerPauseMax, visitsPerPause * 2);
      visitsLeft = visitsPerPause;
      yield;
    }
    pushReversed(waiting, inputs);
    visitsLeft -= 1;
    if (visitsLeft > 0) continue;
    visitsPerPause = Math.min(visitsPerPauseMax, visitsPerPause * 2);
    visitsLeft = visitsPerPause;
    yield;
  }
}
