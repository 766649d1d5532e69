import type { Value } from '#core/value/value.ts';

/** What backup commands need of the scheduler's configuration; `server/backup` implements it. */
export interface BackupControl {
  /**
   * Where the archives of all databases are kept: the configuration's directory, also when backups are switched off, else
   * the setting's (contract 3).
   * @throws DatabaseError `IllegalArgument` naming a directory that leads out of the root path
   */
  directory(): Promise<string>;
  /** Settings of BACKUP DATABASE that the configuration has for a database. */
  settingsOf(database: string): ReadonlyMap<string, number>;
  describe(): Promise<BackupDescription>;
  /**
   * Replaces `config/backup.json`; the scheduler works by it when this resolves.
   * @throws DatabaseError `IllegalArgument` naming the field that is wrong
   */
  replace(config: Value): Promise<void>;
}

export interface BackupDescription {
  readonly enabled: boolean;
  /** As it was written; null without one that can be read. */
  readonly config: unknown;
  readonly directory: string | undefined;
  readonly directoryError: string | undefined;
  readonly message: string | undefined;
}
