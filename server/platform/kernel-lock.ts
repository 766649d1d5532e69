import type { DatabaseSync } from 'node:sqlite';

/*
 * A lock that the kernel holds. Process numbers mean nothing to a process that counts them differently, as in another container
 * on the same volume; a lock on a file means the same to both, and ends with the process that holds it, however that ends.
 * Node.js has no call for it. The database that it ships with takes one (`fcntl`) for its own files: an empty one serves as lock,
 * is never written to, and holds no memory worth counting.
 */

/** Of this process: a file that is opened a second time loses the lock when either is closed. */
const heldHere = new Map<string, DatabaseSync>();

const errorBusy = 5;
const errorLocked = 6;

/** @returns whether this process has the lock now; undefined where the file system or the platform knows no such lock */
export function takeKernelLock(path: string): boolean | undefined {
  if (heldHere.has(path)) return true;
  const sqlite = process.getBuiltinModule('node:sqlite');
  if (sqlite === undefined) return undefined;
  let file: DatabaseSync | undefined;
  try {
    file = new sqlite.DatabaseSync(path);
    file.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    heldHere.set(path, file);
    return true;
  } catch (error) {
    file?.close();
    const { errcode } = error as { errcode?: number };
    return errcode === errorBusy || errcode === errorLocked ? false : undefined;
  }
}

export function giveKernelLock(path: string): void {
  heldHere.get(path)?.close();
  heldHere.delete(path);
}
