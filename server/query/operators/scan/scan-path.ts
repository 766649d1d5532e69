import type { BucketId } from '#core/value/rid.ts';
import type { ReadView, RecordCursor } from '#transaction/read/read-view.ts';
import type { RidOrder } from '../../algebra/plan.ts';

/** The buckets of a scan, one after the other as they are listed, and how it goes through them. */
export interface ScanPath {
  readonly buckets: readonly BucketId[];
  /**
   * By record id in one of the directions; or in scan order (sql.md 7.3): the stored records of all buckets by position, then what the
   * transaction has created in them, in the order of creation.
   */
  readonly order: RidOrder | 'scan order';
}

/** @param buckets in scan order; @param order absent: that */
export function pathThrough(buckets: readonly BucketId[], order: RidOrder | undefined): ScanPath {
  if (order === undefined) return { buckets, order: 'scan order' };
  const sign = order === 'ascending' ? 1 : -1;
  return { buckets: buckets.toSorted((a, b) => (a - b) * sign), order };
}

/** What comes behind the buckets of the path: what the transaction has created by now, so it is asked before the first row. */
export function createdBehind(
  { buckets, order }: ScanPath,
  view: ReadView,
): RecordCursor | undefined {
  return order === 'scan order' ? view.created?.scan(buckets) : undefined;
}
