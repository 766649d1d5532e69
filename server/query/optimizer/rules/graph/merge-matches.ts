import type { TypeId } from '#core/value/rid.ts';
import type { LogicalPlan, Pattern, PatternNode, PlanNode } from '../../../algebra/plan.ts';
import { isDeterministic } from '../../index-candidates.ts';
import { exhaustiveNodeCountMax } from '../../match-planner.ts';
import type { OptimizerRule } from '../../rule.ts';

/**
 * MATCH after MATCH is one pattern, of which each part keeps its own edges apart: start and order of the steps are then chosen
 * for both. Conditions on the first stand above the whole, from where they go to their nodes.
 */
export const mergeMatches: OptimizerRule = {
  name: 'merge-matches',
  needs: ['Match'],
  why: 'MATCH (a) MATCH (b) MATCH (a)--(b) would enumerate all pairs before it looks for an edge between them',
  apply(plan, context) {
    if (plan.op !== 'Match') return undefined;
    const filter = plan.input.op === 'Filter' ? plan.input : undefined;
    const first = filter === undefined ? plan.input : filter.input;
    if (first.op !== 'Match') return undefined;
    if (filter !== undefined && !isDeterministic(filter.predicate, context)) return undefined;
    const pattern = merged(first, plan);
    if (pattern === undefined) return undefined;
    const input: LogicalPlan = { ...first, pattern };
    return filter === undefined ? input : { ...filter, input };
  },
};

function merged(first: PlanNode<'Match'>, second: PlanNode<'Match'>): Pattern | undefined {
  const [one, two] = [first.pattern, second.pattern];
  if (one.distinctEdges !== true || two.distinctEdges !== true) return undefined;
  // A relationship that the first pattern binds is no edge to be followed before it is there.
  if (two.steps.some(({ edgeIsBound }) => edgeIsBound === true)) return undefined;
  const nodes = new Map(one.nodes.map((node) => [node.slot, node]));
  for (const node of two.nodes) {
    const known = nodes.get(node.slot);
    const both = known === undefined ? node : bothOf(known, node);
    if (both === undefined) return undefined;
    nodes.set(node.slot, both);
  }
  if (nodes.size > exhaustiveNodeCountMax) return undefined;
  const next = 1 + Math.max(0, ...one.steps.map(({ group = 0 }) => group));
  const steps = two.steps.map((step) => ({ ...step, group: next + (step.group ?? 0) }));
  return { ...one, nodes: [...nodes.values()], steps: [...one.steps, ...steps] };
}

/** A node that both patterns name. */
function bothOf(known: PatternNode, again: PatternNode): PatternNode | undefined {
  if (again.rids !== undefined || again.buckets !== undefined) return undefined;
  return {
    ...known,
    types: inBoth(known.types, again.types),
    predicates: [...known.predicates, ...again.predicates],
  };
}

function inBoth(
  one: readonly TypeId[] | undefined,
  other: readonly TypeId[] | undefined,
): readonly TypeId[] | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.filter((type) => other.includes(type));
}
