import type { Log } from '#core/log.ts';
import type { Cancel, Runtime } from '#core/runtime.ts';
import { isList, isMap, kindOf, type Value } from '#core/value/value.ts';
import { toNumber } from '#core/value/conversion.ts';
import type { BackupControl, BackupDescription } from '#control/backup-control.ts';
import type { ServerEvents } from '#control/event-log.ts';
import { removeUnfinished } from '#database/operations/backup/store.ts';
import type { ServerOperations } from '#database/operations/server-operations.ts';
import type { DatabasesPort } from '#database/session.ts';
import { WatchedFile } from '#security/watched-file.ts';
import { join } from 'node:path';
import { directoryBelow, policyOf } from './config.ts';
import type { BackupConfig } from './config-form.ts';
import { BackupRunner } from './runner.ts';
import { BackupSchedules, type DueBackup } from './scheduler.ts';

export interface AutoBackupOptions {
  /** Holds `backup.json`. */
  readonly configDirectory: string;
  readonly rootPath: string;
  /** Of the setting `service.server.backupDirectory`, absolute. */
  readonly settingDirectory: string;
  readonly serverName: string;
  /** Whether this server leads its cluster, ready to write; absent: it is alone. */
  readonly leads?: () => boolean;
  readonly operations: ServerOperations;
  readonly databases: Pick<DatabasesPort, 'names'>;
  readonly events: ServerEvents;
  readonly runtime: Runtime;
  readonly log: Log;
}

const tickMs = 1000;

/**
 * The backup scheduler. It works by `config/backup.json` as long as there is one, takes up changes of the file while the
 * server runs, and makes one backup at a time. A file that is wrong changes nothing: what held before goes on.
 */
export class AutoBackup implements BackupControl {
  readonly #options: AutoBackupOptions;
  readonly #file: WatchedFile;
  readonly #runner: BackupRunner;
  readonly #abort = new AbortController();
  /** In force; undefined without a file. */
  #config: BackupConfig | undefined;
  /** As it was written. */
  #written: unknown = null;
  #schedules: BackupSchedules | undefined;
  #waiting: DueBackup[] = [];
  #running: Promise<void> | undefined;
  #cancelTick: Cancel = () => {};

  constructor(options: AutoBackupOptions) {
    this.#options = options;
    const { runtime, configDirectory } = options;
    this.#file = new WatchedFile({
      path: join(configDirectory, 'backup.json'),
      timers: runtime.timers,
      changed: (text) => this.#take(text),
      unreadable: (reason) => options.events.report('CRITICAL', 'Auto-Backup', reason),
    });
    this.#runner = new BackupRunner({ ...options, signal: this.#abort.signal });
  }

  /** Reads the file, clears away what an interrupted backup left, and starts. */
  async start(reloadEveryMs: number): Promise<void> {
    await this.#file.poll();
    await this.#removeUnfinished();
    this.#file.watch(reloadEveryMs);
    this.#tickLater();
  }

  /** Looks at the file now instead of at the next poll. */
  poll(): Promise<void> {
    return this.#file.poll();
  }

  /** Ends what runs. */
  async close(): Promise<void> {
    this.#cancelTick();
    this.#file.close();
    this.#waiting = [];
    this.#abort.abort();
    await this.#running;
  }

  /** Starts what is due at this moment. */
  tick(): void {
    const { runtime, databases } = this.#options;
    const due = this.#schedules?.due(runtime.clock.now(), databases.names()) ?? [];
    for (const one of due) {
      // The others plan it, too, so that the next leader goes on in time.
      if (one.policy.runOnServer === '$leader' && this.#options.leads?.() === false) continue;
      // A run that still waits for its turn is not doubled.
      if (!this.#waiting.some(({ database }) => database === one.database)) this.#waiting.push(one);
    }
    if (this.#running !== undefined || this.#waiting.length === 0) return;
    this.#running = this.#work().finally(() => {
      this.#running = undefined;
    });
  }

  /** Resolves when nothing that was due is left. */
  async settled(): Promise<void> {
    await this.#running;
  }

  async directory(): Promise<string> {
    const { rootPath, settingDirectory } = this.#options;
    await this.#file.poll();
    if (this.#config === undefined) return settingDirectory;
    return directoryBelow(rootPath, this.#config.backupDirectory);
  }

  settingsOf(database: string): ReadonlyMap<string, number> {
    return this.#config === undefined ? new Map() : policyOf(this.#config, database).settings;
  }

  async describe(): Promise<BackupDescription> {
    await this.#file.poll();
    let directory: string | undefined;
    let directoryError: string | undefined;
    try {
      directory = await this.directory();
    } catch (error) {
      directoryError = error instanceof Error ? error.message : String(error);
    }
    const isConfigured = this.#config !== undefined;
    return {
      enabled: this.#config?.enabled ?? false,
      config: isConfigured ? this.#written : null,
      directory,
      directoryError,
      message: isConfigured ? undefined : 'Auto-backup is not configured',
    };
  }

  async replace(config: Value): Promise<void> {
    const { rootPath } = this.#options;
    const written = plainJson(config);
    const { parseBackupConfig } = await import('./config-file.ts');
    const parsed = parseBackupConfig(written);
    directoryBelow(rootPath, parsed.backupDirectory);
    await this.#file.write(`${JSON.stringify(written, undefined, 2)}\n`);
    this.#apply(parsed, written);
  }

  /** The text of the file; empty: there is none. */
  async #take(text: string): Promise<void> {
    const { events } = this.#options;
    if (text.trim() === '') {
      this.#config = undefined;
      this.#schedules = undefined;
      return;
    }
    try {
      const { parseBackupText, impossibleSchedules } = await import('./config-file.ts');
      const parsed = parseBackupText(text);
      for (const reason of impossibleSchedules(parsed))
        events.report('CRITICAL', 'Auto-Backup', `config/backup.json: ${reason}; no backups by it`);
      this.#apply(parsed, JSON.parse(text));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const held = this.#config === undefined ? '' : '; what held before goes on';
      events.report('CRITICAL', 'Auto-Backup', `config/backup.json: ${reason}${held}`);
    }
  }

  #apply(config: BackupConfig, written: unknown): void {
    const { serverName, events, rootPath, runtime, databases } = this.#options;
    this.#config = config;
    this.#written = written;
    const former = this.#schedules;
    this.#schedules = undefined;
    this.#waiting = [];
    try {
      directoryBelow(rootPath, config.backupDirectory);
    } catch (error) {
      events.report('CRITICAL', 'Auto-Backup', error instanceof Error ? error.message : '');
      return;
    }
    if (!config.enabled) return;
    this.#schedules = new BackupSchedules(config, serverName, former);
    // From now on, not from the next tick.
    this.#schedules.due(runtime.clock.now(), databases.names());
    events.report('INFO', 'Auto-Backup', 'Scheduled backups are on');
  }

  #tickLater(): void {
    this.#cancelTick = this.#options.runtime.timers.after(tickMs, () => {
      this.tick();
      this.#tickLater();
    });
  }

  async #work(): Promise<void> {
    try {
      for (let due = this.#waiting.shift(); due !== undefined; due = this.#waiting.shift()) {
        await this.#runner.run(due.database, await this.directory(), due.policy);
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.events.report('CRITICAL', 'Auto-Backup', reason);
    } finally {
      this.#running = undefined;
    }
  }

  async #removeUnfinished(): Promise<void> {
    const { databases, operations, settingDirectory, log } = this.#options;
    try {
      const directories = new Set([settingDirectory, await this.directory()]);
      for (const directory of directories)
        for (const name of databases.names()) await removeUnfinished(join(directory, name));
      await removeUnfinished(operations.paths.exports);
    } catch (error) {
      log.warn('leftovers of backups could not be deleted', { reason: String(error) });
    }
  }
}

/** A value as `JSON.parse` would give it. */
function plainJson(value: Value): unknown {
  if (isList(value)) return value.map(plainJson);
  if (isMap(value)) {
    const object: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const [name, item] of value) object[name] = plainJson(item);
    return object;
  }
  const kind = kindOf(value);
  return kind === 'double' || kind === 'decimal' ? toNumber(value) : value;
}
