import { DatabaseError } from '#core/errors.ts';
import type { RecordKind } from '#core/value/record.ts';
import type { BucketId, IndexId, TypeId } from '#core/value/rid.ts';
import type {
  BucketDefinition,
  IndexDefinition,
  PropertyDefinition,
  TypeDefinition,
} from '../catalog.ts';
import { type CatalogParts, type CatalogValue, requireType, typeHint } from '../catalog-value.ts';
import { addBuckets, bucketCountMax, requireUnshared } from './bucket.ts';
import type { SchemaChange } from './changes.ts';
import {
  type AppliedChange,
  type ChangeContext,
  nextCatalog,
  row,
  type SchemaEffect,
  unchanged,
} from './applied-change.ts';
import { requireName } from '../name-rules.ts';
import { bucketsOfDropped, ownRecordCount } from './window.ts';

/** Edge types are stored in two bytes of an adjacency key (storage.md 3). */
export const typeCountMax = 65_535;

type Change<K extends SchemaChange['kind']> = Extract<SchemaChange, { kind: K }>;

/** sql.md 13.1. */
export function createType(
  catalog: CatalogValue,
  change: Change<'create-type'>,
  context: ChangeContext,
): AppliedChange {
  if (catalog.typeNamed(change.name) !== undefined) {
    if (change.ifNotExists) return unchanged(catalog);
    throw new DatabaseError('Schema', `Type ${change.name} already exists`);
  }
  requireName('type', change.name);
  const { parts } = catalog;
  if (parts.nextTypeId > typeCountMax) {
    throw new DatabaseError('SchemaLimit', `a database has at most ${typeCountMax} types`);
  }
  const id = parts.nextTypeId as TypeId;
  const supertypes = supertypeIds(catalog, change.supertypes, change.type);
  const buckets = bucketsOfNewType(catalog, change, context, id);
  const type: TypeDefinition = {
    id,
    name: change.name,
    kind: change.type,
    aliases: [],
    supertypes,
    properties: new Map(),
    buckets: buckets.owned,
    bucketStrategy: 'round-robin',
    custom: withoutNulls(change.custom),
    bidirectional: change.bidirectional,
    lightweight: change.lightweight,
    needsRepartition: false,
  };
  const unique = change.uniqueEdges ? [uniqueEdgeIndex(parts, type, 'READY')] : [];
  const next = nextCatalog(catalog, {
    ...buckets.parts,
    types: [...parts.types, type],
    nextTypeId: id + 1,
    indexes: [...parts.indexes, ...unique],
    nextIndexId: parts.nextIndexId + unique.length,
  });
  requireAgreeingProperties(next, id);
  const custom = type.custom.size === 0 ? {} : { custom: type.custom };
  return {
    catalog: next,
    rows: [row({ operation: `create ${change.type} type`, typeName: type.name, ...custom })],
    effects: [],
  };
}

/** A map of CUSTOM values; null means "no such key". */
function withoutNulls(custom: TypeDefinition['custom']): TypeDefinition['custom'] {
  return new Map([...custom].filter(([, value]) => value !== null));
}

/** What keeps a UNIQUE edge type to one edge per ordered pair (sql.md 1.5). */
export function uniqueEdgeIndex(
  parts: CatalogParts,
  type: TypeDefinition,
  state: IndexDefinition['state'],
): IndexDefinition {
  const component = (property: string) =>
    ({ property, by: 'value', caseInsensitive: false }) as const;
  return {
    id: parts.nextIndexId as IndexId,
    name: `${type.name}[@out,@in]`,
    type: type.id,
    kind: 'LSM_TREE',
    unique: true,
    components: [component('@out'), component('@in')],
    nullStrategy: 'SKIP',
    metadata: new Map(),
    ...(type.lightweight && { isInternal: true }),
    state,
  };
}

const kindWords = { document: 'a document', vertex: 'a vertex', edge: 'an edge' } as const;

/** @throws DatabaseError `Schema` for missing supertypes and those of another family */
export function supertypeIds(
  catalog: CatalogValue,
  names: readonly string[],
  kind: RecordKind,
): readonly TypeId[] {
  const ids = new Set<TypeId>();
  for (const name of names) {
    const supertype = catalog.typeNamed(name);
    if (supertype === undefined) {
      throw new DatabaseError('Schema', `Supertype '${name}' not found`, typeHint(catalog, name));
    }
    if (supertype.kind !== kind) {
      throw new DatabaseError(
        'Schema',
        `Supertype '${name}' is ${kindWords[supertype.kind]} type and cannot be extended by ${kindWords[kind]} type`,
      );
    }
    ids.add(supertype.id);
  }
  return [...ids];
}

/** Refuses a hierarchy in which two ancestors declare one property with different types. */
export function requireAgreeingProperties(catalog: CatalogValue, type: TypeId): void {
  for (const subtype of catalog.withSubtypes(type)) {
    const seen = new Map<string, PropertyDefinition>();
    for (const ancestor of catalog.lineage(subtype)) {
      for (const property of catalog.typeWithId(ancestor).properties.values()) {
        const other = seen.get(property.name);
        if (other === undefined) seen.set(property.name, property);
        else if (other.type !== property.type || other.ofType !== property.ofType) {
          const names = [other, property].map((p) => catalog.typeWithId(p.declaredBy).name);
          throw new DatabaseError(
            'Schema',
            `Type '${catalog.typeWithId(subtype).name}' would have property '${property.name}' ` +
              `twice with different types: ${other.type} in '${names[0]}', ` +
              `${property.type} in '${names[1]}'`,
          );
        }
      }
    }
  }
}

/** `BUCKETS n` wins over `BUCKET list`; listed buckets are created when missing. */
function bucketsOfNewType(
  catalog: CatalogValue,
  change: Change<'create-type'>,
  context: ChangeContext,
  type: TypeId,
): { readonly parts: Partial<CatalogParts>; readonly owned: readonly BucketId[] } {
  if (change.bucketCount === undefined && change.buckets.length > 0) {
    return claimBuckets(catalog, change.buckets, { id: type, name: change.name });
  }
  const count = change.bucketCount ?? context.defaultBucketCount;
  if (!Number.isInteger(count) || count < 1) {
    throw new DatabaseError('IllegalArgument', `BUCKETS must be at least 1, but is ${count}`);
  }
  if (count > bucketCountMax) {
    throw new DatabaseError(
      'SchemaLimit',
      `a database has at most ${bucketCountMax} buckets, but BUCKETS is ${count}`,
    );
  }
  // A type name of the full length leaves room for the number.
  const stem = Array.from(change.name).slice(0, 240).join('');
  const names: string[] = [];
  for (let i = 0; names.length < count; i++) {
    const name = `${stem}_${i}`;
    if (catalog.bucketNamed(name) === undefined) names.push(name);
  }
  const { parts, added } = addBuckets(catalog.parts, names, type);
  return { parts, owned: added.map((bucket) => bucket.id) };
}

/**
 * Makes the named buckets belong to a type; missing ones are created.
 * @throws DatabaseError `Schema` when one belongs to another type already
 */
export function claimBuckets(
  catalog: CatalogValue,
  names: readonly string[],
  owner: { readonly id: TypeId; readonly name: string },
): {
  readonly parts: Pick<CatalogParts, 'buckets' | 'nextBucketId'>;
  readonly owned: readonly BucketId[];
} {
  const distinct = [...new Set(names)];
  for (const name of distinct) {
    const known = catalog.bucketNamed(name);
    const owned = known?.type;
    if (known !== undefined && owned === undefined) requireUnshared(catalog, known);
    if (owned !== undefined && owned !== owner.id) {
      const other = catalog.typeWithId(owned).name;
      throw new DatabaseError(
        'Schema',
        `Cannot add bucket '${name}' to type '${owner.name}' because used by type '${other}'`,
      );
    }
  }
  const missing = distinct.filter((name) => catalog.bucketNamed(name) === undefined);
  const { parts } = addBuckets(catalog.parts, missing, owner.id);
  const claimed = new Set(distinct);
  const buckets: readonly BucketDefinition[] = parts.buckets.map((bucket) =>
    claimed.has(bucket.name) ? { ...bucket, type: owner.id } : bucket,
  );
  const idOf = new Map(buckets.map((bucket) => [bucket.name, bucket.id]));
  return {
    parts: { ...parts, buckets },
    owned: distinct.map((name) => idOf.get(name) as BucketId),
  };
}

/** @throws DatabaseError `CommandExecution` for vertices and edges that nobody said are to go (sql.md 13.3) */
export function requireDroppable(
  type: TypeDefinition,
  { unsafe }: Change<'drop-type'>,
  holdsRecords: boolean,
): void {
  if (!holdsRecords || type.kind === 'document' || unsafe) return;
  const what = type.kind === 'vertex' ? 'Vertices' : 'Edges';
  throw new DatabaseError(
    'CommandExecution',
    `'DROP TYPE' command cannot drop type '${type.name}' because it contains ${what}. ` +
      'Delete them first, or use the UNSAFE keyword to drop the type with its records',
  );
}

/** sql.md 13.3. Subtypes are attached to the supertypes of what they extended. */
export function dropType(
  catalog: CatalogValue,
  change: Change<'drop-type'>,
  context: ChangeContext,
): AppliedChange {
  if (change.ifExists && catalog.typeNamed(change.name) === undefined) return unchanged(catalog);
  const type = requireType(catalog, change.name);
  const holdsRecords = type.buckets.some(
    (bucket) => ownRecordCount(catalog, bucket, context.recordCount) > 0,
  );
  requireDroppable(type, change, holdsRecords);
  const { parts } = catalog;
  const dropped = parts.indexes.filter((index) => index.type === type.id);
  const effects: SchemaEffect[] = [];
  // Vertices and edges are known to the adjacency of others, and indexes of supertypes hold records of any kind: these go one by one.
  // Other documents go with their blocks.
  const isIndexedAbove = catalog.indexesOn(type.id).some((index) => index.type !== type.id);
  if (type.kind !== 'document' || isIndexedAbove) {
    for (const bucket of type.buckets) {
      effects.push({ kind: 'empty-bucket', bucket, records: type.kind });
    }
  }
  for (const index of dropped) effects.push({ kind: 'drop-index', index });
  const { gone, kept } = bucketsOfDropped(catalog, type, context.recordCount);
  for (const bucket of gone) effects.push({ kind: 'drop-bucket', bucket });
  return {
    catalog: nextCatalog(catalog, {
      types: parts.types
        .filter((other) => other.id !== type.id)
        .map((other) => withoutBuckets(detached(other, type), gone)),
      buckets: kept,
      indexes: parts.indexes.filter((index) => index.type !== type.id),
      definitions: {
        ...parts.definitions,
        triggers: parts.definitions.triggers.filter((trigger) => trigger.type !== type.id),
      },
    }),
    rows: [row({ operation: 'drop type', typeName: type.name })],
    effects,
  };
}

function withoutBuckets(type: TypeDefinition, gone: readonly BucketId[]): TypeDefinition {
  if (!type.buckets.some((bucket) => gone.includes(bucket))) return type;
  return { ...type, buckets: type.buckets.filter((bucket) => !gone.includes(bucket)) };
}

/** The mark that DROP TYPE is decided (true), or is not to be done after all. */
export function markDropped(catalog: CatalogValue, id: TypeId, isDropped: boolean): CatalogValue {
  const types = catalog.parts.types.map((type) => {
    if (type.id !== id) return type;
    const { isDropped: _, ...rest } = type;
    return isDropped ? { ...rest, isDropped } : rest;
  });
  return nextCatalog(catalog, { types });
}

function detached(type: TypeDefinition, from: TypeDefinition): TypeDefinition {
  if (!type.supertypes.includes(from.id)) return type;
  const supertypes = type.supertypes.flatMap((id) => (id === from.id ? from.supertypes : [id]));
  return { ...type, supertypes: [...new Set(supertypes)] };
}
