import type { Expression } from '../algebra/expression.ts';
import type { CompileEnvironment, Evaluator } from './evaluator.ts';
import type { Value } from '#core/value.ts';

/**
 * Expressions that have one value per execution of a statement: built from constants, parameters and deterministic
 * functions only. They are computed for the first row that needs them and kept for the rest.
 */
export function isStatementConstant(expression: Expression, env: CompileEnvironment): boolean {
  switch (expression.op) {
    case 'Constant':
    case 'Parameter':
      return true;
    case 'Call':
      return (
        (env.functions.scalar(expression.function)?.isDeterministic ?? false) &&
        expression.arguments.every((argument) => isStatementConstant(argument, env))
      );
    case 'Negate':
    case 'Not':
    case 'IsNull':
      return isStatementConstant(expression.operand, env);
    case 'Arithmetic':
      return isConstantChain(expression, env);
    case 'Compare':
      return (
        isStatementConstant(expression.right, env) && isStatementConstant(expression.left, env)
      );
    case 'Concatenate':
    case 'Coalesce':
      return expression.operands.every((operand) => isStatementConstant(operand, env));
    case 'List':
      return expression.items.every((item) => isStatementConstant(item, env));
    case 'Map':
      return expression.entries.every((entry) => isStatementConstant(entry.value, env));
    default:
      return false;
  }
}

/** A chain nests to the left as deep as it is long, so it is walked. */
function isConstantChain(expression: Expression, env: CompileEnvironment): boolean {
  let left = expression;
  while (left.op === 'Arithmetic') {
    if (!isStatementConstant(left.right, env)) return false;
    left = left.left;
  }
  return isStatementConstant(left, env);
}

/**
 * Keeps the value for as long as the execution lasts. The regex budget tells executions apart: each has its own, and all its
 * contexts share it. Plans outlive executions by far, so a plan holds on to small values only; large ones go with the budget.
 */
export function oncePerStatement(evaluate: Evaluator): Evaluator {
  const large = new WeakMap<object, { readonly value: Value }>();
  let execution: object | undefined;
  let value: Value = null;
  return (context) => {
    const budget = context.regexBudget;
    if (budget === execution) return value;
    const kept = large.get(budget);
    if (kept !== undefined) return kept.value;
    const computed = evaluate(context);
    if (isSmall(computed)) {
      value = computed;
      execution = budget;
    } else large.set(budget, { value: computed });
    return computed;
  };
}

const smallTextLength = 1_024;

function isSmall(value: Value): boolean {
  if (typeof value === 'string') return value.length <= smallTextLength;
  if (typeof value !== 'object' || value === null) return true;
  return !Array.isArray(value) && 'valueKind' in value && smallKinds.has(value.valueKind);
}

const smallKinds: ReadonlySet<string> = new Set(['float', 'date', 'datetime', 'duration', 'link']);
