import type { ViewDefinition } from '#catalog/definitions.ts';
import { DatabaseError } from '#core/errors.ts';
import { Link } from '#core/value/record.ts';
import { type BucketId, noRid, type Rid } from '#core/value/rid.ts';
import type { EpochMs } from '#core/runtime.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { ReadView } from '#transaction/read/read-view.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { StatementMemory } from '../bounds/memory-accounts.ts';
import type { RefreshServices } from './refresh-services.ts';
import { forEachRow } from './row-source.ts';

/** Records of a simple view by the record that each was made from. */
export type ViewRows = Map<Rid, Rid>;

const rowsPerLook = 256;
/** More records of a view are not remembered by their sources; it is then refreshed as a whole each time. */
const rememberedMax = 250_000;

/**
 * Makes the records of a view the rows of its query, in their order, in one transaction: the i-th record becomes the i-th row, so
 * that rows that stayed the same are not written. Runs in slices beside statements.
 *
 * @param check throws when the refresh is to end
 * @returns where the rows of a simple view are
 * @throws DatabaseError what the query or the writes raise; the rows are then what they were
 */
export async function refreshView(
  view: ViewDefinition,
  services: RefreshServices,
  check: () => void,
): Promise<ViewRows | undefined> {
  try {
    return await new ViewWriter(view, services, check).whole(false);
  } catch (error) {
    // Rows that change places may hold a unique key twice for a moment.
    if (!(error instanceof DatabaseError) || error.code !== 'DuplicatedKey') throw error;
    return await new ViewWriter(view, services, check).whole(true);
  }
}

/**
 * As `refreshView`, for a simple view of which only these records may give other rows than before. New rows come last.
 * @param rows brought up to date when it succeeds
 */
export async function refreshChanged(
  view: ViewDefinition,
  services: RefreshServices,
  about: {
    readonly rows: ViewRows;
    readonly changed: readonly Rid[];
    readonly check: () => void;
  },
): Promise<void> {
  await new ViewWriter(view, services, about.check).changed(about.rows, about.changed);
}

/** When the rows of the view were last written by a refresh; undefined: not since there are such times. */
export function storedRefreshTime(
  engine: StorageEngine,
  view: ViewDefinition,
): EpochMs | undefined {
  using snapshot = engine.snapshot();
  const stored = snapshot.meta(refreshTimeName(view));
  return stored && Number(new TextDecoder().decode(stored));
}

/** Types are never given the same id again. */
function refreshTimeName(view: ViewDefinition): string {
  return `view-refresh:${view.type}`;
}

class ViewWriter {
  readonly #view: ViewDefinition;
  readonly #services: RefreshServices;
  readonly #check: () => void;
  readonly #transaction: Transaction;
  readonly #memory: StatementMemory;

  constructor(view: ViewDefinition, services: RefreshServices, check: () => void) {
    this.#view = view;
    this.#services = services;
    this.#check = check;
    this.#transaction = services.begin();
    this.#memory = new StatementMemory(services.memory, services.limits().memoryBytesMax);
  }

  whole(isFromScratch: boolean): Promise<ViewRows | undefined> {
    return this.#committed(async () => {
      const old = await this.#records();
      if (isFromScratch) await this.#delete(old, 0);
      const { rows, count } = await this.#writeAll(isFromScratch ? noRecords : old);
      if (!isFromScratch) await this.#delete(old, count);
      return rows;
    });
  }

  async changed(rows: ViewRows, changed: readonly Rid[]): Promise<void> {
    const moved = await this.#committed(() => this.#writeChanged(rows, changed));
    for (const [source, record] of moved) {
      if (record === noRid) rows.delete(source);
      else rows.set(source, record);
    }
  }

  async #committed<T>(work: () => Promise<T>): Promise<T> {
    const transaction = this.#transaction;
    try {
      transaction.beginStatement();
      const result = await work();
      const now = String(this.#services.runtime.clock.now());
      transaction.attach(refreshTimeName(this.#view), new TextEncoder().encode(now));
      await transaction.commit();
      return result;
    } finally {
      transaction.rollback();
      this.#memory.close();
    }
  }

  /** The records of the view, in their order. */
  async #records(): Promise<Float64Array> {
    const { buckets } = this.#transaction.catalog.typeWithId(this.#view.type);
    let rids = new Float64Array(1024);
    let count = 0;
    for (const bucket of buckets as readonly BucketId[]) {
      const cursor = this.#transaction.scan(bucket, 'ascending');
      for (let record = cursor.next(); record !== undefined; record = cursor.next()) {
        if (count === rids.length) {
          const grown = new Float64Array(count * 2);
          grown.set(rids);
          rids = grown;
        }
        rids[count] = record.rid;
        count += 1;
        if (count % rowsPerLook === 0) await this.#pause();
      }
    }
    return rids.subarray(0, count);
  }

  async #writeAll(old: Float64Array) {
    const { type, isSimple } = this.#view;
    const transaction = this.#transaction;
    let rows: ViewRows | undefined = isSimple ? new Map() : undefined;
    let count = 0;
    using source = this.#services.view();
    await forEachRow(this.#view, this.#services, this.#about(source, undefined), (row) => {
      const rid = (old[count] ?? noRid) as Rid;
      const record =
        rid === noRid
          ? transaction.insertDocument(type, row.properties)
          : transaction.update(rid, row.properties);
      count += 1;
      if (row.source === undefined || count > rememberedMax) rows = undefined;
      else rows?.set(row.source, record.rid);
    });
    return { rows, count };
  }

  /** @returns the new place of each row that came or went; `noRid` for one that went */
  async #writeChanged(rows: ViewRows, changed: readonly Rid[]): Promise<ViewRows> {
    const { type } = this.#view;
    const transaction = this.#transaction;
    const moved: ViewRows = new Map();
    const seen = new Set<Rid>();
    using source = this.#services.view();
    const links = changed.map((rid) => new Link(rid));
    await forEachRow(this.#view, this.#services, this.#about(source, links), (row) => {
      const from = row.source ?? noRid;
      seen.add(from);
      const known = rows.get(from);
      if (known !== undefined) transaction.update(known, row.properties);
      else moved.set(from, transaction.insertDocument(type, row.properties).rid);
    });
    let count = 0;
    for (const from of changed) {
      const known = seen.has(from) ? undefined : rows.get(from);
      if (known === undefined) continue;
      transaction.delete(known);
      moved.set(from, noRid);
      count += 1;
      if (count % rowsPerLook === 0) await this.#pause();
    }
    return moved;
  }

  #about(source: ReadView, changed: readonly Link[] | undefined) {
    const pause = async (): Promise<void> => {
      this.#memory.holdWrites(this.#transaction.heldBytes);
      await this.#pause();
    };
    return { source, changed, memory: this.#memory, check: this.#check, pause };
  }

  async #delete(old: Float64Array, from: number): Promise<void> {
    for (let at = from; at < old.length; at += 1) {
      this.#transaction.delete(old[at] as Rid);
      if (at % rowsPerLook === 0) await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    await this.#services.runtime.timers.yield();
    this.#check();
  }
}

const noRecords = new Float64Array(0);
