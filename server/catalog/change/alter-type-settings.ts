import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import type { ItemResult } from '../item-result.ts';
import type { IndexDefinition, TypeDefinition } from '../catalog.ts';
import type { CatalogValue } from '../catalog-value.ts';
import { uniqueEdgeIndex } from './type.ts';
import type { AlterTypeItem } from './changes.ts';
import { didYouMean } from '../name-rules.ts';
import { type ChangeContext, nextCatalog, replaceType } from './applied-change.ts';

type Setting = Extract<AlterTypeItem, { kind: 'setting' }>;

/** The names that `WITH` of ALTER TYPE takes; `repartition = true` comes here when the records have been moved. */
export const alterTypeSettings = ['repartition', 'lightweight', 'unique'] as const;

/**
 * `WITH lightweight | unique = bool` of ALTER TYPE (sql.md 13.2).
 * @throws DatabaseError `Syntax` for another name, `IllegalArgument` for a value that is no boolean or a type of no edges
 */
export function changeSetting(
  catalog: CatalogValue,
  type: TypeDefinition,
  item: Setting,
  context: ChangeContext,
): ItemResult {
  const name = item.name.toLowerCase();
  if (!alterTypeSettings.some((known) => known === name)) {
    const help = didYouMean(name, alterTypeSettings);
    throw new DatabaseError(
      'Syntax',
      `unknown setting '${item.name}' of ALTER TYPE, expected one of ${alterTypeSettings.join(', ')}`,
      help === undefined ? {} : { help },
    );
  }
  const value = booleanOf(item);
  if (name === 'repartition') return settled(catalog, type, value);
  if (type.kind !== 'edge') {
    throw new DatabaseError(
      'IllegalArgument',
      `'${name}' is a setting of edge types, but '${type.name}' is a ${type.kind} type`,
    );
  }
  return name === 'lightweight'
    ? setLightweight(catalog, type, value)
    : setUnique(catalog, type, value, context);
}

function booleanOf({ name, value }: Setting): boolean {
  const text = typeof value === 'string' ? value.toLowerCase() : value;
  if (text === true || text === 'true') return true;
  if (text === false || text === 'false') return false;
  throw new DatabaseError(
    'IllegalArgument',
    `setting '${name}' of ALTER TYPE must be true or false, not ${shown(value)}`,
  );
}

function shown(value: Value): string {
  return typeof value === 'object' && value !== null ? 'a collection' : String(value);
}

/** Said by who has moved the records. */
function settled(catalog: CatalogValue, type: TypeDefinition, isDone: boolean): ItemResult {
  if (!isDone || !type.needsRepartition) return { catalog, columns: [] };
  const types = replaceType(catalog.parts.types, { ...type, needsRepartition: false });
  return { catalog: nextCatalog(catalog, { types }), columns: [] };
}

function setLightweight(
  catalog: CatalogValue,
  type: TypeDefinition,
  lightweight: boolean,
): ItemResult {
  const columns = [['lightweight', lightweight]] as const;
  if (type.lightweight === lightweight) return { catalog, columns };
  const declared = [...catalog.properties(type.id).keys()];
  if (lightweight && declared.length > 0) {
    throw new DatabaseError(
      'Schema',
      `Edge type '${type.name}' cannot be LIGHTWEIGHT because it has properties (${declared.join(', ')})`,
    );
  }
  const changed = { ...type, lightweight };
  // What keeps its edges unique belongs to a lightweight type, and is an index like others on a regular one.
  const indexes = catalog.parts.indexes.map((index) =>
    index.type === type.id && isUniqueEdges(index) ? { ...index, isInternal: lightweight } : index,
  );
  const types = replaceType(catalog.parts.types, changed);
  return {
    catalog: nextCatalog(catalog, { types, indexes }),
    columns,
    effects: lightweight ? [{ kind: 'check-bare-edges', type: changed }] : [],
  };
}

function setUnique(
  catalog: CatalogValue,
  type: TypeDefinition,
  unique: boolean,
  context: ChangeContext,
): ItemResult {
  const columns = [['unique', unique]] as const;
  const { parts } = catalog;
  const held = parts.indexes.filter((index) => index.type === type.id && isUniqueEdges(index));
  if (unique === held.length > 0) return { catalog, columns };
  if (!unique) {
    return {
      catalog: nextCatalog(catalog, {
        indexes: parts.indexes.filter((index) => !held.includes(index)),
      }),
      columns,
      effects: held.map((index) => ({ kind: 'drop-index', index })),
    };
  }
  const hasRecords = catalog
    .withSubtypes(type.id)
    .flatMap((id) => catalog.typeWithId(id).buckets)
    .some((bucket) => context.recordCount(bucket) > 0);
  const index = uniqueEdgeIndex(parts, type, hasRecords ? 'BUILDING' : 'READY');
  if (catalog.indexNamed(index.name) !== undefined) {
    throw new DatabaseError('Schema', `Index '${index.name}' already exists`);
  }
  return {
    catalog: nextCatalog(catalog, {
      indexes: [...parts.indexes, index],
      nextIndexId: parts.nextIndexId + 1,
    }),
    columns,
    effects: hasRecords ? [{ kind: 'build-index', index }] : [],
  };
}

/** The index that makes an edge type UNIQUE: on both ends, in this order or the other. */
export function isUniqueEdges(index: IndexDefinition): boolean {
  const ends = index.components.map((component) => component.property).sort();
  return index.unique && ends.length === 2 && ends[0] === '@in' && ends[1] === '@out';
}
