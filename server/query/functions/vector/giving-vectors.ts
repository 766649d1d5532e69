import type { Value } from '#core/value.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { type ArgumentCount, inTurns, type scalar } from '../define.ts';
import { vectorValue, vectorValueInTurns } from './arguments.ts';
import { type SparseVector, sparseValue, sparseValueInTurns } from './sparse.ts';

/** A function whose result is a computed vector; writing that down is what takes long. */
export function givingVector(
  define: typeof scalar,
  syntax: string,
  count: ArgumentCount,
  compute: (args: readonly Value[]) => ArrayLike<number>,
): ScalarFunction {
  return inTurns(
    define(syntax, count, (args) => vectorValue(compute(args))),
    (args, _context, meter) => vectorValueInTurns(compute(args), meter),
  );
}

/** As `givingVector`, for a sparse one. */
export function givingSparse(
  define: typeof scalar,
  syntax: string,
  count: ArgumentCount,
  compute: (args: readonly Value[]) => SparseVector,
): ScalarFunction {
  return inTurns(
    define(syntax, count, (args) => sparseValue(compute(args))),
    (args, _context, meter) => sparseValueInTurns(compute(args), meter),
  );
}
