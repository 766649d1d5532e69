import { unreachable } from '#core/assert.ts';
import type { AppliedChange, ChangeContext } from './applied-change.ts';
import { alterType } from './alter-type.ts';
import type { CatalogValue } from './catalog-value.ts';
import { createBucket, dropBucket } from './change-bucket.ts';
import { createIndex, dropAllIndexes, dropIndex } from './change-index.ts';
import { alterProperty, createProperty, dropProperty } from './change-property.ts';
import { createType, dropType } from './change-type.ts';
import type { SchemaChange } from './changes.ts';

/**
 * The catalog after a schema statement, its result rows, and what it does to records. Pure: the same arguments give the
 * same answer on every node.
 * @throws DatabaseError `Schema`, `SchemaLimit`, `IllegalArgument`, `CommandExecution`, `NotSupported` (sql.md 13)
 */
export function applyChange(
  catalog: CatalogValue,
  change: SchemaChange,
  context: ChangeContext,
): AppliedChange {
  switch (change.kind) {
    case 'create-type':
      return createType(catalog, change, context);
    case 'alter-type':
      return alterType(catalog, change, context);
    case 'drop-type':
      return dropType(catalog, change, context);
    case 'create-property':
      return createProperty(catalog, change, context);
    case 'alter-property':
      return alterProperty(catalog, change, context);
    case 'drop-property':
      return dropProperty(catalog, change);
    case 'create-bucket':
      return createBucket(catalog, change);
    case 'drop-bucket':
      return dropBucket(catalog, change);
    case 'create-index':
      return createIndex(catalog, change, context);
    case 'drop-index':
      return dropIndex(catalog, change);
    case 'drop-all-indexes':
      return dropAllIndexes(catalog);
    default:
      return unreachable(change);
  }
}
