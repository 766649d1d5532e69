import type { Expression, Slot } from './expression.ts';
import type { Assignment } from './plan.ts';

const arithmeticOf = { '+=': '+', '-=': '-', '*=': '*', '/=': '/' } as const;

/** What a property is set to: `a += b` is the value `a + b`, read from the record as changed so far. */
export function valueOfSet(
  assignment: Pick<
    Assignment & { readonly kind: 'set' },
    'property' | 'path' | 'operator' | 'value'
  >,
  record: Slot,
): Expression {
  if (assignment.operator === '=') return assignment.value;
  let current: Expression = {
    op: 'Property',
    of: { op: 'Slot', slot: record },
    name: assignment.property,
    dialect: 'sql',
  };
  for (const element of assignment.path)
    current =
      element.kind === 'property'
        ? { op: 'Property', of: current, name: element.name, dialect: 'sql' }
        : { op: 'Element', of: current, keys: [element.key], dialect: 'sql' };
  return {
    op: 'Arithmetic',
    operator: arithmeticOf[assignment.operator],
    left: current,
    right: assignment.value,
    dialect: 'sql',
  };
}
