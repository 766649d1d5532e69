import { DatabaseError } from '#core/errors.ts';
import { formatFileTimestamp, parseFileTimestamp } from '#platform/timestamp.ts';

// Names of archives: `<database>-backup-<YYYYMMDD>-<HHMMSSmmm>.zip`, local time (contract 3). Older ones stop at the second.

const nameShape = /^(.+)-backup-(\d{8})-(\d{6})(\d{3})?\.zip$/;

/** An archive as its name tells. */
export interface BackupName {
  readonly database: string;
  readonly takenAt: number;
}

export function backupFileName(database: string, epochMs: number): string {
  const milliseconds = String(((epochMs % 1000) + 1000) % 1000).padStart(3, '0');
  return `${database}-backup-${formatFileTimestamp(epochMs)}${milliseconds}.zip`;
}

/** Undefined for a name of another form, or with an impossible date. */
export function parseBackupFileName(fileName: string): BackupName | undefined {
  const match = nameShape.exec(fileName);
  if (match === null) return undefined;
  const [, database = '', day = '', time = '', milliseconds = '0'] = match;
  const second = parseFileTimestamp(`${day}-${time}`);
  return second === undefined ? undefined : { database, takenAt: second + Number(milliseconds) };
}

/**
 * Refuses a name that could leave the directory of the database's archives, or that names none (http-api.md 18.1).
 * @throws DatabaseError `IllegalArgument`
 */
export function requireBackupFileName(database: string, fileName: string): void {
  const problem = problemWithName(database, fileName);
  if (problem === undefined) return;
  const shown = fileName.slice(0, 160).replace(/[\u0000-\u001f\u007f]/g, '?');
  throw new DatabaseError('IllegalArgument', `backup file name '${shown}' ${problem}`);
}

function problemWithName(database: string, fileName: string): string | undefined {
  if (/[/\\\u0000]/.test(fileName) || fileName.includes('..')) return 'holds a path';
  if (fileName.length > 255) return 'is longer than 255 characters';
  if (!fileName.endsWith('.zip')) return "does not end with '.zip'";
  if (!fileName.startsWith(`${database}-backup-`))
    return `does not start with '${database}-backup-'`;
  return undefined;
}
