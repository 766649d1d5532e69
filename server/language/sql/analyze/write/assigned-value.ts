import { requireName } from '#catalog/name-rules.ts';
import { isMap } from '#core/value/value.ts';
import type { Expression as Computed } from '#query/algebra/expression.ts';
import type { Expression } from '../../ast.ts';
import type { Analysis, Environment } from '../analysis.ts';
import { withoutParentheses } from '../expression/condition.ts';

/** Right sides of assignments, and what may stand left of them. */

/** In an assignment a sub-query is the list of its rows, each unwrapped (sql.md 5.6). */
export function assignedValue(analysis: Analysis, node: Expression, env: Environment): Computed {
  const value = analysis.expression(node, env);
  return withoutParentheses(node).kind === 'subQuery' ? { op: 'UnwrapRows', rows: value } : value;
}

/** What CONTENT and MERGE assign: entries of a map are assignments, too. */
export function assignedContent(analysis: Analysis, node: Expression, env: Environment): Computed {
  if (node.kind === 'list')
    return { op: 'List', items: node.items.map((item) => assignedContent(analysis, item, env)) };
  if (node.kind === 'literal' && isMap(node.value) && node.longKeys !== undefined)
    return {
      op: 'Map',
      entries: [...node.value].map(([key, value]) => ({
        key,
        value: { op: 'Constant', value, width: node.longKeys?.has(key) ? 'LONG' : undefined },
      })),
    };
  if (node.kind !== 'map') return analysis.expression(node, env);
  return {
    op: 'Map',
    entries: node.entries.map(({ key, value }) => ({
      key,
      value: assignedValue(analysis, value, env),
    })),
  };
}

/** System attributes cannot be assigned (sql.md 1.6), and names keep the rules of limits.md row 22. */
export function requireAssignable(analysis: Analysis, property: string, at: number): void {
  if (property.startsWith('@'))
    throw analysis.fault(at, `system attribute '${property}' cannot be assigned`);
  requireName('property', property);
}
