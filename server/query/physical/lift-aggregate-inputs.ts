import type { Expression, Slot } from '../algebra/expression.ts';
import type { AggregateColumn, Column, LogicalPlan, PlanNode } from '../algebra/plan.ts';
import { slotsRead } from '../algebra/slots.ts';

/**
 * Lets the scan under an aggregation compute keys, arguments and first values, which it reads from the bytes of rows, so that
 * no record is made per row (storage.md 6.3). Each value goes into the slot of the column that it is for, which nobody reads
 * before the groups are given.
 *
 * @returns the plan itself when the input is no plain scan, or when something would still need the record
 */
export function liftAggregateInputs(plan: PlanNode<'Aggregate'>): PlanNode<'Aggregate'> {
  const record = scannedSlot(plan.input);
  if (record === undefined) return plan;
  const columns: Column[] = [];
  const keys = plan.keys.map((key) => liftColumn(key, record, columns));
  // A first value is needed once per group only, so just what costs next to nothing is computed for every row.
  if (!plan.first.every((column) => isCell(column.value) || !reads(column.value, record)))
    return plan;
  const first = plan.first.map((column) => liftColumn(column, record, columns));
  const aggregates: AggregateColumn[] = [];
  for (const aggregate of plan.aggregates) {
    const lifted = liftArguments(aggregate, record, columns);
    if (lifted === undefined) return plan;
    aggregates.push(lifted);
  }
  if (columns.length === 0) return plan;
  return { ...plan, input: { op: 'Project', input: plan.input, columns }, keys, first, aggregates };
}

/** The slot of the record of a scan with nothing but filters above it. */
function scannedSlot(plan: LogicalPlan): Slot | undefined {
  let input = plan;
  while (input.op === 'Filter') input = input.input;
  return input.op === 'TypeScan' || input.op === 'BucketScan' ? input.as : undefined;
}

function liftColumn(column: Column, record: Slot, columns: Column[]): Column {
  if (!reads(column.value, record)) return column;
  columns.push(column);
  return { slot: column.slot, value: { op: 'Slot', slot: column.slot } };
}

/** One argument may be lifted, into the slot of the result; undefined when several need the record. */
function liftArguments(
  aggregate: AggregateColumn,
  record: Slot,
  columns: Column[],
): AggregateColumn | undefined {
  const needing = aggregate.arguments.filter((argument) => reads(argument, record));
  const [value] = needing;
  if (value === undefined) return aggregate;
  if (needing.length > 1) return undefined;
  const { slot } = aggregate;
  columns.push({ slot, value });
  const lifted: Expression = { op: 'Slot', slot };
  return {
    ...aggregate,
    arguments: aggregate.arguments.map((argument) => (argument === value ? lifted : argument)),
  };
}

function isCell(expression: Expression): boolean {
  if (expression.op === 'Property') return expression.of.op === 'Slot';
  return expression.op === 'Attribute' && expression.of.op === 'Slot';
}

function reads(expression: Expression, slot: Slot): boolean {
  return slotsRead(expression).has(slot);
}
