import { compareForCypher } from '#core/value/cypher-order.ts';
import { compareForSort } from '#core/value/sort-order.ts';
import { isReadOnly } from '#core/effects.ts';
import { DatabaseError } from '#core/errors.ts';
import { madeOnce, mapLong } from '#core/replayed-loops.ts';
import type { Dialect, Expression, Slot } from '../algebra/expression.ts';
import type { Column, LogicalPlan, PlanNode, SortKey } from '../algebra/plan.ts';
import { freeSlots, slotsOf, slotsReadBy } from '../algebra/slots.ts';
import { effectsOfPlan } from '../algebra/effects.ts';
import { walkPlan } from '../algebra/plan-walk.ts';
import { slotsOfOutput } from '../algebra/walk.ts';
import type { Evaluator } from '../evaluate/evaluator.ts';
import type { AggregateFunction } from '../evaluate/function-definition.ts';
import { AggregateOperator, type CompiledAggregate } from '../operators/row/aggregate.ts';
import { ApplyOperator } from '../operators/flow/apply.ts';
import { InTransactionsOperator } from '../operators/write/in-transactions.ts';
import { DistinctOperator } from '../operators/row/distinct.ts';
import { EagerOperator } from '../operators/flow/eager.ts';
import { expandedRow } from '../operators/row/expand-value.ts';
import { FilterOperator } from '../operators/row/filter.ts';
import { LimitOperator } from '../operators/row/limit.ts';
import { PatientProjectOperator } from '../operators/row/patient-project.ts';
import { ProjectOperator, type CompiledColumn } from '../operators/row/project.ts';
import { SkipOperator } from '../operators/row/skip.ts';
import { SortOperator, type CompiledSortKey } from '../operators/row/sort.ts';
import { TimeLimitOperator } from '../operators/flow/time-limit.ts';
import { UnionOperator } from '../operators/row/union.ts';
import { DrainOperator } from '../operators/write/merge.ts';
import { elementRow, UnwindOperator } from '../operators/row/unwind.ts';
import { fuseScan } from './fuse-scan.ts';
import { liftAggregateInputs } from './lift-aggregate-inputs.ts';
import { neededColumns } from './needed-columns.ts';
import {
  compileFilter,
  compileValue,
  descriptionOf,
  keptSlots,
  withSlots,
  type Lowering,
  type OperatorFactory,
  type RequiredSlots,
} from './lowering.ts';
import { unwoundValue } from './unwound-value.ts';

export type ShapeOp =
  | 'Filter'
  | 'Project'
  | 'Unwind'
  | 'ExpandValue'
  | 'Distinct'
  | 'Sort'
  | 'Skip'
  | 'Limit'
  | 'Drain'
  | 'Aggregate'
  | 'Union'
  | 'TimeLimit'
  | 'Eager'
  | 'Apply';

/** Operators for the nodes that shape and combine rows. */
export function lowerShape(
  plan: PlanNode<ShapeOp>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  switch (plan.op) {
    case 'Project':
      return lowerProject(plan, required, lowering);
    case 'Aggregate':
      return lowerAggregate(plan, required, lowering);
    case 'Apply':
      return lowerApply(plan, required, lowering);
    case 'Union':
      return lowerUnion(plan, lowering);
    case 'Sort':
      return lowerSort(plan, required, lowering);
    default:
      return lowerRowwise(plan, required, lowering);
  }
}

/** Nodes with one input that look at one row after the other. */
function lowerRowwise(
  plan: PlanNode<Exclude<ShapeOp, 'Project' | 'Aggregate' | 'Apply' | 'Union' | 'Sort'>>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const description = descriptionOf(lowering, plan);
  const input = lowering.lower(
    plan.input,
    withSlots(
      required,
      madeOnce(() => slotsReadBy(plan)),
    ),
  );
  switch (plan.op) {
    case 'Filter': {
      const predicate = compileFilter(lowering, plan.predicate);
      return () => new FilterOperator(input(), predicate, description);
    }
    case 'Unwind': {
      const options = {
        name: 'Unwind',
        value: unwoundValue(lowering, plan.list),
        rowOf: elementRow(plan.as, plan.keepEmpty),
        description,
      };
      return () => new UnwindOperator({ ...options, input: input() });
    }
    case 'ExpandValue': {
      const options = {
        name: 'Expand value',
        value: compileValue(lowering, plan.value),
        rowOf: expandedRow(plan.as, plan.scalarName),
        description,
      };
      return () => new UnwindOperator({ ...options, input: input() });
    }
    case 'Distinct': {
      const on = plan.on.map((part) => compileValue(lowering, part));
      return () => new DistinctOperator(input(), on, description);
    }
    case 'Skip': {
      const count = compileValue(lowering, plan.count);
      return () => new SkipOperator(input(), count, description);
    }
    case 'Limit': {
      const count = compileLimit(plan.count, lowering);
      const drains = writesInCypher(plan.input);
      return () => new LimitOperator(input(), count, description, drains);
    }
    case 'Drain': {
      return () => new DrainOperator(input());
    }
    case 'TimeLimit': {
      const { timeoutMs, onTimeout } = plan;
      return () => new TimeLimitOperator(input(), timeoutMs, onTimeout);
    }
    default: {
      const kept = keptSlots(withSlots(required, plan.slots), slotsOf(plan.input));
      const isLive = plan.isLive === true;
      return () => new EagerOperator(input(), kept, undefined, isLive);
    }
  }
}

function lowerProject(
  plan: PlanNode<'Project'>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const { columns, read } = madeOnce(() => neededColumns(plan.columns, required));
  const input = lowering.lower(plan.input, withSlots(required, read));
  if (columns.length === 0) return input;
  const compiled = compileColumns(columns, lowering);
  const description = descriptionOf(lowering, { ...plan, columns });
  if (plan.isLong === true) {
    return () => new PatientProjectOperator(input(), compiled, description);
  }
  const areOutput = isOutput(plan, columns, read, lowering);
  const idsOf = slotOfIds(columns);
  return () =>
    new ProjectOperator({ input: input(), columns: compiled, areOutput, idsOf, description });
}

/** The columns are those of the statement, in their order, and none reads another one. */
function isOutput(
  plan: LogicalPlan,
  columns: readonly Column[],
  read: ReadonlySet<Slot>,
  { output }: Lowering,
): boolean {
  if (output?.plan !== plan || output.slots.length !== columns.length) return false;
  return columns.every(({ slot }, at) => output.slots[at] === slot && !read.has(slot));
}

/** The slot of which each column is the record id, if there is one. */
function slotOfIds(columns: readonly Column[]): Slot | undefined {
  const slots = columns.map(({ value }) =>
    value.op === 'Attribute' && value.attribute === 'rid' && value.of.op === 'Slot'
      ? value.of.slot
      : undefined,
  );
  return slots.every((slot) => slot === slots[0]) ? slots[0] : undefined;
}

function compileColumns(columns: readonly Column[], lowering: Lowering): readonly CompiledColumn[] {
  return mapLong(columns, (column) => ({
    slot: column.slot,
    value: compileValue(lowering, column.value),
  }));
}

function lowerSort(
  plan: PlanNode<'Sort'>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const read = withSlots(required, slotsReadBy(plan));
  const bounded = boundedScan(plan, read, lowering);
  const input = bounded ?? lowering.lower(plan.input, read);
  const options = {
    bound: bounded && plan.bound?.slot,
    keys: plan.keys.map((key) => compileSortKey(key, lowering)),
    slots: keptSlots(required, slotsOf(plan.input)),
    limit: plan.limit && compileLimit(plan.limit, lowering),
    compare: plan.dialect === 'cypher' ? compareForCypher : compareForSort,
    description: descriptionOf(lowering, plan),
  };
  return () => new SortOperator({ ...options, input: input() });
}

/** The scan below a sort with a limit, which learns from the sort what is still wanted. */
function boundedScan(
  { input, keys: [key, second], bound }: PlanNode<'Sort'>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory | undefined {
  if (bound === undefined || typeof key?.descending !== 'boolean') return undefined;
  const { descending } = key;
  const isStrict = second === undefined;
  const factory = fuseScan(input, required, lowering, { ...bound, descending, isStrict });
  return factory && lowering.paced(input, factory);
}

/** A variable without a value is no limit: the row cap of an execution is one (http-api.md 6.3). */
function compileLimit(count: Expression, lowering: Lowering): Evaluator {
  const isVariable = count.op === 'Variable';
  return compileValue(
    lowering,
    isVariable ? { op: 'Coalesce', operands: [count, { op: 'Constant', value: -1 }] } : count,
  );
}

function compileSortKey(key: SortKey, lowering: Lowering): CompiledSortKey {
  const value = compileValue(lowering, key.value);
  const { descending } = key;
  if (typeof descending === 'boolean') return { value, descending: () => descending };
  const direction = compileValue(lowering, descending);
  return {
    value,
    descending: (context) => {
      const given = direction(context);
      if (given === true) return false;
      if (given === false) return true;
      const word = typeof given === 'string' ? given.toUpperCase() : '';
      if (word === 'ASC' || word === 'TRUE') return false;
      if (word === 'DESC' || word === 'FALSE') return true;
      throw new DatabaseError(
        'IllegalArgument',
        `Invalid direction for ORDER BY: ${String(given)}; use true, false, 'ASC' or 'DESC'`,
      );
    },
  };
}

function lowerAggregate(
  plan: PlanNode<'Aggregate'>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const first = plan.first.filter((column) => required.has(column.slot));
  const needed = { ...plan, first };
  const lifted = liftAggregateInputs(needed);
  const input = lowering.lower(lifted.input, withSlots(new Set(), slotsReadBy(lifted)));
  const options = {
    keys: lifted.keys.map((key) => ({
      slot: key.slot,
      value: compileValue(lowering, key.value),
      from: plainSlot(key.value, lowering),
    })),
    first: compileColumns(lifted.first, lowering),
    aggregates: lifted.aggregates.map((aggregate): CompiledAggregate => {
      const found = aggregateNamed(aggregate.function, plan.dialect, lowering);
      if (found === undefined)
        throw new DatabaseError(
          'CommandExecution',
          `Unknown function name '${aggregate.function}'`,
        );
      return {
        slot: aggregate.slot,
        from: slotOfOnly(aggregate.arguments, lowering),
        function: found,
        arguments: aggregate.arguments.map((part) => compileValue(lowering, part)),
        distinct: aggregate.distinct,
      };
    }),
    limit: plan.limit && compileLimit(plan.limit, lowering),
    description: descriptionOf(lowering, needed),
  };
  return () => new AggregateOperator({ ...options, input: input() });
}

/** Those of dialect cypher have names of their own, where they differ. */
function aggregateNamed(
  name: string,
  dialect: Dialect,
  { environment: { functions } }: Lowering,
): AggregateFunction | undefined {
  const own = dialect === 'cypher' ? functions.aggregate(`#cypher.${name}`) : undefined;
  return own ?? functions.aggregate(name);
}

/** The slot in which the only argument stands as it is. */
function slotOfOnly(args: readonly Expression[], lowering: Lowering): Slot | undefined {
  const [only] = args;
  return only === undefined || args.length > 1 ? undefined : plainSlot(only, lowering);
}

function plainSlot(expression: Expression, { bareIds }: Lowering): Slot | undefined {
  return expression.op === 'Slot' && !bareIds.has(expression.slot) ? expression.slot : undefined;
}

function lowerUnion(plan: PlanNode<'Union'>, lowering: Lowering): OperatorFactory {
  const inputs = mapLong(plan.inputs, (input) => ({
    factory: lowering.lower(input.plan, new Set(input.slots)),
    slots: input.slots,
  }));
  const { as } = plan;
  return () =>
    new UnionOperator(
      inputs.map(({ factory, slots }) => ({ operator: factory(), slots })),
      as,
    );
}

function lowerApply(
  plan: PlanNode<'Apply'>,
  required: RequiredSlots,
  lowering: Lowering,
): OperatorFactory {
  const { mode } = plan;
  const free = freeSlots(plan.inner);
  const reads = withSlots(free, mode.kind === 'collect' ? slotsOfOutput(mode.output) : []);
  const outer = lowering.lower(plan.outer, withSlots(required, reads));
  const innerRequired: ReadonlySet<Slot> =
    mode.kind === 'collect'
      ? new Set(slotsOfOutput(mode.output))
      : mode.kind === 'cross' || mode.kind === 'optional'
        ? required
        : new Set<Slot>();
  const inner = lowering.inner().lower(plan.inner, innerRequired);
  const innerSlots = slotsOf(plan.inner);
  const { transactions } = plan;
  if (transactions !== undefined) {
    const written = withSlots(slotsOf(plan.outer), innerSlots);
    const options = {
      count: compileValue(lowering, transactions.count),
      transactions,
      isUnit: mode.kind === 'unit',
      isOptional: mode.kind === 'optional',
      keptSlots: keptSlots(required, written),
      description: descriptionOf(lowering, plan),
    };
    return () => new InTransactionsOperator({ ...options, outer: outer(), inner: inner() });
  }
  const fromOutside = [...reads].filter((slot) => !innerSlots.has(slot));
  const isFree = fromOutside.length === 0;
  // Hundreds of sub-queries stand one upon the other: those without a tie do not look at all below them.
  const outerSlots = isFree ? innerSlots : slotsOf(plan.outer);
  const readsOuter = fromOutside.some((slot) => outerSlots.has(slot));
  const { equality } = plan;
  const options = {
    mode,
    equality: equality && {
      outer: compileValue(lowering, equality.outer),
      inner: compileValue(lowering, equality.inner),
    },
    innerRuns:
      readsOuter || plan.isPerRow === true || mode.kind === 'unit'
        ? ('per-row' as const)
        : isFree && lowering.isInner
          ? ('per-statement' as const)
          : ('per-open' as const),
    mayRunAgain: mayRunAgain(plan.inner, lowering),
    innerSlots: keptSlots(innerRequired, innerSlots),
    description: descriptionOf(lowering, plan),
  };
  return () => new ApplyOperator({ ...options, outer: outer(), inner: inner() });
}

/** It reads only, and calls nothing that gives something else the next time. */
function mayRunAgain(plan: LogicalPlan, lowering: Lowering): boolean {
  let isSame = isReadOnly(effectsOfPlan(plan));
  const { functions } = lowering.environment;
  walkPlan(plan, {
    plan(node) {
      if (node.op === 'Call') isSame = false;
    },
    expression(part) {
      if (part.op === 'Call' && functions.scalar(part.function)?.isDeterministic !== true)
        isSame = false;
    },
  });
  return isSame;
}

/** Statements of openCypher write whatever becomes of their rows. */
export function writesInCypher(plan: LogicalPlan): boolean {
  let writes = false;
  walkPlan(plan, {
    plan(node) {
      if (node.op === 'Merge' || node.op === 'SetLabels') writes = true;
      if (isWritingOp(node) && node.dialect === 'cypher') writes = true;
    },
  });
  return writes;
}

function isWritingOp(
  plan: LogicalPlan,
): plan is PlanNode<'Insert' | 'InsertEdge' | 'Update' | 'Delete'> {
  return (
    plan.op === 'Insert' || plan.op === 'InsertEdge' || plan.op === 'Update' || plan.op === 'Delete'
  );
}

export function isShape(plan: LogicalPlan): plan is PlanNode<ShapeOp> {
  return shapeOps.has(plan.op);
}

const shapeOps: ReadonlySet<string> = new Set<ShapeOp>([
  'Filter',
  'Project',
  'Unwind',
  'ExpandValue',
  'Distinct',
  'Sort',
  'Skip',
  'Limit',
  'Drain',
  'Aggregate',
  'Union',
  'TimeLimit',
  'Eager',
  'Apply',
]);
