import { planMatch } from '../../match-planner.ts';
import type { OptimizerRule } from '../../rule.ts';

export const matchOrder = 'match-order';

/**
 * A pattern becomes a plan of scans, lookups and steps. This must happen in any case; with `match-order` switched off nodes
 * and steps are taken as they are written.
 */
export const planMatches: OptimizerRule = {
  name: matchOrder,
  needs: ['Match'],
  why: 'starting at the wrong end of a pattern, or walking edges in the wrong direction, can cost a thousand times more',
  apply(plan, context) {
    if (plan.op !== 'Match') return undefined;
    return planMatch(plan, context, !context.disabled.has(matchOrder));
  },
};
