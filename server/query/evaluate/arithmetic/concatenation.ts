import { textOf } from '#core/text/text-form.ts';
import type { Value } from '#core/value/value.ts';
import { appendToList } from './collection-arithmetic.ts';
import type { BinaryOperation } from './arithmetic.ts';
import type { EvaluationContext } from '../context.ts';
import type { Evaluator } from '../evaluator.ts';
import { isLarge } from '../turns/large.ts';
import { rememberedValue } from '../turns/long-calls.ts';
import {
  appendedText,
  boundedGrowth,
  bytesAppended,
  joinedText,
  uncounted,
} from '../turns/value-size.ts';

/**
 * `a || b || ...`, left to right (sql.md 5.4): lists are joined, a value beside a list becomes its last or first element,
 * as it stands, everything else is concatenated as text; null on either side gives null.
 */
export function compileConcatenate(operands: readonly Evaluator[]): Evaluator {
  return (context) => {
    let value = (operands[0] as Evaluator)(context);
    let bytes = uncounted;
    for (let i = 1; i < operands.length; i++) {
      if (value === null) return null;
      const right = (operands[i] as Evaluator)(context);
      if (typeof value === 'string' && typeof right === 'string') {
        bytes = bytesAppended(value, right, bytes, context);
        value += right;
      } else {
        bytes = uncounted;
        value = concatenate(value, right, context);
      }
    }
    return typeof value === 'string' ? appendedText(value, bytes, context) : value;
  };
}

/**
 * `a || b || ...` where an operation joins two values and looks at each: texts are joined as above, so that a chain of fifty thousand
 * makes one text and not one for each step.
 */
export function compileChain(
  operands: readonly Evaluator[],
  operation: BinaryOperation,
): Evaluator {
  return (context) => {
    let value = (operands[0] as Evaluator)(context);
    let bytes = uncounted;
    for (let i = 1; i < operands.length; i++) {
      const right = (operands[i] as Evaluator)(context);
      if (typeof value === 'string' && typeof right === 'string' && operands.length > 2) {
        bytes = bytesAppended(value, right, bytes, context);
        value += right;
      } else {
        bytes = uncounted;
        value = operation(value, right, context);
      }
    }
    return typeof value === 'string' && operands.length > 2
      ? appendedText(value, bytes, context)
      : value;
  };
}

/** `a || b` for two values. */
export function concatenate(left: Value, right: Value, context: EvaluationContext): Value {
  if (left === null || right === null) return null;
  if (typeof left === 'object' && isLarge(left))
    return rememberedValue(context, concatenate, () => joined(left, right, context));
  return joined(left, right, context);
}

function joined(
  left: Exclude<Value, null>,
  right: Exclude<Value, null>,
  context: EvaluationContext,
): Value {
  if (typeof left === 'string' && typeof right === 'string')
    return joinedText(left, right, context);
  if (Array.isArray(left)) return appendToList(left, right, context);
  // The value goes to the end of the list at which it stands.
  if (Array.isArray(right)) return boundedGrowth([left as Value].concat(right), context);
  return joinedText(textOf(left, context.formats), textOf(right, context.formats), context);
}

/** The first operand that is not null; the others are not evaluated. */
export function compileCoalesce(operands: readonly Evaluator[]): Evaluator {
  return (context) => {
    for (let i = 0; i < operands.length; i++) {
      const value = (operands[i] as Evaluator)(context);
      if (value !== null) return value;
    }
    return null;
  };
}
