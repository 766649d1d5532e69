import type { Slot } from '../algebra/expression.ts';
import { walkExpression } from '../algebra/walk.ts';
import { slotsRead } from '../algebra/slots.ts';
import { callsUserFunction } from '../functions/user-function.ts';
import type { Column } from '../algebra/plan.ts';
import type { RequiredSlots } from './lowering.ts';

/**
 * Columns that somebody above or a later column reads, and the slots that they read. Those that run a sub-plan or a function of
 * the schema are kept: they may write.
 */
export function neededColumns(
  columns: readonly Column[],
  required: RequiredSlots,
): { readonly columns: readonly Column[]; readonly read: ReadonlySet<Slot> } {
  const read = new Set<Slot>();
  const needed: Column[] = [];
  for (let at = columns.length - 1; at >= 0; at -= 1) {
    const column = columns[at] as Column;
    if (!required.has(column.slot) && !read.has(column.slot) && !mayWrite(column)) continue;
    needed.push(column);
    for (const slot of slotsRead(column.value)) read.add(slot);
  }
  return { columns: needed.reverse(), read };
}

function mayWrite(column: Column): boolean {
  let found = false;
  walkExpression(column.value, (part) => {
    if (part.op === 'SubPlan') found = true;
    if (part.op === 'Call' && callsUserFunction(part.function)) found = true;
  });
  return found;
}
