import type { Catalog, IndexComponent, IndexDefinition } from '#catalog/catalog.ts';
import type { IndexId, TypeId } from '#core/value/rid.ts';

export function component(property: string, more: Partial<IndexComponent> = {}): IndexComponent {
  return { property, by: 'value', caseInsensitive: false, ...more };
}

export function definition(
  id: number,
  components: readonly IndexComponent[],
  more: Partial<IndexDefinition> = {},
): IndexDefinition {
  return {
    id: id as IndexId,
    name: `index ${id}`,
    type: 1 as TypeId,
    kind: 'LSM_TREE',
    unique: false,
    components,
    nullStrategy: 'SKIP',
    metadata: new Map(),
    state: 'READY',
    ...more,
  };
}

/** Only what the maintainer asks for: every type has all of these indexes. */
export function catalogOf(indexes: readonly IndexDefinition[]): Catalog {
  return {
    indexesOn: () => indexes,
    indexes: () => indexes,
    windowsOn: () => undefined,
  } as unknown as Catalog;
}
