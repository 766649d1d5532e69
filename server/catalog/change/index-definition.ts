import { DatabaseError } from '#core/errors.ts';
import type { IndexId, TypeId } from '#core/value/rid.ts';
import type { Value } from '#core/value/value.ts';
import type {
  Catalog,
  IndexComponent,
  IndexDefinition,
  PropertyDefinition,
  TypeDefinition,
} from '../catalog.ts';
import { type CatalogValue, requireType } from '../catalog-value.ts';
import type { SchemaChange } from './changes.ts';
import {
  type AppliedChange,
  type ChangeContext,
  nextCatalog,
  row,
  unchanged,
} from './applied-change.ts';
import { didYouMean, requireName } from '../name-rules.ts';
import { propertyTypes } from '../property-type.ts';
import { isSearchKind, requireSearchComponents, requireSearchMetadata } from '../search-index.ts';

/** Components of one index; keeps the longest key within what storage.md 3.4 allows. */
export const indexComponentCountMax = 32;

type Change<K extends SchemaChange['kind']> = Extract<SchemaChange, { kind: K }>;

/** sql.md 13.10. The row's `totalIndexed` is set by who builds the index. */
export function createIndex(
  catalog: CatalogValue,
  change: Change<'create-index'>,
  context: ChangeContext,
): AppliedChange {
  const type = requireType(catalog, change.type);
  requireSupportedMetadata(change);
  const name = change.name ?? `${type.name}[${change.componentText.replace(/\s+/g, '')}]`;
  const existing = catalog.indexNamed(name);
  if (existing !== undefined) {
    if (!change.ifNotExists) throw new DatabaseError('Schema', `Index '${name}' already exists`);
    requireSameIndex(catalog, existing, { change, type });
    return unchanged(catalog, [indexRow(existing, false)]);
  }
  requireName('index', name);
  requireComponents(catalog, type, name, change);
  const hasRecords = catalog
    .withSubtypes(type.id)
    .flatMap((id) => catalog.typeWithId(id).buckets)
    .some((bucket) => context.recordCount(bucket) > 0);
  const { parts } = catalog;
  const index: IndexDefinition = {
    id: parts.nextIndexId as IndexId,
    name,
    type: type.id,
    kind: change.indexKind,
    unique: change.unique,
    components: change.components,
    nullStrategy: change.nullStrategy,
    metadata: change.metadata,
    ...(change.isText && { isText: true }),
    state: hasRecords ? 'BUILDING' : 'READY',
    ...(change.unique && { tellsDecimals: true }),
    ...(change.indexKind === 'FULL_TEXT' && { isChunked: true }),
  };
  return {
    catalog: nextCatalog(catalog, {
      indexes: [...parts.indexes, index],
      nextIndexId: parts.nextIndexId + 1,
    }),
    rows: [indexRow(index, true)],
    effects: hasRecords ? [{ kind: 'build-index', index }] : [],
  };
}

function indexRow(index: IndexDefinition, created: boolean) {
  return row({
    operation: 'create index',
    name: index.name,
    type: index.kind,
    created,
    totalIndexed: 0,
  });
}

function requireSupportedMetadata(change: Change<'create-index'>): void {
  if (isSearchKind(change.indexKind)) {
    requireSearchMetadata(change.indexKind, change.metadata, change.components);
    if (change.nullStrategy === 'INDEX')
      throw new DatabaseError(
        'IllegalArgument',
        `NULL_STRATEGY INDEX is not supported by index type '${change.indexKind}'`,
      );
    return;
  }
  if (change.metadata.size > 0) {
    const kind = `${change.unique ? 'UNIQUE' : 'NOTUNIQUE'}${change.indexKind === 'HASH' ? '_HASH' : ''}`;
    throw new DatabaseError('IllegalArgument', `METADATA is not supported by index type '${kind}'`);
  }
}

function requireComponents(
  catalog: CatalogValue,
  type: TypeDefinition,
  name: string,
  { indexKind, components, ofAnyType }: Change<'create-index'>,
): void {
  const declared = components.map((component) =>
    ofAnyType === true
      ? catalog.property(type.id, component.property)
      : declaredFor(catalog, type, component),
  );
  requireComponentCount(name, components);
  if (isSearchKind(indexKind)) {
    const properties = components.flatMap((component, i) => {
      const property = declared[i];
      return property === undefined ? [] : [{ component, declared: property }];
    });
    if (properties.length < components.length)
      throw new DatabaseError('Schema', `index type '${indexKind}' takes properties only`);
    requireSearchComponents(indexKind, name, properties);
    return;
  }
  components.forEach((component, i) => {
    const property = declared[i];
    if (property !== undefined) requireIndexable(type, component, property);
  });
}

function requireComponentCount(name: string, components: readonly IndexComponent[]): void {
  if (components.length === 0 || components.length > indexComponentCountMax) {
    throw new DatabaseError(
      'SchemaLimit',
      `index '${name}' has ${components.length} properties; it must have 1 to ${indexComponentCountMax}`,
    );
  }
  const texts = components.map((component) => `${component.property} ${component.by}`);
  const repeated = components.find((_, i) => texts.indexOf(texts[i] ?? '') !== i);
  if (repeated !== undefined) {
    throw new DatabaseError('Schema', `Index '${name}' names '${repeated.property}' twice`);
  }
}

/** `@out` and `@in` on edges (undefined), declared properties otherwise; a dotted name starts with a declared one. */
function declaredFor(
  catalog: CatalogValue,
  type: TypeDefinition,
  component: IndexComponent,
): PropertyDefinition | undefined {
  const { property: name } = component;
  if (name.startsWith('@')) {
    if (type.kind === 'edge' && (name === '@out' || name === '@in')) return undefined;
    throw new DatabaseError(
      'Schema',
      `Cannot create an index on '${type.name}.${name}': only '@out' and '@in' of edge types can be indexed`,
    );
  }
  const dot = name.indexOf('.');
  const declared =
    catalog.property(type.id, name) ??
    (dot > 0 ? catalog.property(type.id, name.slice(0, dot)) : undefined);
  if (declared === undefined) {
    const help = didYouMean(name, catalog.properties(type.id).keys());
    throw new DatabaseError(
      'Schema',
      `Cannot create the index on type '${type.name}.${name}' because the property does not exist`,
      help === undefined ? {} : { help },
    );
  }
  return declared;
}

function requireIndexable(
  type: TypeDefinition,
  component: IndexComponent,
  declared: PropertyDefinition,
): void {
  const { property: name } = component;
  const refuse = (reason: string): never => {
    throw new DatabaseError(
      'Schema',
      `Cannot create an index on '${type.name}.${name}' of type ${declared.type}: ${reason}`,
    );
  };
  if (component.by === 'mapKey' || component.by === 'mapValue') {
    if (declared.type !== 'MAP') refuse('BY KEY and BY VALUE need a MAP');
  } else if (component.by === 'item') {
    const { family } = propertyTypes[declared.type];
    if (family !== 'list' && family !== 'array') refuse('BY ITEM needs a LIST');
  } else if (declared.name === name && !propertyTypes[declared.type].isIndexable) {
    const by = declared.type === 'MAP' ? 'BY KEY or BY VALUE' : 'BY ITEM';
    refuse(declared.type === 'EMBEDDED' ? 'it cannot be indexed' : `write ${by}`);
  }
}

/** IF NOT EXISTS asks for the index that is there, or it is an error (sql.md 13.10 rule 2). */
function requireSameIndex(
  catalog: CatalogValue,
  existing: IndexDefinition,
  wanted: { readonly change: Change<'create-index'>; readonly type: TypeDefinition },
): void {
  const { change, type } = wanted;
  const isSame =
    existing.type === type.id &&
    existing.kind === change.indexKind &&
    existing.unique === change.unique &&
    existing.components.length === change.components.length &&
    existing.components.every((c, i) => isSameComponent(c, change.components[i])) &&
    [...change.metadata].every(([key, value]) => sameText(existing.metadata.get(key), value));
  if (isSame) return;
  const on = existing.components.map((c) => c.property).join(', ');
  throw new DatabaseError(
    'Schema',
    `Cannot create the index '${existing.name}' on type '${type.name}' because an index with that name already exists ` +
      `on type '${catalog.typeWithId(existing.type).name}' (${on}, ${existing.unique ? 'unique' : 'not unique'} ${existing.kind}) ` +
      'and differs from the requested one',
  );
}

function isSameComponent(a: IndexComponent, b: IndexComponent | undefined): boolean {
  return a.property === b?.property && a.by === b.by && a.caseInsensitive === b.caseInsensitive;
}

function sameText(a: Value | undefined, b: Value): boolean {
  return a !== undefined && String(a) === String(b);
}

/** Indexes of the type or its subtypes that have the property (or something inside it) in their key. */
export function indexesUsing(
  catalog: CatalogValue,
  type: TypeId,
  property: string,
): readonly IndexDefinition[] {
  const types = catalog.withSubtypes(type);
  return catalog
    .indexes()
    .filter(
      (index) =>
        types.includes(index.type) &&
        index.components.some(
          (c) => c.property === property || c.property.startsWith(`${property}.`),
        ),
    );
}

/** sql.md 13.11. A missing index with IF EXISTS still gives the row. */
export function dropIndex(catalog: CatalogValue, change: Change<'drop-index'>): AppliedChange {
  const rows = [row({ operation: 'drop index', indexName: change.name })];
  if (change.ifExists && shownIndex(catalog, change.name) === undefined)
    return unchanged(catalog, rows);
  const index = requireIndex(catalog, change.name);
  const { indexes } = catalog.parts;
  const dropped = indexes.filter((other) => other.id === index.id || other.replaces === index.id);
  return {
    catalog: nextCatalog(catalog, { indexes: indexes.filter((other) => !dropped.includes(other)) }),
    rows,
    effects: dropped.map((other) => ({ kind: 'drop-index', index: other })),
  };
}

export function dropAllIndexes(catalog: CatalogValue): AppliedChange {
  const { indexes } = catalog.parts;
  const dropped = indexes.filter((index) => index.isInternal !== true);
  if (dropped.length === 0) return unchanged(catalog);
  return {
    catalog: nextCatalog(catalog, { indexes: indexes.filter((index) => !dropped.includes(index)) }),
    rows: dropped
      .filter(isShown)
      .map((index) => row({ operation: 'drop index', bucketName: index.name })),
    effects: dropped.map((index) => ({ kind: 'drop-index', index })),
  };
}

/**
 * The index of that name.
 * @throws DatabaseError `Schema` `Index not found: <n>` (sql.md 13.11), with a hint when a name is close
 */
export function requireIndex(catalog: Catalog, name: string): IndexDefinition {
  const index = shownIndex(catalog, name);
  if (index !== undefined) return index;
  const names = catalog.indexes().filter(isShown);
  const help = didYouMean(
    name,
    names.map((other) => other.name),
  );
  throw new DatabaseError('Schema', `Index not found: ${name}`, help === undefined ? {} : { help });
}

function shownIndex(catalog: Catalog, name: string): IndexDefinition | undefined {
  const index = catalog.indexNamed(name);
  return index !== undefined && isWhole(index) ? index : undefined;
}

/** False for an index under construction that will take the place of another one. */
export function isWhole(index: IndexDefinition): boolean {
  return index.replaces === undefined;
}

/** Whether lists of indexes name it. */
export function isShown(index: IndexDefinition): boolean {
  return isWhole(index) && index.isInternal !== true;
}

/** Names from users have no control characters, so this one is free. */
const rebuiltSuffix = '\u0000rebuilt';

/** A second index of the same definition is built beside the first and takes its place at the end. */
export function rebuildIndex(
  catalog: CatalogValue,
  change: Change<'rebuild-index'>,
): AppliedChange {
  const index = requireIndex(catalog, change.name);
  const { parts } = catalog;
  const rebuilt: IndexDefinition = {
    ...index,
    id: parts.nextIndexId as IndexId,
    name: `${index.name}${rebuiltSuffix}`,
    state: 'BUILDING',
    replaces: index.id,
    ...(index.unique && { tellsDecimals: true }),
    ...(index.kind === 'FULL_TEXT' && { isChunked: true }),
  };
  return {
    catalog: nextCatalog(catalog, {
      indexes: [...parts.indexes, rebuilt],
      nextIndexId: parts.nextIndexId + 1,
    }),
    rows: [row({ name: index.name, totalIndexed: 0 })],
    effects: [{ kind: 'build-index', index: rebuilt }],
  };
}

/** The catalog in which a built index is `READY`, or an index whose build failed is gone. */
export function settleIndex(
  catalog: CatalogValue,
  id: IndexId,
  outcome: 'READY' | 'dropped',
): CatalogValue {
  const { indexes } = catalog.parts;
  const replaced = indexes.find((index) => index.id === id)?.replaces;
  const former = indexes.find((index) => index.id === replaced);
  const settled = indexes.flatMap((index) => {
    // A rebuilt index stands where the former stood.
    if (index.id === id) {
      return outcome === 'READY' && former === undefined ? [ready(index, former)] : [];
    }
    if (index !== former || outcome !== 'READY') return [index];
    return indexes.flatMap((other) => (other.id === id ? [ready(other, former)] : []));
  });
  return nextCatalog(catalog, { indexes: settled });
}

function ready(index: IndexDefinition, former: IndexDefinition | undefined): IndexDefinition {
  const { replaces: _, isOwed: __, ...rest } = index;
  return { ...rest, name: former?.name ?? index.name, state: 'READY' };
}
