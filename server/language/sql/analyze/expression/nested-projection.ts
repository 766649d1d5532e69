import type {
  Expression as Computed,
  NestedItem as ComputedItem,
} from '#query/algebra/expression.ts';
import type { AllProperties, NestedItem, NestedProjection } from '../../ast.ts';
import { columnName } from '../../print.ts';
import type { Analysis, Environment } from '../analysis.ts';
import { elementEnvironment, elementScope } from '../element.ts';

/** `x:{...}` and `x.*` (sql.md 7.5). */
export function analyzeNested(
  analysis: Analysis,
  node: NestedProjection | AllProperties,
  env: Environment,
): Computed {
  const of = analysis.expression(node.of, env);
  const items = node.kind === 'nested' ? node.items : allItems;
  return projectValue(analysis, of, items, env);
}

const allItems: readonly NestedItem[] = [{ kind: 'all', nested: undefined }];

/** `of:{items}` for a value that is computed already. */
export function projectValue(
  analysis: Analysis,
  of: Computed,
  items: readonly NestedItem[],
  env: Environment,
): Computed {
  const { scope, element } = elementScope(analysis, env);
  const inside = elementEnvironment(scope);
  return {
    op: 'NestedProjection',
    of,
    element,
    items: inOrder(items).map((item) => analyzeItem(analysis, item, inside)),
  };
}

/**
 * Exclusions act on what `*` brought, wherever they stand: they are put behind the last `*`, and a `*` before them when there is
 * none and nothing is included.
 */
function inOrder(items: readonly NestedItem[]): readonly NestedItem[] {
  const exclusions = items.filter(isExclusion);
  if (exclusions.length === 0) return items;
  const others = items.filter((item) => !isExclusion(item));
  if (others.length === 0) return [...allItems, ...exclusions];
  const lastAll = others.findLastIndex((item) => item.kind === 'all');
  return [...others.slice(0, lastAll + 1), ...exclusions, ...others.slice(lastAll + 1)];
}

function isExclusion(item: NestedItem): boolean {
  return item.kind === 'exclude' || item.kind === 'excludePrefix';
}

function analyzeItem(analysis: Analysis, item: NestedItem, env: Environment): ComputedItem {
  switch (item.kind) {
    case 'all': {
      if (item.nested === undefined) return { kind: 'all' };
      const element = analysis.expression({ kind: 'this', at: 0, end: 0 }, env);
      return { kind: 'merge', value: projectValue(analysis, element, item.nested, env) };
    }
    case 'include':
      return {
        kind: 'include',
        name: item.alias ?? columnName(item.value, analysis.text),
        value: analysis.expression(item.value, env),
      };
    default:
      return item;
  }
}
