import { unreachable } from '#core/assert.ts';
import type { AppliedChange, ChangeContext } from './applied-change.ts';
import { alterType } from './alter-type.ts';
import type { CatalogValue } from '../catalog-value.ts';
import { createBucket, dropBucket } from './bucket.ts';
import * as definition from './definition.ts';
import { createIndex, dropAllIndexes, dropIndex, rebuildIndex } from './index-definition.ts';
import { alterProperty, createProperty, dropProperty } from './property.ts';
import { createType, dropType } from './type.ts';
import { alterView, createView, dropView, refuseOnViews } from './view.ts';
import type { SchemaChange } from './changes.ts';
import { openWindow } from './window.ts';

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
  refuseOnViews(catalog, change);
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
    case 'open-window':
      return openWindow(catalog, change);
    case 'create-index':
      return createIndex(catalog, change, context);
    case 'drop-index':
      return dropIndex(catalog, change);
    case 'drop-all-indexes':
      return dropAllIndexes(catalog);
    case 'rebuild-index':
      return rebuildIndex(catalog, change);
    case 'create-trigger':
      return definition.createTrigger(catalog, change);
    case 'drop-trigger':
      return definition.dropTrigger(catalog, change);
    case 'define-function':
      return definition.defineFunction(catalog, change);
    case 'delete-function':
      return definition.deleteFunction(catalog, change);
    case 'create-view':
      return createView(catalog, change, context);
    case 'alter-view':
      return alterView(catalog, change);
    case 'drop-view':
      return dropView(catalog, change, context);
    case 'create-graph-view':
      return definition.createGraphView(catalog, change);
    case 'alter-graph-view':
      return definition.alterGraphView(catalog, change);
    case 'rebuild-graph-view':
      return definition.rebuildGraphView(catalog, change);
    case 'drop-graph-view':
      return definition.dropGraphView(catalog, change);
    default:
      return unreachable(change);
  }
}
