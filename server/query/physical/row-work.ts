import type { Expression } from '../algebra/expression.ts';
import { partCountLookedThrough } from '../algebra/look-through.ts';
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
/** They do not make a turn shorter. */
const fewParts = partsPerTurn / rowsPerTurn;
/**
 * Up to this many parts code is generated for a scan: 3 to 10 times as quick as closures for numbers. Of more V8 makes no optimized
 * code, and keeps megabytes of what it makes.
 */
export const fusedPartCountMax = 2_048;

/** Rows between two pauses for something that evaluates so many parts for each; never more than other operators take. */
export function rowsInTurn(partCount: number): number {
  return Math.max(1, Math.min(rowsPerTurn, Math.floor(partsPerTurn / Math.max(1, partCount))));
}

/** Parts that are evaluated for one row; counting ends above `countMax`. */
export function partCountOfAll(expressions: readonly Expression[], countMax: number): number {
  let count = 0;
  for (let at = 0; at < expressions.length && count <= countMax; at += 1)
    count += partCountOf(expressions[at] as Expression, countMax - count);
  return count;
}

/** Rows of its inputs that a node may take in one turn. */
export function rowsInTurnOf(plan: LogicalPlan): number {
  const expressions = expressionsOf(plan);
  const few = partCountOfAll(expressions, fewParts);
  return rowsInTurn(few <= fewParts ? few : partCountLookedThrough(expressions, partsPerTurn));
}
