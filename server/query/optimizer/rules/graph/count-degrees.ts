import { slotsReadBy } from '../../../algebra/slots.ts';
import { isCountOfRows, sumOfWeights } from '../../count-as-sum.ts';
import type { OptimizerRule } from '../../rule.ts';

/** Counting the rows of a last step is adding up degrees: the edges themselves are not walked. */
export const countDegrees: OptimizerRule = {
  name: 'count-degrees',
  needs: ['Aggregate'],
  why: 'counting the neighbours of a vertex with 200,000 edges would walk them all',
  apply(plan, context) {
    if (plan.op !== 'Aggregate' || plan.aggregates.length === 0) return undefined;
    const expand = plan.input;
    if (expand.op !== 'Expand' || expand.into || expand.toTypes !== undefined) return undefined;
    const { input, from, move, unlike } = expand;
    if (move.kind !== 'vertex' && move.kind !== 'edge') return undefined;
    const never = new Set([expand.to]);
    if (!plan.aggregates.every((aggregate) => isCountOfRows(aggregate, never))) return undefined;
    const read = slotsReadBy({ ...plan, aggregates: [] });
    if (read.has(expand.to) || (expand.edge !== undefined && read.has(expand.edge)))
      return undefined;
    const as = context.newSlot();
    const degree = { op: 'Degree' as const, input, from, move, as, ...(unlike && { unlike }) };
    return sumOfWeights(plan, degree, [as], context);
  },
};
