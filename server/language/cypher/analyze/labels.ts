import type { Catalog, TypeDefinition } from '#catalog/catalog.ts';
import { noLabelType } from '#catalog/labels.ts';
import type { TypeId } from '#core/value/rid.ts';
import type { Expression } from '#query/algebra/expression.ts';
import type { LabelExpression as LabelExpr } from '../ast.ts';
import { notSupported } from '../failures.ts';

/** Label expressions: as lists of types where a pattern is matched, as conditions elsewhere (cypher.md 4.1). */

/** All types of the kind whose labels satisfy the expression; undefined: any. */
export function typesOfLabels(
  labels: LabelExpr | undefined,
  kind: 'vertex' | 'edge',
  catalog: Catalog,
): readonly TypeId[] | undefined {
  if (labels === undefined || (labels.kind === 'any' && kind === 'edge')) return undefined;
  return catalog
    .types()
    .filter((type) => type.kind === kind && satisfies(type, labels, catalog))
    .map((type) => type.id);
}

function satisfies(type: TypeDefinition, labels: LabelExpr, catalog: Catalog): boolean {
  switch (labels.kind) {
    case 'computed':
      throw notSupported('computed labels');
    case 'any':
      return type.name !== noLabelType;
    case 'label': {
      if (labels.name === noLabelType) return false;
      const named = catalog.typeNamed(labels.name);
      return named !== undefined && catalog.isSubtype(type.id, named.id);
    }
    case 'not':
      return !satisfies(type, labels.operand, catalog);
    case 'and':
      return labels.operands.every((operand) => satisfies(type, operand, catalog));
    case 'or':
      return labels.operands.some((operand) => satisfies(type, operand, catalog));
  }
}

/** `of:A|B` as a condition; null of null. */
export function labelCondition(of: Expression, labels: LabelExpr): Expression {
  switch (labels.kind) {
    case 'computed':
      throw notSupported('computed labels');
    case 'any':
      return { op: 'Not', operand: isOfTypes(of, [noLabelType]) };
    case 'label':
      // No query can name the type of nodes without a label.
      return isOfTypes(of, labels.name === noLabelType ? [] : [labels.name]);
    case 'not':
      return { op: 'Not', operand: labelCondition(of, labels.operand) };
    default:
      return {
        op: labels.kind === 'and' ? 'And' : 'Or',
        operands: labels.operands.map((operand) => labelCondition(of, operand)),
      };
  }
}

function isOfTypes(operand: Expression, types: readonly string[]): Expression {
  return { op: 'IsOfType', operand, types, dialect: 'cypher' };
}

/**
 * `A:B` as the names it consists of; undefined when it is not only that.
 * @throws DatabaseError `NotSupported` for names that are computed
 */
export function plainLabels(labels: LabelExpr | undefined): readonly string[] | undefined {
  if (labels === undefined) return [];
  if (labels.kind === 'label') return [labels.name];
  if (labels.kind === 'computed') throw notSupported('computed labels');
  if (labels.kind !== 'and') return undefined;
  const names = labels.operands.map(plainLabels);
  return names.some((part) => part === undefined) ? undefined : names.flatMap((part) => part ?? []);
}
