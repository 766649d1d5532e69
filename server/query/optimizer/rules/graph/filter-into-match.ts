import { madeOnce, mapLong } from '#core/replayed-loops.ts';
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
    const owners = ownersIn(match.pattern);
    const conjuncts = conjunctsOf(plan.predicate);
    const slots = mapLong(conjuncts, (conjunct) =>
      isDeterministic(conjunct, context) ? ownerOf(conjunct, owners) : undefined,
    );
    const { kept, owned } = madeOnce(() => byOwner(conjuncts, slots), conjuncts.length);
    if (owned.size === 0) return undefined;
    const input: LogicalPlan = { ...match, pattern: withPredicates(match.pattern, owned) };
    const predicate = conjunctionOf(kept);
    return predicate === undefined ? input : { ...plan, input, predicate };
  },
};

interface Owners {
  readonly nodes: ReadonlySet<Slot>;
  /** What may be null, or what a path writes. */
  readonly unsafe: ReadonlySet<Slot>;
}

function ownersIn(pattern: Pattern): Owners {
  const unsafe = new Set<Slot>();
  for (const step of pattern.steps) {
    if (step.optional) unsafe.add(step.to);
    if (step.edge !== undefined) unsafe.add(step.edge);
    if (step.path) for (const slot of pathSlots(step.path)) unsafe.add(slot);
  }
  return { nodes: new Set(pattern.nodes.map((node) => node.slot)), unsafe };
}

/** A node whose slot the condition reads, when it reads nothing unsafe. */
function ownerOf(conjunct: Expression, { nodes, unsafe }: Owners): Slot | undefined {
  let owner: Slot | undefined;
  for (const slot of slotsRead(conjunct)) {
    if (unsafe.has(slot)) return undefined;
    if (nodes.has(slot)) owner = slot;
  }
  return owner;
}

interface Owned {
  readonly kept: readonly Expression[];
  readonly owned: ReadonlyMap<Slot, readonly Expression[]>;
}

/** @param slots the owner of each, undefined where it has none */
function byOwner(conjuncts: readonly Expression[], slots: readonly (Slot | undefined)[]): Owned {
  const kept: Expression[] = [];
  const owned = new Map<Slot, Expression[]>();
  for (let at = 0; at < conjuncts.length; at += 1) {
    const conjunct = conjuncts[at] as Expression;
    const slot = slots[at];
    const known = slot === undefined ? kept : owned.get(slot);
    if (known !== undefined) known.push(conjunct);
    else if (slot !== undefined) owned.set(slot, [conjunct]);
  }
  return { kept, owned };
}

/** The first node of a slot gets its conditions. */
function withPredicates(
  pattern: Pattern,
  owned: ReadonlyMap<Slot, readonly Expression[]>,
): Pattern {
  const placed = new Set<Slot>();
  const nodes = pattern.nodes.map((node) => {
    const conditions = owned.get(node.slot);
    if (conditions === undefined || placed.has(node.slot)) return node;
    placed.add(node.slot);
    return { ...node, predicates: [...node.predicates, ...conditions] };
  });
  return { ...pattern, nodes };
}
