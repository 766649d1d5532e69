import { DatabaseError } from '#core/errors.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { StorageSnapshot } from '../engine.ts';

/**
 * What a scan asks for at the end of a bucket: a block that the file's tree does not lead to any more, because an inner key of it
 * is damaged, looks like one without rows, and no checksum tells.
 * @param rowCount rows of all blocks that the scan has found
 * @throws DatabaseError `CorruptedRecord` when the bucket has another number of records
 */
export function requireWholeBucket(
  snapshot: StorageSnapshot,
  bucket: BucketId,
  rowCount: number,
): void {
  const counted = snapshot.recordCount(bucket);
  if (counted === rowCount) return;
  throw new DatabaseError(
    'CorruptedRecord',
    `bucket #${bucket} counts ${counted} records, but ${rowCount} are found in it; CHECK DATABASE tells more`,
  );
}
