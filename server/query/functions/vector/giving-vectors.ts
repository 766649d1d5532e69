import type { Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../../evaluate/context.ts';
import type { ScalarFunction } from '../../evaluate/function-definition.ts';
import { requireBytes } from '../number/bounds.ts';
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
  const bounded = (args: readonly Value[], context: EvaluationContext): ArrayLike<number> => {
    const vector = compute(args);
    requireBytes(vector.length * bytesPerComponent, context);
    return vector;
  };
  return inTurns(
    define(syntax, count, (args, context) => vectorValue(bounded(args, context))),
    (args, context, meter) => vectorValueInTurns(bounded(args, context), meter),
  );
}

const bytesPerComponent = 8;

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
