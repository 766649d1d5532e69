import type { Slot } from '../../../algebra/expression.ts';
import type {
  Branch,
  LogicalPlan,
  Move,
  Pattern,
  PatternNode,
  PatternStep,
  PlanNode,
} from '../../../algebra/plan.ts';
import { freeSlots, slotsRead, slotsReadBy, slotsReadByAll } from '../../../algebra/slots.ts';
import { reversedMove } from '../../../physical/reversed-move.ts';
import { isCountOfRows, sumOfWeights } from '../../count-as-sum.ts';
import { type Meetings, meetings } from '../../distinct-edges.ts';
import { typesToCheck } from '../../match-parts.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/**
 * What hangs on a pattern and is only counted is not enumerated: the rows of the rest carry the number of matches of the
 * parts cut off, and the count is the sum of these. A pattern without a cycle of which nothing is read shrinks to one node.
 */
export const countBranches: OptimizerRule = {
  name: 'count-branches',
  needs: ['Match'],
  why: 'a count of nine million paths would walk each of them, where some 600,000 edges tell the same',
  apply(plan, context) {
    if (plan.op !== 'Aggregate' || plan.aggregates.length === 0) return undefined;
    const found = matchBelow(plan.input, new Set(slotsReadBy({ ...plan, aggregates: [] })));
    if (found === undefined) return undefined;
    const never = neverNull(found.match.pattern);
    if (!plan.aggregates.every((aggregate) => isCountOfRows(aggregate, never))) return undefined;
    const cut = new BranchCutter(found.match.pattern, found.read, context).run();
    if (cut === undefined) return undefined;
    let input = found.over({ ...found.match, pattern: cut.pattern });
    const weights: Slot[] = [];
    for (const [from, branches] of cut.branches) {
      const as = context.newSlot();
      weights.push(as);
      input = { op: 'BranchCount', input, from, branches, as };
    }
    return sumOfWeights(plan, input, weights, context);
  },
};

interface MatchBelow {
  readonly match: PlanNode<'Match'>;
  /** Slots that something above the pattern reads. */
  readonly read: ReadonlySet<Slot>;
  /** What stands between the aggregate and the pattern, over another pattern. */
  over(match: LogicalPlan): LogicalPlan;
}

/** The pattern below conditions on its rows. */
function matchBelow(plan: LogicalPlan, read: Set<Slot>): MatchBelow | undefined {
  if (plan.op === 'Match') return { match: plan, read, over: (match) => match };
  if (plan.op === 'Filter') {
    for (const slot of slotsRead(plan.predicate)) read.add(slot);
    const below = matchBelow(plan.input, read);
    return below && { ...below, over: (match) => ({ ...plan, input: below.over(match) }) };
  }
  if (plan.op === 'Apply' && plan.mode.kind === 'optional') return withOptional(plan, read);
  if (plan.op === 'Apply' && (plan.mode.kind === 'semi' || plan.mode.kind === 'anti')) {
    for (const slot of freeSlots(plan.inner)) read.add(slot);
    const below = matchBelow(plan.outer, read);
    return below && { ...below, over: (match) => ({ ...plan, outer: below.over(match) }) };
  }
  return undefined;
}

/** OPTIONAL MATCH of one step that nothing reads hangs on the pattern before it as an optional step. */
function withOptional(plan: PlanNode<'Apply'>, read: Set<Slot>): MatchBelow | undefined {
  const below = matchBelow(plan.outer, read);
  const step = below && optionalStep(plan.inner, below);
  if (below === undefined || step === undefined) return undefined;
  const { match } = below;
  const { pattern } = match;
  const leaf = { ...step.leaf, bound: false };
  const group = 1 + Math.max(0, ...pattern.steps.map((other) => other.group ?? 0));
  const steps = [...pattern.steps, { ...step.step, group }];
  return {
    ...below,
    match: { ...match, pattern: { ...pattern, nodes: [...pattern.nodes, leaf], steps } },
  };
}

function optionalStep(
  inner: LogicalPlan,
  { match, read }: MatchBelow,
): { readonly step: PatternStep; readonly leaf: PatternNode } | undefined {
  if (inner.op !== 'Match' || inner.input.op !== 'Argument') return undefined;
  const { nodes, steps } = inner.pattern;
  const [step, ...others] = steps;
  if (step === undefined || others.length > 0 || nodes.length !== 2) return undefined;
  const stem = nodes.find(({ slot, bound }) => bound && hasNode(match.pattern, slot));
  const leaf = nodes.find(({ bound }) => !bound);
  if (stem === undefined || leaf === undefined || stem.types !== undefined) return undefined;
  if (step.from !== stem.slot || step.path !== undefined || step.edgeIsBound === true)
    return undefined;
  const isPlain = nodes.every(
    ({ predicates, rids, buckets }) =>
      predicates.length === 0 && rids === undefined && buckets === undefined,
  );
  const isRead = read.has(leaf.slot) || (step.edge !== undefined && read.has(step.edge));
  return isPlain && !isRead ? { step: { ...step, optional: true }, leaf } : undefined;
}

function hasNode({ nodes, steps }: Pattern, slot: Slot): boolean {
  return (
    nodes.some((node) => node.slot === slot) &&
    !steps.some(({ optional, to }) => optional && to === slot)
  );
}

/** Nodes that every match binds. */
function neverNull(pattern: Pattern): ReadonlySet<Slot> {
  const slots = new Set(pattern.nodes.filter((node) => !node.bound).map((node) => node.slot));
  for (const step of pattern.steps) if (step.optional) slots.delete(step.to);
  return slots;
}

interface Cut {
  readonly pattern: Pattern;
  readonly branches: ReadonlyMap<Slot, readonly Branch[]>;
}

/** Cuts leaves off a pattern, one after the other, and hangs them as branches on the node they stood at. */
class BranchCutter {
  readonly #nodes: Map<Slot, PatternNode>;
  readonly #pattern: Pattern;
  readonly #mayMeet: Meetings;
  #steps: readonly PatternStep[];
  readonly #read: ReadonlySet<Slot>;
  readonly #context: OptimizerContext;
  readonly #branches = new Map<Slot, Branch[]>();

  constructor(pattern: Pattern, read: ReadonlySet<Slot>, context: OptimizerContext) {
    this.#nodes = new Map(pattern.nodes.map((node) => [node.slot, node]));
    this.#pattern = pattern;
    this.#mayMeet = meetings(pattern);
    this.#steps = pattern.steps;
    this.#context = context;
    this.#read = new Set([...read, ...slotsOfConditions(pattern)]);
  }

  /** @returns undefined when the pattern has nothing to cut off */
  run(): Cut | undefined {
    const root = this.#chooseRoot();
    let wasCut = false;
    for (;;) {
      const leaf = [...this.#nodes.values()].find(
        (node) => node.slot !== root && this.#cutOff(node),
      );
      if (leaf === undefined) break;
      wasCut = true;
    }
    if (!wasCut) return undefined;
    const pattern = {
      ...this.#pattern,
      nodes: [...this.#nodes.values()],
      steps: this.#steps,
    };
    return { pattern, branches: this.#branches };
  }

  /** Where a pattern that can be cut down to one node ends: the node with the fewest records. */
  #chooseRoot(): Slot | undefined {
    let best: PatternNode | undefined;
    let bestCount = Number.POSITIVE_INFINITY;
    for (const node of this.#nodes.values()) {
      if (node.types === undefined || this.#isOptional(node.slot)) continue;
      const count = this.#context.statistics.recordCount(node.types);
      if (count >= bestCount) continue;
      best = node;
      bestCount = count;
    }
    return best?.slot;
  }

  #isOptional(slot: Slot): boolean {
    return this.#steps.some((step) => step.optional && step.to === slot);
  }

  #cutOff(node: PatternNode): boolean {
    if (node.bound || node.rids !== undefined || node.buckets !== undefined) return false;
    if (node.predicates.length > 0 || this.#read.has(node.slot)) return false;
    const touching = this.#steps.filter(({ from, to }) => from === node.slot || to === node.slot);
    const step = touching[0];
    if (touching.length !== 1 || step === undefined || step.from === step.to) return false;
    const move = this.#moveTo(node, step);
    if (move === undefined) return false;
    const stem = step.to === node.slot ? step.from : step.to;
    this.#nodes.delete(node.slot);
    this.#steps = this.#steps.filter((other) => other !== step);
    const siblings = this.#branches.get(stem) ?? [];
    this.#branches.set(stem, siblings);
    siblings.push({
      move,
      toTypes: typesToCheck(move, node.types, this.#context),
      isOptional: step.optional,
      branches: this.#branches.get(node.slot) ?? [],
    });
    this.#branches.delete(node.slot);
    return true;
  }

  /** The number of edges is that of matches: no other step takes one away, and none is met twice. */
  #isCountedByDegree(step: PatternStep): boolean {
    const { move } = step;
    if ('loops' in move && move.loops === 'once' && move.direction === 'both') return false;
    const { distinctEdges, steps } = this.#pattern;
    if (distinctEdges !== true) return true;
    return !steps.some((other) => other !== step && this.#mayMeet(step, other));
  }

  /** The step as a move towards the node; undefined when it cannot be counted that way. */
  #moveTo(node: PatternNode, step: PatternStep): Move | undefined {
    if (step.path !== undefined || step.move.kind === 'link') return undefined;
    if (step.edgeIsBound === true || !this.#isCountedByDegree(step)) return undefined;
    if (step.edge !== undefined && this.#read.has(step.edge)) return undefined;
    if (step.to === node.slot) return step.move;
    // From an edge back to a vertex, the edge would have to be one of the step's types.
    if (step.optional || step.move.kind !== 'vertex') return undefined;
    return reversedMove(step.move, this.#context.catalog);
  }
}

/** What conditions and record ids of the nodes read. */
function slotsOfConditions({ nodes, steps }: Pattern): ReadonlySet<Slot> {
  return slotsReadByAll([
    ...nodes.flatMap(({ predicates, rids }) => (rids ? [...predicates, rids] : predicates)),
    ...steps.flatMap(({ path }) =>
      [
        path?.condition,
        path?.predicate,
        ...(path?.moves.map(({ predicate }) => predicate) ?? []),
      ].filter((expression) => expression !== undefined),
    ),
  ]);
}
