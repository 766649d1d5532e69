import { haGroupCommitOfferTimeout } from '#config/cluster-settings.ts';
import type { Settings } from '#config/effective-settings.ts';
import {
  serverEventBusQueueSize,
  serverMaxSnapshotAge,
  serverReadThreadCacheSize,
  serverReadThreadMinWork,
} from '#config/server-settings.ts';
import {
  maxNameLength,
  sqlPlanCacheSize,
  storageMapSize,
  storageMaxReaders,
  typeDefaultBuckets,
} from '#config/settings.ts';
import type { Runtime } from '#core/runtime.ts';
import type { StorageEngine } from '#storage/engine.ts';
import { openDatabaseState } from '#transaction/database-state.ts';
import { TypeLabelBook } from '#transaction/write/type-label-book.ts';
import { OwnCounters } from './catalogue/counters.ts';
import type { DatabaseSettings } from './catalogue/database-settings.ts';
import { readSettings } from './catalogue/stored-state.ts';
import { ChangeQueue } from './events.ts';
import { newMaintainer, openEngine } from './catalogue/open-engine.ts';
import { Database } from './database.ts';
import { DatabaseStatements } from './statement/database-statements.ts';
import { DatabaseThreads } from './threads/database-threads.ts';
import type { ReaderThreads } from './threads/reader-threads.ts';
import type { DatabaseSurroundings } from './surroundings.ts';

/** Opens the database in `path`. @throws DatabaseError `CorruptedRecord`, with nothing left open */
export async function openDatabase(
  name: string,
  path: string,
  given: DatabaseSurroundings,
): Promise<Database> {
  const surroundings = { ...given, counters: new OwnCounters(given.counters) };
  const { settings, runtime, log } = surroundings;
  const labels = new TypeLabelBook();
  const { timers, clock } = runtime;
  const { flushSeconds } = surroundings.counters;
  const maintainer = newMaintainer(settings);
  const isLogAbove = given.replication?.isMember(name) === true;
  const { openEnvironment } = given;
  const around = { settings, timers, clock, flushSeconds, isLogAbove, openEnvironment };
  const engine = openEngine(path, around, labels.labels, maintainer);
  try {
    const own = readSettings(engine, settings, log);
    const replicated = given.replication?.join(name, engine);
    const statements = new DatabaseStatements(name, path, { surroundings, own, engine });
    const changes = new ChangeQueue({
      databaseName: name,
      sizeMax: () => settings.get(serverEventBusQueueSize),
      runtime,
      log,
    });
    const state = await openDatabaseState({
      changes,
      searchMemory: maintainer.searchMemory,
      engine,
      ...(replicated && { replicator: replicated.replicator }),
      labels,
      runtime,
      formats: () => own.limits.formats,
      evaluateDefault: (source) => statements.evaluator.default(source),
      checkDefault: (source) => statements.evaluator.checkDefault(source),
      runTrigger: (trigger, subject, transaction) =>
        statements.bodies.fire(trigger, subject, transaction, transaction),
      committed: (buckets, records) => statements.views.committed(buckets, records),
      schemaChanged: () => statements.views.schemaChanged(),
      defaultBucketCount: () => own.values.get(typeDefaultBuckets),
      nameLengthMax: () => own.values.get(maxNameLength),
      commitLockTimeoutMs: () => own.limits.conflictWaitMs,
      offerTimeoutMs: () => own.values.get(haGroupCommitOfferTimeout),
    });
    statements.state = state;
    if (replicated === undefined) statements.views.start();
    const threads =
      given.threads &&
      databaseThreads(name, path, { ...given, own, engine, threads: given.threads });
    const parts = { surroundings, own, engine, state, statements, changes, replicated, threads };
    return new Database(name, parts);
  } catch (error) {
    await engine.close();
    throw error;
  }
}

function databaseThreads(
  name: string,
  directory: string,
  given: {
    readonly threads: ReaderThreads;
    readonly engine: StorageEngine;
    readonly own: DatabaseSettings;
    readonly settings: Settings;
    readonly runtime: Runtime;
  },
): DatabaseThreads {
  const { threads, engine, own, settings, runtime } = given;
  return new DatabaseThreads({
    threads,
    engine,
    clock: runtime.clock,
    database: {
      name,
      directory,
      cacheBytes: settings.get(serverReadThreadCacheSize) / threads.countMax,
      mapSizeBytes: settings.get(storageMapSize),
      readersMax: settings.get(storageMaxReaders),
    },
    planCountMax: () => own.values.get(sqlPlanCacheSize),
    snapshotAgeMsMax: () => own.values.get(serverMaxSnapshotAge) * 1000,
    workMsMin: settings.get(serverReadThreadMinWork),
  });
}
