import { decodeCatalog } from '#catalog/catalog-codec.ts';
import type { Settings } from '#config/effective-settings.ts';
import { serverHttpTxSnapshotMax } from '#config/server-settings.ts';
import {
  maxRecordSize,
  storageCacheSize,
  storageMapSize,
  storageMaxReaders,
  vectorCacheMaxSize,
} from '#config/settings.ts';
import type { Histogram } from '#core/instruments.ts';
import type { Clock, Timers } from '#core/runtime.ts';
import { OrderedIndexMaintainer } from '#index/ordered/maintainer.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { TypeLabels } from '#storage/format/row-record.ts';
import type { OpenEnvironment } from '#storage/format/sub-databases.ts';
import { openLmdbEngine } from '#storage/lmdb-engine.ts';
import { TypeLabelBook } from '#transaction/write/type-label-book.ts';

/** Makes the environment of a new, empty database and lets go of it. */
export async function initializeEngine(
  directory: string,
  options: EngineSurroundings,
): Promise<void> {
  await openEngine(
    directory,
    options,
    new TypeLabelBook().labels,
    newMaintainer(options.settings),
  ).close();
}

export interface EngineSurroundings {
  readonly settings: Settings;
  readonly timers: Timers;
  readonly clock: Clock;
  /** Told of each write of the commit log. */
  readonly flushSeconds?: Histogram;
  /** The log of a cluster has every entry until a checkpoint does. */
  readonly isLogAbove?: boolean;
  /** Default: LMDB. */
  readonly openEnvironment?: OpenEnvironment | undefined;
}

/** Derives the entries of all indexes of one database. */
export function newMaintainer(settings: Settings): OrderedIndexMaintainer {
  const vectorBytesMax = () => settings.get(vectorCacheMaxSize);
  return new OrderedIndexMaintainer({ decodeCatalog, vectorBytesMax });
}

/**
 * Opens the storage of one database with what it derives index entries and labels from.
 * @param labels names of types, for records
 * @param deriver made for this database
 * @throws DatabaseError `CorruptedRecord`
 */
export function openEngine(
  directory: string,
  { settings, timers, clock, flushSeconds, isLogAbove, openEnvironment }: EngineSurroundings,
  labels: TypeLabels,
  deriver: OrderedIndexMaintainer,
): StorageEngine {
  return openLmdbEngine({
    directory,
    labels,
    deriver,
    timers,
    clock,
    flushSeconds,
    durability: isLogAbove === true ? 'above' : 'log',
    snapshotMax: settings.get(serverHttpTxSnapshotMax),
    cacheBytes: settings.get(storageCacheSize),
    mapSizeBytes: settings.get(storageMapSize),
    readersMax: settings.get(storageMaxReaders),
    recordBytesMax: () => settings.get(maxRecordSize),
    openEnvironment,
  });
}
