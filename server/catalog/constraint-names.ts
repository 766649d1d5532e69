import type { Catalog, PropertyDefinition } from './catalog.ts';

/** Where a property keeps the names of the constraints on it that openCypher made (cypher.md 12.1). */
export const constraintKeys = {
  /** Must exist, for a key: the name of its unique index. */
  key: 'constraint.key',
  existence: 'constraint.existence',
  type: 'constraint.type',
} as const;

/** The name of a constraint on a property; a property that SQL made mandatory has one, too. Empty: there is none. */
export function constraintName(
  catalog: Catalog,
  property: PropertyDefinition,
  kind: 'existence' | 'type',
): string {
  const given = property.custom.get(constraintKeys[kind]);
  if (typeof given === 'string') return given;
  const type = catalog.typeWithId(property.declaredBy).name;
  if (kind === 'type') return property.type === 'ANY' ? '' : `${type}.${property.name} IS TYPED`;
  if (!property.mandatory || property.custom.has(constraintKeys.key)) return '';
  return `${type}.${property.name} NOT NULL`;
}
