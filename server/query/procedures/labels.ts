import type { Catalog, TypeDefinition } from '#catalog/catalog.ts';
import { isComposite, noLabelType } from '#catalog/labels.ts';

/** Types as labels and relationship types (cypher.md 1.1). */

export function labelTypes(catalog: Catalog): readonly TypeDefinition[] {
  return catalog
    .types()
    .filter((type) => type.kind === 'vertex' && type.isDropped !== true)
    .filter((type) => type.name !== noLabelType && !isComposite(catalog, type))
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
