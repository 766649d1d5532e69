import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import { backupPath, deleteBackup, listBackups } from '#database/operations/backup/store.ts';
import { requireDatabaseName } from '#database/catalogue/database-directory.ts';
import { formatTimestamp } from '#platform/timestamp.ts';
import { requireNothing, requireOneName, takeName } from '../command-parser.ts';
import type { CommandAnswer, CommandCall, ControlCommand } from '../control-command.ts';
import { askerOf, bodyText, ok } from '../control-command.ts';
import { requireDatabase } from './database-commands.ts';

// Archives of databases by command (contract 3, http-api.md 18.1).

async function directoryOf({ targets }: CommandCall, database: string): Promise<string> {
  return join(await targets.backups.directory(), database);
}

/** Resolves when the archive is whole and on the disk. */
export const triggerBackup: ControlCommand = {
  phrase: 'trigger backup',
  access: 'root',
  run: async (call) => {
    const database = requireDatabase(call);
    const { targets } = call;
    const directory = await directoryOf(call, database);
    try {
      const settings = targets.backups.settingsOf(database);
      const made = await targets.operations.backup(
        database,
        { directory, settings },
        askerOf(call),
      );
      const message = `Backup '${made.fileName}' of ${made.size} bytes made`;
      targets.events.report('INFO', 'Auto-Backup', message, database);
      return { result: 'ok', backupFile: made.fileName };
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.code !== 'OperationRunning')
        targets.events.report(
          'CRITICAL',
          'Auto-Backup',
          `Backup failed: ${error instanceof Error ? error.message : String(error)}`,
          database,
        );
      throw error;
    }
  },
};

/** The archives of a database, newest first; those of a dropped one too. */
export const listBackupsCommand: ControlCommand = {
  phrase: 'list backups',
  access: 'root',
  isAudited: false,
  run: async (call) => {
    const database = requireOneName(call.argument, 'database name');
    requireDatabaseName(database);
    const stored = await listBackups(await directoryOf(call, database), database);
    const backups = stored.map(({ fileName, size, lastModified, takenAt }) => ({
      fileName,
      size,
      lastModified,
      timestamp: formatTimestamp(takenAt).replace(' ', 'T'),
    }));
    const totalSize = stored.reduce((sum, { size }) => sum + size, 0);
    return { result: backups, database, backups, totalSize, totalCount: backups.length };
  },
};

export const deleteBackupCommand: ControlCommand = {
  phrase: 'delete backup',
  access: 'root',
  run: async (call) => {
    const { name: database, rest } = takeName(call.argument, 'database name');
    requireDatabaseName(database);
    const fileName = requireOneName(rest, 'backup file name');
    await deleteBackup(await directoryOf(call, database), database, fileName);
    return ok;
  },
};

/** `<database> <file> [as <target>]`; a target that exists is replaced when the body says `"overwrite": true`. */
export const restoreBackup: ControlCommand = {
  phrase: 'restore backup',
  place: 'leader',
  access: 'root',
  run: async (call): Promise<CommandAnswer> => {
    const { targets, body } = call;
    const { name: database, rest } = takeName(call.argument, 'database name');
    requireDatabaseName(database);
    const { name: fileName, rest: after } = takeName(rest, 'backup file name');
    const target = targetOf(after) ?? database;
    requireDatabaseName(target);
    const overwrites = body.get('overwrite') === true;
    const path = await backupPath(await directoryOf(call, database), database, fileName);
    if (targets.databases.exists(target) && !overwrites)
      throw new DatabaseError(
        'DatabaseExists',
        `Database '${target}' already exists; the field "overwrite": true replaces it`,
      );
    const passphrase = bodyText(body, 'encryptionKey');
    const about = { url: path, passphrase, overwrites, isOwnArchive: true };
    await targets.operations.restore(target, about, askerOf(call));
    return ok;
  },
};

function targetOf(argument: string): string | undefined {
  if (argument === '') return undefined;
  const { name, rest } = takeName(argument, 'word');
  if (name.toLowerCase() === 'as') return requireOneName(rest, 'target database name');
  throw new DatabaseError('IllegalArgument', `unexpected '${name.slice(0, 60)}'; 'as' is expected`);
}

export const getBackupConfig: ControlCommand = {
  phrase: 'get backup config',
  access: 'root',
  isAudited: false,
  run: async ({ argument, targets: { backups } }) => {
    requireNothing(argument);
    const { enabled, config, directory, directoryError, message } = await backups.describe();
    return {
      result: 'ok',
      enabled,
      config,
      backupDirectory: directory ?? null,
      backupDirectoryError: directoryError ?? null,
      ...(message === undefined ? {} : { message }),
    };
  },
};

export const setBackupConfig: ControlCommand = {
  phrase: 'set backup config',
  access: 'root',
  run: async ({ argument, body, targets: { backups } }) => {
    requireNothing(argument);
    const config = body.get('config');
    if (config === undefined)
      throw new DatabaseError('IllegalArgument', "field 'config' is missing");
    await backups.replace(config);
    return ok;
  },
};
