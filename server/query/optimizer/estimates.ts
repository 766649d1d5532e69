import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import { inputsOf } from '../algebra/plan-walk.ts';
import type { LogicalPlan, PlanNode } from '../algebra/plan.ts';
import { freeSlots } from '../algebra/slots.ts';
import { conjunctsOf } from '../algebra/walk.ts';
import { expandCost, fetchCost, limitOf, scanCost, seekCost, selectivityOf } from './cost.ts';
import { indexCandidates } from './index-candidates.ts';
import { endsOf, opposite } from './match-parts.ts';
import type { OptimizerContext } from './rule.ts';

/** What the optimizer expects of a node of a plan: EXPLAIN shows it (cypher.md 13). */
export interface Estimate {
  /** Rows that it gives. */
  readonly rowCount: number;
  /** Microseconds on a plain core in it and below it; only ratios matter. */
  readonly cost: number;
}

/** What estimates are made from. */
type EstimateEnvironment = Pick<OptimizerContext, 'catalog' | 'statistics' | 'functions'>;

/** One row looked at, kept or passed on. */
const rowCost = 0.02;
/** One record written. */
const writeCost = 5;
/** Elements that a list of unknown length is taken to have, and rows that a procedure is taken to give. */
const assumedCount = 10;

/**
 * Estimates for the nodes of optimized plans, from the counters and shares that plans are chosen by: types count as a thousand
 * records at least. Cost: some microseconds for each node, once.
 */
export function estimatesOf(environment: EstimateEnvironment): (plan: LogicalPlan) => Estimate {
  const context = estimateContext(environment);
  const known = new Map<LogicalPlan, Estimate>();
  const estimate = (plan: LogicalPlan): Estimate => {
    let found = known.get(plan);
    if (found === undefined) {
      found = estimateOf(plan, estimate, context);
      known.set(plan, found);
    }
    return found;
  };
  return estimate;
}

function estimateContext(environment: EstimateEnvironment): OptimizerContext {
  return {
    ...environment,
    disabled: new Set(),
    newSlot(): Slot {
      throw new Error('an estimate changes no plan');
    },
  };
}

type Estimator = (plan: LogicalPlan) => Estimate;

function estimateOf(plan: LogicalPlan, estimate: Estimator, context: OptimizerContext): Estimate {
  const source = sourceEstimate(plan, context);
  if (source !== undefined) return source;
  if (plan.op === 'Apply') return applied(plan, estimate);
  if (plan.op === 'Merge') return merged(plan, estimate);
  const inputs = inputsOf(plan).map(estimate);
  const below = inputs.reduce((sum, input) => sum + input.cost, 0);
  const given = inputs.reduce((sum, input) => sum + input.rowCount, 0);
  const rowCount = rowCountOf(plan, inputs[0]?.rowCount ?? 1, { given, context });
  return { rowCount, cost: below + ownCost(plan, given, rowCount) };
}

/** Of nodes that begin a plan. */
function sourceEstimate(plan: LogicalPlan, context: OptimizerContext): Estimate | undefined {
  const { statistics } = context;
  switch (plan.op) {
    case 'Argument':
    case 'RecordCount':
      return { rowCount: 1, cost: 0 };
    case 'TypeScan':
      return scanned(statistics.recordCount(plan.types));
    case 'BucketScan':
      return scanned(statistics.bucketRecordCount(plan.buckets));
    case 'RecordLookup':
      return { rowCount: 1, cost: fetchCost };
    case 'IndexSearch':
      return searched(plan, context);
    case 'IndexUnion': {
      const searches = plan.searches.map((search) => searched(search, context));
      return {
        rowCount: searches.reduce((sum, { rowCount }) => sum + rowCount, 0),
        cost: searches.reduce((sum, { cost }) => sum + cost, 0),
      };
    }
    case 'IndexEntries':
      return scanned(statistics.entryCount(plan.index));
    default:
      return undefined;
  }
}

function scanned(rowCount: number): Estimate {
  return { rowCount, cost: rowCount * scanCost };
}

/** As the search was weighed when it was chosen. */
function searched(plan: PlanNode<'IndexSearch'>, context: OptimizerContext): Estimate {
  const conjuncts = plan.covers === undefined ? [] : conjunctsOf(plan.covers);
  const candidate = indexCandidates(conjuncts, plan.as, plan.types, context).find(
    ({ index }) => index.id === plan.index,
  );
  const found = candidate?.rowCount ?? context.statistics.entryCount(plan.index);
  const rowCount = Math.min(found, limitOf(plan.limit));
  return { rowCount, cost: seekCost + rowCount * fetchCost };
}

/** An inner plan that reads nothing of the outer rows runs once, but what it gives is joined to each. */
function applied(plan: PlanNode<'Apply'>, estimate: Estimator): Estimate {
  const outer = estimate(plan.outer);
  const inner = estimate(plan.inner);
  const isOnce =
    plan.isPerRow !== true && plan.mode.kind !== 'unit' && freeSlots(plan.inner).size === 0;
  const joined = outer.rowCount * inner.rowCount * rowCost;
  const cost = outer.cost + (isOnce ? inner.cost + joined : outer.rowCount * inner.cost);
  switch (plan.mode.kind) {
    case 'cross':
      return { rowCount: outer.rowCount * inner.rowCount, cost };
    case 'optional':
      return { rowCount: outer.rowCount * Math.max(1, inner.rowCount), cost };
    case 'semi':
    case 'anti':
      return { rowCount: outer.rowCount / 2, cost };
    default:
      return { rowCount: outer.rowCount, cost };
  }
}

function merged(plan: PlanNode<'Merge'>, estimate: Estimator): Estimate {
  const input = estimate(plan.input);
  const found = estimate(plan.match.plan);
  return {
    rowCount: input.rowCount * Math.max(1, found.rowCount),
    cost: input.cost + input.rowCount * (found.cost + writeCost),
  };
}

/** @param from rows of the first input */
function rowCountOf(
  plan: LogicalPlan,
  from: number,
  { given, context }: { readonly given: number; readonly context: OptimizerContext },
): number {
  switch (plan.op) {
    case 'Filter':
      return from * selectivityOf(conditionLeft(plan));
    case 'Expand':
      return from * fanOut(plan, context);
    case 'ExpandPath':
      return from * pathFanOut(plan, context);
    case 'Unwind':
      return from * lengthOf(plan.list);
    case 'Call':
    case 'ExpandValue':
    case 'Traverse':
      return from * assumedCount;
    case 'Aggregate': {
      const groups = plan.keys.length === 0 ? 1 : Math.sqrt(from);
      return Math.min(groups, limitOf(plan.limit));
    }
    case 'Sort':
      return Math.min(from, limitOf(plan.limit));
    case 'Limit':
      return Math.min(from, limitOf(plan.count));
    case 'Skip': {
      const skipped = limitOf(plan.count);
      return Number.isFinite(skipped) ? Math.max(0, from - skipped) : from;
    }
    case 'Drain':
      return 0;
    case 'Union':
      return given;
    default:
      return from;
  }
}

function ownCost(plan: LogicalPlan, given: number, rowCount: number): number {
  switch (plan.op) {
    case 'Expand':
    case 'ExpandPath':
    case 'FollowEdges':
      return (given + rowCount) * expandCost;
    case 'Insert':
    case 'InsertEdge':
    case 'Update':
    case 'Delete':
    case 'SetLabels':
    case 'MoveVertex':
      return given * writeCost;
    case 'InsertAll':
      return given * plan.steps.length * writeCost;
    case 'Sort':
      return given * Math.log2(Math.min(given, limitOf(plan.limit)) + 2) * rowCost;
    default:
      return Math.max(given, rowCount) * rowCost;
  }
}

/** What a search below has looked up does not thin its rows a second time. */
function conditionLeft({ input, predicate }: PlanNode<'Filter'>): Expression | undefined {
  if (input.op !== 'IndexSearch' || input.covers === undefined) return predicate;
  const covered = conjunctsOf(input.covers);
  const [first, ...others] = conjunctsOf(predicate).filter((part) => !covered.includes(part));
  if (first === undefined) return undefined;
  return others.length === 0 ? first : { op: 'And', operands: [first, ...others] };
}

function fanOut(plan: PlanNode<'Expand'>, context: OptimizerContext): number {
  const { move, toTypes } = plan;
  if (move.kind === 'end') return move.direction === 'both' ? 2 : 1;
  if (move.kind === 'link') return 2;
  const { statistics } = context;
  const from = typesIn(plan.from, plan.input);
  const degree = endsOf(move.direction)
    .map((end) => statistics.averageDegree(move.types, from, end))
    .reduce((left, right) => left + right);
  const share =
    toTypes === undefined || move.kind === 'edge'
      ? 1
      : endsOf(move.direction === 'both' ? 'both' : opposite(move.direction))
          .map((end) => statistics.endShare(move.types, end, toTypes))
          .reduce((left, right) => Math.max(left, right));
  if (!plan.into) return degree * share;
  const ends = typesIn(plan.to, plan.input);
  return Math.min(1, degree / ((ends ? statistics.recordCount(ends) : 1_000) + 1));
}

/** Paths are taken to be five moves long at most. */
function pathFanOut(plan: PlanNode<'ExpandPath'>, context: OptimizerContext): number {
  const { path, from, input } = plan;
  const move = path.moves[0]?.move;
  if (move === undefined || move.kind === 'end' || move.kind === 'link') return assumedCount;
  const degree = endsOf(move.direction)
    .map((end) => context.statistics.averageDegree(move.types, typesIn(from, input), end))
    .reduce((left, right) => left + right);
  const found = (path.min === 0 ? 1 : 0) + Math.max(1, degree) ** Math.min(path.max ?? 5, 5);
  return plan.into ? Math.min(1, found) : found;
}

function lengthOf(list: Expression): number {
  if (list.op === 'List') return list.items.length;
  if (list.op === 'Constant' && Array.isArray(list.value)) return list.value.length;
  return assumedCount;
}

/** The types of the records in a slot, where the node that writes it tells. */
function typesIn(slot: Slot, plan: LogicalPlan): readonly TypeId[] | undefined {
  switch (plan.op) {
    case 'TypeScan':
    case 'IndexSearch':
    case 'IndexUnion':
      return plan.as === slot ? plan.types : undefined;
    case 'RecordLookup':
      return plan.as === slot ? plan.types : undefined;
    case 'Expand':
      if (plan.to === slot && !plan.into) return plan.toTypes;
      break;
    default:
  }
  for (const input of inputsOf(plan)) {
    const found = typesIn(slot, input);
    if (found !== undefined) return found;
  }
  return undefined;
}
