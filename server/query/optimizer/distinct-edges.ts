import type { TypeId } from '#core/value/rid.ts';
import type { Slot } from '../algebra/expression.ts';
import type { Pattern, PatternStep, WalkedEdge } from '../algebra/plan.ts';
import type { OptimizerContext } from './rule.ts';

/**
 * Relationship uniqueness as a property of a pattern: each step is told the edges that steps taken before it have walked, as far as
 * both could walk the same one.
 */

/** Every step whose edges another one may meet leaves them in a slot, and repeated ones meet none twice. */
export function withEdgeSlots(pattern: Pattern, context: OptimizerContext): Pattern {
  if (pattern.distinctEdges !== true) return pattern;
  const { steps } = pattern;
  return { ...pattern, steps: steps.map((step) => leavingEdges(step, steps, context)) };
}

function leavingEdges(
  step: PatternStep,
  steps: readonly PatternStep[],
  context: OptimizerContext,
): PatternStep {
  const { path } = step;
  const isMet = steps.some((other) => other !== step && mayMeet(step, other));
  if (path !== undefined) {
    const list = path.path ?? (isMet ? context.newSlot() : undefined);
    return { ...step, path: { ...path, path: list, pathHolds: 'edges', distinctEdges: true } };
  }
  return isMet && step.edge === undefined ? { ...step, edge: context.newSlot() } : step;
}

/** Both steps can walk the same edge. */
export function mayMeet(a: PatternStep, b: PatternStep): boolean {
  const [left, right] = [edgeTypesOf(a), edgeTypesOf(b)];
  if (left === 'none' || right === 'none') return false;
  if (left === 'any' || right === 'any') return true;
  return left.some((type) => right.includes(type));
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
