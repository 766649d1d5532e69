import type { IndexId } from '#core/value/rid.ts';
import type { ReadView } from '#transaction/read/read-view.ts';

/**
 * True when every record of the index's types stands in the index, which then holds no fewer records than a scan finds although
 * it skips nulls. Only for indexes with one entry per record. Cost: two counters per bucket.
 */
export function holdsEveryRecord(view: ReadView, index: IndexId): boolean {
  const { catalog } = view;
  let recordCount = 0;
  for (const type of catalog.withSubtypes(catalog.indexWithId(index).type))
    for (const bucket of catalog.typeWithId(type).buckets) recordCount += view.recordCount(bucket);
  return view.index(index).entryCount === recordCount;
}
