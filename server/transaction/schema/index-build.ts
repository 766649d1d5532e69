import type { Catalog, IndexDefinition } from '#catalog/catalog.ts';
import { type BucketId, positionOf, type Rid } from '#core/value/rid.ts';
import type { Runtime } from '#core/runtime.ts';
import type { TemporalFormats } from '#core/temporal/format.ts';
import { areAllMade } from '#index/ordered/derived-pieces.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import { EntryRun } from '#storage/bulk/entry-runs.ts';
import { type GatheredEntries, gatheredEntries } from '#storage/bulk/gathered-entries.ts';
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
/** Entries that are written in one round, for each record that is looked at in one. */
const entriesPerRecord = 4;
/** Records whose entries are made anew in one round. */
const lateRecordsPerRound = 1_024;

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
 * maintains it for the records it changes; here the others are added. In rounds of some thousand records their entries are
 * gathered, in memory, then put in order, and written in rounds as well. During a round no commit is in flight, so that what a round
 * reads is what is there; between rounds commits go on. A record changed before its round comes is simply indexed as it is then; of one
 * changed between its rounds no entry is written any more, and in the end they are made anew.
 *
 * @returns the number of records that were looked at
 * @throws DatabaseError `DuplicatedKey`, `Validation` (NULL_STRATEGY ERROR): the caller drops the index
 */
export async function buildIndex(
  definition: IndexDefinition,
  catalog: Catalog,
  services: IndexBuildServices,
): Promise<number> {
  const { engine, gate, pause } = services;
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
  const isOver = () => place.bucketAt >= buckets.length;
  try {
    while (!isOver()) {
      const gathered = gatheredEntries(keys.target);
      while (!isOver() && !gathered.isFull) {
        recordCount += await gate.exclusively(() => {
          watch ??= engine.watchBuild(definition.id);
          return gatherRound(keys, gathered, { buckets, place, watch }, services);
        });
        await gathered.endRound({ yield: pause });
        await pause();
      }
      if (watch !== undefined) await write(keys, gathered, watch, services);
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

async function gatherRound(
  keys: IndexKeys,
  gathered: GatheredEntries,
  course: Course,
  services: IndexBuildServices,
): Promise<number> {
  const timer = new SliceTimer(services.runtime, services.pause);
  const { others, recordCount } = await gather(keys, gathered, course, services, timer);
  await addOthers(keys, others, services, timer);
  return recordCount;
}

/** Writes what was gathered, but what belongs to records that commits have changed since. */
async function write(
  keys: IndexKeys,
  gathered: GatheredEntries,
  watch: BuildWatch,
  services: IndexBuildServices,
): Promise<void> {
  const { engine, gate, formats, runtime, roundRecords, pause } = services;
  const timer = new SliceTimer(runtime, pause);
  const late = new Set<Rid>();
  const isAsGathered = (rid: Rid): boolean => {
    const isChanged = watch.mayHaveEntries(rid);
    if (isChanged) late.add(rid);
    return !isChanged;
  };
  const partEntriesMax = Math.min(roundEntriesMax, roundRecords * entriesPerRecord);
  const timers = { yield: pause };
  for (;;) {
    const part = await gathered.next(partEntriesMax, timers);
    if (part === undefined) break;
    await gate.exclusively(async () => {
      if (watch.mayHaveAny) part.keepOnly(isAsGathered);
      if (part instanceof EntryRun && part.target.isUnique)
        await requireDistinct(keys, sorted(part), { engine, timer, formats });
      await engine.addNewEntries(part);
    });
  }
  const rids = [...late].sort((a, b) => a - b);
  for (let from = 0; from < rids.length; from += lateRecordsPerRound) {
    await gate.exclusively(() =>
      addLate(keys, rids.slice(from, from + lateRecordsPerRound), services, timer),
    );
    await pause();
  }
}

/** Entries of records as they are now; those that are there already stay. */
async function addLate(
  keys: IndexKeys,
  rids: readonly Rid[],
  services: IndexBuildServices,
  timer: SliceTimer,
): Promise<void> {
  const types = new Set(services.catalog().withSubtypes(keys.definition.type));
  const others: IndexEntry[] = [];
  using snapshot = services.engine.snapshot();
  for (const rid of rids) {
    const record = snapshot.record(rid);
    if (record === undefined || !types.has(record.type)) continue;
    keys.requireAllowed(record);
    const take = (key: Uint8Array) => void others.push({ key, rid });
    const own = keys.keysOrPieces(record);
    if (areAllMade(own)) own.forEach(take);
    else await inPieces(own, timer, take);
    if (timer.isSpent) await timer.pause();
  }
  await addOthers(keys, others, services, timer);
}

async function addOthers(
  keys: IndexKeys,
  others: IndexEntry[],
  { engine, formats }: IndexBuildServices,
  timer: SliceTimer,
): Promise<void> {
  if (others.length === 0) return;
  others.sort(compare);
  if (keys.definition.unique) await requireDistinct(keys, others, { engine, timer, formats });
  // The definition may be that of the built index already: of a copy that builds later.
  await engine.addEntries({ ...keys.target, isBuilding: true }, others);
}

async function inPieces(
  pieces: Iterable<readonly Uint8Array[]>,
  timer: SliceTimer,
  take: (key: Uint8Array) => void,
): Promise<void> {
  for (const piece of pieces) {
    piece.forEach(take);
    if (timer.isSpent) await timer.pause();
  }
}

/**
 * The entries of the next records, moving `place` behind them: gathered are those that are new, and `others` of records that commits
 * have changed since the build began, few of which are.
 */
async function gather(
  keys: IndexKeys,
  gathered: GatheredEntries,
  { buckets, place, watch }: Course,
  { engine, catalog, roundRecords }: IndexBuildServices,
  timer: SliceTimer,
): Promise<Gathered> {
  using snapshot = engine.snapshot();
  const types = new Set(catalog().withSubtypes(keys.definition.type));
  const others: IndexEntry[] = [];
  let recordCount = 0;
  const countMax = gathered.count + roundEntriesMax;
  const isFull = () => recordCount >= roundRecords || gathered.count >= countMax;
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
          if (isNew) gathered.add(key, rid);
          else others.push({ key, rid });
        };
        const own = keys.keysOrPieces(record);
        // No promise for each record.
        if (areAllMade(own)) own.forEach(take);
        else await inPieces(own, timer, take);
      }
      place.position = positionOf(rid) + 1;
      if ((recordCount & 63) === 63 && timer.isSpent) await timer.pause();
    }
  }
  return { others, recordCount };
}

interface Gathered {
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
