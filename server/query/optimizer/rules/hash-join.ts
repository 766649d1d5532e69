import type { Slot } from '../../algebra/expression.ts';
import type { Expression } from '../../algebra/expression.ts';
import type { JoinEquality, LogicalPlan, PlanNode } from '../../algebra/plan.ts';
import { freeSlots, slotsOf, slotsRead } from '../../algebra/slots.ts';
import { conjunctsOf, walkExpression } from '../../algebra/walk.ts';
import type { OptimizerContext, OptimizerRule } from '../rule.ts';

/**
 * A product of two unconnected parts under an equality between them finds the rows that can be equal by a hash table over the
 * inner part. The filter stays: it decides.
 */
export const hashJoin: OptimizerRule = {
  name: 'hash-join',
  needs: ['Apply'],
  why: 'two unconnected parts of a MATCH with a.x = b.x would be compared pair by pair',
  apply(plan, context) {
    if (plan.op !== 'Filter' || plan.input.op !== 'Apply') return undefined;
    const { input } = plan;
    if (input.mode.kind !== 'cross' || input.equality !== undefined) return undefined;
    const equality = equalityOf(plan.predicate, input, context);
    return equality && { ...plan, input: { ...input, equality } };
  },
};

function equalityOf(
  predicate: Expression,
  { outer, inner }: PlanNode<'Apply'>,
  context: OptimizerContext,
): JoinEquality | undefined {
  const outerSlots = slotsOf(outer);
  if (isTied(inner, outerSlots)) return undefined;
  const innerSlots = slotsOf(inner);
  for (const part of conjunctsOf(predicate)) {
    if (part.op !== 'Compare' || part.operator !== '=') continue;
    if (!isPlain(part.left, context) || !isPlain(part.right, context)) continue;
    const [left, right] = [slotsRead(part.left), slotsRead(part.right)];
    if (isWithin(left, outerSlots) && isWithin(right, innerSlots))
      return { outer: part.left, inner: part.right };
    if (isWithin(left, innerSlots) && isWithin(right, outerSlots))
      return { outer: part.right, inner: part.left };
  }
  return undefined;
}

function isTied(inner: LogicalPlan, outerSlots: ReadonlySet<Slot>): boolean {
  for (const slot of freeSlots(inner)) if (outerSlots.has(slot)) return true;
  return false;
}

function isWithin(read: ReadonlySet<Slot>, slots: ReadonlySet<Slot>): boolean {
  if (read.size === 0) return false;
  for (const slot of read) if (!slots.has(slot)) return false;
  return true;
}

/** The same value whenever it is computed, and nothing that takes long. */
function isPlain(expression: Expression, context: OptimizerContext): boolean {
  let isSame = true;
  walkExpression(expression, (part) => {
    if (part.op === 'SubPlan') isSame = false;
    if (part.op === 'Call' && context.functions.scalar(part.function)?.isDeterministic !== true)
      isSame = false;
  });
  return isSame;
}
