import type { Expression } from './expression.ts';

/** Operations whose values depend on nothing but their operands, literals, parameters and variables: no record, clock or chance. */
export const constantOperations: ReadonlySet<Expression['op']> = new Set<Expression['op']>([
  'Constant',
  'Parameter',
  'Variable',
  'Negate',
  'Arithmetic',
  'Concatenate',
  'Coalesce',
  'Compare',
  'And',
  'Or',
  'Not',
  'IsNull',
  'Between',
  'In',
  'Like',
  'List',
  'Map',
  'Case',
]);
