import type { Catalog } from '#catalog/catalog.ts';
import type { Output } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import { ValueTypes } from '#query/binder/value-type.ts';

/**
 * The columns with the types that their values do not show: a number does not know that it was declared as LONG, a list not
 * that it is an array (sql.md 2.2; http-api.md 5.2, `@props`). Only what the plan tells is told.
 */
export function withColumnTypes(output: Output, plan: LogicalPlan, catalog: Catalog): Output {
  if (output.kind !== 'columns') return output;
  const types = new ValueTypes(plan, catalog);
  const columns = output.columns.map((column) => {
    const known = types.of({ op: 'Slot', slot: column.slot });
    return known?.kind === 'told' ? { ...column, type: known.type } : column;
  });
  return { kind: 'columns', columns };
}
