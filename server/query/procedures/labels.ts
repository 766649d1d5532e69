import type { Catalog, TypeDefinition } from '#catalog/catalog.ts';

/** Types as labels and relationship types (cypher.md 1.1). */

/** The type of nodes without labels, which no query can name. */
const noLabelType = '~NO_LABEL~';

/** Named by its supertypes, whatever signs their names hold. */
export function isComposite(type: TypeDefinition, catalog: Catalog): boolean {
  if (type.supertypes.length < 2) return false;
  const names = type.supertypes.map((id) => catalog.typeWithId(id).name);
  return names.sort().join('~') === type.name;
}

export function labelTypes(catalog: Catalog): readonly TypeDefinition[] {
  return catalog
    .types()
    .filter((type) => type.kind === 'vertex' && type.isDropped !== true)
    .filter((type) => type.name !== noLabelType && !isComposite(type, catalog))
    .sort(byName);
}

export function relationshipTypes(catalog: Catalog): readonly TypeDefinition[] {
  return catalog
    .types()
    .filter((type) => type.kind === 'edge' && type.isDropped !== true)
    .sort(byName);
}

function byName(a: TypeDefinition, b: TypeDefinition): number {
  return a.name < b.name ? -1 : 1;
}
