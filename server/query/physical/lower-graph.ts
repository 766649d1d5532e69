import type { Branch, LogicalPlan, PathSpec, PlanNode } from '../algebra/plan.ts';
import { slotsReadBy } from '../algebra/slots.ts';
import { BranchCountOperator, type ResolvedBranch } from '../operators/graph/branch-count.ts';
import { DegreeOperator } from '../operators/graph/degree.ts';
import { ExpandIntoOperator, ExpandOperator } from '../operators/graph/expand.ts';
import { FollowEdgesOperator } from '../operators/graph/follow-edges.ts';
import { ExpandPathOperator } from '../operators/graph/expand-path.ts';
import type { Slot } from '../algebra/expression.ts';
import type { CompiledMove, PathWalkOptions } from '../operators/graph/path-walk.ts';
import { resolveMove } from '../operators/graph/neighbour-cursor.ts';
import { TraverseOperator } from '../operators/graph/traverse.ts';
import { typeCheckFor } from '../operators/scan/type-check.ts';
import {
  compileValue,
  descriptionOf,
  optionalFilter,
  withSlots,
  type Lowering,
  type OperatorFactory,
  type RequiredSlots,
} from './lowering.ts';
import { reversedMove } from './reversed-move.ts';

export type GraphOp =
  | 'Expand'
  | 'Degree'
  | 'BranchCount'
  | 'ExpandPath'
  | 'FollowEdges'
  | 'Traverse';

/** Operators for the nodes that walk the graph. `Match` is planned by the optimizer before. */
export function lowerGraph(
  plan: PlanNode<GraphOp>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  switch (plan.op) {
    case 'Expand':
      return lowerExpand(plan, required, lowering);
    case 'FollowEdges':
      return lowerFollow(plan, required, lowering);
    case 'Degree': {
      const input = lowering.lower(plan.input, withSlots(required, slotsReadBy(plan)));
      const options = {
        from: plan.from,
        fromBareId: lowering.bareIds.has(plan.from),
        move: resolveMove(plan.move, lowering.catalog),
        as: plan.as,
        tables: lowering.edgeTables,
        unlike: plan.unlike ?? [],
        description: descriptionOf(lowering, plan),
      };
      return () => new DegreeOperator({ ...options, input: input() });
    }
    case 'BranchCount': {
      const input = lowering.lower(plan.input, withSlots(required, [plan.from]));
      const options = {
        from: plan.from,
        fromBareId: lowering.bareIds.has(plan.from),
        branches: plan.branches.map((branch) => resolveBranch(branch, lowering)),
        as: plan.as,
        tables: lowering.edgeTables,
        description: descriptionOf(lowering, plan),
      };
      return () => new BranchCountOperator({ ...options, input: input() });
    }
    case 'ExpandPath':
      return lowerPath(plan, required, lowering);
    default:
      return lowerTraverse(plan, required, lowering);
  }
}

function resolveBranch(branch: Branch, lowering: Lowering): ResolvedBranch {
  return {
    move: resolveMove(branch.move, lowering.catalog),
    typeCheck: typeCheckFor(branch.toTypes, lowering.catalog),
    isOptional: branch.isOptional,
    branches: branch.branches.map((inner) => resolveBranch(inner, lowering)),
  };
}

/**
 * A step of which each neighbour is wanted once: the set stands inside the step, so nothing is made for the others.
 * @returns undefined when the plan is something else
 */
export function fuseDistinctStep(
  plan: LogicalPlan,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory | undefined {
  if (plan.op !== 'Distinct' || plan.input.op !== 'Expand' || plan.input.into) return undefined;
  const [on] = plan.on;
  const isOnEnd = plan.on.length === 1 && on?.op === 'Slot' && on.slot === plan.input.to;
  return isOnEnd ? lowerExpand(plan.input, required, lowering, 'distinct') : undefined;
}

function lowerExpand(
  plan: PlanNode<'Expand'>,
  required: RequiredSlots,
  lowering: Lowering,
  rows: 'all' | 'distinct' = 'all',
): OperatorFactory {
  const { catalog } = lowering;
  const input = lowering.lower(plan.input, withSlots(required, slotsReadBy(plan)));
  const options = {
    from: plan.from,
    move: resolveMove(plan.move, catalog),
    edge: plan.edge !== undefined && required.has(plan.edge) ? plan.edge : undefined,
    typeCheck: typeCheckFor(plan.toTypes, catalog),
    isDistinct: rows === 'distinct',
    unlike: plan.unlike ?? [],
    tables: lowering.unordered.has(plan) ? lowering.edgeTables : undefined,
    fromBareId: lowering.bareIds.has(plan.from),
    toBareId: lowering.bareIds.has(plan.to),
    edgeBareId: plan.edge !== undefined && lowering.bareIds.has(plan.edge),
    description: descriptionOf(lowering, plan),
  };
  const { to } = plan;
  if (plan.into) {
    // The way back from an edge does not look at its type.
    const isReversible = plan.move.kind === 'vertex';
    const reversed = isReversible ? reversedMove(plan.move, catalog) : undefined;
    const resolved = reversed && resolveMove(reversed, catalog);
    return () => new ExpandIntoOperator({ ...options, to, input: input(), reversed: resolved });
  }
  const target = required.has(to) ? to : undefined;
  return () => new ExpandOperator({ ...options, to: target, input: input() });
}

function lowerPath(
  plan: PlanNode<'ExpandPath'>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const { path, from, to, into } = plan;
  const input = lowering.lower(plan.input, withSlots(required, slotsReadBy(plan)));
  const isPathRead = path.path !== undefined && required.has(path.path);
  const walk = compilePath(path, { to, into, isPathRead }, lowering);
  const options = { ...walk, from, description: descriptionOf(lowering, plan) };
  return () => new ExpandPathOperator({ ...options, input: input() });
}

function lowerFollow(
  plan: PlanNode<'FollowEdges'>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const { catalog } = lowering;
  const input = lowering.lower(plan.input, withSlots(required, slotsReadBy(plan)));
  const { edges, from, to, fromIsBound, toIsBound, direction } = plan;
  const options = {
    edges,
    from,
    to,
    fromIsBound,
    toIsBound,
    direction,
    typeCheck: typeCheckFor(plan.types, catalog),
    fromCheck: typeCheckFor(plan.fromTypes, catalog),
    toCheck: typeCheckFor(plan.toTypes, catalog),
    unlike: plan.unlike ?? [],
    description: descriptionOf(lowering, plan),
  };
  return () => new FollowEdgesOperator({ ...options, input: input() });
}

function compilePath(
  path: PathSpec,
  end: { readonly to: Slot; readonly into: boolean; readonly isPathRead: boolean },
  lowering: Lowering,
): PathWalkOptions {
  return {
    to: end.to,
    into: end.into,
    moves: path.moves.map((move) => compileMove(move, lowering)),
    start: path.start,
    min: path.min,
    max: path.max ?? Number.POSITIVE_INFINITY,
    condition: optionalFilter(lowering, path.condition),
    predicate: optionalFilter(lowering, path.predicate),
    typeCheck: typeCheckFor(path.toTypes, lowering.catalog),
    depth: path.depth,
    path: end.isPathRead ? path.path : undefined,
    pathHolds: path.pathHolds,
    distinctEdges: path.distinctEdges,
    isReversed: path.isReversed === true,
    unlike: path.unlike ?? [],
  };
}

function compileMove(move: PathSpec['moves'][number], lowering: Lowering): CompiledMove {
  const end = { to: move.element, into: false, isPathRead: false };
  return {
    move: resolveMove(move.move, lowering.catalog),
    path: move.path && compilePath(move.path, end, lowering),
    element: move.element,
    edge: move.edge,
    predicate: optionalFilter(lowering, move.predicate),
    typeCheck: typeCheckFor(move.types, lowering.catalog),
  };
}

function lowerTraverse(
  plan: PlanNode<'Traverse'>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const read = slotsReadBy(plan);
  const input = lowering.lower(plan.input, withSlots(required, read));
  const { fields, as, depth, path, history, strategy } = plan;
  const options = {
    roots: compileValue(lowering, plan.roots),
    as,
    fields: fields === 'all' ? fields : fields.map((field) => compileValue(lowering, field)),
    edges: resolveMove(allEdges, lowering.catalog),
    depth,
    path,
    isPathRead: required.has(path) || read.has(path),
    history:
      history !== undefined && (required.has(history) || read.has(history)) ? history : undefined,
    maxDepth: plan.maxDepth ?? Number.POSITIVE_INFINITY,
    condition: optionalFilter(lowering, plan.condition),
    strategy,
    description: descriptionOf(lowering, plan),
  };
  return () => new TraverseOperator({ ...options, input: input() });
}

/** The move from a vertex to all of its edges. */
export const allEdges = { kind: 'edge', direction: 'both', types: undefined } as const;

export function isGraph(plan: LogicalPlan): plan is PlanNode<GraphOp> {
  return graphOps.has(plan.op);
}

const graphOps: ReadonlySet<string> = new Set<GraphOp>([
  'Expand',
  'Degree',
  'BranchCount',
  'ExpandPath',
  'FollowEdges',
  'Traverse',
]);
