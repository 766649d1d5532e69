import {
  haIdempotencyCacheMaxEntries,
  haIdempotencyCacheTtlMs,
} from '#config/cluster-resync-settings.ts';
import type { Settings } from '#config/effective-settings.ts';
import type { Log } from '#core/log.ts';
import type { Clock } from '#core/runtime.ts';
import type { StorageEngine } from '#storage/engine.ts';
import type { DatabaseState } from '#transaction/database-state.ts';
import { ReplayKeys } from '../session/replay-keys.ts';
import { DatabaseSettings, settingsDocumentName } from './database-settings.ts';

/** The settings that a database keeps, over those of the server. */
export function readSettings(
  engine: StorageEngine,
  settings: Settings,
  log: Log,
): DatabaseSettings {
  using snapshot = engine.snapshot();
  return new DatabaseSettings(settings, snapshot.meta(settingsDocumentName), log);
}

export function readReplayKeys(
  engine: StorageEngine,
  { settings, clock }: { readonly settings: Settings; readonly clock: Clock },
): ReplayKeys {
  using stored = engine.snapshot();
  return new ReplayKeys({
    clock,
    lifetimeMs: () => settings.get(haIdempotencyCacheTtlMs),
    entriesMax: () => settings.get(haIdempotencyCacheMaxEntries),
    stored,
    snapshot: () => engine.snapshot(),
  });
}

/** Of all types. */
export function recordCountOf(state: DatabaseState): number {
  using view = state.view();
  let count = 0;
  for (const { buckets } of view.catalog.types())
    for (const bucket of buckets) count += view.recordCount(bucket);
  return count;
}
