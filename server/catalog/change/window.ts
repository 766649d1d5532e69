import { DatabaseError } from '#core/errors.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { BucketDefinition, TypeDefinition } from '../catalog.ts';
import { type CatalogParts, CatalogValue, requireType } from '../catalog-value.ts';
import { type AppliedChange, nextCatalog, replaceType, unchanged } from './applied-change.ts';
import { addBuckets } from './bucket.ts';
import type { SchemaChange } from './changes.ts';

type OpenWindow = Extract<SchemaChange, { kind: 'open-window' }>;

/** A window through which rows of a vertex type are seen in a bucket of another one; the same catalog when there is one. */
export function openWindow(catalog: CatalogValue, change: OpenWindow): AppliedChange {
  const type = requireType(catalog, change.type);
  const bucket = catalog.bucketWithId(change.bucket);
  if (bucket === undefined || bucket.windowOn !== undefined)
    throw new DatabaseError('Schema', `Bucket ${change.bucket} holds no records`);
  if (bucket.type === type.id || catalog.windowsOn(bucket.id)?.has(type.id) === true)
    return unchanged(catalog);
  if (type.kind !== 'vertex')
    throw new DatabaseError('Schema', `Type '${type.name}' is a ${type.kind} type and no label`);
  const { parts, added } = addBuckets(catalog.parts, [windowName(catalog, type, bucket)], type.id);
  const [made] = added as [BucketDefinition];
  const window: BucketDefinition = { ...made, windowOn: bucket.id };
  return {
    catalog: nextCatalog(catalog, {
      ...parts,
      buckets: [...catalog.parts.buckets, window],
      types: replaceType(catalog.parts.types, { ...type, buckets: [...type.buckets, window.id] }),
    }),
    rows: [],
    effects: [],
  };
}

function windowName(catalog: CatalogValue, type: TypeDefinition, bucket: BucketDefinition): string {
  const stem = (name: string): string => Array.from(name).slice(0, 110).join('');
  const name = `${stem(type.name)}@${stem(bucket.name)}`;
  let free = name;
  for (let at = 1; catalog.bucketNamed(free) !== undefined; at += 1) free = `${name}_${at}`;
  return free;
}

/** The buckets of a type in which its records are made: no windows. */
export function ownBuckets(
  catalog: Pick<CatalogValue, 'bucketWithId' | 'hasWindows'>,
  { buckets }: Pick<TypeDefinition, 'buckets'>,
): readonly BucketId[] {
  if (!catalog.hasWindows) return buckets;
  return buckets.filter((id) => catalog.bucketWithId(id)?.windowOn === undefined);
}

/** The type as whoever places its records is to see it: without windows. */
export function placedType(
  catalog: Pick<CatalogValue, 'bucketWithId' | 'hasWindows'>,
  type: TypeDefinition,
): TypeDefinition {
  const own = ownBuckets(catalog, type);
  return own.length === type.buckets.length ? type : { ...type, buckets: own };
}

/**
 * What becomes of the buckets of a dropped type: one that others still have rows in stays, without a type, and so do their windows.
 * @param recordCount of a bucket with the rows seen through its windows
 */
export function bucketsOfDropped(
  catalog: CatalogValue,
  dropped: TypeDefinition,
  recordCount: (bucket: BucketId) => number,
): { readonly gone: readonly BucketId[]; readonly kept: readonly BucketDefinition[] } {
  const gone = new Set<BucketId>(dropped.buckets);
  const kept: BucketDefinition[] = [];
  for (const id of dropped.buckets) {
    const windows = [...(catalog.windowsOn(id)?.values() ?? [])];
    if (windows.some((window) => recordCount(window) > 0)) gone.delete(id);
    else for (const window of windows) gone.add(window);
  }
  for (const bucket of catalog.parts.buckets) {
    if (gone.has(bucket.id)) continue;
    kept.push(bucket.type === dropped.id ? { ...bucket, type: undefined } : bucket);
  }
  return { gone: [...gone], kept };
}

/** Records of the bucket that its own type has: without those that are seen through windows. */
export function ownRecordCount(
  catalog: Pick<CatalogValue, 'windowsOn'>,
  bucket: BucketId,
  recordCount: (bucket: BucketId) => number,
): number {
  let count = recordCount(bucket);
  for (const window of catalog.windowsOn(bucket)?.values() ?? []) count -= recordCount(window);
  return count;
}

/** The numbers of two versions beside each other: versions are whole, and there are fewer than this of them. */
const versionsMax = 2 ** 26;

/**
 * An older schema with the vertex and edge types and windows that a newer one has: what a session that stays in its snapshot learns of types
 * that were made meanwhile. Nothing else of the newer one: its indexes and declarations have no entries in that snapshot.
 */
export function withTypesOf(old: CatalogValue, now: CatalogValue): CatalogValue {
  if (old.version >= now.version) return old;
  const known = new Set<TypeId>(old.parts.types.map(({ id }) => id));
  const types = [...old.parts.types];
  for (const type of now.parts.types) {
    if (known.has(type.id) || type.kind === 'document') continue;
    if (!type.supertypes.every((id) => known.has(id)) || old.typeNamed(type.name)) continue;
    known.add(type.id);
    types.push(type);
  }
  const isNewType = (id: TypeId): boolean => !old.parts.types.some((type) => type.id === id);
  const added = now.parts.buckets.filter(
    ({ id, type, windowOn }) =>
      old.bucketWithId(id) === undefined &&
      type !== undefined &&
      known.has(type) &&
      (windowOn !== undefined || isNewType(type)),
  );
  const buckets = [...old.parts.buckets, ...added];
  const isThere = new Set<BucketId>(buckets.map(({ id }) => id));
  const parts: CatalogParts = {
    ...old.parts,
    version: Math.floor(old.version) + now.version / versionsMax,
    buckets,
    types: types.map((type) => {
      const windows = now.parts.buckets.filter(
        (bucket) =>
          bucket.type === type.id && bucket.windowOn !== undefined && isThere.has(bucket.id),
      );
      const all = new Set([
        ...type.buckets.filter((id) => isThere.has(id)),
        ...windows.map(({ id }) => id),
      ]);
      return all.size === type.buckets.length ? type : { ...type, buckets: [...all] };
    }),
  };
  return new CatalogValue(parts);
}
