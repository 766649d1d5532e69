import type { Catalog } from '#catalog/catalog.ts';
import type { TypeId } from '#core/value/rid.ts';
import { isShared } from '#transaction/read/holding-bucket.ts';

/** Whether records of the types lie among those of others: then no order of buckets is one of record ids. */
export function isSpread(
  { types }: { readonly types: readonly TypeId[] },
  catalog: Catalog,
): boolean {
  if (!catalog.hasWindows) return false;
  return types.some((type) =>
    catalog.typeWithId(type).buckets.some((bucket) => isShared(catalog, bucket)),
  );
}
