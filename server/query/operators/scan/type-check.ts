import type { Catalog } from '#catalog/catalog.ts';
import { bucketOf, type Rid, type TypeId } from '#core/value/rid.ts';

/** Tells by bucket, without loading anything, whether a record is of one of some types. */
export type TypeCheck = (rid: Rid) => boolean;

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
  const [only] = buckets;
  if (buckets.size === 1 && only !== undefined) return (rid) => bucketOf(rid) === only;
  return (rid) => buckets.has(bucketOf(rid));
}
