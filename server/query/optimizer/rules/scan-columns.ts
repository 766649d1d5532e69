import type { Expression, Slot } from '../../algebra/expression.ts';
import type { Column, LogicalPlan } from '../../algebra/plan.ts';
import type { OptimizerContext, OptimizerRule } from '../rule.ts';

/**
 * What an aggregation or a sort over a scan computes from the record is projected by the scan, which reads it from the bytes
 * of the block; the records themselves are then made only when somebody else needs them.
 */
export const scanColumns: OptimizerRule = {
  name: 'scan-columns',
  why: 'GROUP BY city would look up the cell by name in a record object per row',
  apply(plan, context) {
    if (plan.op === 'Sort') return sortedByColumns(plan, context);
    if (plan.op !== 'Aggregate' || !isScan(plan.input)) return undefined;
    const projection = new Projection(context);
    const keys = plan.keys.map((key) => ({ ...key, value: projection.slotOf(key.value) }));
    const aggregates = plan.aggregates.map((aggregate) => ({
      ...aggregate,
      arguments: aggregate.arguments.map((argument) => projection.slotOf(argument)),
    }));
    const { columns } = projection;
    if (columns.length === 0) return undefined;
    return { ...plan, input: { op: 'Project', input: plan.input, columns }, keys, aggregates };
  },
};

function sortedByColumns(
  plan: LogicalPlan & { readonly op: 'Sort' },
  context: OptimizerContext,
): LogicalPlan | undefined {
  if (!isScan(plan.input)) return undefined;
  const projection = new Projection(context);
  const keys = plan.keys.map((key) => ({ ...key, value: projection.slotOf(key.value) }));
  const { columns } = projection;
  if (columns.length === 0) return undefined;
  return { ...plan, input: { op: 'Project', input: plan.input, columns }, keys };
}

/** Columns made so far; equal properties share one. */
class Projection {
  readonly columns: Column[] = [];
  readonly #context: OptimizerContext;
  readonly #properties = new Map<string, Slot>();

  constructor(context: OptimizerContext) {
    this.#context = context;
  }

  slotOf(value: Expression): Expression {
    if (value.op === 'Slot' || value.op === 'Constant') return value;
    const name =
      value.op === 'Property' && value.of.op === 'Slot' && value.dialect === 'sql'
        ? `${value.of.slot}.${value.name}`
        : undefined;
    const known = name === undefined ? undefined : this.#properties.get(name);
    if (known !== undefined) return { op: 'Slot', slot: known };
    const slot = this.#context.newSlot();
    this.columns.push({ slot, value });
    if (name !== undefined) this.#properties.set(name, slot);
    return { op: 'Slot', slot };
  }
}

function isScan(plan: LogicalPlan): boolean {
  let current = plan;
  while (current.op === 'Filter') current = current.input;
  return current.op === 'TypeScan' || current.op === 'BucketScan';
}
