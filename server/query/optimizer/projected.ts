import type { Expression, Slot } from '../algebra/expression.ts';
import type { Column } from '../algebra/plan.ts';
import { readsNoneOf } from '../algebra/slots.ts';
import { mapExpression } from '../algebra/walk.ts';

/**
 * Puts expressions in terms of what the columns of a projection are made of, so that they can move below the projection: undefined
 * when a column that one reads costs something to compute.
 */
export function belowProject(
  columns: readonly Column[],
): (expression: Expression) => Expression | undefined {
  const values = new Map<Slot, Expression>();
  for (const column of columns) values.set(column.slot, column.value);
  return (expression) => replaced(expression, values);
}

function replaced(
  expression: Expression,
  values: ReadonlyMap<Slot, Expression>,
): Expression | undefined {
  let current = expression;
  // Later columns may be made of earlier ones, so replacing goes on until none is left.
  for (let round = 0; round <= values.size; round += 1) {
    if (readsNoneOf(current, values)) return current;
    const next = mapExpression(current, (part) => unwrapped(part, values));
    if (next === current) return undefined;
    current = next;
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
