import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { LogicalPlan } from '../../../algebra/plan.ts';
import { slotsOf, slotsRead, slotsReadBy } from '../../../algebra/slots.ts';
import { isDeterministic } from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/**
 * When only distinct results are asked for, the elements between two steps are made distinct as well: walking on from the
 * same vertex twice gives the same again. Counting distinct elements becomes counting distinct rows.
 */
export const distinctSteps: OptimizerRule = {
  name: 'distinct-steps',
  needs: ['Expand'],
  why: 'friends of friends of friends would follow every path instead of visiting every vertex once',
  apply(plan, context, required) {
    if (plan.op === 'Distinct') {
      // What is read above comes from the first row of its kind, so it must not depend on which row that is.
      const inside = slotsOf(plan.input);
      const needed = new Set(plan.on.flatMap((on) => [...slotsRead(on)]));
      for (const slot of required()) if (inside.has(slot)) needed.add(slot);
      const input = thinned(plan.input, needed, context);
      return input && { ...plan, input };
    }
    if (plan.op !== 'Aggregate' || plan.first.length > 0) return undefined;
    return countOfDistinct(plan) ?? thinnedAggregate(plan, context);
  },
};

type AggregateNode = LogicalPlan & { readonly op: 'Aggregate' };

/** `count(DISTINCT x)` alone, where x is an element of a step and so never null. */
function countOfDistinct(plan: AggregateNode): LogicalPlan | undefined {
  const [aggregate] = plan.aggregates;
  if (plan.aggregates.length !== 1 || plan.keys.length > 0 || aggregate === undefined)
    return undefined;
  const [argument] = aggregate.arguments;
  const countsDistinct =
    aggregate.function.toLowerCase() === 'count' &&
    aggregate.distinct &&
    aggregate.arguments.length === 1;
  if (!countsDistinct || argument?.op !== 'Slot') return undefined;
  const { input } = plan;
  if (input.op !== 'Expand' || input.into || input.to !== argument.slot) return undefined;
  return {
    ...plan,
    input: { op: 'Distinct', input, on: [argument] },
    aggregates: [{ ...aggregate, distinct: false, arguments: [] }],
  };
}

const unmovedByDuplicates: ReadonlySet<string> = new Set(['min', 'max', 'set']);

function thinnedAggregate(plan: AggregateNode, context: OptimizerContext): LogicalPlan | undefined {
  const isUnmoved = plan.aggregates.every(
    (aggregate) => aggregate.distinct || unmovedByDuplicates.has(aggregate.function.toLowerCase()),
  );
  if (!isUnmoved) return undefined;
  const input = thinned(plan.input, slotsReadBy(plan), context);
  return input && { ...plan, input };
}

/** The plan with distinct elements between its steps; `needed` are the slots that are read above. */
function thinned(
  plan: LogicalPlan,
  needed: ReadonlySet<Slot>,
  context: OptimizerContext,
): LogicalPlan | undefined {
  switch (plan.op) {
    case 'Filter': {
      if (!isDeterministic(plan.predicate, context)) return undefined;
      const input = thinned(plan.input, union(needed, slotsReadBy(plan)), context);
      return input && { ...plan, input };
    }
    case 'Project': {
      const written = new Set(plan.columns.map((column) => column.slot));
      const below = new Set([...needed].filter((slot) => !written.has(slot)));
      if (!plan.columns.every((column) => isDeterministic(column.value, context))) return undefined;
      const input = thinned(plan.input, union(below, slotsReadBy(plan)), context);
      return input && { ...plan, input };
    }
    case 'Expand':
      return thinnedStep(plan, needed, context);
    default:
      return undefined;
  }
}

function thinnedStep(
  plan: LogicalPlan & { readonly op: 'Expand' },
  needed: ReadonlySet<Slot>,
  context: OptimizerContext,
): LogicalPlan | undefined {
  const below = new Set(needed);
  if (!plan.into) below.delete(plan.to);
  if (plan.edge !== undefined) below.delete(plan.edge);
  for (const slot of slotsReadBy(plan)) below.add(slot);
  const input = thinned(plan.input, below, context) ?? plan.input;
  // Only a single element is cheap to remember; and one that comes from no step comes once anyway.
  const isWorthIt = below.size === 1 && below.has(plan.from) && endsInStep(plan.input);
  if (!isWorthIt) return input === plan.input ? undefined : { ...plan, input };
  const on: Expression = { op: 'Slot', slot: plan.from };
  return { ...plan, input: { op: 'Distinct', input, on: [on] } };
}

function endsInStep(plan: LogicalPlan): boolean {
  let current = plan;
  while (current.op === 'Filter' || current.op === 'Project') current = current.input;
  return current.op === 'Expand';
}

function union(a: ReadonlySet<Slot>, b: ReadonlySet<Slot>): ReadonlySet<Slot> {
  return new Set([...a, ...b]);
}
