import type { Expression, Slot } from '../../algebra/expression.ts';
import type { LogicalPlan, RidRange } from '../../algebra/plan.ts';
import { conjunctionOf, conjunctsOf } from '../../algebra/walk.ts';
import { isFixed } from '../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../rule.ts';

/** Conditions on `@rid` address records directly: equality and IN look them up, ranges bound the scan. */
export const ridLookup: OptimizerRule = {
  name: 'rid-lookup',
  needs: ['Filter'],
  why: 'WHERE @rid = #12:0 would read the whole type, and paging by @rid > #12:100 would read all pages before',
  apply(plan, context) {
    if (plan.op !== 'Filter' || plan.input.op !== 'TypeScan') return undefined;
    const scan = plan.input;
    if (scan.range !== undefined) return undefined;
    const conjuncts = conjunctsOf(plan.predicate);
    for (const conjunct of conjuncts) {
      const rids = ridsOf(conjunct, scan.as, context);
      if (rids === undefined) continue;
      // The condition stays: it knows what counts as equal to a record id.
      const input: LogicalPlan = {
        op: 'RecordLookup',
        rids,
        as: scan.as,
        types: scan.types,
        isSet: true,
      };
      return { ...plan, input };
    }
    return withRange(plan, scan, conjuncts, context);
  },
};

function ridsOf(
  conjunct: Expression,
  record: Slot,
  context: OptimizerContext,
): Expression | undefined {
  if (conjunct.op === 'In')
    return isRid(conjunct.element, record) && isFixed(conjunct.list, record, context)
      ? conjunct.list
      : undefined;
  if (conjunct.op !== 'Compare' || conjunct.operator !== '=') return undefined;
  const { left, right } = conjunct;
  if (isRid(left, record) && isFixed(right, record, context)) return right;
  return isRid(right, record) && isFixed(left, record, context) ? left : undefined;
}

/** `@rid` of the record, or the record itself compared with an id. */
function isRid(expression: Expression, record: Slot): boolean {
  return (
    expression.op === 'Attribute' &&
    expression.attribute === 'rid' &&
    expression.of.op === 'Slot' &&
    expression.of.slot === record
  );
}

function withRange(
  plan: LogicalPlan & { readonly op: 'Filter' },
  scan: LogicalPlan & { readonly op: 'TypeScan' },
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
  const input: LogicalPlan = { ...scan, range };
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
