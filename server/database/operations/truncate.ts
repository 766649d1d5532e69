import { DatabaseError } from '#core/errors.ts';
import type { BucketId } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Maintenance } from '#query/algebra/maintenance.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { patientWrite } from '../attempt/patient-write.ts';
import type { MaintenanceOrder } from '../statement/context.ts';
import { committed } from './batches.ts';
import type { MaintenanceRoom } from './task.ts';

type Truncate = Extract<Maintenance, { kind: 'truncate' }>;

/**
 * TRUNCATE TYPE and BUCKET (sql.md 13.4): the records are deleted one by one, so that edges go with vertices and triggers are
 * run. In the statement's transaction; or, when the statement stands alone with `autoCommit: false`, in commits of
 * `service.truncateBatchSize` records, which cannot be taken back.
 *
 * @throws DatabaseError `IllegalArgument` for vertices and edges without UNSAFE
 */
export async function truncate(
  work: Truncate,
  order: MaintenanceOrder,
  room: MaintenanceRoom,
): Promise<readonly ValueMap[]> {
  const { transaction, mayCommitInPieces, pause } = order;
  if (!work.unsafe) requireHarmless(work, transaction);
  const timer = new SliceTimer(room.runtime, pause);
  for (const bucket of work.buckets) {
    if (mayCommitInPieces) await emptyInPieces(bucket, room, timer);
    else await empty(transaction, bucket, Number.MAX_SAFE_INTEGER, timer);
  }
  const isType = work.what === 'type';
  return [
    new Map<string, Value>([
      ['operation', `truncate ${work.what}`],
      ...(isType
        ? [['typeName', work.name] as [string, Value]]
        : [
            ['bucketName', work.name] as [string, Value],
            ['bucketId', work.buckets[0] as number] as [string, Value],
          ]),
      ['transactional', !mayCommitInPieces],
    ]),
  ];
}

async function emptyInPieces(
  bucket: BucketId,
  { state, truncateBatchSize }: MaintenanceRoom,
  timer: SliceTimer,
): Promise<void> {
  for (;;) {
    const count = await committed(state, timer, async (transaction) => {
      const deleted = await empty(transaction, bucket, truncateBatchSize(), timer);
      return () => deleted;
    });
    if (count === 0) return;
  }
}

/** @returns how many records were deleted, at most `countMax` */
async function empty(
  transaction: Transaction,
  bucket: BucketId,
  countMax: number,
  timer: SliceTimer,
): Promise<number> {
  let count = 0;
  const scan = transaction.scan(bucket, 'ascending');
  const { isHooked } = transaction.catalog.definitions;
  const pause = async (): Promise<void> => {
    if (timer.isSpent) await timer.pause();
  };
  while (count < countMax) {
    const record = scan.next();
    if (record === undefined) break;
    const remove = (): boolean => transaction.delete(record.rid);
    // A trigger may keep a record.
    if (isHooked ? await patientWrite(transaction, remove, pause) : remove()) count += 1;
    if (timer.isSpent) await timer.pause();
  }
  return count;
}

/** Vertices and edges are deleted only with UNSAFE. */
function requireHarmless(work: Truncate, transaction: Transaction): void {
  const { catalog } = transaction;
  for (const bucket of work.buckets) {
    const owner = catalog.bucketWithId(bucket)?.type;
    const kind = owner === undefined ? 'document' : catalog.typeWithId(owner).kind;
    if (kind === 'document' || transaction.recordCount(bucket) === 0) continue;
    const held = kind === 'vertex' ? 'vertices' : 'edges';
    throw new DatabaseError(
      'IllegalArgument',
      `'TRUNCATE ${work.what.toUpperCase()}' command cannot truncate ${work.what} '${work.name}' because it contains ${held}. Use the UNSAFE keyword to delete them with it`,
    );
  }
}
