import { DatabaseError } from '#core/errors.ts';
import { type Value, type ValueMap, int64Min, double } from '#core/value.ts';
import type { Expression } from '../ast.ts';
import type { NamedValue } from '../statements.ts';
import type { Analysis } from './analysis.ts';

/**
 * The value of an expression in a schema statement. Schema changes are data that every node applies alike, so they hold values
 * and not expressions: literals, lists and maps of them, and script variables.
 *
 * @throws DatabaseError `IllegalArgument` for anything that is computed
 */
export function constantOf(analysis: Analysis, node: Expression, what: string): Value {
  switch (node.kind) {
    case 'literal':
    case 'rid':
      return node.value;
    case 'constants':
      return node.values;
    case 'paren':
      return constantOf(analysis, node.inner, what);
    case 'list':
      return node.items.map((item) => constantOf(analysis, item, what));
    case 'map':
      return new Map(
        node.entries.map((entry) => [entry.key, constantOf(analysis, entry.value, what)]),
      );
    case 'unary':
      return signed(node.sign, constantOf(analysis, node.operand, what), what);
    case 'name':
      if (node.name.startsWith('$') && !node.isQuoted)
        return analysis.variables.get(node.name.slice(1)) ?? null;
      break;
    default:
      break;
  }
  throw new DatabaseError(
    'IllegalArgument',
    `${what} must be a literal value, not '${analysis.text.slice(node.at, node.end)}'`,
  );
}

function signed(sign: '+' | '-', value: Value, what: string): Value {
  if (typeof value === 'number') {
    if (sign === '+') return value;
    return Number.isInteger(value) ? 0 - value : -value;
  }
  if (typeof value === 'bigint' && value !== int64Min) return sign === '-' ? -value : value;
  if (typeof value === 'object' && value !== null && 'number' in value)
    return sign === '-' ? double(-value.number) : value;
  throw new DatabaseError('IllegalArgument', `${what} must be a number behind '${sign}'`);
}

/** `k = v, ...` as a map. */
export function constantMap(
  analysis: Analysis,
  entries: readonly NamedValue[],
  what: string,
): ValueMap {
  return new Map(
    entries.map((entry) => [
      entry.name,
      constantOf(analysis, entry.value, `${what} ${entry.name}`),
    ]),
  );
}
