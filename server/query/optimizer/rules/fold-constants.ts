import { someLong } from '#core/replayed-loops.ts';
import type { CompareOperator, Expression } from '../../algebra/expression.ts';
import { mapExpressions } from '../../algebra/plan-walk.ts';
import { mapExpression } from '../../algebra/walk.ts';
import type { OptimizerRule } from '../rule.ts';

/**
 * Boolean connectives and plain comparisons of constants are computed once, and NOT goes inwards where it vanishes. Arithmetic and
 * functions of constants are not touched: the compiler of expressions keeps their values per statement, and folding them here
 * would move their errors.
 */
export const foldConstants: OptimizerRule = {
  name: 'fold-constants',
  needs: 'any',
  why: 'conditions like 1 = 1 AND x would be evaluated for each row, and hide x from other rules',
  apply(plan) {
    const folded = mapExpressions(plan, (expression) => mapExpression(expression, fold));
    return folded === plan ? undefined : folded;
  },
};

function fold(expression: Expression): Expression {
  switch (expression.op) {
    case 'And':
      return connective(expression, false);
    case 'Or':
      return connective(expression, true);
    case 'Not':
      return opposite(expression.operand) ?? expression;
    case 'Compare':
      return compared(expression);
    default:
      return expression;
  }
}

/** `deciding` settles the whole: false for AND, true for OR; its opposite can be left out. Unknown stays. */
function connective(
  expression: Expression & { readonly op: 'And' | 'Or' },
  deciding: boolean,
): Expression {
  const { operands } = expression;
  if (!someLong(operands, ({ op }) => op === 'Constant')) return expression;
  if (operands.some((operand) => isConstant(operand, deciding)))
    return { op: 'Constant', value: deciding };
  const kept = operands.filter((operand) => !isConstant(operand, !deciding));
  if (kept.length === operands.length) return expression;
  if (kept.length === 0) return { op: 'Constant', value: !deciding };
  const [only] = kept;
  // A single operand that is no boolean would not be made one any more.
  if (kept.length === 1 && only !== undefined && givesBoolean(only)) return only;
  return { ...expression, operands: kept };
}

function isConstant(expression: Expression, value: boolean): boolean {
  return expression.op === 'Constant' && expression.value === value;
}

const booleanOps: ReadonlySet<Expression['op']> = new Set<Expression['op']>([
  'Compare',
  'And',
  'Or',
  'Xor',
  'Truth',
  'TextPart',
  'Not',
  'IsNull',
  'In',
  'Between',
  'Like',
  'Matches',
  'Contains',
  'Quantifier',
  'IsDefined',
  'IsOfType',
  'StrictEquals',
]);

function givesBoolean(expression: Expression): boolean {
  return booleanOps.has(expression.op);
}

/**
 * The opposite without a NOT in front, which other rules could not look behind: of constants, of NOT, of `<>`, and of AND and
 * OR of these. That of `<` is not `>=`, since neither holds of values without an order.
 */
function opposite(operand: Expression): Expression | undefined {
  switch (operand.op) {
    case 'Constant':
      return oppositeOfConstant(operand);
    case 'Not':
      return givesBoolean(operand.operand) ? operand.operand : undefined;
    case 'Compare':
      return operand.operator === '<>' ? { ...operand, operator: '=' } : undefined;
    case 'And':
    case 'Or': {
      const operands: Expression[] = [];
      for (const part of operand.operands) {
        const other = opposite(part);
        if (other === undefined) return undefined;
        operands.push(other);
      }
      return { op: operand.op === 'And' ? 'Or' : 'And', operands };
    }
    default:
      return undefined;
  }
}

function oppositeOfConstant({
  value,
}: Expression & { readonly op: 'Constant' }): Expression | undefined {
  if (typeof value === 'boolean') return { op: 'Constant', value: !value };
  return value === null ? { op: 'Constant', value } : undefined;
}

function compared(expression: Expression & { readonly op: 'Compare' }): Expression {
  const { left, right, operator } = expression;
  if (left.op !== 'Constant' || right.op !== 'Constant') return expression;
  const a = left.value;
  const b = right.value;
  // Integers only: everything else has rules of its own.
  if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) return expression;
  return { op: 'Constant', value: holds(a as number, operator, b as number) };
}

function holds(a: number, operator: CompareOperator, b: number): boolean {
  switch (operator) {
    case '=':
    case '<=>':
      return a === b;
    case '<>':
      return a !== b;
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    default:
      return a >= b;
  }
}
