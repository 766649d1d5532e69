import type { Catalog } from '#catalog/catalog.ts';
import { holdingBucket } from '#transaction/read/holding-bucket.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { bucketOf, type Rid, type TypeId } from '#core/value/rid.ts';

/** Tells whether a record is of one of some types: by its bucket, or by itself where rows of several types lie in that. */
export type TypeCheck = (rid: Rid, view: ReadView) => boolean;

/** @returns undefined when the types leave nothing out */
export function typeCheckFor(
  types: readonly TypeId[] | undefined,
  catalog: Catalog,
): TypeCheck | undefined {
  if (types === undefined) return undefined;
  const buckets = new Set<number>();
  for (const type of types)
    for (const bucket of catalog.typeWithId(type).buckets) buckets.add(bucket);
  const leavesNothingOut = catalog
    .types()
    .every(
      (type) => type.kind === 'document' || type.buckets.every((bucket) => buckets.has(bucket)),
    );
  if (leavesNothingOut) return undefined;
  if (catalog.hasWindows) return (rid, view) => buckets.has(holdingBucket(view, rid));
  const [only] = buckets;
  if (buckets.size === 1 && only !== undefined) return (rid) => bucketOf(rid) === only;
  return (rid) => buckets.has(bucketOf(rid));
}
