import { DatabaseError } from '#core/errors.ts';
import { type BucketId, formatRid, makeRid, type Rid, type TypeId } from '#core/value/rid.ts';
import type { Block } from '#storage/format/block.ts';
import type { StorageSnapshot } from '#storage/engine.ts';
import { addHash, type HashHalves, hashRow } from '#storage/format/row-hash.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { CheckReport } from './report.ts';
import type { MaintenanceRoom } from '../task.ts';

/** What the blocks of a bucket hold, to be compared with what the bucket counts. */
export class BucketTally {
  live = 0;
  readonly hash: HashHalves = { low: 0, high: 0 };
  /** Numbers of blocks that cannot be read. */
  readonly damaged: number[] = [];
  readonly #row: HashHalves = { low: 0, high: 0 };
  /** Rows by the number of their shape, and the type that it is of. */
  readonly #shapes = new Map<number, { readonly type: TypeId; rows: number }>();
  readonly #snapshot: Pick<StorageSnapshot, 'recordAt'>;

  constructor(snapshot: Pick<StorageSnapshot, 'recordAt'>) {
    this.#snapshot = snapshot;
  }

  /** Rows of a type. */
  countOf(type: TypeId): number {
    let count = 0;
    for (const shape of this.#shapes.values()) if (shape.type === type) count += shape.rows;
    return count;
  }

  add(block: Block): void {
    for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
      const at = block.rowOffset(slot);
      const rid = makeRid(block.bucket, block.firstPosition + slot);
      hashRow(rid, block.view, at, block.view.getUint32(at, true), this.#row);
      addHash(this.hash, this.#row, 1);
      this.live += 1;
      this.#noteShape(block, slot, block.view.getUint16(at + 4, true));
    }
  }

  #noteShape(block: Block, slot: number, shape: number): void {
    const known = this.#shapes.get(shape);
    if (known !== undefined) known.rows += 1;
    else this.#shapes.set(shape, { type: this.#snapshot.recordAt(block, slot).type, rows: 1 });
  }

  isCountOf(snapshot: StorageSnapshot, bucket: BucketId): boolean {
    return this.live === snapshot.recordCount(bucket);
  }

  isContentOf(snapshot: StorageSnapshot, bucket: BucketId): boolean {
    const { low, high } = snapshot.contentHash(bucket);
    return this.hash.low === low && this.hash.high === high;
  }
}

/** Ids that a block may hold. */
export function positionsOf(
  snapshot: StorageSnapshot,
  bucket: BucketId,
  number: number,
): readonly Rid[] {
  const perBlock = snapshot.rowsPerBlock(bucket);
  const end = Math.min((number + 1) * perBlock, snapshot.nextPosition(bucket));
  const rids: Rid[] = [];
  for (let at = number * perBlock; at < end; at += 1) rids.push(makeRid(bucket, at));
  return rids;
}

/**
 * Takes the blocks that cannot be read out of their buckets, and makes buckets count what they hold. What else knew of lost
 * records (edges, lists, indexes) is for the checks after it, which meet a sound storage.
 */
export async function mendBuckets(
  buckets: readonly BucketId[],
  room: MaintenanceRoom,
  around: { readonly view: ReadView; readonly report: CheckReport; readonly timer: SliceTimer },
): Promise<void> {
  for (const bucket of buckets) {
    const tally = await tallyOf(bucket, around);
    await mendBucket(bucket, tally, room, around);
    for (const window of wrongWindows(bucket, tally, around.view)) {
      await room.state.repair(() => [
        { ...noChange, bucket: window.id, liveChange: window.live - window.counted },
      ]);
      around.report.error(
        `bucket '${window.name}' counted ${window.counted} records, but holds ${window.live}`,
      );
      around.report.fixed += 1;
    }
  }
}

const noChange = {
  op: 'mend-bucket',
  hashLowChange: 0,
  hashHighChange: 0,
  droppedBlocks: [],
} as const;

interface WrongWindow {
  readonly id: BucketId;
  readonly name: string;
  readonly counted: number;
  readonly live: number;
}

/** Windows on a bucket that count other records than it holds of their types. */
export function wrongWindows(
  bucket: BucketId,
  tally: BucketTally,
  { catalog, snapshot }: Pick<ReadView, 'catalog' | 'snapshot'>,
): readonly WrongWindow[] {
  const wrong: WrongWindow[] = [];
  for (const [type, id] of catalog.windowsOn(bucket) ?? []) {
    const [counted, live] = [snapshot.recordCount(id), tally.countOf(type)];
    const name = catalog.bucketWithId(id)?.name ?? String(id);
    if (counted !== live) wrong.push({ id, name, counted, live });
  }
  return wrong;
}

async function tallyOf(
  bucket: BucketId,
  { view, timer }: { readonly view: ReadView; readonly timer: SliceTimer },
): Promise<BucketTally> {
  const { snapshot } = view;
  const tally = new BucketTally(snapshot);
  for (let number = 0; number < snapshot.blockCount(bucket); number += 1) {
    try {
      const block = snapshot.block(bucket, number);
      if (block !== undefined) tally.add(block);
    } catch (error) {
      if (!isDamage(error)) throw error;
      tally.damaged.push(number);
    }
    if (timer.isSpent) await timer.pause();
  }
  return tally;
}

async function mendBucket(
  bucket: BucketId,
  tally: BucketTally,
  room: MaintenanceRoom,
  { view, report }: { readonly view: ReadView; readonly report: CheckReport },
): Promise<void> {
  const { snapshot } = view;
  const name = view.catalog.bucketWithId(bucket)?.name ?? String(bucket);
  const counted = snapshot.recordCount(bucket);
  const isSound =
    tally.damaged.length === 0 &&
    tally.isCountOf(snapshot, bucket) &&
    tally.isContentOf(snapshot, bucket);
  if (isSound) return;
  const change: HashHalves = { ...tally.hash };
  addHash(change, snapshot.contentHash(bucket), -1);
  await room.state.repair(() => [
    {
      op: 'mend-bucket',
      bucket,
      liveChange: tally.live - counted,
      hashLowChange: change.low,
      hashHighChange: change.high,
      droppedBlocks: tally.damaged,
    },
  ]);
  for (const number of tally.damaged) {
    const rids = positionsOf(snapshot, bucket, number);
    const first = formatRid(rids[0] as Rid);
    const last = formatRid(rids.at(-1) as Rid);
    report.damagedBlock(rids, `bucket '${name}': records ${first} to ${last} could not be read`);
    report.droppedBlock(rids);
  }
  if (counted === tally.live) report.error(`bucket '${name}' had another content hash`);
  else report.error(`bucket '${name}' counted ${counted} records, but holds ${tally.live}`);
  report.fixed += 1;
}

/** True for what a bad disk does; anything else is for others. */
export function isDamage(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.code === 'CorruptedRecord';
}
