import { mapLong } from '#core/replayed-loops.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import { slotsRead } from '../algebra/slots.ts';

/** A condition with what it reads, which each move asks for again. */
export interface Condition {
  readonly expression: Expression;
  readonly slots: ReadonlySet<Slot>;
}

export function expressionOf({ expression }: Condition): Expression {
  return expression;
}

/** There may be fifty thousand of them, which read the same one slot. */
export function conditionsOf(expressions: readonly Expression[]): readonly Condition[] {
  const single = new Map<Slot, ReadonlySet<Slot>>();
  return mapLong(expressions, (expression) => {
    const read = slotsRead(expression);
    const [first] = read;
    if (read.size !== 1 || first === undefined) return { expression, slots: read };
    // Work that begins anew forgets them, which costs a set for each stretch.
    const known = single.get(first) ?? read;
    single.set(first, known);
    return { expression, slots: known };
  });
}
