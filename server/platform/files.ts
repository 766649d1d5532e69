import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file as a whole: after a crash at any moment it has the old or the new content. Readable by its owner only.
 * Two replacements of one file must not overlap.
 * @throws Error naming the file; it then has its old content
 */
export async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  try {
    await writeBeside(path, content);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`'${path}' cannot be written: ${reason}`, { cause });
  }
}

async function writeBeside(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.tmp`;
  const file = await open(temporary, 'w', 0o600);
  try {
    // The mode given to open does not apply to a left-over temporary file.
    await file.chmod(0o600);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  syncDirectory(dirname(path));
}

/**
 * Makes a directory and those above it; fine when it is there. Node's own `recursive` never returns where the system keeps
 * answering ENOENT though the directory above is there, as below `/proc`.
 * @throws Error of the system
 */
export function makeDirectories(path: string, mode = 0o777): void {
  if (makeOne(path, mode)) return;
  makeDirectories(dirname(path), mode);
  if (!makeOne(path, mode)) throw new Error(`'${dirname(path)}' is gone`);
}

/** @returns false when the directory above is missing */
function makeOne(path: string, mode: number): boolean {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    const isThere = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
    if (isThere) return true;
    const above = dirname(path);
    const isAboveThere = above === path || statSync(above, { throwIfNoEntry: false }) !== undefined;
    if (!isErrno(error, 'ENOENT') || isAboveThere) throw error;
    return false;
  }
  return true;
}

/** Makes creations, renames and deletions in a directory survive a power loss. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** As `syncDirectory`, beside the event loop: for directories of large files, whose sync may take long. */
export async function directorySynced(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** The text of a UTF-8 file, or undefined when there is none. */
export async function readTextIfExists(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Deletes a file for good, and does not mind its absence. */
export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true });
  syncDirectory(dirname(path));
}

/** True for an error of the operating system with this code, such as `ENOENT`. */
export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === code;
}
