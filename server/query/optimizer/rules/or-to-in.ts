import { isList, type Value } from '#core/value.ts';
import type { Expression } from '../../algebra/expression.ts';
import { rewriteExpression } from '../../algebra/walk.ts';
import type { OptimizerRule } from '../rule.ts';

/** Below this the branches are compared, or looked up, as quickly one by one. */
const branchCountMin = 16;

/** Many equalities of one property with numbers or texts are one question: is it in the list of them? */
export const orToIn: OptimizerRule = {
  name: 'or-to-in',
  needs: ['Filter'],
  why: 'an OR of 3,000 equalities over 50,000 records took 20 seconds, one look into a set per record takes none',
  apply(plan) {
    if (plan.op !== 'Filter') return undefined;
    const predicate = rewriteExpression(plan.predicate, (part) =>
      part.op === 'Or' && part.operands.length >= branchCountMin
        ? gathered(part, part.operands)
        : part,
    );
    return predicate === plan.predicate ? undefined : { ...plan, predicate };
  },
};

type Property = Expression & { readonly op: 'Property' };

interface Equality {
  readonly property: Property;
  readonly value: Value;
}

/** The list stands where the first of its branches stood. */
function gathered(or: Expression, branches: readonly Expression[]): Expression {
  const lists = new Map<string, Value[]>();
  const operands: Expression[] = [];
  for (const operand of branches) {
    const equality = equalityOf(operand);
    if (equality === undefined) {
      operands.push(operand);
      continue;
    }
    const { property, value } = equality;
    const slot = property.of.op === 'Slot' ? property.of.slot : -1;
    const key = `${slot} ${typeof value} ${property.name}`;
    const known = lists.get(key);
    if (known !== undefined) {
      known.push(value);
      continue;
    }
    const list: Value[] = [value];
    lists.set(key, list);
    operands.push({
      op: 'In',
      element: property,
      list: { op: 'Constant', value: list },
      dialect: 'sql',
    });
  }
  if (operands.length === branches.length) return or;
  const plain = operands.map(withoutShortList);
  return plain.length === 1 ? (plain[0] as Expression) : { op: 'Or', operands: plain };
}

/** A single value stays an equality. */
function withoutShortList(operand: Expression): Expression {
  if (operand.op !== 'In' || operand.list.op !== 'Constant') return operand;
  const { value } = operand.list;
  if (!isList(value) || value.length !== 1) return operand;
  const right: Expression = { op: 'Constant', value: value[0] as Value };
  return { op: 'Compare', operator: '=', left: operand.element, right, dialect: 'sql' };
}

function equalityOf(operand: Expression): Equality | undefined {
  if (operand.op !== 'Compare' || operand.operator !== '=' || operand.dialect !== 'sql')
    return undefined;
  const { left, right } = operand;
  if (left.op !== 'Property' || left.of.op !== 'Slot' || right.op !== 'Constant') return undefined;
  const { value } = right;
  return typeof value === 'number' || typeof value === 'string'
    ? { property: left, value }
    : undefined;
}
