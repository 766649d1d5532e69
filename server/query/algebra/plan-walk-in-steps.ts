import type { PausingWork } from '#core/pausing-work.ts';
import type { Expression } from './expression.ts';
import { expressionsOf, inputsOf, type PlanVisitor, visitExpression } from './plan-walk.ts';
import type { LogicalPlan } from './plan.ts';
import { longOperandCount, operandsOf } from './walk.ts';

/** Nodes, and operands of long expressions, between two pauses of `walkPlanInSteps`: of code that is compiled a millisecond or less. */
const visitsPerPauseMax = 1_000;
/** Before the first pause, twice as many before each that follows. */
const visitsBeforePause = 125;

/** As `walkPlan`, with pauses in wide plans and in long conditions; not in plans inside of expressions. */
export function* walkPlanInSteps(plan: LogicalPlan, visitor: PlanVisitor): PausingWork<void> {
  const waiting: LogicalPlan[] = [plan];
  let visitsPerPause = visitsBeforePause;
  let visitsLeft = visitsPerPause;
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    visitor.plan?.(node);
    const inputs = inputsOf(node);
    const expressions = expressionsOf(node);
    for (let at = 0; at < expressions.length; at += 1) {
      const expression = expressions[at] as Expression;
      const operands = operandsOf(expression);
      visitsLeft -= 1;
      if (operands.length < longOperandCount) {
        visitExpression(expression, visitor);
        continue;
      }
      visitor.expression?.(expression);
      for (let of = 0; of < operands.length; of += 1) {
        visitExpression(operands[of] as Expression, visitor);
        visitsLeft -= 1;
        if (visitsLeft > 0) continue;
        visitsPerPause = Math.min(visitsPerPauseMax, visitsPerPause * 2);
        visitsLeft = visitsPerPause;
        yield;
      }
    }
    for (let at = inputs.length - 1; at >= 0; at -= 1) waiting.push(inputs[at] as LogicalPlan);
    visitsLeft -= 1;
    if (visitsLeft > 0) continue;
    visitsPerPause = Math.min(visitsPerPauseMax, visitsPerPause * 2);
    visitsLeft = visitsPerPause;
    yield;
  }
}
