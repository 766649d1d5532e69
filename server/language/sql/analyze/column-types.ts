import type { Catalog, PropertyTypeName } from '#catalog/catalog.ts';
import type { TypeId } from '#core/rid.ts';
import type { Expression, Output, Slot } from '#query/algebra/expression.ts';
import type { LogicalPlan } from '#query/algebra/plan.ts';
import { inputsOf } from '#query/algebra/plan-walk.ts';

/** What is known about the slots of a plan without running it. */
interface Known {
  readonly catalog: Catalog;
  readonly values: Map<Slot, Expression>;
  readonly types: Map<Slot, readonly TypeId[]>;
  readonly longs: Set<Slot>;
  /** Expressions that may still be looked at: sums may be deep, and name the same slot on both sides. */
  looksLeft: number;
}

const looksMax = 1_000;

/**
 * The columns with the types that their values do not show: a number does not know that it was declared as LONG, a list not
 * that it is an array (sql.md 2.2; http-api.md 5.2, `@props`). Only what the plan tells is told.
 */
export function withColumnTypes(output: Output, plan: LogicalPlan, catalog: Catalog): Output {
  if (output.kind !== 'columns') return output;
  const known: Known = {
    catalog,
    values: new Map(),
    types: new Map(),
    longs: new Set(),
    looksLeft: looksMax,
  };
  gather(plan, known);
  const columns = output.columns.map((column) => {
    const type = typeOf({ op: 'Slot', slot: column.slot }, known);
    return type === undefined ? column : { ...column, type };
  });
  return { kind: 'columns', columns };
}

function gather(top: LogicalPlan, known: Known): void {
  const plans = [top];
  for (const plan of plans) plans.push(...inputsOf(plan));
  // Sources first, since sums ask for the types of what they add up.
  for (const plan of plans.reverse()) {
    if (plan.op === 'TypeScan') known.types.set(plan.as, plan.types);
    if (plan.op === 'Project') define(plan.columns, known);
    if (plan.op === 'Aggregate') {
      define(plan.keys, known);
      define(plan.first, known);
      for (const aggregate of plan.aggregates) {
        const [only] = aggregate.arguments;
        const name = aggregate.function.toLowerCase();
        if (name.startsWith('count')) known.longs.add(aggregate.slot);
        if (only === undefined) continue;
        if (name === 'min' || name === 'max') known.values.set(aggregate.slot, only);
        // Sums of narrower numbers leave their type.
        if (name === 'sum' && typeOf(only, known) === 'LONG') known.longs.add(aggregate.slot);
      }
    }
  }
}

function define(
  columns: readonly { readonly slot: Slot; readonly value: Expression }[],
  known: Known,
): void {
  for (const { slot, value } of columns) known.values.set(slot, value);
}

function typeOf(value: Expression, known: Known): PropertyTypeName | undefined {
  if (known.looksLeft === 0) return undefined;
  known.looksLeft -= 1;
  switch (value.op) {
    case 'Slot': {
      if (known.longs.has(value.slot)) return 'LONG';
      const meant = known.values.get(value.slot);
      // A slot that is computed from itself would never come to an end.
      known.values.delete(value.slot);
      const type = meant && typeOf(meant, known);
      if (meant !== undefined) known.values.set(value.slot, meant);
      return type;
    }
    case 'Property':
      return value.of.op === 'Slot' ? declared(value.name, value.of.slot, known) : undefined;
    case 'Arithmetic': {
      const isLong = [value.left, value.right].some((side) => typeOf(side, known) === 'LONG');
      return isLong ? 'LONG' : undefined;
    }
    default:
      return undefined;
  }
}

/** The declared type of a property, where all types that are read agree about it. */
function declared(name: string, of: Slot, known: Known): PropertyTypeName | undefined {
  const [first, ...others] = known.types.get(of) ?? [];
  if (first === undefined) return undefined;
  const type = known.catalog.property(first, name)?.type;
  return others.every((other) => known.catalog.property(other, name)?.type === type)
    ? type
    : undefined;
}
