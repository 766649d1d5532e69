import type { PausingWork } from '#core/pausing-work.ts';
import { inStretches, stepped } from '#core/replayed-loops.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import type { LogicalPlan, Pattern, PatternNode, PatternStep } from '../algebra/plan.ts';
import { freeSlots, slotsRead } from '../algebra/slots.ts';
import { pathSlots } from '../algebra/slots-written.ts';
import { conjunctionOf, conjunctsOf } from '../algebra/walk.ts';
import { reversedMove } from '../physical/reversed-move.ts';
import { expandCost, selectivityOf } from './cost.ts';
import { estimatesOf } from './estimates.ts';
import {
  isReversible,
  type Meetings,
  meetings,
  walkedBefore,
  withEdgeSlots,
} from './distinct-edges.ts';
import {
  BoundSlots,
  type Condition,
  conditionsPerPause,
  expressionsOf,
  inOrder,
  PatternConditions,
} from './conditions.ts';
import {
  endsOf,
  filtered,
  isInBuckets,
  isOfTypes,
  isOneOf,
  kindOfNode,
  opposite,
  sourceOf,
  stepPlan,
  typesOfNode,
  typesToCheck,
} from './match-parts.ts';
import { PatternStarts, type Start } from './match-starts.ts';
import type { OptimizerContext } from './rule.ts';

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
  return stepped(() => planInSteps(match, context, isCostBased));
}

function* planInSteps(
  { pattern, input }: LogicalPlan & { readonly op: 'Match' },
  context: OptimizerContext,
  isCostBased: boolean,
): PausingWork<LogicalPlan> {
  const begun = yield* GrowingPlan.over(input, withEdgeSlots(pattern, context), context);
  const starts =
    isCostBased && pattern.nodes.length <= exhaustiveNodeCountMax ? begun.possibleStarts() : [];
  let best: GrowingPlan | undefined;
  for (const start of starts.length > 0 ? starts : [undefined]) {
    const grown = begun.copy();
    if (begun.isLong) yield;
    yield* grown.complete(start, isCostBased);
    if (best === undefined || grown.cost < best.cost) best = grown;
  }
  return (best as GrowingPlan).plan;
}

/** What to do next, with the rows it gives and what it costs. */
interface Move {
  readonly rowCount: number;
  readonly cost: number;
  readonly run: () => PausingWork<void>;
}

interface Growth {
  readonly input: LogicalPlan;
  readonly pattern: Pattern;
  readonly context: OptimizerContext;
  readonly mayMeet: Meetings;
  readonly conditions: PatternConditions;
  readonly starts: PatternStarts;
  readonly bound: BoundSlots;
  readonly stepsLeft: readonly PatternStep[];
  readonly taken: readonly PatternStep[];
  readonly plan: LogicalPlan;
  readonly rowCount: number;
  readonly cost: number;
}

/** Nodes and conditions that are looked at between two pauses: as many at most, and twice as many each time until then. */
const looksPerPauseMax = 1_000;
const looksBeforePause = 64;

const none: readonly Slot[] = [];

class GrowingPlan {
  readonly #pattern: Pattern;
  readonly #context: OptimizerContext;
  readonly #mayMeet: Meetings;
  readonly #conditions: PatternConditions;
  readonly #starts: PatternStarts;
  readonly #bound: BoundSlots;
  #stepsLeft: readonly PatternStep[];
  /** Of a pattern of distinct edges: those whose edges are known. */
  #taken: readonly PatternStep[];
  /** With the number of conditions that tied the node to others then. */
  readonly #startsNow = new Map<
    PatternNode,
    { readonly start: Start; readonly tieCount: number }
  >();
  #looks = 0;
  #looksPerPause = looksBeforePause;
  readonly #input: LogicalPlan;
  /** Estimated when first asked. */
  #inputRowCount: number | undefined;
  #isCostBased = false;
  plan: LogicalPlan;
  rowCount: number;
  cost: number;

  private constructor(from: Growth) {
    this.#input = from.input;
    this.#pattern = from.pattern;
    this.#context = from.context;
    this.#mayMeet = from.mayMeet;
    this.#conditions = from.conditions;
    this.#starts = from.starts;
    this.#bound = from.bound;
    this.#stepsLeft = from.stepsLeft;
    this.#taken = from.taken;
    this.plan = from.plan;
    this.rowCount = from.rowCount;
    this.cost = from.cost;
  }

  static *over(
    input: LogicalPlan,
    pattern: Pattern,
    context: OptimizerContext,
  ): PausingWork<GrowingPlan> {
    const following = pattern.steps.filter((step) => step.edgeIsBound === true);
    const conditions = yield* inStretches(() => new PatternConditions(pattern));
    const starts = new PatternStarts(pattern, conditions, context);
    yield* starts.prepare();
    const growing = new GrowingPlan({
      input,
      pattern,
      context,
      mayMeet: meetings(pattern),
      conditions,
      starts,
      bound: BoundSlots.none(conditions),
      stepsLeft: pattern.steps,
      taken: following,
      plan: input,
      rowCount: 1,
      cost: 0,
    });
    if (growing.isLong) yield;
    const known = pattern.nodes.filter((node) => node.bound);
    for (const node of known) growing.#checkKind(node);
    const ready = yield* growing.#bound.bind([
      ...known.map(({ slot }) => slot),
      ...following.map(({ edge }) => edge),
    ]);
    yield* growing.#check(inOrder([...conditions.ofNone, ...ready]));
    if (growing.isLong) yield;
    return growing;
  }

  /** It has so many conditions that looking at each takes a turn. */
  get isLong(): boolean {
    return this.#conditions.all.length > conditionsPerPause;
  }

  copy(): GrowingPlan {
    return new GrowingPlan({
      input: this.#input,
      pattern: this.#pattern,
      context: this.#context,
      mayMeet: this.#mayMeet,
      conditions: this.#conditions,
      starts: this.#starts,
      bound: this.#bound.copy(),
      stepsLeft: this.#stepsLeft,
      taken: this.#taken,
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

  *complete(start: PatternNode | undefined, isCostBased: boolean): PausingWork<void> {
    this.#isCostBased = isCostBased;
    let next: Move | undefined = start ? this.#startAt(start) : yield* this.#nextMove();
    while (next !== undefined) {
      yield* next.run();
      // Each step is compared with those before it.
      this.#looks += this.#taken.length >> 2;
      if (this.#hasLookedLong()) yield;
      next = yield* this.#nextMove();
    }
    for (const step of this.#stepsLeft) yield* this.#addOptional(step);
    this.#stepsLeft = [];
  }

  /** A step that can be taken now; when there is none, a node from which another part of the pattern can be begun. */
  *#nextMove(): PausingWork<Move | undefined> {
    let best: Move | undefined;
    for (const step of this.#stepsLeft) {
      if (step.optional) continue;
      best = this.#better(best, this.#moveAlong(step));
      if (this.#hasLookedLong()) yield;
    }
    if (best !== undefined) return best;
    for (const node of this.#unboundNodes()) {
      if (this.#canStartAt(node)) best = this.#better(best, this.#startAt(node));
      if (this.#hasLookedLong()) yield;
    }
    return best;
  }

  #better(known: Move | undefined, other: Move | undefined): Move | undefined {
    if (known === undefined || other === undefined) return known ?? other;
    if (!this.#isCostBased) return known;
    return (other.rowCount - known.rowCount || other.cost - known.cost) < 0 ? other : known;
  }

  #hasLookedLong(): boolean {
    this.#looks += 1;
    if (this.#looks < this.#looksPerPause) return false;
    this.#looks = 0;
    this.#looksPerPause = Math.min(looksPerPauseMax, this.#looksPerPause * 2);
    return true;
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
      return (
        node.types !== undefined ||
        node.buckets !== undefined ||
        kindOfNode(node, this.#pattern) !== 'any'
      );
    const own = new Set(this.#pattern.nodes.map((other) => other.slot));
    return [...slotsRead(node.rids)].every((slot) => !own.has(slot) || this.#bound.has(slot));
  }

  #startAt(node: PatternNode): Move {
    const start = this.#startOf(node);
    const rowCount = this.rowCount * start.found;
    return { rowCount, cost: start.sourceCost, run: () => this.#begin(start, rowCount) };
  }

  *#begin({ node, types, covered, sourceCost }: Start, rowCount: number): PausingWork<void> {
    const source = sourceOf(node, types);
    const sourceIsTied = [...freeSlots(source)].some((slot) => this.#bound.has(slot));
    const ready = yield* this.#bind([node.slot]);
    const isLong = ready.length > conditionsPerPause;
    if (isLong) yield;
    // A condition that ties the node to an earlier one pays inside only when an index answers it; otherwise the node's own
    // rows are found once, and the condition is checked on the pairs.
    const isTaken = (condition: Condition): boolean =>
      !isTie(condition) || covered.includes(condition.expression);
    const taken = ready.filter(isTaken);
    if (isLong) yield;
    const isFirst = this.plan.op === 'Argument';
    const inner = filtered(source, expressionsOf(taken));
    this.plan = isFirst ? inner : { op: 'Apply', outer: this.plan, inner, mode: { kind: 'cross' } };
    // Without a tie to the outer row the inner plan runs once and its rows are kept.
    this.cost +=
      sourceIsTied || taken.some(isTie)
        ? this.rowCount * sourceCost
        : sourceCost + rowCount * expandCost;
    this.rowCount = rowCount;
    if (isLong) yield;
    yield* this.#check(
      taken.length === ready.length ? [] : ready.filter((other) => !isTaken(other)),
    );
  }

  #startOf(node: PatternNode): Start {
    const ties = this.#bound.tiedTo(node.slot);
    const known = this.#startsNow.get(node);
    if (known?.tieCount === ties.length) return known.start;
    this.#looks += ties.length;
    const start = this.#starts.of(node, ties);
    this.#startsNow.set(node, { start, tieCount: ties.length });
    return start;
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
      if (edge === undefined || move.kind !== 'vertex') return none;
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
      return [...(fromIsBound ? none : [from]), ...(toIsBound ? none : [to])];
    });
  }

  #forward(step: PatternStep): Move {
    const target = this.#node(step.to);
    const rowCount = this.rowCount * this.#fanOut(step, step.from) * this.#shareOf(target, step);
    const anchored = target && this.#anchoredBy(target, step);
    if (target && anchored)
      return this.#stepMove(
        step,
        rowCount,
        () => {
          this.plan = this.#stepPlan(this.plan, anchored, undefined, true);
          return none;
        },
        target,
      );
    return this.#stepMove(step, rowCount, () => {
      this.plan = this.#step(this.plan, step, target);
      return [step.to];
    });
  }

  /** The step as it is walked from its end, when many rows come to it and a key that they have no part in finds the end. */
  #anchoredBy(target: PatternNode, step: PatternStep): PatternStep | undefined {
    if (!this.#isCostBased || this.#walkedRowCount() < anchoredRowCountMin) return undefined;
    if (step.path !== undefined || step.optional || step.move.kind !== 'vertex') return undefined;
    if (target.rids !== undefined || target.buckets !== undefined || target.types === undefined)
      return undefined;
    const best = this.#starts.indexAlone(target);
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
      return none;
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
      return [step.from];
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

  /**
   * @param grow gives the slots of the nodes that the step reaches
   * @param found is begun at before the step is taken
   */
  #stepMove(
    step: PatternStep,
    rowCount: number,
    grow: () => readonly Slot[],
    found?: PatternNode,
  ): Move {
    const walked = this.rowCount * this.#fanOut(step, step.from);
    const cost = (this.rowCount + walked) * expandCost;
    return { rowCount, cost, run: () => this.#take(step, { rowCount, cost, grow, found }) };
  }

  *#take(
    step: PatternStep,
    {
      rowCount,
      cost,
      grow,
      found,
    }: Pick<Move, 'rowCount' | 'cost'> & {
      readonly grow: () => readonly Slot[];
      readonly found: PatternNode | undefined;
    },
  ): PausingWork<void> {
    this.#stepsLeft = this.#stepsLeft.filter((other) => other !== step);
    if (found !== undefined) yield* this.#startAt(found).run();
    for (const slot of grow()) yield* this.#reach(slot);
    this.#taken = [...this.#taken, step];
    this.cost += cost;
    this.rowCount = Math.max(rowCount, 1e-6);
    yield* this.#bindAndCheck([step.edge, ...(step.path ? pathSlots(step.path) : [])]);
  }

  *#addOptional(step: PatternStep): PausingWork<void> {
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
    yield* this.#bindAndCheck(slots);
  }

  /** @returns what waited for these slots: whatever else is ready has been checked */
  *#bind(slots: readonly (Slot | undefined)[]): PausingWork<readonly Condition[]> {
    const ready = yield* this.#bound.bind(slots);
    this.#looks += ready.length;
    return ready;
  }

  *#bindAndCheck(slots: readonly (Slot | undefined)[]): PausingWork<void> {
    yield* this.#check(yield* this.#bind(slots));
  }

  *#reach(slot: Slot): PausingWork<void> {
    const node = this.#node(slot);
    if (node?.buckets) this.#filter([isInBuckets(slot, node.buckets)]);
    if (node?.rids) this.#filter([isOneOf(slot, node.rids)]);
    yield* this.#bindAndCheck([slot]);
  }

  /** A node bound by the input has not been asked for its type yet. */
  #checkKind(node: PatternNode): void {
    if (node.types) this.#filter([isOfTypes(node.slot, node.types, this.#context)]);
    if (node.buckets) this.#filter([isInBuckets(node.slot, node.buckets)]);
    if (node.rids) this.#filter([isOneOf(node.slot, node.rids)]);
  }

  /** @param ready in the order in which they stand */
  *#check(ready: readonly Condition[]): PausingWork<void> {
    if (ready.length === 0) return;
    const isLong = ready.length > conditionsPerPause;
    if (isLong) yield;
    const expressions = expressionsOf(ready);
    this.#filter(expressions);
    if (!isLong) this.rowCount *= selectivityOf(conjunctionOf(expressions));
    else this.rowCount *= yield* inStretches(() => selectivityOf(conjunctionOf(expressions)));
  }

  #filter(conditions: readonly Expression[]): void {
    this.plan = filtered(this.plan, conditions);
  }

  #typesOf(node: PatternNode): readonly TypeId[] {
    return typesOfNode(node, this.#pattern, this.#context);
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

/** It reads other slots of the pattern, too. */
function isTie({ slotCount }: Condition): boolean {
  return slotCount > 1;
}
