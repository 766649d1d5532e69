import type { Expression } from '../../algebra/expression.ts';
import type { LogicalPlan } from '../../algebra/plan.ts';
import { slotsWrittenBy } from '../../algebra/plan-walk.ts';
import { freeSlots, readsNoneOf, slotsOf } from '../../algebra/slots.ts';
import { conjunctionOf, conjunctsOf } from '../../algebra/walk.ts';
import { isDeterministic } from '../index-candidates.ts';
import { belowProject } from '../projected.ts';
import type { OptimizerContext, OptimizerRule } from '../rule.ts';

/**
 * Conditions move towards the sources as far as the slots that they read allow. They stop at what counts rows (Skip, Limit,
 * Aggregate), at writes, and at Eager.
 */
export const pushFilters: OptimizerRule = {
  name: 'push-filters',
  why: 'a condition above a projection or a join hides from indexes and lets rows through that are thrown away later',
  apply(plan, context) {
    if (plan.op !== 'Filter') return undefined;
    const conjuncts = conjunctsOf(plan.predicate);
    let input = plan.input;
    const kept: Expression[] = [];
    for (const conjunct of conjuncts) {
      const pushed = isDeterministic(conjunct, context)
        ? pushInto(input, conjunct, context)
        : undefined;
      if (pushed === undefined) kept.push(conjunct);
      else input = pushed;
    }
    if (kept.length === conjuncts.length) return undefined;
    const predicate = conjunctionOf(kept);
    return predicate === undefined ? input : { op: 'Filter', input, predicate };
  },
};

/** The plan with the condition somewhere below its root; undefined when it cannot go there. */
function pushInto(
  plan: LogicalPlan,
  conjunct: Expression,
  context: OptimizerContext,
): LogicalPlan | undefined {
  switch (plan.op) {
    case 'Project':
      return pushThroughProject(plan, conjunct, context);
    case 'Filter':
    case 'Sort':
    case 'TimeLimit': {
      // A sort with a limit gives other rows when it gets fewer.
      if (plan.op === 'Sort' && plan.limit !== undefined) return undefined;
      return { ...plan, input: placed(plan.input, conjunct, context) };
    }
    case 'Unwind':
    case 'ExpandValue':
    case 'Expand':
    case 'Degree':
    case 'ExpandPath':
      return readsNoneOf(conjunct, new Set(slotsWrittenBy(plan)))
        ? { ...plan, input: placed(plan.input, conjunct, context) }
        : undefined;
    case 'Apply':
      return pushIntoApply(plan, conjunct, context);
    default:
      return undefined;
  }
}

/** On top of the plan, or deeper where that is possible. */
function placed(plan: LogicalPlan, conjunct: Expression, context: OptimizerContext): LogicalPlan {
  return pushInto(plan, conjunct, context) ?? { op: 'Filter', input: plan, predicate: conjunct };
}

function pushIntoApply(
  plan: LogicalPlan & { readonly op: 'Apply' },
  conjunct: Expression,
  context: OptimizerContext,
): LogicalPlan | undefined {
  const inner = slotsOf(plan.inner);
  const own = new Set(slotsWrittenBy(plan));
  const optional = plan.mode.kind === 'optional' ? new Set(plan.mode.slots) : own;
  const readsInner = !readsNoneOf(conjunct, inner) || !readsNoneOf(conjunct, optional);
  if (!readsInner && readsNoneOf(conjunct, own))
    return { ...plan, outer: placed(plan.outer, conjunct, context) };
  if (plan.mode.kind !== 'cross' || slotsOf(plan.outer).size === 0) return undefined;
  // A join condition: the inner plan then runs once per outer row, which pays only where it was tied to the row before, or
  // the condition reads nothing of the outer row.
  const isTied = [...freeSlots(plan.inner)].some((slot) => slotsOf(plan.outer).has(slot));
  const readsOuter = !readsNoneOf(conjunct, slotsOf(plan.outer));
  if (readsOuter && !isTied) return undefined;
  return { ...plan, inner: placed(plan.inner, conjunct, context) };
}

/** A condition on projected columns becomes one on what they are made of, when that costs no more to compute. */
function pushThroughProject(
  plan: LogicalPlan & { readonly op: 'Project' },
  conjunct: Expression,
  context: OptimizerContext,
): LogicalPlan | undefined {
  const below = belowProject(conjunct, plan.columns);
  return below && { ...plan, input: placed(plan.input, below, context) };
}
