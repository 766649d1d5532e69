import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { LogicalPlan, RidRange } from '../../../algebra/plan.ts';
import { conjunctionOf, conjunctsOf } from '../../../algebra/walk.ts';
import { isFixed } from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';
import { isSpread } from './spread-types.ts';
import { isRid, ridsOf } from './rid-lookup.ts';

/**
 * A range of record ids bounds the scan. Its records come by record id, so that the next page begins behind the last row of the
 * one before whatever the transaction has created (sql.md 7.3); without the rule they would come in scan order. Other filters may
 * stand between: the order must not depend on whether they were merged.
 */
export const ridRange: OptimizerRule = {
  name: 'rid-range',
  needs: ['Filter'],
  why: 'paging by @rid > #12:100 would read all pages before, and miss records',
  apply(plan, context) {
    if (plan.op !== 'Filter') return undefined;
    const scan = scanBelow(plan.input);
    if (scan === undefined || scan.range !== undefined) return undefined;
    const conjuncts = conjunctsOf(plan.predicate);
    if (conjuncts.some((conjunct) => ridsOf(conjunct, scan.as, context) !== undefined))
      return undefined;
    if (isSpread(scan, context.catalog)) return undefined;
    return withRange(plan, scan, conjuncts, context);
  },
};

type Filter = LogicalPlan & { readonly op: 'Filter' };
type Scan = LogicalPlan & { readonly op: 'TypeScan' };

function scanBelow(plan: LogicalPlan): Scan | undefined {
  if (plan.op === 'Filter') return scanBelow(plan.input);
  return plan.op === 'TypeScan' ? plan : undefined;
}

/** The filters below, over another scan. */
function over(plan: LogicalPlan, scan: Scan): LogicalPlan {
  return plan.op === 'Filter' ? { ...plan, input: over(plan.input, scan) } : scan;
}

function withRange(
  plan: Filter,
  scan: Scan,
  conjuncts: readonly Expression[],
  context: OptimizerContext,
): LogicalPlan | undefined {
  let low: RidRange['low'];
  let high: RidRange['high'];
  const kept: Expression[] = [];
  for (const conjunct of conjuncts) {
    const bound = boundOf(conjunct, scan.as, context);
    if (bound?.side === 'low' && low === undefined) low = bound;
    else if (bound?.side === 'high' && high === undefined) high = bound;
    else kept.push(conjunct);
  }
  if (low === undefined && high === undefined) return undefined;
  const range = {
    ...(low && { low: { value: low.value, inclusive: low.inclusive } }),
    ...(high && { high: { value: high.value, inclusive: high.inclusive } }),
  };
  const input = over(plan.input, { ...scan, range, order: 'ascending' });
  const predicate = conjunctionOf(kept);
  return predicate === undefined ? input : { ...plan, input, predicate };
}

interface Bound {
  readonly side: 'low' | 'high';
  readonly value: Expression;
  readonly inclusive: boolean;
}

/** Only record ids as constants or parameters: what a comparison with something else means is not decided here. */
function boundOf(conjunct: Expression, record: Slot, context: OptimizerContext): Bound | undefined {
  if (conjunct.op !== 'Compare') return undefined;
  const { left, right, operator } = conjunct;
  if (!isRid(left, record) || !isFixed(right, record, context)) return undefined;
  if (right.op !== 'Constant' && right.op !== 'Parameter') return undefined;
  const inclusive = operator === '<=' || operator === '>=';
  if (operator === '<' || operator === '<=') return { side: 'high', value: right, inclusive };
  if (operator === '>' || operator === '>=') return { side: 'low', value: right, inclusive };
  return undefined;
}
