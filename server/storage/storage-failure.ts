import { statfsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseError } from '#core/errors.ts';

// What went wrong while something was written, and whether it may be tried again. A full disk is no damage: what could not be
// written is taken back, and the next change tries again. Any other failed write is final until the database is opened
// again, since nobody knows what the disk holds then (ha.md 3.4 rule 6).

/** Below this LMDB's I/O errors are taken for a full disk, which it reports so; and nothing is tried. */
const spaceMin = 2 * 1024 * 1024;

/** `ENOSPC`, `EDQUOT`: as node names them, and their numbers, as the binding reports them. */
const fullCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 28, 122]);
const inputOutputCodes: ReadonlySet<unknown> = new Set(['EIO', 5]);

/** Whether the error, or what caused it, says that a disk is full. @param directory on that disk */
export function isDiskFull(error: unknown, directory: string): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { readonly code?: unknown };
    if (fullCodes.has(code) || at.message.includes('ENOSPC')) return true;
    if (inputOutputCodes.has(code) && (freeBytes(directory) ?? spaceMin) < spaceMin) return true;
  }
  return false;
}

/** Whether trying again has a chance. */
export function hasSpace(directory: string): boolean {
  return (freeBytes(directory) ?? spaceMin) >= spaceMin;
}

/**
 * Before LMDB is given what may need `bytes`: when there is no room it is not tried, since a write of LMDB's that fails damages the
 * memory of the process (the text about it is written into too small a buffer).
 * @throws an error as of a full disk
 */
export function requireSpace(directory: string, bytes: number): void {
  const free = freeBytes(directory);
  if (free === undefined || free >= bytes + spaceMin) return;
  const text = `ENOSPC: ${Math.ceil(bytes / 2 ** 20)} MiB may be needed`;
  throw Object.assign(new Error(text), { code: 'ENOSPC' });
}

function freeBytes(directory: string): number | undefined {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return undefined;
  }
}

/** For a change of a database that met an error. @param fileName of what could not be written */
export function failureOf(error: unknown, directory: string, fileName: string): DatabaseError {
  if (error instanceof DatabaseError && error.code === 'Internal') return error;
  return storageFailed(error, directory, join(directory, fileName));
}

/** For the change that met the failure. @param path of the file that could not be written */
export function storageFailed(error: unknown, directory: string, path: string): DatabaseError {
  const free = freeBytes(directory);
  const space = free === undefined ? '' : ` (${Math.floor(free / 2 ** 20)} MiB free)`;
  const next = isDiskFull(error, directory)
    ? 'it takes changes again when there is space'
    : 'it takes no more changes until it is opened again';
  return new DatabaseError(
    'Internal',
    `storage of database '${basename(directory)}' failed, ${next}: '${path}' could not be written: ${reasonOf(error)}${space}`,
    { cause: error },
  );
}

/** For changes after one that met a full disk. They were not begun. */
export function diskIsFull(failure: DatabaseError, directory: string): DatabaseError {
  return new DatabaseError(
    'Busy',
    `database '${basename(directory)}' takes no changes while the disk of '${directory}' is full; nothing was committed`,
    { cause: failure },
  );
}

export function isClosed(): DatabaseError {
  return new DatabaseError('DatabaseClosed', 'the database is closed');
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
