import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import { type BucketId, positionOf } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import type { IndexEntry, StorageEngine, StorageSnapshot } from '#storage/engine.ts';
import { bucketUnder } from '../read/holding-bucket.ts';
import { RecordScan } from '../read/record-scan.ts';
import type { SchemaGate } from './schema-gate.ts';
import { SliceTimer } from '../write/slice-timer.ts';
import { duplicatedKey } from '../write/unique-claims.ts';

/** Records that are indexed while commits wait; some 0.1 to 0.2 s of work. */
export const roundRecordsDefault = 32_768;
/** Sorting this many entries stays below a slice. */
const runLength = 2_048;
/** Entries handed to storage at a time. */
const batchLength = 4_096;

export interface IndexBuildServices {
  readonly engine: StorageEngine;
  readonly gate: Pick<SchemaGate, 'exclusively'>;
  /** As it is now. */
  readonly catalog: () => Catalog;
  readonly runtime: Runtime;
  readonly formats: TemporalFormats;
  /** Records per round. */
  readonly roundRecords: number;
  /** Others have their turn; throws when the build is to end. */
  readonly pause: () => Promise<void>;
}

interface Place {
  bucketAt: number;
  position: number;
}

/**
 * Fills a `BUILDING` index from the records that were there before it. From the moment the schema has the index, every apply
 * maintains it for the records it changes; here the others are added, in rounds of some thousand records. During a round no
 * commit is in flight, so that what a round reads is what is there; between rounds commits go on. A record changed before its
 * round comes is simply indexed as it is then.
 *
 * @returns the number of records that were looked at
 * @throws DatabaseError `DuplicatedKey`, `Validation` (NULL_STRATEGY ERROR): the caller drops the index
 */
export async function buildIndex(
  definition: IndexDefinition,
  catalog: Catalog,
  services: IndexBuildServices,
): Promise<number> {
  const keys = new IndexKeys(definition);
  // Rows are gone through where they lie: whatever types they are given meanwhile, each is passed once.
  const places = catalog
    .withSubtypes(definition.type)
    .flatMap((type) => catalog.typeWithId(type).buckets)
    .map((bucket) => bucketUnder(catalog, bucket));
  const buckets = [...new Set(places)];
  const place: Place = { bucketAt: 0, position: 0 };
  let recordCount = 0;
  while (place.bucketAt < buckets.length) {
    recordCount += await services.gate.exclusively(() => round(keys, buckets, place, services));
    await services.pause();
  }
  return recordCount;
}

async function round(
  keys: IndexKeys,
  buckets: readonly BucketId[],
  place: Place,
  services: IndexBuildServices,
): Promise<number> {
  using snapshot = services.engine.snapshot();
  const timer = new SliceTimer(services.runtime, services.pause);
  const gathered = await gather(
    keys,
    { buckets, place, snapshot, recordsMax: services.roundRecords, catalog: services.catalog() },
    timer,
  );
  const entries = await sortInSlices(gathered.entries, timer);
  const { id, unique } = keys.definition;
  if (unique) await requireDistinct(keys, entries, { snapshot, timer, formats: services.formats });
  // Storage takes a batch in one go, so it is kept short.
  for (let at = 0; at < entries.length; at += batchLength) {
    await services.engine.addEntries(id, unique, entries.slice(at, at + batchLength));
    if (timer.isSpent) await timer.pause();
  }
  return gathered.recordCount;
}

/** The entries of the next records, moving `place` behind them. */
async function gather(
  keys: IndexKeys,
  from: {
    readonly buckets: readonly BucketId[];
    readonly place: Place;
    readonly snapshot: StorageSnapshot;
    readonly recordsMax: number;
    readonly catalog: Catalog;
  },
  timer: SliceTimer,
): Promise<{ readonly entries: IndexEntry[]; readonly recordCount: number }> {
  const { buckets, place, snapshot, recordsMax, catalog } = from;
  const types = new Set(catalog.withSubtypes(keys.definition.type));
  const entries: IndexEntry[] = [];
  let recordCount = 0;
  while (place.bucketAt < buckets.length && recordCount < recordsMax) {
    const bucket = buckets[place.bucketAt] as BucketId;
    const scan = new RecordScan(snapshot, undefined, {
      bucket,
      order: 'ascending',
      from: place.position,
    });
    for (; recordCount < recordsMax; recordCount++) {
      const record = scan.next();
      if (record === undefined) {
        place.bucketAt += 1;
        place.position = 0;
        break;
      }
      if (types.has(record.type)) {
        keys.requireAllowed(record);
        for (const key of keys.keysOf(record)) entries.push({ key, rid: record.rid });
      }
      place.position = positionOf(record.rid) + 1;
      if ((recordCount & 63) === 63 && timer.isSpent) await timer.pause();
    }
  }
  return { entries, recordCount };
}

/** Sorts by key and record id without holding the event loop: sorted runs, merged pairwise. */
async function sortInSlices(entries: IndexEntry[], timer: SliceTimer): Promise<IndexEntry[]> {
  let runs: IndexEntry[][] = [];
  for (let at = 0; at < entries.length; at += runLength) {
    runs.push(entries.slice(at, at + runLength).sort(compare));
    if (timer.isSpent) await timer.pause();
  }
  while (runs.length > 1) {
    const merged: IndexEntry[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      const [a, b] = [runs[i] ?? [], runs[i + 1]];
      merged.push(b === undefined ? a : await merge(a, b, timer));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

async function merge(
  a: readonly IndexEntry[],
  b: readonly IndexEntry[],
  timer: SliceTimer,
): Promise<IndexEntry[]> {
  const merged: IndexEntry[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    const [x, y] = [a[i] as IndexEntry, b[j] as IndexEntry];
    if (compare(x, y) <= 0) {
      merged.push(x);
      i += 1;
    } else {
      merged.push(y);
      j += 1;
    }
    if ((merged.length & 1023) === 0 && timer.isSpent) await timer.pause();
  }
  for (; i < a.length; i++) merged.push(a[i] as IndexEntry);
  for (; j < b.length; j++) merged.push(b[j] as IndexEntry);
  return merged;
}

function compare(a: IndexEntry, b: IndexEntry): number {
  return Buffer.compare(a.key, b.key) || a.rid - b.rid;
}

/** No two records may have one key, neither in this round nor with what is indexed already. */
async function requireDistinct(
  keys: IndexKeys,
  entries: readonly IndexEntry[],
  context: {
    readonly snapshot: StorageSnapshot;
    readonly timer: SliceTimer;
    readonly formats: TemporalFormats;
  },
): Promise<void> {
  const { snapshot, timer, formats } = context;
  for (let i = 0; i < entries.length; i++) {
    const { key, rid } = entries[i] as IndexEntry;
    const next = entries[i + 1];
    const holder =
      next !== undefined && Buffer.compare(next.key, key) === 0
        ? next.rid
        : snapshot.uniqueEntry(keys.definition.id, key);
    if (holder !== undefined && holder !== rid) {
      const record = snapshot.record(rid);
      if (record !== undefined) throw duplicatedKey(keys, key, record, holder, formats);
    }
    if ((i & 255) === 255 && timer.isSpent) await timer.pause();
  }
}
