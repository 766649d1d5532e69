import type { TypeDefinition } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { type BucketId, bucketOf, positionOf } from '#core/value/rid.ts';
import { partitionOf } from '#transaction/write/bucket-selector.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import { type MaintenanceTask, pauseOf } from './task.ts';

/** Records of a partitioned type that lie in another bucket than their values ask for. Reads all of them, in slices. */
export async function countMisplaced(type: TypeDefinition, task: MaintenanceTask): Promise<number> {
  using view = task.room.state.view();
  const timer = new SliceTimer(task.room.runtime, () => pauseOf(task));
  let count = 0;
  for (const bucket of type.buckets) {
    const scan = view.scan(bucket, 'ascending');
    let seen = 0;
    for (let record = scan.next(); record !== undefined; record = scan.next()) {
      if (isMisplaced(type, record)) count += 1;
      seen += 1;
      if ((seen & 255) === 0 && timer.isSpent) await timer.pause();
    }
  }
  return count;
}

/** False for strategies that do not look at values. */
export function isMisplaced(type: TypeDefinition, record: StoredRecord): boolean {
  const wanted = partitionOf(type, record);
  return wanted !== undefined && wanted !== bucketOf(record.rid);
}

/** The records of a bucket from a position on, at most `batchSize` of them and none at `end` or behind. */
export function recordsFrom(
  view: ReadView,
  bucket: BucketId,
  from: number,
  { batchSize, end }: { readonly batchSize: number; readonly end: number },
): { readonly records: readonly StoredRecord[]; readonly next: number | undefined } {
  const records: StoredRecord[] = [];
  const scan = view.scan(bucket, 'ascending', from);
  while (records.length < batchSize) {
    const record = scan.next();
    if (record === undefined || positionOf(record.rid) >= end) return { records, next: undefined };
    records.push(record);
  }
  const last = records.at(-1);
  return { records, next: last === undefined ? undefined : positionOf(last.rid) + 1 };
}
