import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { LogicalPlan } from '../../../algebra/plan.ts';
import { conjunctsOf } from '../../../algebra/walk.ts';
import { isFixed } from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/** Equality of `@rid` and IN look the records up. */
export const ridLookup: OptimizerRule = {
  name: 'rid-lookup',
  needs: ['Filter'],
  why: 'WHERE @rid = #12:0 would read the whole type',
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
    return undefined;
  },
};

/** What `@rid` is equal to, or in, where the condition says so. */
export function ridsOf(
  conjunct: Expression,
  record: Slot,
  context: OptimizerContext,
): Expression | undefined {
  const ofCypher = cypherRidsOf(conjunct, record, context);
  if (ofCypher !== undefined) return ofCypher;
  if (conjunct.op === 'In')
    return isRid(conjunct.element, record) && isFixed(conjunct.list, record, context)
      ? conjunct.list
      : undefined;
  if (conjunct.op !== 'Compare' || conjunct.operator !== '=') return undefined;
  const { left, right } = conjunct;
  if (isRid(left, record) && isFixed(right, record, context)) return right;
  return isRid(right, record) && isFixed(left, record, context) ? left : undefined;
}

/** `elementId(n) = ...`, `id(n) IN ...`: numbers and texts as record ids. */
function cypherRidsOf(
  conjunct: Expression,
  record: Slot,
  context: OptimizerContext,
): Expression | undefined {
  const found = cypherIdsOf(conjunct, record);
  if (found === undefined || !isFixed(found, record, context)) return undefined;
  return { op: 'Call', function: '#cypher.rids', arguments: [found] };
}

function cypherIdsOf(conjunct: Expression, record: Slot): Expression | undefined {
  if (conjunct.op === 'In') return isCypherId(conjunct.element, record) ? conjunct.list : undefined;
  if (conjunct.op !== 'Compare' || conjunct.operator !== '=') return undefined;
  if (isCypherId(conjunct.left, record)) return conjunct.right;
  return isCypherId(conjunct.right, record) ? conjunct.left : undefined;
}

function isCypherId(expression: Expression, record: Slot): boolean {
  if (expression.op !== 'Call' || !cypherIds.has(expression.function)) return false;
  const [of] = expression.arguments;
  return of?.op === 'Slot' && of.slot === record;
}

const cypherIds: ReadonlySet<string> = new Set(['#cypher.id', '#cypher.elementid']);

/** `@rid` of the record. */
export function isRid(expression: Expression, record: Slot): boolean {
  return (
    expression.op === 'Attribute' &&
    expression.attribute === 'rid' &&
    expression.of.op === 'Slot' &&
    expression.of.slot === record
  );
}
