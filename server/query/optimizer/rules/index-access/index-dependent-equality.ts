import type { IndexComponent } from '#catalog/catalog.ts';
import { isList } from '#core/value/value.ts';
import type { Expression } from '../../../algebra/expression.ts';
import type { LogicalPlan } from '../../../algebra/plan.ts';
import { mapExpression } from '../../../algebra/walk.ts';
import { isComponent, usableIndexes } from '../../index-candidates.ts';
import type { OptimizerContext, OptimizerRule } from '../../rule.ts';

/**
 * Not an optimization but a rule of the language (sql.md 6.3): `prop = 'x'` ignores letter case when the property has an index
 * with COLLATE CI, and on a LIST property with an index BY ITEM it asks for an element. Written out here, so that the rows
 * are the same whether the index is then used or not.
 */
export const indexDependentEquality: OptimizerRule = {
  name: 'index-dependent-equality',
  needs: ['Filter'],
  why: 'equality on COLLATE CI and BY ITEM properties means what the index means',
  apply(plan, context) {
    if (plan.op !== 'Filter') return undefined;
    const scan = scanBelow(plan.input);
    if (scan === undefined) return undefined;
    const components: IndexComponent[] = [];
    for (const index of usableIndexes(scan.types, context)) {
      const [component] = index.components;
      if (component === undefined || index.components.length > 1) continue;
      if (component.caseInsensitive || component.by === 'item') components.push(component);
    }
    if (components.length === 0) return undefined;
    const predicate = mapExpression(plan.predicate, (part) =>
      rewritten(part, components, scan.as, scan.types, context),
    );
    return predicate === plan.predicate ? undefined : { ...plan, predicate };
  },
};

function scanBelow(plan: LogicalPlan): (LogicalPlan & { readonly op: 'TypeScan' }) | undefined {
  let current = plan;
  while (current.op === 'Filter') current = current.input;
  return current.op === 'TypeScan' ? current : undefined;
}

function rewritten(
  part: Expression,
  components: readonly IndexComponent[],
  record: number,
  types: Parameters<typeof usableIndexes>[0],
  context: OptimizerContext,
): Expression {
  // A rule of SQL only.
  if ('dialect' in part && part.dialect !== 'sql') return part;
  if (part.op === 'In') return rewrittenIn(part, components, record);
  if (part.op !== 'Compare' || (part.operator !== '=' && part.operator !== '<>')) return part;
  for (const component of components) {
    const plain: IndexComponent = { ...component, by: 'value' };
    const isLeft = isComponent(part.left, plain, record);
    if (!isLeft && !isComponent(part.right, plain, record)) continue;
    if (component.by === 'item') {
      const [collection, value] = isLeft ? [part.left, part.right] : [part.right, part.left];
      return part.operator === '=' &&
        itemsOf(value) === undefined &&
        isDeclaredList(component, types, context)
        ? {
            op: 'Contains',
            kind: value.op === 'Constant' ? 'element' : 'item',
            collection,
            value,
          }
        : part;
    }
    if (!component.caseInsensitive) continue;
    return { ...part, left: lowered(part.left), right: lowered(part.right) };
  }
  return part;
}

/** Most elements of an IN that are looked up one by one. */
const elementCountMax = 100;

/** The elements of IN compare as `=` does (sql.md 6.4), so letter case is ignored there too. */
function rewrittenIn(
  part: Extract<Expression, { readonly op: 'In' }>,
  components: readonly IndexComponent[],
  record: number,
): Expression {
  const items = itemsOf(part.list);
  if (items === undefined || items.length === 0) return part;
  const { element, dialect } = part;
  const ignoresCase = components.some(
    (component) =>
      component.caseInsensitive && isComponent(element, { ...component, by: 'value' }, record),
  );
  if (!ignoresCase) return part;
  const left = lowered(element);
  const rights = items.map(lowered);
  if (rights.length > elementCountMax)
    return { ...part, element: left, list: { op: 'List', items: rights } };
  const operands = rights.map(
    (right): Expression => ({ op: 'Compare', operator: '=', left, right, dialect }),
  );
  return operands.length === 1 ? (operands[0] as Expression) : { op: 'Or', operands };
}

/** The elements of a list that is written out; undefined for anything else. */
function itemsOf(list: Expression): readonly Expression[] | undefined {
  if (list.op === 'List') return list.items;
  if (list.op !== 'Constant' || !isList(list.value)) return undefined;
  return list.value.map((value): Expression => ({ op: 'Constant', value }));
}

function isDeclaredList(
  component: IndexComponent,
  types: Parameters<typeof usableIndexes>[0],
  context: OptimizerContext,
): boolean {
  return types.every((type) => context.catalog.property(type, component.property)?.type === 'LIST');
}

/** Only text has letter case: a number stays what it is, so that its comparison stays what it is. */
function lowered(operand: Expression): Expression {
  return { op: 'Call', function: '.toLowerCase', arguments: [operand] };
}
