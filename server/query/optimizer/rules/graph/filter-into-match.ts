import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { LogicalPlan, Pattern } from '../../../algebra/plan.ts';
import { pathSlots } from '../../../algebra/slots-written.ts';
import { slotsRead } from '../../../algebra/slots.ts';
import { conjunctionOf, conjunctsOf } from '../../../algebra/walk.ts';
import { isDeterministic } from '../../index-candidates.ts';
import type { OptimizerRule } from '../../rule.ts';

/** Conditions above a pattern become conditions of its nodes, where they choose the start and the order of the steps. */
export const filterIntoMatch: OptimizerRule = {
  name: 'filter-into-match',
  needs: ['Match'],
  why: 'MATCH ... WHERE a.id = 1 would match the whole graph first',
  apply(plan, context) {
    if (plan.op !== 'Filter' || plan.input.op !== 'Match') return undefined;
    const match = plan.input;
    const kept: Expression[] = [];
    let { pattern } = match;
    for (const conjunct of conjunctsOf(plan.predicate)) {
      const slot = isDeterministic(conjunct, context) ? ownerOf(conjunct, pattern) : undefined;
      if (slot === undefined) kept.push(conjunct);
      else pattern = withPredicate(pattern, slot, conjunct);
    }
    if (pattern === match.pattern) return undefined;
    const input: LogicalPlan = { ...match, pattern };
    const predicate = conjunctionOf(kept);
    return predicate === undefined ? input : { ...plan, input, predicate };
  },
};

/** A node whose slot the condition reads, when it reads nothing that may be null or that a path writes. */
function ownerOf(conjunct: Expression, pattern: Pattern): Slot | undefined {
  const unsafe = new Set<Slot>();
  for (const step of pattern.steps) {
    if (step.optional) unsafe.add(step.to);
    if (step.edge !== undefined) unsafe.add(step.edge);
    if (step.path) for (const slot of pathSlots(step.path)) unsafe.add(slot);
  }
  const nodes = new Set(pattern.nodes.map((node) => node.slot));
  let owner: Slot | undefined;
  for (const slot of slotsRead(conjunct)) {
    if (unsafe.has(slot)) return undefined;
    if (nodes.has(slot)) owner = slot;
  }
  return owner;
}

function withPredicate(pattern: Pattern, slot: Slot, conjunct: Expression): Pattern {
  let isPlaced = false;
  const nodes = pattern.nodes.map((node) => {
    if (node.slot !== slot || isPlaced) return node;
    isPlaced = true;
    return { ...node, predicates: [...node.predicates, conjunct] };
  });
  return { ...pattern, nodes };
}
