import { madeOnce, mapLong, mapLongOver } from '#core/replayed-loops.ts';
import type { Value } from '#core/value/value.ts';
import type { Dialect, Expression, Slot } from '../../../algebra/expression.ts';
import { someLookedThrough } from '../../../algebra/look-through.ts';
import { mapExpression } from '../../../algebra/walk.ts';
import type { OptimizerRule } from '../../rule.ts';

/** Below this the branches are compared, or looked up, as quickly one by one. */
const branchCountMin = 16;

/**
 * Many equalities of one property with numbers or texts are one question: is it in the list of them? `a = 1 OR a = 2 ...` becomes
 * IN, `a <> 1 AND a <> 2 ...` becomes NOT IN: by De Morgan the same with nulls, too, as `<>` is the opposite of `=`, null for null.
 */
export const comparisonsToIn: OptimizerRule = {
  name: 'comparisons-to-in',
  needs: ['Filter'],
  why: 'an OR of 3,000 equalities over 50,000 records took 20 seconds, one look into a set per record takes none',
  apply(plan) {
    if (plan.op !== 'Filter') return undefined;
    // Looking costs a third of rewriting, and hardly a condition has one.
    if (!someLookedThrough(plan.predicate, isLongConnective)) return undefined;
    const predicate = mapExpression(plan.predicate, (part) =>
      isLongConnective(part) ? gathered(part) : part,
    );
    return predicate === plan.predicate ? undefined : { ...plan, predicate };
  },
};

function isLongConnective(part: Expression): part is Connective {
  return (part.op === 'Or' || part.op === 'And') && part.operands.length >= branchCountMin;
}

type Connective = Expression & { readonly op: 'Or' | 'And' };
type Property = Expression & { readonly op: 'Property' };

/** `property = value`, or that it is not. */
interface Equality {
  readonly property: Property;
  readonly slot: Slot;
  readonly dialect: Dialect;
  readonly value: Value;
}

/** A list stands where the first of its branches stood. */
function gathered(connective: Connective): Expression {
  const { made } = mapLongOver(
    connective.operands,
    (): Lists => new Map(),
    (operand, lists) => {
      const equality = equalityOf(operand, connective.op);
      return equality === undefined ? operand : listedWith(equality, operand, lists);
    },
  );
  const operands = madeOnce(() => made.filter((operand) => operand !== undefined), made.length);
  if (operands.length === connective.operands.length) return connective;
  const plain = mapLong(operands, (operand) =>
    operand.op === 'list' ? questionOf(operand, connective.op) : operand,
  );
  return plain.length === 1 ? (plain[0] as Expression) : { op: connective.op, operands: plain };
}

/** By slot and name of their property; no key is made of both, since there may be fifty thousand. */
type Lists = Map<Slot, Map<string, GatheredList[]>>;

/** Into its list. @returns what stands for the operand; undefined when a list before does */
function listedWith(
  equality: Equality,
  single: Expression,
  lists: Lists,
): GatheredList | undefined {
  const { property, slot, value, dialect } = equality;
  const ofSlot = listed(lists, slot, () => new Map<string, GatheredList[]>());
  const ofProperty = listed(ofSlot, property.name, () => []);
  const known = ofProperty.find((list) => isAlike(list, equality));
  if (known !== undefined) {
    known.values.push(value);
    return undefined;
  }
  const list: GatheredList = { op: 'list', single, property, values: [value], dialect };
  ofProperty.push(list);
  return list;
}

function listed<Key, List>(lists: Map<Key, List>, key: Key, make: () => List): List {
  const known = lists.get(key);
  if (known !== undefined) return known;
  const list = make();
  lists.set(key, list);
  return list;
}

/** Compared by the same rules with values of one kind. */
function isAlike({ values, dialect }: GatheredList, other: Equality): boolean {
  return dialect === other.dialect && typeof values[0] === typeof other.value;
}

interface GatheredList {
  readonly op: 'list';
  /** The first comparison, which stays as it was when no other one is like it. */
  readonly single: Expression;
  readonly property: Property;
  readonly values: Value[];
  readonly dialect: Dialect;
}

function questionOf(list: GatheredList, op: Connective['op']): Expression {
  if (list.values.length === 1) return list.single;
  const isIn: Expression = {
    op: 'In',
    element: list.property,
    list: { op: 'Constant', value: list.values },
    dialect: list.dialect,
  };
  return op === 'Or' ? isIn : { op: 'Not', operand: isIn };
}

/** A branch of OR that asks for equality, one of AND that asks for the opposite. */
function equalityOf(operand: Expression, op: Connective['op']): Equality | undefined {
  if (op === 'Or') return comparisonOf(operand, '=');
  return operand.op === 'Not' ? comparisonOf(operand.operand, '=') : comparisonOf(operand, '<>');
}

function comparisonOf(operand: Expression, operator: '=' | '<>'): Equality | undefined {
  if (operand.op !== 'Compare' || operand.operator !== operator) return undefined;
  const { left, right, dialect } = operand;
  if (left.op !== 'Property' || left.of.op !== 'Slot' || right.op !== 'Constant') return undefined;
  const { value } = right;
  return typeof value === 'number' || typeof value === 'string'
    ? { property: left, slot: left.of.slot, value, dialect }
    : undefined;
}
