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
 * Keeps the value for as long as the execution lasts. The regex budget tells executions apart: each has its own, all its
 * contexts share it, and holding on to it keeps nothing else alive.
 */
export function oncePerStatement(evaluate: Evaluator): Evaluator {
  let execution: object | undefined;
  let value: Value = null;
  return (context) => {
    if (context.regexBudget !== execution) {
      value = evaluate(context);
      execution = context.regexBudget;
    }
    return value;
  };
}
