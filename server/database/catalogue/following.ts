import { decodeCatalog } from '#catalog/catalog-codec.ts';
import type { Log } from '#core/log.ts';
import type { LogEntry } from '#storage/engine.ts';
import type { DatabaseState } from '#transaction/database-state.ts';
import { globalsDocumentName, type GlobalVariables } from '../script/global-variables.ts';
import { isReplayKeyName, type ReplayKeys } from '../session/replay-keys.ts';
import type { MaterializedViews } from '../views/materialized-views.ts';
import { type DatabaseSettings, settingsDocumentName } from './database-settings.ts';
import type { FollowingDatabase } from './replication.ts';

export interface FollowedParts {
  readonly databaseName: string;
  readonly state: DatabaseState;
  readonly own: DatabaseSettings;
  readonly replayKeys: ReplayKeys;
  readonly views: MaterializedViews;
  readonly globals: GlobalVariables;
  readonly log: Log;
}

/**
 * What a database keeps in memory follows the entries that are applied, whoever wrote them: schema, settings, replay keys,
 * global variables, indexes that each server fills by itself.
 */
export class FollowedEntries implements FollowingDatabase {
  readonly #parts: FollowedParts;

  constructor(parts: FollowedParts) {
    this.#parts = parts;
    const { globals, state } = parts;
    using stored = state.view();
    globals.become(stored.snapshot.meta(globalsDocumentName));
    globals.share = (values) => state.writeMeta(values);
  }

  /** An index that becomes READY is filled here before anybody uses it. */
  applying(entry: LogEntry): Promise<void> | undefined {
    for (const { op } of entry.operations) if (op === 'schema') return this.#filled(entry);
    this.#parts.state.applying(entry);
    return undefined;
  }

  async #filled(entry: LogEntry): Promise<void> {
    const { state } = this.#parts;
    for (const operation of entry.operations) {
      if (operation.op === 'schema') await state.fillReady(decodeCatalog(operation.document));
    }
    state.applying(entry);
  }

  applied(entry: LogEntry, isApplied: boolean): void {
    const { state, own, replayKeys, globals } = this.#parts;
    state.applied(entry, isApplied);
    if (!isApplied) return;
    for (const operation of entry.operations) {
      if (operation.op !== 'meta') continue;
      const { name, value } = operation;
      if (name === settingsDocumentName) own.become(value);
      else if (name === globalsDocumentName) globals.become(value);
      else if (isReplayKeyName(name) && value !== undefined)
        replayKeys.observe(name, value, entry.position.index);
    }
  }

  lead(): void {
    const { state, views, databaseName, log } = this.#parts;
    state.lead();
    views.lead();
    state.settleUnfinished().catch((error: unknown) => {
      log.warn('what a former leader left unfinished could not be finished', {
        database: databaseName,
        reason: error instanceof Error ? error.message : String(error),
      });
    });
  }

  follow(): void {
    this.#parts.views.follow();
  }
}
