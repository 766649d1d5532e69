import type { Catalog } from '#catalog/catalog.ts';
import { bucketsUnder, holdingBucket } from '#transaction/read/holding-bucket.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { type BucketId, bucketOf, type Rid, type TypeId } from '#core/value/rid.ts';

/** Tells whether a record is of one of some types: by its bucket, or by itself where rows of several types lie in that. */
export interface TypeCheck {
  (rid: Rid, view: ReadView): boolean;
  /** Whether all rows that lie in the bucket are, whatever their types. */
  readonly takesAll: (bucket: BucketId) => boolean;
}

/** @returns undefined when the types leave nothing out */
export function typeCheckFor(
  types: readonly TypeId[] | undefined,
  catalog: Catalog,
): TypeCheck | undefined {
  if (types === undefined) return undefined;
  const buckets = new Set<BucketId>();
  for (const type of types)
    for (const bucket of catalog.typeWithId(type).buckets) buckets.add(bucket);
  const leavesNothingOut = catalog
    .types()
    .every(
      (type) => type.kind === 'document' || type.buckets.every((bucket) => buckets.has(bucket)),
    );
  if (leavesNothingOut) return undefined;
  if (catalog.hasWindows) return checkByRow(buckets, catalog);
  const takesAll = (bucket: BucketId): boolean => buckets.has(bucket);
  const [only] = buckets;
  const check =
    buckets.size === 1 && only !== undefined
      ? (rid: Rid) => bucketOf(rid) === only
      : (rid: Rid) => buckets.has(bucketOf(rid));
  return Object.assign(check, { takesAll });
}

/** Looks at a row only where its bucket holds both, those that are asked for and others: labels that some nodes got make no difference then. */
function checkByRow(buckets: ReadonlySet<BucketId>, catalog: Catalog): TypeCheck {
  const whole = new Set<BucketId>();
  const mixed = new Set<BucketId>();
  for (const bucket of bucketsUnder(catalog, [...buckets])) {
    const windows = [...(catalog.windowsOn(bucket)?.values() ?? [])];
    const isWhole = [bucket, ...windows].every((part) => buckets.has(part));
    (isWhole ? whole : mixed).add(bucket);
  }
  const check = (rid: Rid, view: ReadView): boolean => {
    const bucket = bucketOf(rid);
    return whole.has(bucket) || (mixed.has(bucket) && buckets.has(holdingBucket(view, rid)));
  };
  return Object.assign(check, { takesAll: (bucket: BucketId) => whole.has(bucket) });
}
