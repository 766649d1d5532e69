import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';
import { directorySynced, isErrno } from '#platform/files.ts';
import { temporaryPrefix } from './backup.ts';
import { parseBackupFileName, requireBackupFileName } from './names.ts';

/** An archive in the directory of its database. */
export interface StoredBackup {
  readonly fileName: string;
  readonly size: number;
  /** Epoch milliseconds. */
  readonly lastModified: number;
  /** As its name tells. */
  readonly takenAt: number;
}

/** The archives of one database, newest first; other files are left out. */
export async function listBackups(
  directory: string,
  database: string,
): Promise<readonly StoredBackup[]> {
  const found: StoredBackup[] = [];
  for (const fileName of await namesIn(directory)) {
    const name = parseBackupFileName(fileName);
    if (name?.database !== database) continue;
    const facts = await stat(join(directory, fileName)).catch(() => undefined);
    if (facts?.isFile() !== true) continue;
    const lastModified = Math.floor(facts.mtimeMs);
    found.push({ fileName, size: facts.size, lastModified, takenAt: name.takenAt });
  }
  return found.sort((a, b) => b.takenAt - a.takenAt || (a.fileName < b.fileName ? 1 : -1));
}

/**
 * Path of an archive that is there.
 * @throws DatabaseError `IllegalArgument` for a wrong name, `RecordNotFound` when there is no such file
 */
export async function backupPath(
  directory: string,
  database: string,
  fileName: string,
): Promise<string> {
  requireBackupFileName(database, fileName);
  const path = join(directory, fileName);
  const facts = await stat(path).catch(() => undefined);
  if (facts?.isFile() === true) return path;
  throw new DatabaseError(
    'BackupNotFound',
    `Backup '${fileName}' of database '${database}' was not found`,
  );
}

/** Deletes an archive for good. @throws DatabaseError as `backupPath` */
export async function deleteBackup(
  directory: string,
  database: string,
  fileName: string,
): Promise<void> {
  await rm(await backupPath(directory, database, fileName), { force: true });
  await directorySynced(directory);
}

/** Takes away what interrupted backups or exports left in a directory. Nothing may be writing there. */
export async function removeUnfinished(directory: string): Promise<void> {
  for (const name of await namesIn(directory)) {
    if (name.startsWith(temporaryPrefix) || name.startsWith('.export-tmp-'))
      await rm(join(directory, name), { recursive: true, force: true });
  }
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}
