import { isSpread } from './spread-types.ts';
import type { IndexDefinition } from '#catalog/catalog.ts';
import type { Expression, Slot } from '../../../algebra/expression.ts';
import type { IndexBounds, IndexSearchNode, LogicalPlan } from '../../../algebra/plan.ts';
import { conjunctionOf, conjunctsOf } from '../../../algebra/walk.ts';
import {
  fetchCost,
  limitOf,
  randomFetchCost,
  scanCost,
  seekCost,
  selectivityOf,
} from '../../cost.ts';
import { belowProject } from '../../projected.ts';
import {
  indexCandidates,
  isComponent,
  leftToCheck,
  usableIndexes,
} from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/**
 * A sort with a limit over a scan becomes a walk through an index that has this order already. The index must have exactly the
 * keys of the sort behind components that are bound by equality, all in one direction; rows with equal keys then come in scan
 * order, as from the stable sort.
 */
export const indexOrder: OptimizerRule = {
  name: 'index-order',
  needs: ['Sort'],
  why: 'ORDER BY created DESC LIMIT 10 would read and compare every record',
  apply(plan, context) {
    if (plan.op !== 'Sort' || plan.limit === undefined) return undefined;
    // Indexes have null first and know nothing of the other places that openCypher gives to kinds.
    if (plan.dialect === 'cypher') return undefined;
    const project = plan.input.op === 'Project' ? plan.input : undefined;
    const source = project ? project.input : plan.input;
    const predicate = source.op === 'Filter' ? source.predicate : undefined;
    const scan = source.op === 'Filter' ? source.input : source;
    if (scan.op !== 'TypeScan' || scan.range !== undefined || scan.order === 'descending')
      return undefined;
    const direction = directionOf(plan);
    const lowered = belowProject(project?.columns ?? []);
    const keys = plan.keys.map((key) => lowered(key.value));
    if (direction === undefined || !isInBucketOrder(scan, context)) return undefined;
    const wanted: Wanted = { keys, limit: plan.limit, scan, predicate, direction };
    for (const index of usableIndexes(scan.types, context)) {
      const search = searchFor(index, wanted, context);
      if (search === undefined || !isCheaper(search, wanted, context)) continue;
      const found: LogicalPlan = search.residual
        ? { op: 'Filter', input: search.node, predicate: search.residual }
        : search.node;
      const limited: LogicalPlan = { op: 'Limit', input: found, count: plan.limit };
      return project ? { ...project, input: limited } : limited;
    }
    return undefined;
  },
};

type SortNode = LogicalPlan & { readonly op: 'Sort' };
type Scan = LogicalPlan & { readonly op: 'TypeScan' };

function directionOf(plan: SortNode): 'ascending' | 'descending' | undefined {
  const [first] = plan.keys;
  if (first === undefined || typeof first.descending !== 'boolean') return undefined;
  if (plan.keys.some((key) => key.descending !== first.descending)) return undefined;
  return first.descending ? 'descending' : 'ascending';
}

/** Records of one key come by record id from an index, and bucket by bucket from a scan. */
function isInBucketOrder(scan: Scan, context: OptimizerContext): boolean {
  const buckets = scan.types.flatMap((type) => context.catalog.typeWithId(type).buckets);
  if (isSpread(scan, context.catalog)) return false;
  return buckets.every((bucket, at) => at === 0 || (buckets[at - 1] ?? 0) < bucket);
}

interface OrderedSearch {
  readonly node: IndexSearchNode;
  readonly residual: Expression | undefined;
}

interface Wanted {
  /** undefined for a key that is not made of the scanned record in a simple way. */
  readonly keys: readonly (Expression | undefined)[];
  readonly limit: Expression;
  readonly scan: Scan;
  readonly predicate: Expression | undefined;
  readonly direction: 'ascending' | 'descending';
}

function searchFor(
  index: IndexDefinition,
  wanted: Wanted,
  context: OptimizerContext,
): OrderedSearch | undefined {
  const { keys, limit, scan, predicate, direction } = wanted;
  if (index.kind !== 'LSM_TREE') return undefined;
  if (index.components.some((part) => part.caseInsensitive || part.by !== 'value'))
    return undefined;
  const conjuncts = predicate ? conjunctsOf(predicate) : [];
  // Descending, records that the index skips for the last key come behind those that it holds: they need not be there.
  const last = keys.at(-1);
  const isThere: readonly Expression[] =
    direction === 'descending' && last !== undefined
      ? [{ op: 'Not', operand: { op: 'IsNull', operand: last } }]
      : [];
  const candidate = indexCandidates([...conjuncts, ...isThere], scan.as, scan.types, context).find(
    (found) => found.index.id === index.id,
  );
  const bounds = candidate?.bounds ?? { equals: [] };
  const open = keys.filter((value) => !isBoundBy(value, bounds, index, scan.as));
  const boundCount = index.components.length - open.length;
  if (boundCount < 0 || open.length === 0) return undefined;
  // More equalities than needed leave fewer keys to order by; IN gives several runs that are not one order.
  if (bounds.equals.length !== boundCount) return undefined;
  if (bounds.equals.some((part) => part.kind !== 'equals')) return undefined;
  const isServed = open.every((value, at) => {
    const component = index.components[boundCount + at];
    return component !== undefined && value !== undefined && isComponent(value, component, scan.as);
  });
  if (!isServed) return undefined;
  const covered = candidate?.covered ?? [];
  const covers = conjunctionOf(covered);
  const residual = conjunctionOf(leftToCheck(conjuncts, covered));
  const node: IndexSearchNode = {
    op: 'IndexSearch',
    index: index.id,
    bounds,
    types: scan.types,
    as: scan.as,
    order: direction,
    ...(covers && { covers }),
    ...(!residual && { limit }),
  };
  return { node, residual };
}

/** A key that has one value in all rows orders nothing. */
function isBoundBy(
  key: Expression | undefined,
  { equals }: IndexBounds,
  index: IndexDefinition,
  record: Slot,
): boolean {
  if (key === undefined) return false;
  return equals.some((part, at) => {
    const component = index.components[at];
    return part.kind === 'equals' && component !== undefined && isComponent(key, component, record);
  });
}

/** Compares walking the index until the limit is reached with the best way to find all rows and keep the best. */
function isCheaper(search: OrderedSearch, wanted: Wanted, context: OptimizerContext): boolean {
  const { scan, predicate, limit } = wanted;
  const recordCount = context.statistics.recordCount(scan.types);
  const walked = Math.min(recordCount, limitOf(limit) / selectivityOf(search.residual));
  const walkCost = seekCost + walked * randomFetchCost;
  const conjuncts = predicate ? conjunctsOf(predicate) : [];
  const [best] = indexCandidates(conjuncts, scan.as, scan.types, context);
  const findCost = Math.min(
    recordCount * scanCost,
    best ? seekCost + best.rowCount * fetchCost : Number.POSITIVE_INFINITY,
  );
  return walkCost < findCost;
}
