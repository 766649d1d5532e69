import type { Expression, NestedItem } from './ast.ts';

/** The direct operands of an expression; statements in parentheses are not entered. */
export function operandsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'property':
    case 'allProperties':
      return [expression.of];
    case 'method':
      return [expression.of, ...expression.arguments];
    case 'call':
      return expression.arguments;
    case 'element':
      return [expression.of, ...expression.keys];
    case 'slice':
      return defined([expression.of, expression.low, expression.high]);
    case 'elementsWhere':
      return [expression.of, expression.condition];
    case 'elementsThat':
      return [expression.of, expression.value];
    case 'nested':
      return [expression.of, ...nestedValues(expression.items)];
    case 'unary':
    case 'not':
    case 'isNull':
    case 'isDefined':
    case 'instanceOf':
      return [expression.operand];
    case 'chain':
    case 'concatenate':
    case 'coalesce':
    case 'and':
    case 'or':
      return expression.operands;
    case 'compare':
      return [expression.left, expression.right];
    case 'in':
      return [expression.element, expression.list];
    case 'between':
      return [expression.operand, expression.low, expression.high];
    case 'like':
    case 'matches':
      return [expression.text, expression.pattern];
    case 'contains':
      return [expression.collection, expression.value];
    case 'list':
      return expression.items;
    case 'map':
      return expression.entries.map((entry) => entry.value);
    case 'comprehension':
      return defined([expression.result, expression.list, expression.condition]);
    case 'case':
      return defined([
        expression.subject,
        ...expression.branches.flatMap((branch) => [branch.when, branch.result]),
        expression.otherwise,
      ]);
    case 'paren':
      return [expression.inner];
    case 'ridOf':
      return [expression.value];
    default:
      return [];
  }
}

function nestedValues(items: readonly NestedItem[]): readonly Expression[] {
  const values: Expression[] = [];
  for (const item of items) {
    if (item.kind === 'include') values.push(item.value);
    else if (item.kind === 'all' && item.nested) values.push(...nestedValues(item.nested));
  }
  return values;
}

function defined(operands: readonly (Expression | undefined)[]): readonly Expression[] {
  return operands.filter((operand) => operand !== undefined);
}

/** True when the expression or anything below it satisfies `test`; statements in parentheses are not entered. */
export function someExpression(
  expression: Expression,
  test: (expression: Expression) => boolean,
): boolean {
  const waiting: Expression[] = [expression];
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    if (test(current)) return true;
    for (const operand of operandsOf(current)) waiting.push(operand);
  }
  return false;
}

export function hasSubQuery(expression: Expression): boolean {
  return someExpression(expression, (part) => part.kind === 'subQuery');
}
