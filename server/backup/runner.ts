import { join } from 'node:path';
import type { Log } from '#core/log.ts';
import type { Principal } from '#core/principal.ts';
import type { ServerEvents } from '#control/event-log.ts';
import { deleteBackup, listBackups } from '#database/operations/backup/store.ts';
import type { ServerOperations } from '#database/operations/server-operations.ts';
import type { BackupPolicy } from './config.ts';
import { expiredBackups } from './retention.ts';

export interface BackupRunnerOptions {
  readonly operations: Pick<ServerOperations, 'backup' | 'isBackingUp' | 'isOpen'>;
  readonly events: ServerEvents;
  readonly log: Log;
  /** Aborted when the server stops. */
  readonly signal: AbortSignal;
}

const scheduler: Principal = { name: 'auto-backup', isRoot: true, via: 'peer' };

/** Makes one scheduled backup and lets expired archives go; tells the event log, and never throws. */
export class BackupRunner {
  readonly #options: BackupRunnerOptions;

  constructor(options: BackupRunnerOptions) {
    this.#options = options;
  }

  /** @param directory holds the archives of all databases */
  async run(database: string, directory: string, policy: BackupPolicy): Promise<void> {
    const { operations, events, log, signal } = this.#options;
    // Contract 3, backup run: skipped, and a database is never opened for its backup.
    if (operations.isBackingUp(database)) {
      log.warn('scheduled backup skipped: one is being made already', { database });
      return;
    }
    if (!operations.isOpen(database)) {
      log.warn('scheduled backup skipped: the database is not open on this server', { database });
      return;
    }
    const own = join(directory, database);
    try {
      log.info('scheduled backup started', { database });
      const about = { directory: own, settings: policy.settings };
      const { fileName, size } = await operations.backup(database, about, {
        principal: scheduler,
        signal,
      });
      const message = `Backup '${fileName}' of ${size} bytes made`;
      events.report('INFO', 'Auto-Backup', message, database);
    } catch (error) {
      if (signal.aborted) return;
      events.report('CRITICAL', 'Auto-Backup', `Backup failed: ${messageOf(error)}`, database);
      return;
    }
    await this.#expire(database, own, policy);
  }

  /** Only after a successful run, so that failing ones never take the last good archives away. */
  async #expire(database: string, directory: string, policy: BackupPolicy): Promise<void> {
    const { events, log } = this.#options;
    try {
      const backups = await listBackups(directory, database);
      const expired = expiredBackups(backups, policy.retention);
      for (const { fileName } of expired) await deleteBackup(directory, database, fileName);
      const kept = backups.length - expired.length;
      log.info('expired backups deleted', { database, deleted: expired.length, kept });
    } catch (error) {
      const message = `Expired backups could not be deleted: ${messageOf(error)}`;
      events.report('WARNING', 'Auto-Backup', message, database);
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
