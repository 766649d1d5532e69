import { DatabaseError } from '#core/errors.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { PropertyDefinition, TypeDefinition } from '../catalog.ts';
import { type CatalogParts, type CatalogValue, requireType } from '../catalog-value.ts';
import { bucketNotFound } from './bucket.ts';
import type { ItemResult } from '../item-result.ts';
import { changeSetting } from './alter-type-settings.ts';
import { changeSupertypes } from './supertypes.ts';
import { claimBuckets } from './type.ts';
import type { AlterTypeItem, SchemaChange } from './changes.ts';
import {
  type AppliedChange,
  type ChangeContext,
  nextCatalog,
  replaceType,
  type SchemaEffect,
  unchanged,
} from './applied-change.ts';
import { parseBucketStrategy } from '../bucket-strategy.ts';
import { requireName } from '../name-rules.ts';

type Item<K extends AlterTypeItem['kind']> = Extract<AlterTypeItem, { kind: K }>;

/** sql.md 13.2. Of several items of one kind only the last is kept. */
export function alterType(
  catalog: CatalogValue,
  change: Extract<SchemaChange, { kind: 'alter-type' }>,
  context: ChangeContext,
): AppliedChange {
  const { id, name } = requireType(catalog, change.name);
  const lastOfKind = new Map<string, AlterTypeItem>();
  for (const item of change.items) {
    const key = item.kind === 'setting' ? `setting ${item.name.toLowerCase()}` : item.kind;
    lastOfKind.set(key, item);
  }
  let next = catalog;
  const effects: SchemaEffect[] = [];
  const columns: [string, Value][] = [
    ['operation', 'ALTER TYPE'],
    ['typeName', name],
    ['result', 'OK'],
  ];
  for (const item of lastOfKind.values()) {
    const result = alterItem(next, next.typeWithId(id), item, context);
    next = result.catalog;
    effects.push(...(result.effects ?? []));
    columns.push(...(result.columns as [string, Value][]));
  }
  const row: ValueMap = new Map(columns);
  if (next === catalog) return unchanged(catalog, [row]);
  // However many items it had, the statement is one change.
  return { catalog: nextCatalog(catalog, withoutVersion(next)), rows: [row], effects };
}

function withoutVersion(catalog: CatalogValue): Partial<CatalogParts> {
  const { version: _, ...parts } = catalog.parts;
  return parts;
}

function alterItem(
  catalog: CatalogValue,
  type: TypeDefinition,
  item: AlterTypeItem,
  context: ChangeContext,
): ItemResult {
  switch (item.kind) {
    case 'name':
      return rename(catalog, type, item);
    case 'supertype':
      return changeSupertypes(catalog, type, item, context);
    case 'bucket':
      return changeBuckets(catalog, type, item, context);
    case 'bucket-strategy':
      return changeStrategy(catalog, type, item, context);
    case 'custom':
      return changeCustom(catalog, type, item);
    case 'aliases':
      return changeAliases(catalog, type, item);
    case 'one-way-edges':
      return takeOneWayEdges(catalog, type);
    default:
      return changeSetting(catalog, type, item, context);
  }
}

function withType(catalog: CatalogValue, type: TypeDefinition): CatalogValue {
  return nextCatalog(catalog, { types: replaceType(catalog.parts.types, type) });
}

function takeOneWayEdges(catalog: CatalogValue, type: TypeDefinition): ItemResult {
  if (type.hasOneWayEdges) return { catalog, columns: [] };
  return { catalog: withType(catalog, { ...type, hasOneWayEdges: true }), columns: [] };
}

function rename(catalog: CatalogValue, type: TypeDefinition, item: Item<'name'>): ItemResult {
  const columns = [['name', item.name]] as const;
  if (item.name === type.name) return { catalog, columns };
  requireName('type', item.name);
  const taken = catalog.typeNamed(item.name);
  if (taken !== undefined) throw new DatabaseError('Schema', `Type ${item.name} already exists`);
  // `OF` names types by name, so what refers to the type follows it.
  const types = catalog.parts.types.map((other) => ({
    ...other,
    name: other.id === type.id ? item.name : other.name,
    properties: renamedReferences(other.properties, { from: type.name, to: item.name }),
  }));
  return { catalog: nextCatalog(catalog, { types }), columns };
}

function renamedReferences(
  properties: ReadonlyMap<string, PropertyDefinition>,
  name: { readonly from: string; readonly to: string },
): ReadonlyMap<string, PropertyDefinition> {
  const refers = [...properties.values()].some((property) => property.ofType === name.from);
  if (!refers) return properties;
  return new Map(
    [...properties].map(([key, property]) => [
      key,
      property.ofType === name.from ? { ...property, ofType: name.to } : property,
    ]),
  );
}

function changeBuckets(
  catalog: CatalogValue,
  type: TypeDefinition,
  item: Item<'bucket'>,
  context: ChangeContext,
): ItemResult {
  const removed = item.remove.map((name) => removableBucket(catalog, type, name, context));
  const claimed = claimBuckets(catalog, item.add, type);
  for (const id of claimed.owned) requireUnfiled(catalog, type, id, context);
  const kept = type.buckets.filter((id) => !removed.includes(id));
  const buckets = [...new Set([...kept, ...claimed.owned])];
  if (buckets.length === 0) {
    throw new DatabaseError('Schema', `Cannot remove the last bucket of type '${type.name}'`);
  }
  // Values are spread over the buckets that there are.
  const isPartitioned = parseBucketStrategy(type.bucketStrategy).kind === 'partitioned';
  const hasRecords = type.buckets.some((bucket) => context.recordCount(bucket) > 0);
  const needsRepartition = type.needsRepartition || (isPartitioned && hasRecords);
  const next = nextCatalog(catalog, {
    nextBucketId: claimed.parts.nextBucketId,
    buckets: claimed.parts.buckets.map((bucket) =>
      removed.includes(bucket.id) ? { ...bucket, type: undefined } : bucket,
    ),
    types: replaceType(catalog.parts.types, { ...type, buckets, needsRepartition }),
  });
  const columns: [string, Value][] = [];
  if (item.add.length > 0) columns.push(['addBucket', item.add.join(',')]);
  if (item.remove.length > 0) columns.push(['removeBucket', item.remove.join(',')]);
  return { catalog: next, columns };
}

function removableBucket(
  catalog: CatalogValue,
  type: TypeDefinition,
  name: string,
  context: ChangeContext,
): BucketId {
  const bucket = catalog.bucketNamed(name);
  if (bucket === undefined) throw bucketNotFound(catalog, name);
  if (bucket.type !== type.id) {
    throw new DatabaseError('Schema', `Bucket '${name}' does not belong to type '${type.name}'`);
  }
  if (bucket.windowOn !== undefined || context.recordCount(bucket.id) > 0) {
    throw new DatabaseError(
      'Schema',
      `Cannot remove bucket '${name}' from type '${type.name}' because it contains records`,
    );
  }
  return bucket.id;
}

/** A bucket without an owner has no records; this only guards against claiming a filled one. */
function requireUnfiled(
  catalog: CatalogValue,
  type: TypeDefinition,
  id: BucketId,
  context: ChangeContext,
): void {
  const bucket = catalog.bucketWithId(id);
  if (bucket === undefined || bucket.type === type.id || context.recordCount(id) === 0) return;
  throw new DatabaseError(
    'Schema',
    `Cannot add bucket '${bucket.name}' to type '${type.name}' because it contains records`,
  );
}

function changeStrategy(
  catalog: CatalogValue,
  type: TypeDefinition,
  item: Item<'bucket-strategy'>,
  context: ChangeContext,
): ItemResult {
  const strategy = parseBucketStrategy(item.strategy);
  if (strategy.kind === 'partitioned') {
    const wanted = strategy.properties.join(',');
    const isServed = catalog
      .indexesOn(type.id)
      .some((i) => i.unique && i.components.map((c) => c.property).join(',') === wanted);
    if (!isServed) {
      throw new DatabaseError(
        'Schema',
        `Bucket selection strategy '${item.strategy}' needs a unique index on ` +
          `'${type.name}' with exactly the properties (${wanted})`,
      );
    }
  }
  const hasRecords = type.buckets.some((bucket) => context.recordCount(bucket) > 0);
  const isChanged = strategy.text !== type.bucketStrategy;
  const needsRepartition = type.needsRepartition || (hasRecords && isChanged);
  return {
    catalog: withType(catalog, { ...type, bucketStrategy: strategy.text, needsRepartition }),
    columns: [['bucketSelectionStrategy', strategy.text]],
  };
}

function changeCustom(
  catalog: CatalogValue,
  type: TypeDefinition,
  item: Item<'custom'>,
): ItemResult {
  const custom = new Map(type.custom);
  if (item.value === null) custom.delete(item.key);
  else custom.set(item.key, item.value);
  return {
    catalog: withType(catalog, { ...type, custom }),
    columns: [['custom', `${item.key}=${item.value === null ? 'null' : shortText(item.value)}`]],
  };
}

function shortText(value: Value): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function changeAliases(
  catalog: CatalogValue,
  type: TypeDefinition,
  item: Item<'aliases'>,
): ItemResult {
  const aliases = [...new Set(item.aliases)];
  for (const alias of aliases) {
    requireName('alias', alias);
    const holder = catalog.typeNamed(alias);
    if (holder !== undefined && (holder.id !== type.id || alias === type.name)) {
      throw new DatabaseError(
        'Schema',
        `Cannot use alias '${alias}' for type '${type.name}' because it already names type '${holder.name}'`,
      );
    }
  }
  return {
    catalog: withType(catalog, { ...type, aliases }),
    columns: [['aliases', aliases]],
  };
}
