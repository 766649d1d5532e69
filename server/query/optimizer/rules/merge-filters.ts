import { someLong } from '#core/replayed-loops.ts';
import type { Expression } from '../../algebra/expression.ts';
import { conjunctionOf, conjunctsOf } from '../../algebra/walk.ts';
import type { OptimizerRule } from '../rule.ts';

/** Two filters in a row become one, and conditions that are always true vanish. */
export const mergeFilters: OptimizerRule = {
  name: 'merge-filters',
  needs: ['Filter'],
  why: 'other rules look at all conjuncts of a scan at once',
  apply(plan) {
    if (plan.op !== 'Filter') return undefined;
    const below = plan.input;
    const all =
      below.op === 'Filter'
        ? [...conjunctsOf(below.predicate), ...conjunctsOf(plan.predicate)]
        : conjunctsOf(plan.predicate);
    const areSome = someLong(all, isTrue);
    if (below.op !== 'Filter' && !areSome) return undefined;
    const conjuncts = areSome ? all.filter((part) => !isTrue(part)) : all;
    const input = below.op === 'Filter' ? below.input : below;
    const predicate = conjunctionOf(conjuncts);
    return predicate === undefined ? input : { op: 'Filter', input, predicate };
  },
};

function isTrue(part: Expression): boolean {
  return part.op === 'Constant' && part.value === true;
}
