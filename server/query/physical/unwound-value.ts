import type { Value } from '#core/value/value.ts';
import type { Expression } from '../algebra/expression.ts';
import type { NumberRange } from '../evaluate/number-range.ts';
import { rangeFunction, rangeOf } from '../functions/cypher/number-range.ts';
import type { ExecutionContext } from '../operators/operator.ts';
import { compileValue, type Lowering } from './lowering.ts';

/** What UNWIND goes through. Nobody makes a list of the numbers of `range()` for it. */
export function unwoundValue(
  lowering: Lowering,
  list: Expression,
): (context: ExecutionContext) => Value | NumberRange {
  if (list.op !== 'Call' || list.function !== rangeFunction) return compileValue(lowering, list);
  const args = list.arguments.map((argument) => compileValue(lowering, argument));
  return (context) =>
    rangeOf(
      args.map((argument) => argument(context)),
      context,
    );
}
