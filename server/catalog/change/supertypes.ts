import { DatabaseError } from '#core/errors.ts';
import type { IndexId, TypeId } from '#core/value/rid.ts';
import type { ItemResult } from '../item-result.ts';
import {
  type ChangeContext,
  nextCatalog,
  replaceType,
  type SchemaEffect,
} from './applied-change.ts';
import type { IndexDefinition, PropertyDefinition, TypeDefinition } from '../catalog.ts';
import type { CatalogValue } from '../catalog-value.ts';
import { requireAgreeingProperties, supertypeIds } from './type.ts';
import type { AlterTypeItem } from './changes.ts';

/** `SUPERTYPE +a, -b` of ALTER TYPE (sql.md 13.2). */
export function changeSupertypes(
  catalog: CatalogValue,
  type: TypeDefinition,
  item: Extract<AlterTypeItem, { kind: 'supertype' }>,
  context: ChangeContext,
): ItemResult {
  const removed = supertypeIds(catalog, item.remove, type.kind);
  const added = supertypeIds(catalog, item.add, type.kind);
  for (const id of removed) {
    if (!type.supertypes.includes(id)) {
      const name = catalog.typeWithId(id).name;
      throw new DatabaseError('Schema', `Type '${name}' is not a supertype of '${type.name}'`);
    }
  }
  for (const id of added) {
    if (catalog.isSubtype(id, type.id)) {
      const name = catalog.typeWithId(id).name;
      throw new DatabaseError(
        'Schema',
        `Type '${type.name}' cannot extend '${name}', which is the type itself or extends it`,
      );
    }
  }
  const kept = type.supertypes.filter((id) => !removed.includes(id));
  const supertypes: readonly TypeId[] = [...new Set([...kept, ...added])];
  const next = nextCatalog(catalog, {
    types: replaceType(catalog.parts.types, { ...type, supertypes }),
  });
  requireAgreeingProperties(next, type.id);
  const columns = [['supertype', supertypes.map((id) => catalog.typeWithId(id).name)]] as const;
  const checks = checksOfInherited(catalog, next, type, context);
  const filed = indexesFiledAnew(catalog, next, type, context);
  if (filed.size === 0) return { catalog: next, columns, effects: checks };
  const anew = withNewIndexes(next, filed);
  return { ...anew, columns, effects: [...checks, ...anew.effects] };
}

/** Records of the type hold values under names that are declared from now on: as for CREATE PROPERTY, they must fit. */
function checksOfInherited(
  before: CatalogValue,
  after: CatalogValue,
  type: TypeDefinition,
  context: ChangeContext,
): readonly SchemaEffect[] {
  const hasRecords = before
    .withSubtypes(type.id)
    .flatMap((id) => before.typeWithId(id).buckets)
    .some((bucket) => context.recordCount(bucket) > 0);
  if (!hasRecords) return [];
  const inherited = new Map<string, PropertyDefinition>();
  for (const ancestor of after.lineage(type.id))
    for (const property of after.typeWithId(ancestor).properties.values())
      if (before.property(type.id, property.name) === undefined)
        inherited.set(property.name, property);
  return [...inherited.values()].map((property) => ({ kind: 'check-inherited', type, property }));
}

/** Indexes that gain or lose records because the type moves below or out of their type. */
function indexesFiledAnew(
  before: CatalogValue,
  after: CatalogValue,
  type: TypeDefinition,
  context: ChangeContext,
): ReadonlySet<IndexId> {
  const differing = new Set<IndexId>();
  for (const id of before.withSubtypes(type.id)) {
    const { buckets } = before.typeWithId(id);
    if (buckets.every((bucket) => context.recordCount(bucket) === 0)) continue;
    const had = before.indexesOn(id).map((index) => index.id);
    const has = after.indexesOn(id).map((index) => index.id);
    for (const index of had) if (!has.includes(index)) differing.add(index);
    for (const index of has) if (!had.includes(index)) differing.add(index);
  }
  return differing;
}

/** Such an index is made anew under its name: until it is built, searches go without it. */
function withNewIndexes(
  catalog: CatalogValue,
  filed: ReadonlySet<IndexId>,
): Pick<ItemResult, 'catalog'> & { readonly effects: readonly SchemaEffect[] } {
  const { parts } = catalog;
  const effects: SchemaEffect[] = [];
  let nextIndexId = parts.nextIndexId;
  const indexes = parts.indexes.map((index): IndexDefinition => {
    if (!filed.has(index.id)) return index;
    const id = nextIndexId as IndexId;
    nextIndexId += 1;
    const anew: IndexDefinition = { ...index, id, state: 'BUILDING', isOwed: true };
    effects.push({ kind: 'drop-index', index }, { kind: 'build-index', index: anew });
    return anew;
  });
  return { catalog: nextCatalog(catalog, { indexes, nextIndexId }), effects };
}
