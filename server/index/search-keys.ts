import type { IndexDefinition } from '#catalog/catalog.ts';
import { GeoKeys } from './geo/geo-keys.ts';
import type { SearchKeys } from './key-port.ts';
import { SparseKeys } from './sparse/sparse-keys.ts';
import { TextKeys } from './text/text-keys.ts';
import { VectorKeys } from './vector/vector-keys.ts';

/** undefined for ordered kinds. */
export function searchKeysFor(definition: IndexDefinition): SearchKeys | undefined {
  switch (definition.kind) {
    case 'LSM_TREE':
    case 'HASH':
      return undefined;
    case 'FULL_TEXT':
      return new TextKeys(definition);
    case 'LSM_VECTOR':
      return new VectorKeys(definition);
    case 'LSM_SPARSE_VECTOR':
      return new SparseKeys(definition);
    case 'GEOSPATIAL':
      return new GeoKeys(definition);
  }
}
