import type { Value } from '#core/value/value.ts';
import type { EvaluationContext } from '../context.ts';
import type { LoopBody } from '../turns/list-turns.ts';
import { compileLongChain } from '../turns/long-chains.ts';
import type { Condition, Evaluator, Predicate } from '../evaluator.ts';

/** Three-valued logic (sql.md 6.2). Operand lists are flat, so chains of any length need no recursion. With a `body` they are very long. */

/** A value as a condition: true, false or null; anything else is false. */
export function truthOf(value: Value): boolean | null {
  if (value === true) return true;
  return value === null ? null : false;
}

export function compileAnd(
  operands: readonly Condition[],
  body: LoopBody | undefined = undefined,
): Condition {
  if (body !== undefined) return longCondition(operands, body, andOf, isFalse);
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

export function compileOr(
  operands: readonly Condition[],
  body: LoopBody | undefined = undefined,
): Condition {
  if (body !== undefined) return longCondition(operands, body, orOf, isTrue);
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
export function compileXor(
  operands: readonly Condition[],
  body: LoopBody | undefined = undefined,
): Condition {
  if (body !== undefined) return longCondition(operands, body, xorOf, never);
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
export function compileEvery(
  operands: readonly Predicate[],
  body: LoopBody | undefined = undefined,
): Predicate {
  if (body !== undefined) {
    const every = compileLongChain({ operands, body, step: lastOf, isSettled: isFalse });
    return (context) => every(context, true);
  }
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
export function compileSome(
  operands: readonly Predicate[],
  body: LoopBody | undefined = undefined,
): Predicate {
  if (body !== undefined) {
    const some = compileLongChain({ operands, body, step: lastOf, isSettled: isTrue });
    return (context) => some(context, false);
  }
  return (context) => {
    for (let i = 0; i < operands.length; i++) if ((operands[i] as Predicate)(context)) return true;
    return false;
  };
}

interface Branch {
  readonly when: Condition;
  readonly result: Evaluator;
}

/** The first branch whose condition is true; unknown counts as false. */
export function compileCase(
  branches: readonly Branch[],
  otherwise: Evaluator | undefined,
  body: LoopBody | undefined = undefined,
): Evaluator {
  if (body !== undefined) return compileLongCase(branches, otherwise, body);
  return (context) => {
    for (let i = 0; i < branches.length; i++) {
      const branch = branches[i] as Branch;
      if (branch.when(context) === true) return branch.result(context);
    }
    return otherwise ? otherwise(context) : null;
  };
}

function compileLongCase(
  branches: readonly Branch[],
  otherwise: Evaluator | undefined,
  body: LoopBody,
): Evaluator {
  const taken = compileLongChain<Branch, Branch | undefined>({
    operands: branches,
    body,
    step: (_, branch, context) => (branch.when(context) === true ? branch : undefined),
    isSettled: (branch) => branch !== undefined,
  });
  return (context) => (taken(context, undefined)?.result ?? otherwise)?.(context) ?? null;
}

type Joined = (left: boolean | null, right: boolean | null) => boolean | null;

/** Three-valued, of very many operands; before the first it is worth what changes nothing. */
function longCondition(
  operands: readonly Condition[],
  body: LoopBody,
  join: Joined,
  isSettled: (state: boolean | null) => boolean,
): Condition {
  const step = (state: boolean | null, operand: Condition, context: EvaluationContext) =>
    join(state, operand(context));
  const chain = compileLongChain<Condition, boolean | null>({ operands, body, step, isSettled });
  const neutral = join === andOf;
  return (context) => chain(context, neutral);
}

const andOf: Joined = (left, right) => (right === false || left === true ? right : left);
const orOf: Joined = (left, right) => (right === true || left === false ? right : left);
const xorOf: Joined = (left, right) => (left === null || right === null ? null : left !== right);
const isTrue = (state: boolean | null): boolean => state === true;
const isFalse = (state: boolean | null): boolean => state === false;
const never = (): boolean => false;

function lastOf(_: boolean, operand: Predicate, context: EvaluationContext): boolean {
  return operand(context);
}
