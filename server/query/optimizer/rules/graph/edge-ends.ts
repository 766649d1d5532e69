import { isListedAtTargets } from '#catalog/catalog.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { LogicalPlan, RidOrder } from '../../../algebra/plan.ts';
import { conjunctsOf } from '../../../algebra/walk.ts';
import { isFixed } from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/** Edges with a given end are found at that vertex instead of among all edges (`WHERE @out = #1:0 AND @in = #1:1`). */
export const edgeEnds: OptimizerRule = {
  name: 'edge-ends',
  needs: ['Filter'],
  why: 'DELETE FROM Knows WHERE @out = :a AND @in = :b would read every edge',
  apply(plan, context) {
    if (plan.op !== 'Filter' || plan.input.op !== 'TypeScan') return undefined;
    const scan = plan.input;
    if (scan.range !== undefined) return undefined;
    if (!scan.types.every((type) => context.catalog.typeWithId(type).kind === 'edge'))
      return undefined;
    for (const conjunct of conjunctsOf(plan.predicate)) {
      const end = endOf(conjunct, scan.as, context);
      if (end === undefined || !isListed(end.direction, scan.types, context)) continue;
      const vertex = context.newSlot();
      const { types, as } = scan;
      // The condition stays: it knows what counts as equal to a record id.
      const input: LogicalPlan = {
        op: 'Expand',
        input: { op: 'RecordLookup', rids: end.value, as: vertex, isSet: true },
        from: vertex,
        move: { kind: 'edge', direction: end.direction, types },
        edge: undefined,
        to: as,
        into: false,
      };
      return byRid({ ...plan, input }, as, scan.order);
    }
    return undefined;
  },
};

/** Edges come from a vertex in the order of its lists. */
function byRid(rows: LogicalPlan, edge: Slot, order: RidOrder | undefined): LogicalPlan {
  if (order === undefined) return rows;
  const value: Expression = {
    op: 'Attribute',
    of: { op: 'Slot', slot: edge },
    attribute: 'rid',
  };
  return { op: 'Sort', input: rows, keys: [{ value, descending: order === 'descending' }] };
}

interface End {
  readonly direction: 'out' | 'in';
  readonly value: Expression;
}

function endOf(conjunct: Expression, edge: Slot, context: OptimizerContext): End | undefined {
  if (conjunct.op !== 'Compare' || conjunct.operator !== '=') return undefined;
  const sides = [
    [conjunct.left, conjunct.right],
    [conjunct.right, conjunct.left],
  ] as const;
  for (const [attribute, value] of sides) {
    if (attribute.op !== 'Attribute' || attribute.of.op !== 'Slot') continue;
    if (attribute.of.slot !== edge || !isFixed(value, edge, context)) continue;
    if (attribute.attribute === 'out' || attribute.attribute === 'in')
      return { direction: attribute.attribute, value };
  }
  return undefined;
}

/** Edges that only their source knows cannot be found at the other end. */
function isListed(
  direction: 'out' | 'in',
  types: readonly TypeId[],
  context: OptimizerContext,
): boolean {
  return (
    direction === 'out' ||
    types.every((type) => isListedAtTargets(context.catalog.typeWithId(type)))
  );
}
