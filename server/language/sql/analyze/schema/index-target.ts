import { didYouMean } from '#catalog/name-rules.ts';
import type { IndexDefinition } from '#catalog/catalog.ts';
import { isShown } from '#catalog/change/index-definition.ts';
import { DatabaseError } from '#core/errors.ts';
import type { Expression as Computed } from '#query/algebra/expression.ts';
import type { IndexBounds } from '#query/algebra/plan.ts';
import type { Scope } from '#query/binder/scope.ts';
import type { Comparison, Expression } from '../../ast.ts';
import { someExpression } from '../../syntax-walk.ts';
import { type Analysis, rowEnvironment } from '../analysis.ts';
import { withoutParentheses } from '../expression/condition.ts';

/** @throws DatabaseError `Schema` `Index with name '<n>' was not found` */
export function indexDefinition(analysis: Analysis, name: string): IndexDefinition {
  const found = analysis.catalog.indexNamed(name);
  if (found !== undefined && isShown(found)) return found;
  const help = didYouMean(
    name,
    analysis.catalog
      .indexes()
      .filter(isShown)
      .map((index) => index.name),
  );
  throw new DatabaseError(
    'Schema',
    `Index with name '${name}' was not found`,
    help === undefined ? {} : { help },
  );
}

/**
 * `FROM index:name` takes conditions on `key` and `rid` alone, and an index that is not ordered needs one on `key`
 * (sql.md 7.3).
 * @throws DatabaseError `Syntax`, `IllegalArgument`
 */
export function requireKeyCondition(
  analysis: Analysis,
  name: string,
  where: Expression | undefined,
): void {
  const definition = indexDefinition(analysis, name);
  let namesKey = false;
  if (where !== undefined) {
    someExpression(where, (part) => {
      if (part.kind !== 'name' || (!part.isQuoted && part.name.startsWith('$'))) return false;
      if (part.name === 'key') namesKey = true;
      else if (part.name !== 'rid')
        throw analysis.fault(
          part.at,
          `entries of an index have 'key' and 'rid', and no '${part.name}'`,
        );
      return false;
    });
  }
  if (namesKey || definition.kind === 'LSM_TREE') return;
  throw new DatabaseError(
    'IllegalArgument',
    `Index '${name}' is not ordered: its entries need a condition on 'key'`,
  );
}

/**
 * What the conditions on `key` say about the entries that can satisfy them, so that not all are read. The conditions are
 * checked on each entry all the same; undefined: nothing is said.
 */
export function boundsOfKey(
  analysis: Analysis,
  name: string,
  where: Expression | undefined,
  scope: Scope,
): IndexBounds | undefined {
  const definition = indexDefinition(analysis, name);
  const conditions = where?.kind === 'and' ? where.operands : where === undefined ? [] : [where];
  const compute = (node: Expression): Computed => analysis.expression(node, rowEnvironment(scope));
  for (const condition of conditions.map(withoutParentheses)) {
    const bounds = boundsOf(condition, definition, compute);
    if (bounds !== undefined) return bounds;
  }
  return undefined;
}

function boundsOf(
  condition: Expression,
  { components }: IndexDefinition,
  compute: (node: Expression) => Computed,
): IndexBounds | undefined {
  const isSingle = components.length === 1;
  if (condition.kind === 'compare' && isKey(condition.left) && isFree(condition.right))
    return comparisonBounds(condition, components.length, compute);
  if (!isSingle) return undefined;
  if (condition.kind === 'between' && !condition.isNegated && isKey(condition.operand)) {
    if (!isFree(condition.low) || !isFree(condition.high)) return undefined;
    return {
      equals: [],
      low: { value: compute(condition.low), inclusive: true },
      high: { value: compute(condition.high), inclusive: true },
    };
  }
  if (condition.kind === 'in' && !condition.isNegated && isKey(condition.element)) {
    if (!isFree(condition.list)) return undefined;
    return { equals: [{ kind: 'in', value: compute(condition.list) }] };
  }
  return undefined;
}

function comparisonBounds(
  { sign, right }: Comparison,
  componentCount: number,
  compute: (node: Expression) => Computed,
): IndexBounds | undefined {
  const given = withoutParentheses(right);
  const isList = given.kind === 'list' || given.kind === 'constants';
  const values =
    given.kind === 'constants'
      ? given.values.map((value): Computed => ({ op: 'Constant', value }))
      : (given.kind === 'list' ? given.items : [given]).map(compute);
  if (values.length !== componentCount) return undefined;
  if (sign === '=') return { equals: values.map((value) => ({ kind: 'equals', value })) };
  const [value] = values;
  if (value === undefined || componentCount > 1 || isList) return undefined;
  if (sign === '>' || sign === '>=')
    return { equals: [], low: { value, inclusive: sign === '>=' } };
  if (sign === '<' || sign === '<=')
    return { equals: [], high: { value, inclusive: sign === '<=' } };
  return undefined;
}

function isKey(node: Expression): boolean {
  const inner = withoutParentheses(node);
  return inner.kind === 'name' && inner.name === 'key';
}

/** Looks neither at the entry nor at variables, which may be bound later. */
function isFree(node: Expression): boolean {
  return !someExpression(node, (part) => part.kind === 'name' || part.kind === 'subQuery');
}
