import type { Expression } from './expression.ts';

/** What analyzers of dialect cypher put together alike. */

/** Operations that give nothing but true, false and null. */
const conditions: ReadonlySet<Expression['op']> = new Set<Expression['op']>([
  'Compare',
  'And',
  'Or',
  'Xor',
  'Not',
  'Truth',
  'IsNull',
  'In',
  'Between',
  'Like',
  'Matches',
  'TextPart',
  'Contains',
  'Quantifier',
  'IsDefined',
  'IsOfType',
  'StrictEquals',
]);

/** The expression where a condition is wanted: what may be no boolean is checked when it is evaluated. */
export function conditionOf(expression: Expression): Expression {
  if (conditions.has(expression.op)) return expression;
  if (expression.op === 'Constant') {
    const { value } = expression;
    if (value === null || typeof value === 'boolean') return expression;
  }
  return { op: 'Truth', operand: expression };
}
