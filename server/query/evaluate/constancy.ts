import type { Expression } from '../algebra/expression.ts';
import type { CompileEnvironment, Evaluator } from './evaluator.ts';
import type { Value } from '#core/value/value.ts';

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
    case 'Truth':
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

interface Kept {
  readonly value: Value;
  /** Where it was computed in turns (`long-calls.ts`): the evaluation, and the last time that this went through it. */
  readonly evaluation: number;
  pass: number;
}

/**
 * Keeps the value for as long as the execution lasts. The regex budget tells executions apart: each has its own, and all its
 * contexts share it. Plans outlive executions by far, so a plan holds on to small values only; large ones go with the budget.
 *
 * An evaluation in turns must meet the same calls each time it is done anew, so what it computed itself it goes through again,
 * once each time: the calls in it are over and cost nothing.
 */
export function oncePerStatement(evaluate: Evaluator): Evaluator {
  const values = new WeakMap<object, Kept>();
  let execution: object | undefined;
  let value: Value = null;
  return (context) => {
    const { regexBudget: budget, longCalls } = context;
    if (budget === execution && longCalls === undefined) return value;
    const kept = values.get(budget);
    const isOwn = kept !== undefined && kept.evaluation === longCalls?.evaluation;
    if (kept !== undefined && (!isOwn || kept.pass === longCalls?.pass)) return kept.value;
    const computed = evaluate(context);
    if (kept !== undefined) {
      kept.pass = longCalls?.pass ?? notInTurns;
      return kept.value;
    }
    const { evaluation = notInTurns, pass = notInTurns } = longCalls ?? {};
    values.set(budget, { value: computed, evaluation, pass });
    if (isSmall(computed)) {
      value = computed;
      execution = budget;
    }
    return computed;
  };
}

const notInTurns = -1;

const smallTextLength = 1_024;

function isSmall(value: Value): boolean {
  if (typeof value === 'string') return value.length <= smallTextLength;
  if (typeof value !== 'object' || value === null) return true;
  return !Array.isArray(value) && 'valueKind' in value && smallKinds.has(value.valueKind);
}

const smallKinds: ReadonlySet<string> = new Set([
  'float',
  'date',
  'datetime',
  'duration',
  'link',
  'localTime',
  'zonedTime',
  'localDateTime',
  'zonedDateTime',
  'cypherDuration',
  'point',
]);
