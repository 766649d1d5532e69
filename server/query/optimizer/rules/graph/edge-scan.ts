import { isListedAtTargets } from '#catalog/catalog.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { PatternNode, PlanNode } from '../../../algebra/plan.ts';
import { slotsReadBy } from '../../../algebra/slots.ts';
import { isCountOfRows } from '../../count-as-sum.ts';
import { elementTypes } from '../../match-parts.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/** Edges between any two vertices are counted where they are stored, or by the counters of their buckets. */
export const edgeScan: OptimizerRule = {
  name: 'edge-scan',
  needs: ['Match'],
  why: 'MATCH ()-[r]->() RETURN type(r), count(*) would ask every vertex for its edges of every type',
  apply(plan, context) {
    if (plan.op !== 'Aggregate' || plan.input.op !== 'Match' || plan.first.length > 0)
      return undefined;
    const found = freeEdges(plan.input, context);
    if (found === undefined) return undefined;
    const { types, ends, edge = context.newSlot() } = found;
    const never = new Set([...ends, edge]);
    const aggregates = plan.aggregates.map((aggregate) =>
      isCountOfRows(aggregate, never) ? { ...aggregate, arguments: [] } : aggregate,
    );
    // The edges come in another order, which other aggregates may show.
    if (!aggregates.every(({ function: name }) => name.toLowerCase() === 'count')) return undefined;
    const counted = { ...plan, aggregates };
    const read = slotsReadBy(counted);
    if (ends.some((end) => read.has(end))) return undefined;
    const isCounter = read.size === 0 && aggregates.length === 1 && plan.keys.length === 0;
    if (!isCounter && !isScanCheaper(types, context)) return undefined;
    return { ...counted, input: { op: 'TypeScan', types, as: edge } };
  },
};

/** What a pattern of one step walks between vertices of which nothing is asked. */
function freeEdges({ input, pattern }: PlanNode<'Match'>, context: OptimizerContext) {
  const [step, ...others] = pattern.steps;
  if (input.op !== 'Argument' || step === undefined || others.length > 0) return undefined;
  const { from, to, move, edge, path, edgeIsBound, optional } = step;
  if (path !== undefined || edgeIsBound === true || optional || from === to) return undefined;
  if (pattern.nodes.length !== 2 || !pattern.nodes.every(isFree)) return undefined;
  if (move.kind !== 'vertex' || move.direction === 'both') return undefined;
  const { catalog } = context;
  // Vertices that a trigger hides are not walked from.
  if (catalog.definitions.hasReadTriggers) return undefined;
  const types = move.types ?? elementTypes(context, 'edge');
  const isStored = (id: TypeId) => {
    const type = catalog.typeWithId(id);
    return (
      type.kind === 'edge' &&
      !type.lightweight &&
      (move.direction === 'out' || isListedAtTargets(type))
    );
  };
  return types.length > 0 && types.every(isStored) ? { types, ends: [from, to], edge } : undefined;
}

function isFree({ types, buckets, rids, predicates, bound }: PatternNode): boolean {
  return (
    types === undefined &&
    buckets === undefined &&
    rids === undefined &&
    predicates.length === 0 &&
    !bound
  );
}

/** Reading an edge costs about what asking a vertex for its edges of one type does. */
function isScanCheaper(types: readonly TypeId[], { statistics, catalog }: OptimizerContext) {
  const stored = types.filter((type) => catalog.typeWithId(type).buckets.length > 0);
  const vertices = catalog.types().filter(({ kind }) => kind === 'vertex');
  const vertexCount = statistics.recordCount(vertices.map(({ id }) => id));
  return statistics.recordCount(types) <= vertexCount * stored.length;
}
