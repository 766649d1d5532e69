import { DatabaseError } from '#core/errors.ts';
import type { BucketId, TypeId } from '#core/value/rid.ts';
import type { BucketDefinition } from '../catalog.ts';
import type { CatalogParts, CatalogValue } from '../catalog-value.ts';
import type { SchemaChange } from './changes.ts';
import { type AppliedChange, nextCatalog, row, unchanged } from './applied-change.ts';
import { didYouMean, requireName } from '../name-rules.ts';

/** limits.md 23. Id 65,535 is taken by the full-text statistics (storage.md 3). */
export const bucketCountMax = 65_535;

type Change<K extends SchemaChange['kind']> = Extract<SchemaChange, { kind: K }>;

export function createBucket(
  catalog: CatalogValue,
  change: Change<'create-bucket'>,
): AppliedChange {
  if (catalog.bucketNamed(change.name) !== undefined) {
    if (change.ifNotExists) return unchanged(catalog);
    throw new DatabaseError('Schema', `Bucket '${change.name}' already exists`);
  }
  const added = addBuckets(catalog.parts, [change.name], undefined);
  const bucket = added.added[0] as BucketDefinition;
  return {
    catalog: nextCatalog(catalog, added.parts),
    rows: [bucketRow('create bucket', bucket)],
    effects: [],
  };
}

export function dropBucket(catalog: CatalogValue, change: Change<'drop-bucket'>): AppliedChange {
  const bucket = findBucket(catalog, change.bucket);
  if (bucket === undefined) {
    if (change.ifExists) return unchanged(catalog);
    throw bucketNotFound(catalog, change.bucket);
  }
  if (bucket.type !== undefined) {
    const owner = catalog.typeWithId(bucket.type).name;
    throw new DatabaseError(
      'Schema',
      `Cannot drop bucket '${bucket.name}' because used by type '${owner}'`,
    );
  }
  requireUnshared(catalog, bucket);
  return {
    catalog: nextCatalog(catalog, {
      buckets: catalog.parts.buckets.filter((other) => other.id !== bucket.id),
    }),
    rows: [bucketRow('drop bucket', bucket)],
    effects: [{ kind: 'drop-bucket', bucket: bucket.id }],
  };
}

/** @throws DatabaseError `Schema` when records of other types lie in a bucket that lost its own */
export function requireUnshared(catalog: CatalogValue, bucket: BucketDefinition): void {
  const [type] = catalog.windowsOn(bucket.id)?.keys() ?? [];
  if (type === undefined) return;
  const name = catalog.typeWithId(type).name;
  throw new DatabaseError(
    'Schema',
    `Bucket '${bucket.name}' cannot be used because it may hold records of type '${name}'`,
  );
}

function bucketRow(operation: string, bucket: BucketDefinition) {
  return row({ operation, bucketName: bucket.name, bucketId: bucket.id });
}

function findBucket(catalog: CatalogValue, nameOrId: string | number) {
  return typeof nameOrId === 'number'
    ? catalog.bucketWithId(nameOrId as BucketId)
    : catalog.bucketNamed(nameOrId);
}

/** sql.md 4. */
export function bucketNotFound(catalog: CatalogValue, nameOrId: string | number): DatabaseError {
  const help =
    typeof nameOrId === 'string'
      ? didYouMean(
          nameOrId,
          catalog.buckets().map((bucket) => bucket.name),
        )
      : undefined;
  return new DatabaseError(
    'Schema',
    `Bucket with name '${nameOrId}' was not found`,
    help === undefined ? {} : { help },
  );
}

/**
 * Adds buckets of the given names (which must be free) and gives them the next ids.
 * @throws DatabaseError `SchemaLimit` beyond 65,535 buckets (limits.md 23)
 */
export function addBuckets(
  parts: CatalogParts,
  names: readonly string[],
  type: TypeId | undefined,
): {
  readonly parts: Pick<CatalogParts, 'buckets' | 'nextBucketId'>;
  readonly added: readonly BucketDefinition[];
} {
  if (parts.nextBucketId + names.length > bucketCountMax + 1) {
    throw new DatabaseError(
      'SchemaLimit',
      `a database has at most ${bucketCountMax} buckets, counting dropped ones: ` +
        `${parts.nextBucketId - 1} are taken and ${names.length} more are asked for`,
    );
  }
  const added = names.map((name, i) => {
    requireName('bucket', name);
    // The last number that is given wraps to id 0: 65,535 ids in all, none of them 65,535.
    const id = ((parts.nextBucketId + i) % bucketCountMax) as BucketId;
    return { id, name, type };
  });
  return {
    parts: {
      buckets: [...parts.buckets, ...added],
      nextBucketId: parts.nextBucketId + names.length,
    },
    added,
  };
}
