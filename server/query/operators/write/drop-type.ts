import { requireDroppable } from '#catalog/change/type.ts';
import type { SchemaChange } from '#catalog/change/changes.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { Transaction } from '#transaction/transaction.ts';

type DropType = Extract<SchemaChange, { kind: 'drop-type' }>;

/** Records taken out between two pauses. */
const deletionBatch = 1_000;

/**
 * Before a type is dropped for good: what its own transaction wrote into it goes with it. Documents are forgotten by the transaction
 * once they are gone (`Transaction.alter`). New vertices and edges are taken back; where stored ones were changed or deleted, or
 * there are triggers, everything written so far is stored first, for the drop works on what is stored.
 * @throws DatabaseError `CommandExecution` when the transaction sees vertices or edges in the type, and UNSAFE is not said
 */
export async function settleWritesInto(
  change: DropType,
  transaction: Transaction,
  pause: () => Promise<void>,
): Promise<void> {
  const type = transaction.catalog.typeNamed(change.name);
  if (type === undefined) return;
  const changed = type.buckets.filter((bucket) => transaction.isChanged(bucket));
  if (changed.length === 0) return;
  const holdsRecords = type.buckets.some((bucket) => transaction.recordCount(bucket) > 0);
  requireDroppable(type, change, holdsRecords);
  if (type.kind === 'document') return;
  const isStored = changed.some((bucket) => transaction.snapshot.recordCount(bucket) > 0);
  // A dropped type sets off no triggers, which a deletion here would, and they may keep what is to go.
  if (isStored || transaction.catalog.definitions.isHooked) return transaction.flush();
  for (const bucket of changed) await takeBack(bucket, transaction, pause);
}

async function takeBack(
  bucket: BucketId,
  transaction: Transaction,
  pause: () => Promise<void>,
): Promise<void> {
  const cursor = transaction.scan(bucket, 'ascending');
  const rids = [];
  for (let record = cursor.next(); record !== undefined; record = cursor.next())
    rids.push(record.rid);
  for (const [at, rid] of rids.entries()) {
    if (at % deletionBatch === deletionBatch - 1) await pause();
    transaction.delete(rid);
  }
}
