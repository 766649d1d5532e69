import { parseBucketStrategy } from '#catalog/bucket-strategy.ts';
import type { TypeDefinition } from '#catalog/catalog.ts';
import { DatabaseError } from '#core/errors.ts';
import { propertiesOf } from '#core/value/integer-width.ts';
import type { StoredRecord } from '#core/value/record.ts';
import { type BucketId, positionOf } from '#core/value/rid.ts';
import type { Value, ValueMap } from '#core/value/value.ts';
import type { Maintenance } from '#query/algebra/maintenance.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import { committed } from './batches.ts';
import { type MaintenanceTask, pauseOf } from './task.ts';
import { isMisplaced, recordsFrom } from './partitions.ts';

type RebuildType = Extract<Maintenance, { kind: 'rebuild-type' }>;
type Repartition = Extract<Maintenance, { kind: 'repartition' }>;

interface Tally {
  visited: number;
  rebuilt: number;
  moved: number;
}

/**
 * REBUILD TYPE (sql.md 13.12): every record is read, converted by the declarations of today and stored again, in commits of
 * `batchSize` records. A transaction around it stays as it is.
 *
 * @throws DatabaseError `IllegalArgument` for repartitioning vertices or edges; `Validation` naming what the declarations
 *   refuse: batches before it stay
 */
export async function rebuildType(
  work: RebuildType,
  task: MaintenanceTask,
): Promise<readonly ValueMap[]> {
  const { catalog } = task.room.state;
  const type = catalog.typeWithId(work.type);
  const ids = work.polymorphic ? catalog.withSubtypes(type.id) : [type.id];
  const types = ids.map((id) => catalog.typeWithId(id));
  if (work.repartition) types.forEach(requireDocuments);
  const tally = await rewrite(types, { ...work, rewrites: true }, task);
  if (work.repartition) await settlePartitions(types, task);
  const isOpen = types.some((one) => one.needsRepartition) && !work.repartition;
  return [
    new Map<string, Value>([
      ['operation', 'rebuild type'],
      ['typeName', type.name],
      ['polymorphic', work.polymorphic],
      ['repartition', work.repartition],
      ['recordsRebuilt', tally.rebuilt],
      ...(work.repartition ? [['recordsMoved', tally.moved] as [string, Value]] : []),
      ...(isOpen
        ? [
            [
              'warning',
              'records may lie in other buckets than the strategy asks for: use WITH repartition = true',
            ] as [string, Value],
          ]
        : []),
    ]),
  ];
}

/** `ALTER TYPE t WITH repartition = true`: records go to the bucket that their values ask for. */
export async function repartitionType(
  work: Repartition,
  task: MaintenanceTask,
): Promise<readonly ValueMap[]> {
  const { transaction } = task.order;
  requireDocuments(transaction.catalog.typeWithId(work.type));
  const rows = await transaction.alter(work.change, () => pauseOf(task));
  const type = transaction.catalog.typeWithId(work.type);
  const options = { repartition: true, rewrites: false, batchSize: batchSizeDefault };
  const tally = await rewrite([type], options, task);
  await settlePartitions([type], task);
  return rows.map(
    (row) =>
      new Map<string, Value>([
        ...row,
        ['repartitionVisited', tally.visited],
        ['repartitionMoved', tally.moved],
      ]),
  );
}

/** Records of one commit, unless the statement says another number. */
export const batchSizeDefault = 10_000;

/** Moving a record gives it a new id; edges know vertices by theirs. */
function requireDocuments(type: TypeDefinition): void {
  if (type.kind === 'document') return;
  throw new DatabaseError(
    'IllegalArgument',
    `Repartition is allowed for document types only, but '${type.name}' is ${type.kind === 'edge' ? 'an edge' : 'a vertex'} type`,
  );
}

async function rewrite(
  types: readonly TypeDefinition[],
  options: {
    readonly repartition: boolean;
    readonly rewrites: boolean;
    readonly batchSize: number;
  },
  task: MaintenanceTask,
): Promise<Tally> {
  const tally: Tally = { visited: 0, rebuilt: 0, moved: 0 };
  task.progress.step('rewrite', undefined);
  // Records moved while this runs lie behind these positions and are where they belong.
  const ends = endsOf(types, task);
  for (const type of types) {
    const moves =
      options.repartition && parseBucketStrategy(type.bucketStrategy).kind === 'partitioned';
    if (!moves && !options.rewrites) {
      tally.visited += countOf(type, task);
      continue;
    }
    for (const bucket of type.buckets)
      await rewriteBucket(
        type,
        bucket,
        { ...options, moves, end: ends.get(bucket) ?? 0 },
        tally,
        task,
      );
  }
  return tally;
}

function countOf(type: TypeDefinition, { room }: MaintenanceTask): number {
  using view = room.state.view();
  return type.buckets.reduce((sum, bucket) => sum + view.recordCount(bucket), 0);
}

interface RewriteOptions {
  readonly moves: boolean;
  readonly rewrites: boolean;
  readonly batchSize: number;
  /** One past the last position to look at. */
  readonly end: number;
}

async function rewriteBucket(
  type: TypeDefinition,
  bucket: BucketId,
  options: RewriteOptions,
  tally: Tally,
  task: MaintenanceTask,
): Promise<void> {
  const { state, runtime } = task.room;
  let from: number | undefined = 0;
  const timer = new SliceTimer(runtime, () => pauseOf(task));
  while (from !== undefined && from < options.end) {
    const start: number = from;
    const rewrite = async (transaction: Transaction) => {
      const { records, next } = recordsFrom(transaction, bucket, start, options);
      const counted = { ...tally };
      for (const record of records) {
        rewriteRecord(type, record, options, counted, transaction);
        if (timer.isSpent) await timer.pause();
      }
      return () => {
        Object.assign(tally, counted);
        task.progress.advance(records.length);
        return next;
      };
    };
    // The records stay what they are: no trigger fires.
    from = await committed(state, timer, rewrite, () => state.beginMaintenance());
  }
}

/** Where each bucket ends now. */
function endsOf(
  types: readonly TypeDefinition[],
  { room }: MaintenanceTask,
): ReadonlyMap<BucketId, number> {
  using view = room.state.view();
  const ends = new Map<BucketId, number>();
  for (const bucket of types.flatMap((type) => type.buckets)) {
    const last = view.scan(bucket, 'descending').next();
    ends.set(bucket, last === undefined ? 0 : positionOf(last.rid) + 1);
  }
  return ends;
}

function rewriteRecord(
  type: TypeDefinition,
  record: StoredRecord,
  { moves, rewrites }: RewriteOptions,
  tally: Tally,
  transaction: Transaction,
): void {
  tally.visited += 1;
  if (moves && isMisplaced(type, record)) {
    const properties = propertiesOf(record);
    transaction.delete(record.rid);
    transaction.insertDocument(type.id, properties);
    tally.moved += 1;
    tally.rebuilt += 1;
    return;
  }
  if (!rewrites) return;
  transaction.update(record.rid, propertiesOf(record));
  tally.rebuilt += 1;
}

/** The types are partitioned as their strategy says from now on. */
async function settlePartitions(
  types: readonly TypeDefinition[],
  { order }: MaintenanceTask,
): Promise<void> {
  for (const type of types) {
    if (!type.needsRepartition) continue;
    const setting = { kind: 'setting', name: 'repartition', value: true } as const;
    await order.transaction.alter({ kind: 'alter-type', name: type.name, items: [setting] });
  }
}
