import type { Catalog, IndexDefinition, TypeDefinition } from '#catalog/catalog.ts';
import { isWhole } from '#catalog/change/index-definition.ts';
import { DatabaseError } from '#core/errors.ts';
import { type BucketId, bucketOf, formatRid, positionOf, type Rid } from '#core/value/rid.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { ValueMap } from '#core/value/value.ts';
import type { CheckDatabase } from '#query/algebra/maintenance.ts';
import { bucketUnder, isShared } from '#transaction/read/holding-bucket.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import { SliceTimer } from '#transaction/write/slice-timer.ts';
import type { Block } from '#storage/format/block.ts';
import { wrongWindows, BucketTally, isDamage, mendBuckets, positionsOf } from './buckets.ts';
import { EdgeCheck } from './edges.ts';
import { checkIndex } from './index-entries.ts';
import { countDanglingLinks } from './links.ts';
import type { CheckedView } from './checked-view.ts';
import { CheckReport } from './report.ts';
import { type MaintenanceTask, pauseOf } from '../task.ts';

/** What storage aims a block at; the row calls it a page. */
const blockBytes = 8192;

/**
 * CHECK DATABASE (sql.md 16.3): reads every record that the statement names, with its checksum, compares edges with the lists
 * of their vertices, both ways, and entries of indexes with the records; counts links that lead nowhere. All of it in one
 * state, in slices. FIX then deletes edges whose ends are gone, mends lists and builds indexes anew; what it found is told
 * either way. A transaction around it loses its writes.
 */
export async function checkDatabase(
  work: CheckDatabase,
  task: MaintenanceTask,
): Promise<readonly ValueMap[]> {
  task.order.transaction.discard();
  const report = new CheckReport();
  const timer = new SliceTimer(task.room.runtime, () => pauseOf(task));
  const brokenIndexes: IndexDefinition[] = [];
  using edges = new EdgeCheck(task.room, report, timer);
  if (work.fix && work.records === undefined) await mendStorage(work, task, { report, timer });
  {
    using opened = task.room.state.view();
    const view = soundView(opened);
    task.progress.step('records', recordCountOf(work, view));
    const check = new RecordCheck(work, { view, report, timer, edges, task });
    await check.run();
    if (work.records === undefined) {
      for (const index of indexesOf(work, view.catalog)) {
        if (!(await checkIndex(index, { view, report, timer }))) brokenIndexes.push(index);
      }
    }
  }
  if (work.fix) {
    await edges.mend(work.deleteOrphans);
    for (const index of brokenIndexes) await rebuild(index, report, task);
  }
  return [report.row(blockBytes)];
}

/** Databases whose storage is being mended: what two would find at once, both would take off. */
const beingMended = new WeakSet<object>();

async function mendStorage(
  work: CheckDatabase,
  task: MaintenanceTask,
  around: { readonly report: CheckReport; readonly timer: SliceTimer },
): Promise<void> {
  const { state } = task.room;
  if (beingMended.has(state))
    throw new DatabaseError('Busy', 'another CHECK DATABASE FIX is at work on the database');
  beingMended.add(state);
  try {
    using view = state.view();
    const named = bucketsNamed(work, view.catalog);
    const buckets = view.catalog.buckets().map(({ id }) => id);
    const checked = buckets.filter(
      (id) => named?.has(id) !== false && bucketUnder(view.catalog, id) === id,
    );
    await mendBuckets(checked, task.room, { ...around, view });
  } finally {
    beingMended.delete(state);
  }
}

/** A record in a block that cannot be read is none for those who refer to it: the block is told of once. */
function soundView(view: ReadView): CheckedView {
  return {
    catalog: view.catalog,
    snapshot: view.snapshot,
    recordCount: (bucket) => view.recordCount(bucket),
    scan: (bucket, order) => view.scan(bucket, order),
    record(rid) {
      try {
        return view.record(rid);
      } catch (error) {
        if (isDamage(error)) return undefined;
        throw error;
      }
    },
  };
}

async function rebuild(
  { name }: IndexDefinition,
  report: CheckReport,
  task: MaintenanceTask,
): Promise<void> {
  try {
    await task.order.transaction.alter({ kind: 'rebuild-index', name }, () => pauseOf(task));
    report.rebuiltIndexes.push(name);
    report.fixed += 1;
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== 'DuplicatedKey') throw error;
    report.warn(`index '${name}' cannot be built: ${error.message}`);
  }
}

/** Undefined: every bucket. */
function bucketsNamed(work: CheckDatabase, catalog: Catalog): ReadonlySet<BucketId> | undefined {
  if (work.types === undefined && work.buckets === undefined) return undefined;
  const buckets = new Set<BucketId>(work.buckets ?? []);
  for (const id of work.types ?? [])
    for (const bucket of catalog.typeWithId(id).buckets)
      buckets.add(bucket).add(bucketUnder(catalog, bucket));
  return buckets;
}

function recordCountOf(work: CheckDatabase, view: CheckedView): number {
  if (work.records !== undefined) return work.records.length;
  const named = bucketsNamed(work, view.catalog);
  return view.catalog
    .buckets()
    .reduce((sum, { id }) => sum + (named?.has(id) === false ? 0 : view.recordCount(id)), 0);
}

function indexesOf(work: CheckDatabase, catalog: Catalog): readonly IndexDefinition[] {
  const named = bucketsNamed(work, catalog);
  return catalog.indexes().filter((index) => {
    if (!isWhole(index) || index.state !== 'READY') return false;
    return (
      named === undefined ||
      catalog
        .withSubtypes(index.type)
        .some((type) => catalog.typeWithId(type).buckets.some((bucket) => named.has(bucket)))
    );
  });
}

interface Surroundings {
  readonly view: CheckedView;
  readonly report: CheckReport;
  readonly timer: SliceTimer;
  readonly edges: EdgeCheck;
  readonly task: MaintenanceTask;
}

/** Reads records one by one. */
class RecordCheck {
  readonly #work: CheckDatabase;
  readonly #around: Surroundings;

  constructor(work: CheckDatabase, around: Surroundings) {
    this.#work = work;
    this.#around = around;
  }

  async run(): Promise<void> {
    const { records } = this.#work;
    if (records !== undefined) {
      for (const rid of records) this.#checkNamed(rid);
      return;
    }
    const { catalog } = this.#around.view;
    const named = bucketsNamed(this.#work, catalog);
    for (const { id, type, windowOn } of catalog.buckets()) {
      if (windowOn !== undefined || named?.has(id) === false) continue;
      await this.#checkBucket(id, type === undefined ? undefined : catalog.typeWithId(type));
    }
  }

  #checkNamed(rid: Rid): void {
    const { report } = this.#around;
    try {
      const record = this.#named(rid);
      if (record === undefined) report.error(`record ${formatRid(rid)} does not exist`);
      else this.#check(record);
    } catch (error) {
      this.#noteDamage(rid, error);
    }
  }

  /** As the snapshot has it, damage included. */
  #named(rid: Rid): StoredRecord | undefined {
    return this.#around.view.snapshot.record(rid);
  }

  async #checkBucket(bucket: BucketId, type: TypeDefinition | undefined): Promise<void> {
    const { view, report, timer, task } = this.#around;
    const { snapshot } = view;
    const kind = type?.kind ?? (isShared(view.catalog, bucket) ? 'vertex' : 'document');
    const isCounted = type?.lightweight !== true;
    const tally = new BucketTally(snapshot);
    let last = -1;
    for (let number = 0; number < snapshot.blockCount(bucket); number += 1) {
      const block = this.#blockOf(bucket, number);
      if (block !== undefined) {
        tally.add(block);
        for (let slot = block.nextSlot(0); slot >= 0; slot = block.nextSlot(slot + 1)) {
          const record = snapshot.recordAt(block, slot);
          last = positionOf(record.rid);
          this.#checkCarefully(record);
        }
      }
      if (timer.isSpent) await timer.pause();
    }
    const { live } = tally;
    task.progress.advance(live);
    report.maxPosition = Math.max(report.maxPosition, last + 1);
    if (isCounted) {
      report.allocated[kind] += last + 1;
      report.active[kind] += live;
    }
    const name = view.catalog.bucketWithId(bucket)?.name ?? String(bucket);
    if (!tally.isCountOf(snapshot, bucket)) {
      report.error(
        `bucket '${name}' counts ${snapshot.recordCount(bucket)} records, but holds ${live}`,
      );
    } else if (!tally.isContentOf(snapshot, bucket)) {
      report.error(`bucket '${name}' has another content hash than its records`);
    }
    for (const window of wrongWindows(bucket, tally, view))
      report.error(
        `bucket '${window.name}' counts ${window.counted} records, but holds ${window.live}`,
      );
  }

  #blockOf(bucket: BucketId, number: number): Block | undefined {
    const { view, report } = this.#around;
    const { snapshot } = view;
    try {
      const block = snapshot.block(bucket, number);
      report.blocks += block === undefined ? 0 : 1;
      report.usedBytes += block?.usedBytes ?? 0;
      return block;
    } catch (error) {
      if (!isDamage(error)) throw error;
      const name = view.catalog.bucketWithId(bucket)?.name ?? '';
      const rids = positionsOf(snapshot, bucket, number);
      report.damagedBlock(rids, `bucket '${name}': ${error.message}`);
      return undefined;
    }
  }

  /** Damage outside the block, as of a large cell, spoils one record. */
  #checkCarefully(record: StoredRecord): void {
    try {
      this.#check(record);
    } catch (error) {
      this.#noteDamage(record.rid, error);
    }
  }

  #check(record: StoredRecord): void {
    const { view, report, edges } = this.#around;
    const dangling = countDanglingLinks(record, view);
    if (dangling > 0) {
      report.invalidLinks += dangling;
      report.warn(`record ${formatRid(record.rid)} has ${dangling} links to records that are gone`);
    }
    if (record.kind === 'vertex') edges.checkVertex(record, view);
    else if (record.kind === 'edge') edges.checkEdge(record, view);
  }

  #noteDamage(rid: Rid, error: unknown): void {
    if (!isDamage(error)) throw error;
    const { report, view } = this.#around;
    const name = view.catalog.bucketWithId(bucketOf(rid))?.name ?? '';
    report.corrupted(rid, `bucket '${name}': ${error.message}`);
  }
}
