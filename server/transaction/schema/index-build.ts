import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import { type BucketId, positionOf, type Rid } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { areAllMade } from '#index/ordered/derived-pieces.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import { EntryRun } from '#storage/bulk/entry-runs.ts';
import type { BuildWatch } from '#storage/commit/index-builds.ts';
import type { IndexEntry, StorageEngine } from '#storage/engine.ts';
import { bucketUnder } from '../read/holding-bucket.ts';
import { RecordScan } from '../read/record-scan.ts';
import type { SchemaGate } from './schema-gate.ts';
import { SliceTimer } from '../write/slice-timer.ts';
import { duplicatedKey } from '../write/unique-claims.ts';

/** Records that are indexed while commits wait; some 0.1 to 0.2 s of work. */
export const roundRecordsDefault = 32_768;
/** A text has an entry for each of its words: a round ends with these, too. */
const roundEntriesMax = 131_072;

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
  let watch: BuildWatch | undefined;
  try {
    while (place.bucketAt < buckets.length) {
      recordCount += await services.gate.exclusively(() => {
        watch ??= services.engine.watchBuild(definition.id);
        return round(keys, { buckets, place, watch }, services);
      });
      await services.pause();
    }
  } finally {
    watch?.[Symbol.dispose]();
  }
  return recordCount;
}

interface Course {
  readonly buckets: readonly BucketId[];
  readonly place: Place;
  readonly watch: BuildWatch;
}

async function round(
  keys: IndexKeys,
  course: Course,
  services: IndexBuildServices,
): Promise<number> {
  const { engine, formats, runtime } = services;
  const timer = new SliceTimer(runtime, services.pause);
  const { run, others, recordCount } = await gather(keys, course, services, timer);
  await run.sort({ yield: services.pause });
  if (run.target.isUnique) await requireDistinct(keys, sorted(run), { engine, timer, formats });
  await engine.addNewEntries(run);
  if (others.length === 0) return recordCount;
  others.sort(compare);
  if (run.target.isUnique) await requireDistinct(keys, others, { engine, timer, formats });
  await engine.addEntries(run.target.id, run.target.isUnique, others);
  return recordCount;
}

/**
 * The entries of the next records, moving `place` behind them: a run of those that are new, and `others` of records that commits
 * have changed since the build began, few of which are.
 */
async function gather(
  keys: IndexKeys,
  { buckets, place, watch }: Course,
  { engine, catalog, roundRecords }: IndexBuildServices,
  timer: SliceTimer,
): Promise<Gathered> {
  using snapshot = engine.snapshot();
  const { id, unique } = keys.definition;
  const types = new Set(catalog().withSubtypes(keys.definition.type));
  const run = new EntryRun({ id, isUnique: unique, isBuilding: true });
  const others: IndexEntry[] = [];
  let recordCount = 0;
  const isFull = () => recordCount >= roundRecords || run.count >= roundEntriesMax;
  while (place.bucketAt < buckets.length && !isFull()) {
    const bucket = buckets[place.bucketAt] as BucketId;
    const scan = new RecordScan(snapshot, undefined, {
      bucket,
      order: 'ascending',
      from: place.position,
    });
    for (; !isFull(); recordCount++) {
      const record = scan.next();
      if (record === undefined) {
        place.bucketAt += 1;
        place.position = 0;
        break;
      }
      const { rid } = record;
      if (types.has(record.type)) {
        keys.requireAllowed(record);
        const isNew = !watch.mayHaveEntries(rid);
        const take = (key: Uint8Array): void => {
          if (isNew) run.add(key, rid);
          else others.push({ key, rid });
        };
        const own = keys.keysOrPieces(record);
        if (areAllMade(own)) own.forEach(take);
        else
          for (const piece of own) {
            piece.forEach(take);
            if (timer.isSpent) await timer.pause();
          }
      }
      place.position = positionOf(rid) + 1;
      if ((recordCount & 63) === 63 && timer.isSpent) await timer.pause();
    }
  }
  return { run, others, recordCount };
}

interface Gathered {
  readonly run: EntryRun;
  readonly others: IndexEntry[];
  readonly recordCount: number;
}

function* sorted(run: EntryRun): Iterable<IndexEntry> {
  for (let place = 0; place < run.count; place += 1)
    yield { key: run.componentsAt(place), rid: run.ridAt(place) };
}

function compare(a: IndexEntry, b: IndexEntry): number {
  return Buffer.compare(a.key, b.key) || a.rid - b.rid;
}

/** No two records may have one key, neither among these sorted entries nor with what is indexed already. */
async function requireDistinct(
  keys: IndexKeys,
  entries: Iterable<IndexEntry>,
  context: {
    readonly engine: StorageEngine;
    readonly timer: SliceTimer;
    readonly formats: TemporalFormats;
  },
): Promise<void> {
  const { engine, timer, formats } = context;
  using snapshot = engine.snapshot();
  const refuse = ({ key, rid }: IndexEntry, holder: Rid): void => {
    const record = snapshot.record(rid);
    if (record !== undefined) throw duplicatedKey(keys, key, record, holder, formats);
  };
  let before: IndexEntry | undefined;
  let count = 0;
  for (const entry of entries) {
    if (before !== undefined && Buffer.compare(before.key, entry.key) === 0)
      refuse(before, entry.rid);
    const holder = snapshot.uniqueEntry(keys.definition.id, entry.key);
    if (holder !== undefined && holder !== entry.rid) refuse(entry, holder);
    before = entry;
    count += 1;
    if ((count & 255) === 0 && timer.isSpent) await timer.pause();
  }
}
