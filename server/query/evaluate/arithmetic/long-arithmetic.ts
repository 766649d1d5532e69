import type { Value } from '#core/value/value.ts';
import type { Evaluator } from '../evaluator.ts';
import type { LoopBody } from '../turns/list-turns.ts';
import { compileLongChain } from '../turns/long-chains.ts';
import { appendedText, bytesAppended, uncounted } from '../turns/value-size.ts';
import type { BinaryOperation } from './arithmetic.ts';

interface ArithmeticStep {
  readonly right: Evaluator;
  readonly operation: BinaryOperation;
  readonly isAppend: boolean;
}

/** A value, and its bytes where it is a text that grows. */
interface Accumulated {
  readonly value: Value;
  readonly bytes: number;
}

/** `a + b - c ...` of very many operands, in turns where the statement can pause. */
export function compileLongArithmetic(
  start: Evaluator,
  steps: readonly ArithmeticStep[],
  body: LoopBody,
): Evaluator {
  const chain = compileLongChain<ArithmeticStep, Accumulated>({
    operands: steps,
    body,
    step({ value, bytes }, { right, operation, isAppend }, context) {
      const added = right(context);
      if (!isAppend || typeof value !== 'string' || typeof added !== 'string')
        return { value: operation(value, added, context), bytes: uncounted };
      const sum = bytesAppended(value, added, bytes, context);
      return { value: value + added, bytes: sum };
    },
    isSettled: () => false,
  });
  return (context) => {
    const { value, bytes } = chain(context, { value: start(context), bytes: uncounted });
    return typeof value === 'string' ? appendedText(value, bytes, context) : value;
  };
}
