import { filterLong, madeOnce } from '#core/replayed-loops.ts';
import { Link } from '#core/value/record.ts';
import { makeRid, positionMax, type TypeId } from '#core/value/rid.ts';
import type { Direction } from '#storage/engine.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import type {
  LogicalPlan,
  Pattern,
  PatternNode,
  PatternStep,
  WalkedEdge,
} from '../algebra/plan.ts';
import { conjunctionOf } from '../algebra/walk.ts';
import type { OptimizerContext } from './rule.ts';

/** The parts that plans of patterns are put together from. */

/** The ends of edges at which a vertex stands that walks them in this direction. */
export function endsOf(direction: Direction | 'both'): readonly Direction[] {
  return direction === 'both' ? ['out', 'in'] : [direction];
}

export function opposite(direction: Direction): Direction {
  return direction === 'out' ? 'in' : 'out';
}

export function elementTypes(
  context: OptimizerContext,
  kind: 'vertex' | 'edge',
): readonly TypeId[] {
  return context.catalog
    .types()
    .filter((type) => type.kind === kind)
    .map((type) => type.id);
}

/** What the steps at a node make of it: a link may lead to any record. */
export function kindOfNode(node: PatternNode, { steps }: Pattern): 'vertex' | 'edge' | 'any' {
  for (const step of steps) {
    const last = step.path?.moves.at(-1)?.move ?? step.move;
    if (step.to === node.slot) {
      if (last.kind === 'link') return 'any';
      return last.kind === 'edge' ? 'edge' : 'vertex';
    }
  }
  const leaving = steps.find((step) => step.from === node.slot);
  const first = leaving?.path?.moves[0]?.move ?? leaving?.move;
  if (first?.kind === 'link') return 'any';
  return first?.kind === 'end' ? 'edge' : 'vertex';
}

/** All types that a node without types of its own can have. */
export function typesOfNode(
  node: PatternNode,
  pattern: Pattern,
  context: OptimizerContext,
): readonly TypeId[] {
  const kind = kindOfNode(node, pattern);
  return kind === 'any'
    ? context.catalog.types().map((type) => type.id)
    : elementTypes(context, kind);
}

export function sourceOf(node: PatternNode, types: readonly TypeId[]): LogicalPlan {
  const as = node.slot;
  if (node.rids)
    return {
      op: 'RecordLookup',
      rids: node.rids,
      as,
      isSet: true,
      ...(node.types && { types: node.types }),
    };
  if (node.buckets) return { op: 'BucketScan', buckets: node.buckets, as };
  return { op: 'TypeScan', types, as };
}

export function stepPlan(
  input: LogicalPlan,
  step: PatternStep,
  {
    toTypes,
    into,
    unlike,
  }: {
    readonly toTypes: readonly TypeId[] | undefined;
    readonly into: boolean;
    readonly unlike: readonly WalkedEdge[];
  },
): LogicalPlan {
  const { from, to, edge, path } = step;
  const apart = unlike.length > 0 ? { unlike } : {};
  if (path !== undefined) {
    const typed = toTypes && !path.toTypes ? { ...path, toTypes } : path;
    return { op: 'ExpandPath', input, from, to, into, path: { ...typed, ...apart } };
  }
  const { move } = step;
  const types = toTypes && { toTypes };
  return { op: 'Expand', input, from, move, edge, to, into, ...types, ...apart };
}

export function filtered(plan: LogicalPlan, conditions: readonly Expression[]): LogicalPlan {
  const predicate = conjunctionOf(conditions);
  return predicate === undefined ? plan : { op: 'Filter', input: plan, predicate };
}

/** @param done some of the conditions, each once */
export function without<Condition>(
  conditions: readonly Condition[],
  done: readonly Condition[],
): readonly Condition[] {
  if (done.length === 0) return conditions;
  if (done.length === conditions.length) return [];
  const gone = madeOnce(() => new Set(done), done.length);
  return filterLong(conditions, (condition) => !gone.has(condition));
}

export function isOfTypes(
  slot: Slot,
  types: readonly TypeId[],
  context: OptimizerContext,
): Expression {
  return {
    op: 'IsOfType',
    operand: { op: 'Slot', slot },
    types: types.map((type) => context.catalog.typeWithId(type).name),
  };
}

/** Bounds on record ids say which bucket a record is in. */
export function isInBuckets(slot: Slot, buckets: readonly number[]): Expression {
  const rid: Expression = { op: 'Attribute', of: { op: 'Slot', slot }, attribute: 'rid' };
  const operands = buckets.map(
    (bucket): Expression => ({
      op: 'Between',
      operand: rid,
      low: ridConstant(bucket, 0),
      high: ridConstant(bucket, positionMax - 1),
      dialect: 'sql',
    }),
  );
  return operands.length === 1 ? (operands[0] as Expression) : { op: 'Or', operands };
}

/** One id or a list of ids. */
export function isOneOf(slot: Slot, rids: Expression): Expression {
  const rid: Expression = { op: 'Attribute', of: { op: 'Slot', slot }, attribute: 'rid' };
  return {
    op: 'Or',
    operands: [
      { op: 'In', element: rid, list: rids, dialect: 'sql' },
      { op: 'Compare', operator: '=', left: rid, right: rids, dialect: 'sql' },
    ],
  };
}

export function ridConstant(bucket: number, position: number): Expression {
  return { op: 'Constant', value: new Link(makeRid(bucket, position)) };
}

/** The types that are still to be checked after a move: undefined when it can only reach elements of these types. */
export function typesToCheck(
  move: PatternStep['move'],
  types: readonly TypeId[] | undefined,
  context: OptimizerContext,
): readonly TypeId[] | undefined {
  if (types === undefined || move.kind === 'link') return types;
  const kind = move.kind === 'edge' ? 'edge' : 'vertex';
  const allowed = new Set(types);
  const reachable = (move.kind === 'edge' ? move.types : undefined) ?? elementTypes(context, kind);
  return reachable.every((type) => allowed.has(type)) ? undefined : types;
}
