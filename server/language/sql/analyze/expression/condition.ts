import { unreachable } from '#core/assert.ts';
import type { Expression as Computed } from '#query/algebra/expression.ts';
import { type Containment, type Expression, isPredicate } from '../../ast.ts';
import type { Analysis, Environment } from '../analysis.ts';
import { elementEnvironment, elementScope } from '../element.ts';
import { memberOf, wholeRow } from '../names.ts';

/** Conditions (sql.md 6). All operators are three-valued in the algebra. */

type ConditionKind =
  | 'and'
  | 'or'
  | 'not'
  | 'compare'
  | 'isNull'
  | 'isDefined'
  | 'in'
  | 'between'
  | 'like'
  | 'matches'
  | 'contains'
  | 'instanceOf';

export type ConditionNode = Extract<Expression, { readonly kind: ConditionKind }>;

export function analyzeCondition(
  analysis: Analysis,
  node: ConditionNode,
  env: Environment,
): Computed {
  switch (node.kind) {
    case 'and':
      return { op: 'And', operands: parts(analysis, node.operands, env) };
    case 'or':
      return { op: 'Or', operands: parts(analysis, node.operands, env) };
    case 'not':
      return { op: 'Not', operand: analysis.expression(node.operand, env) };
    case 'compare':
      return {
        op: 'Compare',
        operator: node.sign,
        left: operand(analysis, node.left, env),
        right: operand(analysis, node.right, env),
        dialect: 'sql',
      };
    case 'isNull':
      return negatedIf(node.isNegated, {
        op: 'IsNull',
        operand: operand(analysis, node.operand, env),
      });
    case 'isDefined':
      return negatedIf(node.isNegated, isDefined(analysis, node.operand, env));
    case 'in':
      return negatedIf(node.isNegated, {
        op: 'In',
        element: operand(analysis, node.element, env),
        list: listOperand(analysis, node.list, env),
        dialect: 'sql',
        ...(node.list.kind === 'paren' && { isBracketed: true }),
      });
    case 'between':
      return negatedIf(node.isNegated, {
        op: 'Between',
        operand: operand(analysis, node.operand, env),
        low: operand(analysis, node.low, env),
        high: operand(analysis, node.high, env),
        dialect: 'sql',
      });
    case 'like':
      return negatedIf(node.isNegated, {
        op: 'Like',
        text: operand(analysis, node.text, env),
        pattern: operand(analysis, node.pattern, env),
        ignoreCase: node.ignoresCase,
      });
    case 'matches':
      return {
        op: 'Matches',
        text: operand(analysis, node.text, env),
        pattern: operand(analysis, node.pattern, env),
      };
    case 'contains':
      return analyzeContains(analysis, node, env);
    case 'instanceOf':
      return instanceOf(analysis, node.type, env);
    default:
      return unreachable(node);
  }
}

function negatedIf(isNegated: boolean, condition: Computed): Computed {
  return isNegated ? { op: 'Not', operand: condition } : condition;
}

/** All but the first are evaluated only when the others did not decide. */
function parts(
  analysis: Analysis,
  nodes: readonly Expression[],
  env: Environment,
): readonly Computed[] {
  const lazy: Environment = { ...env, isLazy: true };
  return nodes.map((node, at) => analysis.expression(node, at === 0 ? env : lazy));
}

/** A value in a place where one is needed: of a sub-query the one value of its one row. */
export function operand(analysis: Analysis, node: Expression, env: Environment): Computed {
  const inner = withoutParentheses(node);
  if (inner.kind !== 'subQuery') return analysis.expression(node, env);
  return { op: 'SingleValue', rows: analysis.expression(inner, env) };
}

/** A value in a place where a list may stand: of a sub-query the list of its rows, each unwrapped. */
export function listOperand(analysis: Analysis, node: Expression, env: Environment): Computed {
  const inner = withoutParentheses(node);
  const value = analysis.expression(node, env);
  const mayHoldRows = inner.kind === 'subQuery' || (value.op === 'Slot' && isVariable(inner));
  return mayHoldRows ? { op: 'UnwrapRows', rows: value } : value;
}

function isVariable(node: Expression): boolean {
  return node.kind === 'name' && node.name.startsWith('$') && !node.isQuoted;
}

export function withoutParentheses(node: Expression): Expression {
  let inner = node;
  while (inner.kind === 'paren') inner = inner.inner;
  return inner;
}

/** Only a bare property can be undefined; anything else is defined (sql.md 6.4). */
function isDefined(analysis: Analysis, node: Expression, env: Environment): Computed {
  const inner = withoutParentheses(node);
  if (inner.kind !== 'name' || (inner.name.startsWith('$') && !inner.isQuoted))
    return { op: 'Constant', value: true };
  const { row } = env;
  if (row.kind === 'none') return { op: 'Constant', value: false };
  if (row.kind === 'columns') return { op: 'Constant', value: row.columns.has(inner.name) };
  const member = memberOf(wholeRow(analysis, row, env.scope.level), inner.name);
  if (member.op === 'Property') return { op: 'IsDefined', of: member.of, name: inner.name };
  return { op: 'Not', operand: { op: 'IsNull', operand: member } };
}

function analyzeContains(analysis: Analysis, node: Containment, env: Environment): Computed {
  const { mode } = node;
  const takesPredicate = mode === 'element' || mode === 'all' || mode === 'any';
  if (!takesPredicate || !isPredicate(node.value)) {
    const collection = listOperand(analysis, node.collection, env);
    const value = listOperand(analysis, node.value, env);
    return { op: 'Contains', kind: mode, collection, value };
  }
  const { scope, element } = elementScope(analysis, env);
  return {
    op: 'Quantifier',
    // CONTAINSANY (cond): some element satisfies it (sql.md 6.4, DECISION).
    kind: mode === 'all' ? 'all' : 'any',
    // Rows as they are: the condition names their columns.
    list: analysis.expression(node.collection, env),
    element,
    predicate: analysis.expression(node.value, elementEnvironment(scope)),
    dialect: 'sql',
  };
}

/** The type of the current record; what stands left of INSTANCEOF does not matter (sql.md 6.4). */
function instanceOf(analysis: Analysis, typeName: string, env: Environment): Computed {
  const types = analysis
    .typeWithSubtypes(typeName)
    .map((id) => analysis.catalog.typeWithId(id).name);
  return { op: 'IsOfType', operand: wholeRow(analysis, env.row, env.scope.level), types };
}
