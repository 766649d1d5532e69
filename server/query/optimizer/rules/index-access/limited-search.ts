import type { IndexSearchNode, LogicalPlan } from '../../../algebra/plan.ts';
import { scanInPlaceOf } from '../../../algebra/scan-in-place.ts';
import { conjunctsOf } from '../../../algebra/walk.ts';
import { limitOf, scanCost, selectivityOf } from '../../cost.ts';
import { indexCandidates } from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/** One entry gathered from an index, in the unit of `cost.ts`. */
const gatherCost = 0.3;

/**
 * A search for a range gathers all of its ids before the first row. Under a small limit a scan that ends early may be
 * cheaper; the rows are the same, since both come in scan order.
 */
export const limitedSearch: OptimizerRule = {
  name: 'limited-search',
  needs: ['IndexSearch'],
  why: 'WHERE age > 5 LIMIT 10 would gather a million ids to give ten rows',
  apply(plan, context) {
    if (plan.op !== 'Limit') return undefined;
    const limit = limitOf(plan.count);
    if (!Number.isFinite(limit)) return undefined;
    const input = scanned(plan.input, limit, context);
    return input && { ...plan, input };
  },
};

function scanned(
  plan: LogicalPlan,
  limit: number,
  context: OptimizerContext,
): LogicalPlan | undefined {
  switch (plan.op) {
    case 'Project': {
      const input = scanned(plan.input, limit, context);
      return input && { ...plan, input };
    }
    case 'Filter': {
      const input = scanned(plan.input, limit / selectivityOf(plan.predicate), context);
      return input && { ...plan, input };
    }
    case 'IndexSearch':
      return isWorthScanning(plan, limit, context) && plan.covers
        ? {
            op: 'Filter',
            input: scanInPlaceOf(plan),
            predicate: plan.covers,
          }
        : undefined;
    default:
      return undefined;
  }
}

function isWorthScanning(
  search: IndexSearchNode,
  limit: number,
  context: OptimizerContext,
): boolean {
  const { bounds, covers, types } = search;
  if (search.order !== undefined || covers === undefined) return false;
  // The entries of single keys are few, or stream.
  if (!bounds.low && !bounds.high && !bounds.prefix) return false;
  const candidates = indexCandidates(conjunctsOf(covers), search.as, types, context);
  const found = candidates.find((candidate) => candidate.index.id === search.index);
  if (found === undefined) return false;
  const recordCount = context.statistics.recordCount(types);
  const scannedCount = Math.min(recordCount, (limit * recordCount) / Math.max(1, found.rowCount));
  return scannedCount * scanCost < found.rowCount * gatherCost;
}
