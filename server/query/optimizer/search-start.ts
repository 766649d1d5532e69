import { madeOnce } from '#core/replayed-loops.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression, Slot } from '../algebra/expression.ts';
import type { OptimizerContext } from './rule.ts';
import { textSource } from './rules/index-access/full-text.ts';
import { nearSource } from './rules/index-access/geo.ts';

/** Which condition on a record the search of an index answers: words of a text, or a place. A pattern may then begin there. */
export function searchedBy(
  conditions: readonly Expression[],
  as: Slot,
  types: readonly TypeId[],
  context: OptimizerContext,
): Expression | undefined {
  return madeOnce(
    () =>
      conditions.find(
        (condition) =>
          textSource(condition, { as, types }, context) !== undefined ||
          nearSource(condition, as, types, context) !== undefined,
      ),
    conditions.length,
  );
}
