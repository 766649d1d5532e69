import type { Expression as Computed } from '#query/algebra/expression.ts';
import type { Case, Chain, ElementsThat, Expression, ListComprehension, Slice } from '../../ast.ts';
import { overGroup } from './aggregation.ts';
import { type Analysis, type Environment, nullConstant } from '../analysis.ts';
import { analyzeCall, analyzeMethod } from './call.ts';
import { analyzeCondition, listOperand, operand } from './condition.ts';
import { elementEnvironment, elementScope } from '../element.ts';
import { analyzeName, analyzeProperty, memberOfRow, wholeRow } from '../names.ts';
import { analyzeNested } from './nested-projection.ts';
import { rowsOf } from '../sub-query.ts';

/** Syntax to algebra, for values (sql.md 5). Conditions are in condition.ts. */
export function analyzeExpression(
  analysis: Analysis,
  node: Expression,
  env: Environment,
): Computed {
  if (env.aggregation !== undefined) {
    const computed = overGroup(analysis, node, env, env.aggregation);
    if (computed !== undefined) return computed;
  }
  switch (node.kind) {
    case 'literal':
      return { op: 'Constant', value: node.value, width: node.width };
    case 'rid':
      return { op: 'Constant', value: node.value };
    case 'constants':
      return { op: 'Constant', value: node.values };
    case 'ridOf':
      return {
        op: 'Call',
        function: '.asRID',
        arguments: [analysis.expression(node.value, env)],
      };
    case 'parameter':
      return analysis.parameter(node);
    case 'name':
      return analyzeName(analysis, node, env);
    case 'attribute':
      return memberOfRow(analysis, env.row, env.scope.level, node.attribute);
    case 'this':
      return wholeRow(analysis, env.row, env.scope.level);
    case 'call':
      return analyzeCall(analysis, node, env);
    case 'method':
      return analyzeMethod(analysis, node, env);
    case 'property':
      return analyzeProperty(analysis, node, env);
    case 'paren':
      return analysis.expression(node.inner, env);
    case 'subQuery':
      return rowsOf(analysis, node.statement, env);
    default:
      return analyzeComposite(analysis, node, env);
  }
}

type SimpleKind =
  | 'literal'
  | 'rid'
  | 'constants'
  | 'ridOf'
  | 'parameter'
  | 'name'
  | 'attribute'
  | 'this'
  | 'call'
  | 'method'
  | 'property'
  | 'paren'
  | 'subQuery';

function analyzeComposite(
  analysis: Analysis,
  node: Exclude<Expression, { readonly kind: SimpleKind }>,
  env: Environment,
): Computed {
  switch (node.kind) {
    case 'unary': {
      const inner = operand(analysis, node.operand, env);
      return node.sign === '-' ? { op: 'Negate', operand: inner } : inner;
    }
    case 'chain':
      return analyzeChain(analysis, node, env);
    case 'concatenate':
      return { op: 'Concatenate', operands: operands(analysis, node.operands, env) };
    case 'coalesce':
      return { op: 'Coalesce', operands: operands(analysis, node.operands, env) };
    case 'allProperties':
    case 'nested':
      return analyzeNested(analysis, node, env);
    case 'element':
      return {
        op: 'Element',
        of: analysis.expression(node.of, env),
        keys: operands(analysis, node.keys, env),
        dialect: 'sql',
      };
    case 'slice':
      return analyzeSlice(analysis, node, env);
    case 'elementsWhere': {
      const { scope, element } = elementScope(analysis, env);
      return {
        op: 'Comprehension',
        list: analysis.expression(node.of, env),
        element,
        predicate: analysis.expression(node.condition, elementEnvironment(scope)),
        dialect: 'sql',
      };
    }
    case 'elementsThat':
      return analyzeElementsThat(analysis, node, env);
    case 'list':
      return {
        op: 'List',
        items: node.items.map((item) => analysis.expression(item, env)),
      };
    case 'map':
      return {
        op: 'Map',
        entries: node.entries.map((entry) => ({
          key: entry.key,
          value: analysis.expression(entry.value, env),
        })),
      };
    case 'comprehension':
      return analyzeComprehension(analysis, node, env);
    case 'case':
      return analyzeCase(analysis, node, env);
    default:
      return analyzeCondition(analysis, node, env);
  }
}

/** Operands of operators that need one value each: sub-queries are unwrapped (sql.md 5.6, house decision 48). */
function operands(
  analysis: Analysis,
  nodes: readonly Expression[],
  env: Environment,
): readonly Computed[] {
  return nodes.map((node) => operand(analysis, node, env));
}

/** Left-deep, since the operators of one level are evaluated from left to right. */
function analyzeChain(analysis: Analysis, node: Chain, env: Environment): Computed {
  const values = operands(analysis, node.operands, env);
  let left = values[0] ?? nullConstant;
  for (const [at, operator] of node.signs.entries()) {
    const right = values[at + 1] ?? nullConstant;
    left = { op: 'Arithmetic', operator, left, right, dialect: 'sql' };
  }
  return left;
}

function analyzeSlice(analysis: Analysis, node: Slice, env: Environment): Computed {
  return {
    op: 'Slice',
    of: analysis.expression(node.of, env),
    low: node.low && operand(analysis, node.low, env),
    high: node.high && operand(analysis, node.high, env),
    inclusive: node.isInclusive,
  };
}

/** `x[> 5]`: what is compared with is evaluated outside the list. */
function analyzeElementsThat(analysis: Analysis, node: ElementsThat, env: Environment): Computed {
  const element = analysis.slots.next();
  const left: Computed = { op: 'Slot', slot: element };
  const list = analysis.expression(node.of, env);
  return {
    op: 'Comprehension',
    list,
    element,
    predicate: elementTest(analysis, node, left, env),
    dialect: 'sql',
  };
}

function elementTest(
  analysis: Analysis,
  node: ElementsThat,
  left: Computed,
  env: Environment,
): Computed {
  switch (node.test) {
    case 'in':
    case 'not in': {
      const list = listOperand(analysis, node.value, env);
      const isBracketed = node.value.kind === 'paren';
      const test: Computed = { op: 'In', element: left, list, dialect: 'sql', isBracketed };
      return node.test === 'in' ? test : { op: 'Not', operand: test };
    }
    case 'like':
    case 'ilike': {
      const pattern = operand(analysis, node.value, env);
      return { op: 'Like', text: left, pattern, ignoreCase: node.test === 'ilike' };
    }
    default: {
      const right = operand(analysis, node.value, env);
      return { op: 'Compare', operator: node.test, left, right, dialect: 'sql' };
    }
  }
}

function analyzeComprehension(
  analysis: Analysis,
  node: ListComprehension,
  env: Environment,
): Computed {
  const list = listOperand(analysis, node.list, env);
  const { scope, element } = elementScope(analysis, env);
  const inside: Environment = {
    ...elementEnvironment(scope),
    row: env.row,
    names: new Map([...(env.names ?? []), [node.variable, { op: 'Slot', slot: element }]]),
  };
  return {
    op: 'Comprehension',
    list,
    element,
    ...(node.condition && { predicate: analysis.expression(node.condition, inside) }),
    result: analysis.expression(node.result, inside),
    dialect: 'sql',
  };
}

function analyzeCase(analysis: Analysis, node: Case, env: Environment): Computed {
  const subject = node.subject && operand(analysis, node.subject, env);
  const lazy: Environment = { ...env, isLazy: true };
  return {
    op: 'Case',
    branches: node.branches.map((branch, at) => {
      const when = operand(analysis, branch.when, at === 0 ? env : lazy);
      return {
        when: subject === undefined ? when : { op: 'StrictEquals', left: subject, right: when },
        // biome-ignore lint/suspicious/noThenProperty: a branch of CASE is never awaited
        then: analysis.expression(branch.result, lazy),
      };
    }),
    otherwise: node.otherwise && analysis.expression(node.otherwise, lazy),
  };
}
