import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isLockFile } from '#platform/process-lock.ts';
import { readTextIfThere, replaceFileNow } from './log-disk.ts';
import { openIdentity, writeIdentity } from './raft-directory.ts';

// A log that is damaged is set aside, not deleted: its member comes back as one with an empty disk, which the others take in anew
// (ha.md 3.5, 9.7). How often in a row is counted, so that a disk that goes on losing does not go on costing whole copies.

const countFile = 'set-aside.json';
const folder = 'set-aside';
/** Stay where they are: whose directory it is, and the count. */
const isKept = (name: string) => isLockFile(name) || name === countFile;

/** Not for disks that cannot be read, nor for files that belong to somebody else. */
export function isDamage(error: unknown): error is Error {
  return (
    error instanceof Error &&
    (error as NodeJS.ErrnoException).code === undefined &&
    !/belongs to (another|the peer)|format/u.test(error.message)
  );
}

interface Reformats {
  readonly count: number;
  readonly reason: string;
  /** A crash may have come in between. */
  readonly isPending: boolean;
}

/** @throws Error when that was done too often in a row */
export function setLogAside(
  directory: string,
  peerId: string,
  { reformatsMax, reason }: { readonly reformatsMax: number; readonly reason: string },
): void {
  const count = reformatsOf(directory)?.count ?? 0;
  if (count >= reformatsMax)
    throw new Error(
      `${reason}; logs of this server were set aside ${count} times in a row: see to its disk, then remove ${join(directory, countFile)}`,
    );
  rmSync(join(directory, folder), { recursive: true, force: true });
  record(directory, { count: count + 1, reason, isPending: true });
  finishSettingAside(directory, peerId);
}

/** To be called before anything is read. */
export function finishSettingAside(directory: string, peerId: string): void {
  const reformats = reformatsOf(directory);
  if (reformats?.isPending !== true) return;
  const aside = join(directory, folder);
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(directory))
    if (name !== folder && !isKept(name)) renameSync(join(directory, name), join(aside, name));
  writeIdentity(directory, { ...openIdentity(directory, peerId), mustJoin: true });
  record(directory, { ...reformats, isPending: false });
}

/** The next damage is the first one again. */
export function forgetReformats(directory: string): void {
  rmSync(join(directory, countFile), { force: true });
}

function reformatsOf(directory: string): Reformats | undefined {
  const text = readTextIfThere(directory, countFile);
  return text === undefined ? undefined : (JSON.parse(text) as Reformats);
}

function record(directory: string, reformats: Reformats): void {
  replaceFileNow(directory, countFile, JSON.stringify(reformats));
}
