import { filterLong } from '#core/replayed-loops.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import type { LogicalPlan, Pattern, PatternNode, PatternStep } from '../algebra/plan.ts';
import { freeSlots, slotsRead } from '../algebra/slots.ts';
import { pathSlots } from '../algebra/slots-written.ts';
import { conjunctionOf, conjunctsOf } from '../algebra/walk.ts';
import { reversedMove } from '../physical/reversed-move.ts';
import { expandCost, fetchCost, scanCost, searchedShare, seekCost, selectivityOf } from './cost.ts';
import { estimatesOf } from './estimates.ts';
import {
  isReversible,
  type Meetings,
  meetings,
  walkedBefore,
  withEdgeSlots,
} from './distinct-edges.ts';
import { indexCandidates } from './index-candidates.ts';
import { type Condition, expressionOf, expressionsOf, PatternConditions } from './conditions.ts';
import {
  elementTypes,
  endsOf,
  filtered,
  isInBuckets,
  isOfTypes,
  isOneOf,
  opposite,
  sourceOf,
  stepPlan,
  typesToCheck,
  without,
} from './match-parts.ts';
import type { OptimizerContext } from './rule.ts';
import { searchedBy } from './search-start.ts';

// Planning of a graph pattern: which node to start from, in which order and direction to take the steps, where to check each
// condition. A plan is grown from the bound nodes; at each point the cheapest next step is taken (greedy), and this is done
// for every possible first node, of which the cheapest whole plan wins. Patterns are small, so trying every start is cheap.
//
// Conditions are checked as soon as everything they read is bound. Optional steps come last: their ends are leaves.

/** The most nodes for which every start is tried; larger patterns start from the cheapest node. */
export const exhaustiveNodeCountMax = 10;

/**
 * From so many rows on a step to a node that a unique key finds is no step and a look at each end: the node is found first, and the
 * step asks whether it leads there.
 */
const anchoredRowCountMin = 64;

/** @param isCostBased false: nodes and steps are taken as they are written, for comparing results */
export function planMatch(
  match: LogicalPlan & { readonly op: 'Match' },
  context: OptimizerContext,
  isCostBased: boolean,
): LogicalPlan {
  const { pattern, input } = match;
  const bound = pattern.nodes.filter((node) => node.bound).map((node) => node.slot);
  const begun = GrowingPlan.over(input, pattern, bound, context);
  const starts =
    isCostBased && pattern.nodes.length <= exhaustiveNodeCountMax ? begun.possibleStarts() : [];
  const plans = (starts.length > 0 ? starts : [undefined]).map((start) =>
    begun.copy().complete(start, isCostBased),
  );
  plans.sort((a, b) => a.cost - b.cost);
  return (plans[0] as GrowingPlan).plan;
}

/** What to do next, with the rows it gives and what it costs. */
interface Move {
  readonly rowCount: number;
  readonly cost: number;
  readonly run: () => void;
}

/** How a plan, or a further part of it, can be begun at a node. */
interface Start {
  readonly node: PatternNode;
  readonly types: readonly TypeId[];
  /** Conditions that can be checked then, and those of them that are checked at the source. */
  readonly ready: readonly Condition[];
  readonly taken: readonly Condition[];
  /** Records found, and what finding them costs. */
  readonly found: number;
  readonly sourceCost: number;
  /** Slots of further conditions on the node. */
  readonly waitsFor: ReadonlySet<Slot>;
}

class GrowingPlan {
  readonly #pattern: Pattern;
  readonly #context: OptimizerContext;
  readonly #mayMeet: Meetings;
  readonly #bound: Set<Slot>;
  #stepsLeft: PatternStep[];
  /** Of a pattern of distinct edges: those whose edges are known. */
  #taken: readonly PatternStep[];
  readonly #conditions: PatternConditions;
  /** As long as none of the slots that they wait for is bound. */
  readonly #starts = new Map<PatternNode, Start>();
  readonly #input: LogicalPlan;
  /** Estimated when first asked. */
  #inputRowCount: number | undefined;
  #isCostBased = false;
  plan: LogicalPlan;
  rowCount: number;
  cost: number;

  private constructor(from: {
    input: LogicalPlan;
    pattern: Pattern;
    context: OptimizerContext;
    mayMeet: Meetings;
    bound: Set<Slot>;
    stepsLeft: PatternStep[];
    taken: readonly PatternStep[];
    conditions: PatternConditions;
    plan: LogicalPlan;
    rowCount: number;
    cost: number;
  }) {
    this.#input = from.input;
    this.#pattern = from.pattern;
    this.#context = from.context;
    this.#mayMeet = from.mayMeet;
    this.#bound = from.bound;
    this.#stepsLeft = from.stepsLeft;
    this.#taken = from.taken;
    this.#conditions = from.conditions;
    this.plan = from.plan;
    this.rowCount = from.rowCount;
    this.cost = from.cost;
  }

  static over(
    input: LogicalPlan,
    given: Pattern,
    bound: readonly Slot[],
    context: OptimizerContext,
  ): GrowingPlan {
    const pattern = withEdgeSlots(given, context);
    const following = pattern.steps.filter((step) => step.edgeIsBound === true);
    const conditions = new PatternConditions(pattern);
    const growing = new GrowingPlan({
      input,
      pattern,
      context,
      mayMeet: meetings(pattern),
      bound: new Set([...bound, ...following.flatMap(({ edge }) => edge ?? [])]),
      stepsLeft: [...pattern.steps],
      taken: following,
      conditions,
      plan: input,
      rowCount: 1,
      cost: 0,
    });
    for (const node of pattern.nodes) if (node.bound) growing.#checkKind(node);
    growing.#check(
      filterLong(conditions.all, (condition) => conditions.isReady(condition, growing.#bound)),
    );
    return growing;
  }

  copy(): GrowingPlan {
    return new GrowingPlan({
      input: this.#input,
      pattern: this.#pattern,
      context: this.#context,
      mayMeet: this.#mayMeet,
      bound: new Set(this.#bound),
      stepsLeft: [...this.#stepsLeft],
      taken: this.#taken,
      conditions: this.#conditions,
      plan: this.plan,
      rowCount: this.rowCount,
      cost: this.cost,
    });
  }

  /** Nodes from which the pattern could be begun; none when something is bound already or there is nothing to choose. */
  possibleStarts(): readonly PatternNode[] {
    if (this.#bound.size > 0 || this.#pattern.nodes.length < 2) return [];
    return this.#unboundNodes().filter((node) => this.#canStartAt(node));
  }

  complete(start: PatternNode | undefined, isCostBased: boolean): GrowingPlan {
    this.#isCostBased = isCostBased;
    if (start !== undefined) this.#startAt(start).run();
    for (;;) {
      const moves = this.#nextMoves();
      if (moves.length === 0) break;
      if (isCostBased) moves.sort((a, b) => a.rowCount - b.rowCount || a.cost - b.cost);
      (moves[0] as Move).run();
    }
    for (const step of this.#stepsLeft.splice(0)) this.#addOptional(step);
    return this;
  }

  /** Steps that can be taken now; when there is none, nodes from which another part of the pattern can be begun. */
  #nextMoves(): Move[] {
    const steps = this.#stepsLeft.filter((step) => !step.optional);
    const moves = steps.flatMap((step) => this.#moveAlong(step) ?? []);
    if (moves.length > 0) return moves;
    return this.#unboundNodes()
      .filter((node) => this.#canStartAt(node))
      .map((node) => this.#startAt(node));
  }

  #unboundNodes(): readonly PatternNode[] {
    const optionalEnds = new Set(
      this.#pattern.steps.filter((step) => step.optional).map((step) => step.to),
    );
    return this.#pattern.nodes.filter(
      (node) => !this.#bound.has(node.slot) && !optionalEnds.has(node.slot),
    );
  }

  /** Record ids may be given in terms of nodes that must be bound before. */
  #canStartAt(node: PatternNode): boolean {
    if (node.rids === undefined)
      return node.types !== undefined || node.buckets !== undefined || this.#kindOf(node) !== 'any';
    const own = new Set(this.#pattern.nodes.map((other) => other.slot));
    return [...slotsRead(node.rids)].every((slot) => !own.has(slot) || this.#bound.has(slot));
  }

  #startAt(node: PatternNode): Move {
    const start = this.#startOf(node);
    const rowCount = this.rowCount * start.found;
    return { rowCount, cost: start.sourceCost, run: () => this.#begin(start, rowCount) };
  }

  #begin({ node, types, ready, taken, sourceCost }: Start, rowCount: number): void {
    const source = sourceOf(node, types);
    const isFirst = this.plan.op === 'Argument';
    const inner = filtered(source, expressionsOf(taken));
    this.plan = isFirst ? inner : { op: 'Apply', outer: this.plan, inner, mode: { kind: 'cross' } };
    // Without a tie to the outer row the inner plan runs once and its rows are kept.
    const isTied =
      taken.some((condition) => this.#isTied(condition)) ||
      [...freeSlots(source)].some((slot) => this.#bound.has(slot));
    this.cost += isTied ? this.rowCount * sourceCost : sourceCost + rowCount * expandCost;
    this.rowCount = rowCount;
    this.#bound.add(node.slot);
    this.#check(without(ready, taken));
  }

  #startOf(node: PatternNode): Start {
    const known = this.#starts.get(node);
    if (known !== undefined && !this.#isAnyBound(known.waitsFor)) return known;
    const start = this.#newStart(node);
    this.#starts.set(node, start);
    return start;
  }

  #newStart(node: PatternNode): Start {
    const { statistics } = this.#context;
    const types = node.types ?? this.#typesOf(node);
    const ready = filterLong(this.#conditions.of(node.slot), (condition) =>
      this.#conditions.isReady(condition, this.#bound, node.slot),
    );
    const recordCount = node.rids
      ? 1
      : node.buckets
        ? statistics.bucketRecordCount(node.buckets)
        : statistics.recordCount(types);
    const isListed = node.rids !== undefined || node.buckets !== undefined;
    const [best] = isListed
      ? []
      : indexCandidates(expressionsOf(ready), node.slot, types, this.#context);
    const untied = (): readonly Condition[] =>
      filterLong(ready, (condition) => !this.#isTied(condition));
    const search =
      isListed || best !== undefined
        ? undefined
        : searchedBy(expressionsOf(untied()), node.slot, types, this.#context);
    // A condition that ties the node to an earlier one pays inside only when an index answers it; otherwise the node's own
    // rows are found once, and the condition is checked on the pairs.
    const covered = new Set(best?.covered);
    const taken = filterLong(
      ready,
      (condition) => covered.has(condition.expression) || !this.#isTied(condition),
    );
    /** Records that an index gives, and what these need not be asked. */
    const given = best?.rowCount ?? (search && recordCount * searchedShare);
    const answered = best?.covered ?? (search ? [search] : []);
    const left = without(expressionsOf(taken), answered);
    const found = Math.max(
      node.rids ? 1 : 0,
      (given ?? recordCount) * selectivityOf(conjunctionOf(left)),
    );
    const sourceCost =
      given !== undefined
        ? seekCost + given * fetchCost
        : node.rids
          ? fetchCost
          : recordCount * scanCost;
    const waitsFor = this.#conditions.slotsBeside(node.slot, this.#bound);
    return { node, types, ready, taken, found, sourceCost, waitsFor };
  }

  #isAnyBound(slots: ReadonlySet<Slot>): boolean {
    for (const slot of slots) if (this.#bound.has(slot)) return true;
    return false;
  }

  #isTied({ slots }: Condition): boolean {
    return this.#isAnyBound(slots);
  }

  #moveAlong(step: PatternStep): Move | undefined {
    if (step.edgeIsBound === true) return this.#following(step);
    const fromIsBound = this.#bound.has(step.from);
    const toIsBound = this.#bound.has(step.to);
    if (fromIsBound && !toIsBound) return this.#forward(step);
    if (fromIsBound && toIsBound) return this.#closing(step);
    return toIsBound ? this.#backward(step) : undefined;
  }

  /** The edge is bound: it leads to both of its ends. */
  #following(step: PatternStep): Move {
    return this.#stepMove(step, this.rowCount, () => {
      const { from, to, edge, move } = step;
      const [fromIsBound, toIsBound] = [this.#bound.has(from), this.#bound.has(to)];
      const [source, target] = [this.#node(from)?.types, this.#node(to)?.types];
      if (edge === undefined || move.kind !== 'vertex') return;
      const unlike = walkedBefore(step, this.#taken, this.#mayMeet);
      this.plan = {
        op: 'FollowEdges',
        input: this.plan,
        edges: edge,
        from,
        to,
        fromIsBound,
        toIsBound,
        direction: move.direction,
        types: move.types,
        ...(source && !fromIsBound && { fromTypes: source }),
        ...(target && !toIsBound && { toTypes: target }),
        ...(unlike.length > 0 && { unlike }),
      };
      if (!fromIsBound) this.#bind(from);
      if (!toIsBound) this.#bind(to);
    });
  }

  #forward(step: PatternStep): Move {
    const target = this.#node(step.to);
    const rowCount = this.rowCount * this.#fanOut(step, step.from) * this.#shareOf(target, step);
    const anchored = target && this.#anchoredBy(target, step);
    if (target && anchored)
      return this.#stepMove(step, rowCount, () => {
        this.#startAt(target).run();
        this.plan = this.#stepPlan(this.plan, anchored, undefined, true);
      });
    return this.#stepMove(step, rowCount, () => {
      this.plan = this.#step(this.plan, step, target);
      this.#bind(step.to);
    });
  }

  /** The step as it is walked from its end, when many rows come to it and a key that they have no part in finds the end. */
  #anchoredBy(target: PatternNode, step: PatternStep): PatternStep | undefined {
    if (!this.#isCostBased || this.#walkedRowCount() < anchoredRowCountMin) return undefined;
    if (step.path !== undefined || step.optional || step.move.kind !== 'vertex') return undefined;
    if (target.rids !== undefined || target.buckets !== undefined || target.types === undefined)
      return undefined;
    const conditions = this.#startOf(target).ready.filter((condition) => !this.#isTied(condition));
    const expressions = conditions.map(expressionOf);
    const [best] = indexCandidates(expressions, target.slot, target.types, this.#context);
    const move = reversedMove(step.move, this.#context.catalog);
    if (best === undefined || best.rowCount > 1 || move === undefined) return undefined;
    return { ...step, from: step.to, to: step.from, move };
  }

  /** Rows that come to the next step, those of the input counted. */
  #walkedRowCount(): number {
    this.#inputRowCount ??=
      this.#input.op === 'Argument' ? 1 : estimatesOf(this.#context)(this.#input).rowCount;
    return this.rowCount * this.#inputRowCount;
  }

  /** Both ends are bound: the step is a condition. */
  #closing(step: PatternStep): Move {
    const target = this.#node(step.to);
    const { statistics } = this.#context;
    const others = statistics.recordCount(target?.types ?? (target ? this.#typesOf(target) : []));
    const linked = (this.#fanOut(step, step.from) * this.#shareOf(target, step)) / (others + 1);
    const rowCount = this.rowCount * Math.min(1, linked);
    return this.#stepMove(step, rowCount, () => {
      this.plan = this.#stepPlan(this.plan, step, undefined, true);
    });
  }

  #backward(step: PatternStep): Move | undefined {
    const { path } = step;
    if (path !== undefined && !this.#isReversible(step)) return undefined;
    const source = this.#node(step.from);
    const back = reversedMove(step.move, this.#context.catalog);
    if (back === undefined) return undefined;
    // Going back to the edges of a vertex, only those of the node's types are walked.
    const move = back.kind === 'edge' && source?.types ? { ...back, types: source.types } : back;
    const turned = path && { ...path, moves: path.moves.map((part) => ({ ...part, move })) };
    const reversed: PatternStep = {
      ...step,
      from: step.to,
      to: step.from,
      move,
      path: turned && { ...turned, isReversed: path?.isReversed !== true },
    };
    const rowCount =
      this.rowCount * this.#fanOut(reversed, step.to) * this.#shareOf(source, reversed);
    return this.#stepMove(step, rowCount, () => {
      // Going back from an edge to its vertex, the edge must be one that the step could have walked.
      const edgeTypes = step.move.kind === 'edge' ? step.move.types : undefined;
      if (edgeTypes) this.#filter([isOfTypes(step.to, edgeTypes, this.#context)]);
      this.plan = this.#step(this.plan, reversed, source);
      this.#bind(step.from);
    });
  }

  #step(input: LogicalPlan, step: PatternStep, end: PatternNode | undefined): LogicalPlan {
    const types = step.path ? end?.types : typesToCheck(step.move, end?.types, this.#context);
    return this.#stepPlan(input, step, types, false);
  }

  #stepPlan(
    input: LogicalPlan,
    step: PatternStep,
    types: readonly TypeId[] | undefined,
    into: boolean,
  ): LogicalPlan {
    const isDistinct = this.#pattern.distinctEdges === true;
    return stepPlan(input, step, {
      toTypes: types,
      into,
      unlike: isDistinct ? walkedBefore(step, this.#taken, this.#mayMeet) : [],
    });
  }

  #isReversible(step: PatternStep): boolean {
    const predicate = step.path?.moves[0]?.predicate;
    return isReversible(step, (slot) => predicate !== undefined && slotsRead(predicate).has(slot));
  }

  #stepMove(step: PatternStep, rowCount: number, grow: () => void): Move {
    const walked = this.rowCount * this.#fanOut(step, step.from);
    const cost = (this.rowCount + walked) * expandCost;
    const run = (): void => {
      this.#stepsLeft = this.#stepsLeft.filter((other) => other !== step);
      grow();
      this.#taken = [...this.#taken, step];
      this.cost += cost;
      this.rowCount = Math.max(rowCount, 1e-6);
      this.#bindAll([step.edge, ...(step.path ? pathSlots(step.path) : [])]);
    };
    return { rowCount, cost, run };
  }

  #addOptional(step: PatternStep): void {
    const target = this.#node(step.to);
    const conditions = target?.predicates.flatMap(conjunctsOf) ?? [];
    const inner = filtered(this.#step({ op: 'Argument' }, step, target), conditions);
    const slots = [step.to, step.edge, ...(step.path ? pathSlots(step.path) : [])];
    this.plan = {
      op: 'Apply',
      outer: this.plan,
      inner,
      mode: { kind: 'optional', slots: slots.filter((slot) => slot !== undefined) },
    };
    this.#bindAll(slots);
  }

  /** Binds slots, and checks what waited for them: whatever else is ready has been checked. */
  #bindAll(slots: readonly (Slot | undefined)[]): void {
    const fresh = slots.filter((slot) => slot !== undefined && !this.#bound.has(slot)) as Slot[];
    for (const slot of fresh) this.#bound.add(slot);
    this.#check(this.#conditions.readyWith(fresh, this.#bound));
  }

  #bind(slot: Slot): void {
    const node = this.#node(slot);
    if (node?.buckets) this.#filter([isInBuckets(slot, node.buckets)]);
    if (node?.rids) this.#filter([isOneOf(slot, node.rids)]);
    this.#bindAll([slot]);
  }

  /** A node bound by the input has not been asked for its type yet. */
  #checkKind(node: PatternNode): void {
    if (node.types) this.#filter([isOfTypes(node.slot, node.types, this.#context)]);
    if (node.buckets) this.#filter([isInBuckets(node.slot, node.buckets)]);
    if (node.rids) this.#filter([isOneOf(node.slot, node.rids)]);
  }

  /** @param ready in the order in which they stand */
  #check(ready: readonly Condition[]): void {
    if (ready.length === 0) return;
    const expressions = expressionsOf(ready);
    this.#filter(expressions);
    this.rowCount *= selectivityOf(conjunctionOf(expressions));
  }

  #filter(conditions: readonly Expression[]): void {
    this.plan = filtered(this.plan, conditions);
  }

  /** What the steps at the node make of it: a link may lead to any record. */
  #kindOf(node: PatternNode): 'vertex' | 'edge' | 'any' {
    for (const step of this.#pattern.steps) {
      const last = step.path?.moves.at(-1)?.move ?? step.move;
      if (step.to === node.slot) {
        if (last.kind === 'link') return 'any';
        return last.kind === 'edge' ? 'edge' : 'vertex';
      }
    }
    const leaving = this.#pattern.steps.find((step) => step.from === node.slot);
    const first = leaving?.path?.moves[0]?.move ?? leaving?.move;
    if (first?.kind === 'link') return 'any';
    return first?.kind === 'end' ? 'edge' : 'vertex';
  }

  /** All types that a node without types of its own can have. */
  #typesOf(node: PatternNode): readonly TypeId[] {
    const kind = this.#kindOf(node);
    return kind === 'any'
      ? this.#context.catalog.types().map((type) => type.id)
      : elementTypes(this.#context, kind);
  }

  #node(slot: Slot): PatternNode | undefined {
    return this.#pattern.nodes.find((node) => node.slot === slot);
  }

  /** Rows that one row becomes by the step, before conditions on its end. */
  #fanOut(step: PatternStep, from: Slot): number {
    const { move, path } = step;
    if (move.kind === 'end') return move.direction === 'both' ? 2 : 1;
    if (move.kind === 'link') return 2;
    const types = this.#node(from)?.types;
    const { statistics } = this.#context;
    const degree = endsOf(move.direction)
      .map((end) => statistics.averageDegree(move.types, types, end))
      .reduce((left, right) => left + right);
    if (path === undefined) return degree;
    const depth = Math.min(path.max ?? 5, 5);
    return (path.min === 0 ? 1 : 0) + Math.max(1, degree) ** depth;
  }

  /** The share of elements reached that the types of a node leave. Its conditions are counted where they are checked. */
  #shareOf(node: PatternNode | undefined, step: PatternStep): number {
    if (node?.rids) return 0.001;
    const types = node?.types;
    if (types === undefined) return 1;
    const { statistics } = this.#context;
    const { move, path } = step;
    if (move.kind === 'vertex' && path === undefined) {
      const shares = endsOf(move.direction === 'both' ? 'both' : opposite(move.direction)).map(
        (end) => statistics.endShare(move.types, end, types),
      );
      return shares.reduce((left, right) => left + right) / shares.length;
    }
    const all = statistics.recordCount(this.#typesOf(node as PatternNode));
    return Math.min(1, (statistics.recordCount(types) + 1) / (all + 1));
  }
}
