import type { Value } from '#core/value/value.ts';
import type { Condition, Evaluator, Predicate } from '../evaluator.ts';

/** Three-valued logic (sql.md 6.2). Operand lists are flat, so chains of any length need no recursion. */

/** A value as a condition: true, false or null; anything else is false. */
export function truthOf(value: Value): boolean | null {
  if (value === true) return true;
  return value === null ? null : false;
}

export function compileAnd(operands: readonly Condition[]): Condition {
  const [first, second] = operands;
  if (first && second && operands.length === 2)
    return (context) => {
      const a = first(context);
      if (a === false) return false;
      const b = second(context);
      return b === false ? false : a === null ? null : b;
    };
  return (context) => {
    let isUnknown = false;
    for (let i = 0; i < operands.length; i++) {
      const holds = (operands[i] as Condition)(context);
      if (holds === false) return false;
      if (holds === null) isUnknown = true;
    }
    return isUnknown ? null : true;
  };
}

export function compileOr(operands: readonly Condition[]): Condition {
  return (context) => {
    let isUnknown = false;
    for (let i = 0; i < operands.length; i++) {
      const holds = (operands[i] as Condition)(context);
      if (holds === true) return true;
      if (holds === null) isUnknown = true;
    }
    return isUnknown ? null : false;
  };
}

/** An odd number of operands is true; unknown as soon as one is. All are evaluated. */
export function compileXor(operands: readonly Condition[]): Condition {
  return (context) => {
    let isUnknown = false;
    let isOdd = false;
    for (let i = 0; i < operands.length; i++) {
      const holds = (operands[i] as Condition)(context);
      if (holds === null) isUnknown = true;
      else if (holds) isOdd = !isOdd;
    }
    return isUnknown ? null : isOdd;
  };
}

export function compileNot(operand: Condition): Condition {
  return (context) => {
    const holds = operand(context);
    return holds === null ? null : !holds;
  };
}

/** All operands hold; stops at the first that does not. */
export function compileEvery(operands: readonly Predicate[]): Predicate {
  const [first, second] = operands;
  if (first && second && operands.length === 2)
    return (context) => first(context) && second(context);
  return (context) => {
    for (let i = 0; i < operands.length; i++)
      if (!(operands[i] as Predicate)(context)) return false;
    return true;
  };
}

/** Some operand holds; stops there. */
export function compileSome(operands: readonly Predicate[]): Predicate {
  return (context) => {
    for (let i = 0; i < operands.length; i++) if ((operands[i] as Predicate)(context)) return true;
    return false;
  };
}

/** The first branch whose condition is true; unknown counts as false. */
export function compileCase(
  branches: readonly { readonly when: Condition; readonly result: Evaluator }[],
  otherwise: Evaluator | undefined,
): Evaluator {
  return (context) => {
    for (let i = 0; i < branches.length; i++) {
      const branch = branches[i] as { when: Condition; result: Evaluator };
      if (branch.when(context) === true) return branch.result(context);
    }
    return otherwise ? otherwise(context) : null;
  };
}
