import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { LogicalPlan, Move } from '../../../algebra/plan.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/** Graph functions that `expand()` may take apart into steps. */
const moves: ReadonlyMap<
  string,
  Omit<Move & { readonly kind: 'vertex' | 'edge' }, 'types'>
> = new Map([
  ['out', { kind: 'vertex', direction: 'out' }],
  ['in', { kind: 'vertex', direction: 'in' }],
  ['both', { kind: 'vertex', direction: 'both' }],
  ['oute', { kind: 'edge', direction: 'out' }],
  ['ine', { kind: 'edge', direction: 'in' }],
  ['bothe', { kind: 'edge', direction: 'both' }],
]);

/** `expand(out('A').out('B'))` becomes two steps, which stream and load nothing, instead of lists of records. */
export const expandMoves: OptimizerRule = {
  name: 'expand-moves',
  needs: ['ExpandValue'],
  why: 'expand(out().out()) would load every vertex on the way and hold all results in a list',
  apply(plan, context) {
    if (plan.op !== 'ExpandValue') return undefined;
    return stepsOf(plan.value, plan.input, plan.as, context);
  },
};

function stepsOf(
  value: Expression,
  input: LogicalPlan,
  to: Slot,
  context: OptimizerContext,
): LogicalPlan | undefined {
  if (value.op !== 'Call') return undefined;
  const move = moves.get(value.function.toLowerCase().replace(/^\./, ''));
  const [from, ...names] = value.arguments;
  if (move === undefined || from === undefined) return undefined;
  const types = typesNamed(names, context);
  if (types === undefined) return undefined;
  const typed = { ...move, types: names.length === 0 ? undefined : types };
  if (from.op === 'Slot')
    return { op: 'Expand', input, from: from.slot, move: typed, edge: undefined, to, into: false };
  const middle = context.newSlot();
  const before = stepsOf(from, input, middle, context);
  return (
    before && {
      op: 'Expand',
      input: before,
      from: middle,
      move: typed,
      edge: undefined,
      to,
      into: false,
    }
  );
}

/** Edge types with their subtypes; what is no constant name of one is left to the function. */
function typesNamed(
  names: readonly Expression[],
  context: OptimizerContext,
): readonly TypeId[] | undefined {
  const types = new Set<TypeId>();
  for (const name of names) {
    if (name.op !== 'Constant' || typeof name.value !== 'string') return undefined;
    const type = context.catalog.typeNamed(name.value);
    if (type === undefined || type.kind !== 'edge') return undefined;
    for (const id of context.catalog.withSubtypes(type.id)) types.add(id);
  }
  return [...types];
}
