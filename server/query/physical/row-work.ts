import { madeOnce } from '#core/replayed-loops.ts';
import type { Expression } from '../algebra/expression.ts';
import type { LogicalPlan } from '../algebra/plan.ts';
import { expressionsOf } from '../algebra/plan-walk.ts';
import { partCountOf } from '../algebra/walk.ts';
import { rowsPerTurn } from '../operators/hold/work-share.ts';

/**
 * Rows are counted between two pauses as if each cost the same. One whose condition has 5,000 terms does not: what looks at such
 * rows takes fewer of them in one turn.
 */

/** Parts of expressions that are evaluated in one turn: from 0.2 ms for comparisons to 2 ms for functions. */
const partsPerTurn = 16_384;
/** Counting ends here: one row is a turn. */
const partCountMax = partsPerTurn;
/**
 * Up to this many parts code is generated for a scan: 3 to 10 times as quick as closures for numbers. Of more V8 makes no optimized
 * code, and keeps megabytes of what it makes.
 */
export const fusedPartCountMax = 2_048;

/** Rows between two pauses for something that evaluates so many parts for each; never more than other operators take. */
export function rowsInTurn(partCount: number): number {
  return Math.max(1, Math.min(rowsPerTurn, Math.floor(partsPerTurn / Math.max(1, partCount))));
}

/** Parts that are evaluated for one row; counting ends when there are too many to matter. */
export function partCountOfAll(expressions: readonly Expression[]): number {
  let count = 0;
  for (let at = 0; at < expressions.length && count <= partCountMax; at += 1)
    count += partCountOf(expressions[at] as Expression, partCountMax - count);
  return count;
}

/** Rows of its inputs that a node may take in one turn. */
export function rowsInTurnOf(plan: LogicalPlan): number {
  const expressions = expressionsOf(plan);
  return rowsInTurn(madeOnce(() => partCountOfAll(expressions), expressions.length));
}
