import { madeOnce } from '#core/replayed-loops.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import type { Pattern, PatternStep, WalkedEdge } from '../algebra/plan.ts';
import { conjunctsOf } from '../algebra/walk.ts';
import type { OptimizerContext } from './rule.ts';

/**
 * Relationship uniqueness as a property of a pattern: each step is told the edges that steps taken before it have walked, as far as
 * both could walk the same one. They cannot where types of edges or of their ends have nothing in common, or where a condition keeps
 * the ends apart: `(a)--(b)--(c) WHERE a <> c` never walks back, whoever asks.
 */

/** Every step whose edges another one may meet leaves them in a slot, and repeated ones meet none twice. */
export function withEdgeSlots(pattern: Pattern, context: OptimizerContext): Pattern {
  if (pattern.distinctEdges !== true) return pattern;
  const { steps } = pattern;
  const mayMeet = meetings(pattern);
  return {
    ...pattern,
    steps: steps.map((step) =>
      leavingEdges(
        step,
        steps.some((other) => other !== step && mayMeet(step, other)),
        context,
      ),
    ),
  };
}

function leavingEdges(step: PatternStep, isMet: boolean, context: OptimizerContext): PatternStep {
  const { path } = step;
  if (path !== undefined) {
    const list = path.path ?? (isMet ? context.newSlot() : undefined);
    return { ...step, path: { ...path, path: list, pathHolds: 'edges', distinctEdges: true } };
  }
  return isMet && step.edge === undefined ? { ...step, edge: context.newSlot() } : step;
}

/** Whether two steps can walk the same edge in one match. */
export type Meetings = (a: PatternStep, b: PatternStep) => boolean;

export function meetings(pattern: Pattern): Meetings {
  const ends = new Ends(pattern);
  return (a, b) =>
    (a.group ?? 0) === (b.group ?? 0) && haveTypesInCommon(a, b) && ends.mayBeSame(a, b);
}

function haveTypesInCommon(a: PatternStep, b: PatternStep): boolean {
  const [left, right] = [edgeTypesOf(a), edgeTypesOf(b)];
  if (left === 'none' || right === 'none') return false;
  if (left === 'any' || right === 'any') return true;
  return left.some((type) => right.includes(type));
}

/** The nodes at which edges of steps end, and what keeps them apart. */
class Ends {
  readonly #types: ReadonlyMap<Slot, readonly TypeId[] | undefined>;
  readonly #nodes: Pattern['nodes'];
  /** Found when first asked for: most patterns have no two steps that could meet. */
  #unlike: readonly (readonly [Slot, Slot])[] | undefined;

  constructor({ nodes }: Pattern) {
    this.#types = new Map(nodes.map(({ slot, types }) => [slot, types]));
    this.#nodes = nodes;
  }

  /** One edge has one source and one target, whatever the way in which each step walks it. */
  mayBeSame(a: PatternStep, b: PatternStep): boolean {
    const [left, right] = [orientations(a), orientations(b)];
    if (left === undefined || right === undefined) return true;
    return left.some((one) => right.some((other) => this.#mayCoincide(one, other)));
  }

  #mayCoincide(one: Oriented, other: Oriented): boolean {
    const sources = [one.source, other.source];
    const targets = [one.target, other.target];
    const meet = targets.includes(one.source) || targets.includes(other.source);
    if (meet) return this.#mayBeOne([...sources, ...targets]);
    return this.#mayBeOne(sources) && this.#mayBeOne(targets);
  }

  /** @param slots some of them more than once */
  #mayBeOne(slots: readonly Slot[]): boolean {
    this.#unlike ??= madeOnce(() =>
      this.#nodes.flatMap(({ predicates }) => predicates.flatMap(conjunctsOf).flatMap(apart)),
    );
    if (this.#unlike.some(([a, b]) => slots.includes(a) && slots.includes(b))) return false;
    const lists = slots.flatMap((slot) => {
      const types = this.#types.get(slot);
      return types === undefined ? [] : [types];
    });
    const [first, ...others] = lists;
    return first === undefined || first.some((type) => others.every((list) => list.includes(type)));
  }
}

interface Oriented {
  readonly source: Slot;
  readonly target: Slot;
}

/** The ends of the edge of a step; undefined where the step has no single one, or may have none. */
function orientations({ from, to, move, path, optional }: PatternStep): Oriented[] | undefined {
  if (path !== undefined || optional || move.kind !== 'vertex') return undefined;
  const along = { source: from, target: to };
  const against = { source: to, target: from };
  if (move.direction === 'both') return [along, against];
  return [move.direction === 'out' ? along : against];
}

/** Two nodes that a condition wants to be different ones. */
function apart(condition: Expression): (readonly [Slot, Slot])[] {
  if (condition.op !== 'Compare' || condition.operator !== '<>') return [];
  const { left, right, dialect } = condition;
  if (dialect !== 'cypher' || left.op !== 'Slot' || right.op !== 'Slot') return [];
  return [[left.slot, right.slot]];
}

function edgeTypesOf({ move, path }: PatternStep): readonly TypeId[] | 'any' | 'none' {
  const moves = path === undefined ? [move] : path.moves.map((part) => part.move);
  const types: TypeId[] = [];
  for (const part of moves) {
    if (part.kind === 'end' || part.kind === 'link') continue;
    if (part.types === undefined) return 'any';
    types.push(...part.types);
  }
  return types.length === 0 ? 'none' : types;
}

/** What a step of the pattern must not walk, given the steps taken before it. */
export function walkedBefore(
  step: PatternStep,
  taken: readonly PatternStep[],
  mayMeet: Meetings,
): readonly WalkedEdge[] {
  return taken
    .filter((other) => !isSame(other, step) && mayMeet(step, other))
    .flatMap((other) => walkedBy(other) ?? []);
}

function isSame(a: PatternStep, b: PatternStep): boolean {
  return a === b || (a.edge !== undefined && a.edge === b.edge);
}

function walkedBy(step: PatternStep): WalkedEdge | undefined {
  const { edge, path, from, to, move } = step;
  if (step.edgeIsBound === true) return edge === undefined ? undefined : { edge };
  if (path !== undefined) return path.path === undefined ? undefined : { edge: path.path };
  if (edge === undefined || move.kind !== 'vertex')
    return edge === undefined ? undefined : { edge };
  return { edge, ends: { from, to, direction: move.direction } };
}

/** A repetition that can be walked from its end: one plain move, whose conditions look at its edges only. */
export function isReversible({ path }: PatternStep, reads: (slot: Slot) => boolean): boolean {
  const [only, ...others] = path?.moves ?? [];
  if (path === undefined || only === undefined || others.length > 0) return false;
  if (path.condition !== undefined || path.predicate !== undefined) return false;
  if (path.start !== undefined) return false;
  if (path.pathHolds !== 'edges' || !path.distinctEdges || path.toTypes !== undefined) return false;
  return only.path === undefined && only.types === undefined && !reads(only.element);
}
