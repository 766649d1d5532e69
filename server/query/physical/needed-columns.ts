import { mapLongOver } from '#core/replayed-loops.ts';
import type { Slot } from '../algebra/expression.ts';
import { walkExpression } from '../algebra/walk.ts';
import { slotsRead } from '../algebra/slots.ts';
import { callsUserFunction } from '../functions/user-function.ts';
import type { Column } from '../algebra/plan.ts';
import type { RequiredSlots } from './lowering.ts';

/**
 * Columns that somebody above or a later column reads, and the slots that they read. Those that run a sub-plan or a function of
 * the schema are kept: they may write. Many columns are places to pause.
 */
export function neededColumns(
  columns: readonly Column[],
  required: RequiredSlots,
): { readonly columns: readonly Column[]; readonly read: ReadonlySet<Slot> } {
  const { made, state } = mapLongOver(columns.toReversed(), noSlots, (column, read) => {
    if (!required.has(column.slot) && !read.has(column.slot) && !mayWrite(column)) return undefined;
    for (const slot of slotsRead(column.value)) read.add(slot);
    return column;
  });
  return { columns: made.filter((column) => column !== undefined).reverse(), read: state };
}

function noSlots(): Set<Slot> {
  return new Set();
}

function mayWrite(column: Column): boolean {
  let found = false;
  walkExpression(column.value, (part) => {
    if (part.op === 'SubPlan') found = true;
    if (part.op === 'Call' && callsUserFunction(part.function)) found = true;
  });
  return found;
}
