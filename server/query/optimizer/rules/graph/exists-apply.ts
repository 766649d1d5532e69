import type { Expression } from '../../../algebra/expression.ts';
import type { LogicalPlan } from '../../../algebra/plan.ts';
import { conjunctionOf, conjunctsOf } from '../../../algebra/walk.ts';
import type { OptimizerRule } from '../../rule.ts';

/** Conditions that ask whether a sub-plan has rows, or has none, keep the rows of a semi or anti join. */
export const existsApply: OptimizerRule = {
  name: 'exists-apply',
  needs: ['Filter'],
  why: 'a sub-plan in an expression is opened, run in slices and closed for each row, at four times the cost of a join',
  apply(plan) {
    if (plan.op !== 'Filter') return undefined;
    const conjuncts = conjunctsOf(plan.predicate);
    const asked = conjuncts.filter((conjunct) => existenceOf(conjunct) !== undefined);
    if (asked.length === 0) return undefined;
    const predicate = conjunctionOf(conjuncts.filter((conjunct) => !asked.includes(conjunct)));
    let outer: LogicalPlan =
      predicate === undefined ? plan.input : { op: 'Filter', input: plan.input, predicate };
    for (const conjunct of asked) {
      const { kind, inner } = existenceOf(conjunct) as Existence;
      outer = { op: 'Apply', outer, inner, mode: { kind } };
    }
    return outer;
  },
};

interface Existence {
  readonly kind: 'semi' | 'anti';
  readonly inner: LogicalPlan;
}

function existenceOf(condition: Expression): Existence | undefined {
  let asked = condition;
  let isNegated = false;
  while (asked.op === 'Not' || asked.op === 'Truth') {
    isNegated = isNegated !== (asked.op === 'Not');
    asked = asked.operand;
  }
  if (asked.op !== 'SubPlan' || asked.mode !== 'exists') return undefined;
  return { kind: isNegated ? 'anti' : 'semi', inner: asked.plan };
}
