import { DatabaseError } from '#core/errors.ts';
import { valuesEqual } from '#core/value/equality.ts';
import { compareText } from '#core/value/value-order.ts';
import type { Value } from '#core/value/value.ts';
import type { CompareOperator, Dialect, Expression } from '../../algebra/expression.ts';
import { cypherCompare, cypherEquals } from './cypher-comparison.ts';
import type { EvaluationContext } from '../context.ts';
import type { Condition, Evaluator } from '../evaluator.ts';
import { isLarge } from '../turns/large.ts';
import { rememberedValue } from '../turns/long-calls.ts';
import { sqlCompare, sqlEquals } from './sql-comparison.ts';

/** Comparisons to closures: one closure per operator, with a short way for plain numbers and text. */

/** The dialects whose comparisons exist. @throws DatabaseError `NotSupported` for the others */
export function requireDialect(dialect: Dialect, what: string): 'sql' | 'cypher' {
  if (dialect === 'gremlin')
    throw new DatabaseError('NotSupported', `not supported: ${what} in dialect gremlin`);
  return dialect;
}

/** `left operator right`; null on either side is unknown, except for `<=>`. */
export function compileCompare(
  expression: Extract<Expression, { op: 'Compare' }>,
  left: Evaluator,
  right: Evaluator,
): Condition {
  const { operator } = expression;
  if (requireDialect(expression.dialect, `'${operator}'`) === 'cypher')
    return compileCypher(operator, left, right);
  switch (operator) {
    case '=':
      return compileEquals(expression, left, right);
    case '<>':
      return (context) => {
        const a = left(context);
        const b = right(context);
        return a === null || b === null ? null : !equals(a, b, context);
      };
    case '<=>':
      return (context) => nullSafeEquals(left(context), right(context), context.formats);
    default:
      return compileOrder(operator, left, right);
  }
}

function equals(a: Value, b: Value, context: EvaluationContext): boolean {
  return typeof a === 'object' && isLarge(a)
    ? rememberedValue(context, sqlEquals, () => sqlEquals(a, b, context.formats))
    : sqlEquals(a, b, context.formats);
}

function compileEquals(
  expression: Extract<Expression, { op: 'Compare' }>,
  left: Evaluator,
  right: Evaluator,
): Condition {
  const constant = expression.right.op === 'Constant' ? expression.right.value : undefined;
  if (typeof constant === 'string' || typeof constant === 'number') {
    const kind = typeof constant;
    return (context) => {
      const a = left(context);
      if (typeof a === kind) return a === constant;
      return a === null ? null : sqlEquals(a, constant, context.formats);
    };
  }
  return (context) => {
    const a = left(context);
    const b = right(context);
    return a === null || b === null ? null : equals(a, b, context);
  };
}

type OrderOperator = '<' | '<=' | '>' | '>=';

/** Incomparable values are in no order: false. NaN answers false to all four. */
function compileOrder(operator: OrderOperator, left: Evaluator, right: Evaluator): Condition {
  switch (operator) {
    case '<':
      return (context) => {
        const a = left(context);
        const b = right(context);
        if (typeof a === 'number' && typeof b === 'number') return a < b;
        if (a === null || b === null) return null;
        return (sqlCompare(a, b, context.formats) ?? Number.NaN) < 0;
      };
    case '<=':
      return (context) => {
        const a = left(context);
        const b = right(context);
        if (typeof a === 'number' && typeof b === 'number') return a <= b;
        if (a === null || b === null) return null;
        return (sqlCompare(a, b, context.formats) ?? Number.NaN) <= 0;
      };
    case '>':
      return (context) => {
        const a = left(context);
        const b = right(context);
        if (typeof a === 'number' && typeof b === 'number') return a > b;
        if (a === null || b === null) return null;
        return (sqlCompare(a, b, context.formats) ?? Number.NaN) > 0;
      };
    case '>=':
      return (context) => {
        const a = left(context);
        const b = right(context);
        if (typeof a === 'number' && typeof b === 'number') return a >= b;
        if (a === null || b === null) return null;
        return (sqlCompare(a, b, context.formats) ?? Number.NaN) >= 0;
      };
  }
}

/** True when both are null, false when one is; a list equals a value that is no list when any element does. */
function nullSafeEquals(a: Value, b: Value, formats: Parameters<typeof sqlEquals>[2]): boolean {
  if (a === null || b === null) return a === b;
  if (Array.isArray(a) && !Array.isArray(b)) {
    for (let i = 0; i < a.length; i++) if (sqlEquals(a[i] as Value, b, formats)) return true;
    return false;
  }
  return sqlEquals(a, b, formats);
}

function compileCypher(operator: CompareOperator, left: Evaluator, right: Evaluator): Condition {
  switch (operator) {
    case '=':
      return (context) => cypherEquals(left(context), right(context));
    case '<>':
      return (context) => {
        const equal = cypherEquals(left(context), right(context));
        return equal === null ? null : !equal;
      };
    case '<=>':
      return (context) => valuesEqual(left(context), right(context));
    default:
      return (context) => orderHolds(operator, cypherCompare(left(context), right(context)));
  }
}

function orderHolds(operator: OrderOperator, order: number | undefined): boolean | null {
  if (order === undefined) return null;
  switch (operator) {
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '>':
      return order > 0;
    case '>=':
      return order >= 0;
  }
}

/** `operand BETWEEN low AND high`, inclusive; any null is unknown. */
export function compileBetween(
  operand: Evaluator,
  low: Evaluator,
  high: Evaluator,
  dialect: Dialect,
): Condition {
  if (requireDialect(dialect, "'BETWEEN'") === 'cypher')
    return (context) => {
      const value = operand(context);
      const above = orderHolds('>=', cypherCompare(value, low(context)));
      const below = orderHolds('<=', cypherCompare(value, high(context)));
      return above === false || below === false ? false : above === null ? null : below;
    };
  return (context) => {
    const value = operand(context);
    const from = low(context);
    const to = high(context);
    if (typeof value === 'number' && typeof from === 'number' && typeof to === 'number')
      return value >= from && value <= to;
    if (value === null || from === null || to === null) return null;
    if (typeof value === 'string' && typeof from === 'string' && typeof to === 'string')
      return compareText(value, from) >= 0 && compareText(value, to) <= 0;
    return (
      (sqlCompare(value, from, context.formats) ?? Number.NaN) >= 0 &&
      (sqlCompare(value, to, context.formats) ?? Number.NaN) <= 0
    );
  };
}
