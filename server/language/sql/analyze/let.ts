import type { Expression as Computed } from '#query/algebra/expression.ts';
import { levelBeforeRows } from '#query/binder/dependencies.ts';
import type { QueryScope } from '#query/binder/scope.ts';
import { currentRecordFunctions } from '#query/functions/graph/graph.ts';
import type { Expression } from '../ast.ts';
import type { LetItem } from '../statements.ts';
import { type Analysis, rowEnvironment } from './analysis.ts';

/**
 * LET (sql.md 7.6). Items that do not depend on the row are computed once, before the source, which may use them; the others
 * once per row, before WHERE.
 *
 * @returns the items that are left for `analyzeRowLets`, once the row is known
 */
export function analyzeEarlyLets(
  analysis: Analysis,
  items: readonly LetItem[],
  scope: QueryScope,
): readonly LetItem[] {
  const late: LetItem[] = [];
  const lateNames = new Set<string>(['$parent', '$current']);
  for (const item of items) {
    if (mayDependOnRow(item.value, lateNames)) {
      late.push(item);
      lateNames.add(`$${item.name}`);
    } else {
      bind(analysis, item, scope);
    }
  }
  return late;
}

export function analyzeRowLets(
  analysis: Analysis,
  items: readonly LetItem[],
  scope: QueryScope,
): void {
  for (const item of items) bind(analysis, item, scope);
}

function bind(analysis: Analysis, item: LetItem, scope: QueryScope): void {
  const { result, level } = analysis.dependencies.measure(scope.level + 1, () =>
    analysis.expression(item.value, rowEnvironment(scope)),
  );
  let value: Computed = result;
  if (result.op !== 'Slot' && result.op !== 'Constant') {
    const slot = analysis.slots.next();
    const columns = [{ slot, value: result }];
    if (level === scope.level) scope.stage((input) => ({ op: 'Project', input, columns }));
    else scope.beforeRows((input) => ({ op: 'Project', input, columns }));
    value = { op: 'Slot', slot };
  }
  // Wherever the value is used, it must not be taken out of this query.
  const availableFrom = Math.max(level, levelBeforeRows(scope.level));
  scope.bindings.set(item.name, { kind: 'value', value, level: availableFrom });
}

/**
 * A quick look at the syntax, before the row is known: true when the value may depend on it. Names inside a statement in
 * parentheses are columns of its own rows, so there only variables count.
 */
function mayDependOnRow(value: Expression, lateNames: ReadonlySet<string>): boolean {
  return scan(value, false, lateNames);
}

function scan(node: unknown, isInside: boolean, lateNames: ReadonlySet<string>): boolean {
  if (typeof node !== 'object' || node === null) return false;
  if (Array.isArray(node)) return node.some((part) => scan(part, isInside, lateNames));
  const { kind } = node as { readonly kind?: unknown };
  if (kind === 'name') {
    const { name } = node as Extract<Expression, { kind: 'name' }>;
    return lateNames.has(name) || (!isInside && !name.startsWith('$'));
  }
  if (!isInside && isRowNode(node as Expression)) return true;
  const isStatement = isInside || kind === 'subQuery';
  if (node instanceof Map)
    return [...node.values()].some((part) => scan(part, isStatement, lateNames));
  return Object.values(node).some((part) => scan(part, isStatement, lateNames));
}

function isRowNode(node: Expression): boolean {
  switch (node.kind) {
    case 'attribute':
    case 'this':
    case 'instanceOf':
      return true;
    case 'call':
      return node.isStar || currentRecordFunctions.has(node.name.toLowerCase());
    default:
      return false;
  }
}
