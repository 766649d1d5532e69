import type { Expression, Slot } from '../algebra/expression.ts';
import type { Column } from '../algebra/plan.ts';
import { slotsRead } from '../algebra/slots.ts';
import { rewriteExpression } from '../algebra/walk.ts';

/**
 * The expression in terms of what the columns of a projection are made of, so that it can move below the projection.
 * @returns undefined when a column that it reads costs something to compute
 */
export function belowProject(
  expression: Expression,
  columns: readonly Column[],
): Expression | undefined {
  const values = new Map<Slot, Expression>();
  for (const column of columns) values.set(column.slot, column.value);
  let current = expression;
  // Later columns may be made of earlier ones, so replacing goes on until none is left.
  for (let round = 0; round <= columns.length; round += 1) {
    if (![...slotsRead(current)].some((slot) => values.has(slot))) return current;
    const replaced = rewriteExpression(current, (part) => unwrapped(part, values));
    if (replaced === current) return undefined;
    current = replaced;
  }
  return undefined;
}

/** A column that is a slot, a property or an attribute is put in its place; so is an entry of a map that is projected. */
function unwrapped(part: Expression, values: ReadonlyMap<Slot, Expression>): Expression {
  if (part.op === 'Slot') {
    const value = values.get(part.slot);
    return value !== undefined && (isCheap(value) || value.op === 'Map') ? value : part;
  }
  if (part.op !== 'Property' || part.of.op !== 'Map') return part;
  const entry = part.of.entries.findLast((candidate) => candidate.key === part.name);
  if (entry === undefined) return { op: 'Constant', value: null };
  return isCheap(entry.value) ? entry.value : part;
}

function isCheap(value: Expression): boolean {
  if (value.op === 'Slot' || value.op === 'Constant' || value.op === 'Parameter') return true;
  return (value.op === 'Property' || value.op === 'Attribute') && isCheap(value.of);
}
