import type { Catalog } from '#catalog/catalog.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { type BucketId, bucketOf, type Rid, type TypeId } from '#core/value/rid.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import type { RecordCursor } from './read-view.ts';
import { RecordScan } from './record-scan.ts';

// Which bucket a record counts to. A record id names the bucket that the row lies in; when rows of several types lie there, the row
// tells, and the record counts to the window of its type (`BucketDefinition.windowOn`). Everything that takes a bucket for a type, a
// right, a trigger or a place in a scan asks here.

interface Records {
  readonly catalog: Catalog;
  record(rid: Rid): StoredRecord | undefined;
}

/** The bucket or window that the record counts to. Cost: nothing is read unless rows of several types lie in its bucket. */
export function holdingBucket(view: Records, rid: Rid): BucketId {
  const bucket = bucketOf(rid);
  const { catalog } = view;
  if (!catalog.hasWindows || catalog.windowsOn(bucket) === undefined) return bucket;
  const record = view.record(rid);
  return record === undefined ? bucket : holdingBucketOf(catalog, bucket, record.type);
}

/** @param bucket the one that the row lies in */
export function holdingBucketOf(catalog: Catalog, bucket: BucketId, type: TypeId): BucketId {
  return catalog.windowsOn(bucket)?.get(type) ?? bucket;
}

/** The type of a record, as far as it is one. Cost: as `holdingBucket`. */
export function typeOfRid(view: Records, rid: Rid): TypeId | undefined {
  return view.catalog.bucketWithId(holdingBucket(view, rid))?.type;
}

/** The type of all rows that lie in the bucket; undefined when only each row tells. */
export function onlyTypeIn(catalog: Catalog, bucket: BucketId): TypeId | undefined {
  if (catalog.hasWindows && catalog.windowsOn(bucket) !== undefined) return undefined;
  return catalog.bucketWithId(bucket)?.type;
}

/** The bucket that the rows of a bucket or window lie in. */
export function bucketUnder(catalog: Catalog, bucket: BucketId): BucketId {
  if (!catalog.hasWindows) return bucket;
  return catalog.bucketWithId(bucket)?.windowOn ?? bucket;
}

/** Each once. @param catalog absent: they are no windows */
export function bucketsUnder(
  catalog: Catalog | undefined,
  buckets: readonly BucketId[],
): readonly BucketId[] {
  if (catalog?.hasWindows !== true) return buckets;
  return [...new Set(buckets.map((bucket) => bucketUnder(catalog, bucket)))];
}

/** Whether not all rows that lie where those of the bucket do are of its type. */
export function isShared(catalog: Catalog, bucket: BucketId): boolean {
  return catalog.hasWindows && catalog.windowsOn(bucketUnder(catalog, bucket)) !== undefined;
}

/** The stored records that count to a bucket or window, upwards. */
export function storedScan(
  snapshot: StorageSnapshot,
  catalog: Catalog,
  { bucket, from }: { readonly bucket: BucketId; readonly from: number | undefined },
): RecordCursor {
  const range = { bucket: bucketUnder(catalog, bucket), order: 'ascending', from } as const;
  const scan = new RecordScan(snapshot, undefined, range);
  return isShared(catalog, bucket) ? seenThrough(scan, bucket, catalog) : scan;
}

/** Rows of others passed over before a cursor that may pause gives a hidden one. */
const othersPerPull = 256;

/** Of a cursor over a shared bucket the records that count to `bucket`; with `hidden`, that in the place of many others in a row. */
export function seenThrough(
  cursor: RecordCursor,
  bucket: BucketId,
  catalog: Catalog,
  hidden?: StoredRecord,
): RecordCursor {
  const under = bucketUnder(catalog, bucket);
  return {
    next: () => {
      for (let passed = 0; ; passed += 1) {
        const record = cursor.next();
        if (record === undefined || record === hidden) return record;
        if (holdingBucketOf(catalog, under, record.type) === bucket) return record;
        if (hidden !== undefined && passed >= othersPerPull) return hidden;
      }
    },
  };
}
