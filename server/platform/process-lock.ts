import {
  closeSync,
  existsSync,
  ftruncateSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { DatabaseError } from '#core/errors.ts';
import { isErrno } from './files.ts';
import { giveKernelLock, takeKernelLock } from './kernel-lock.ts';

/** Its name in a directory that one process uses; `isLockFile` tells it and its kin. */
export const lockFileName = '.server.lock';

/** Whoever empties a directory leaves them: a file of the kernel's lock that is taken away locks nothing any more. */
export function isLockFile(name: string): boolean {
  return name.startsWith(lockFileName);
}

/**
 * That one process uses a directory (security.md 9.11: the caches of two processes would contradict each other). The kernel
 * holds the lock, on a file beside this one (`kernel-lock.ts`), so that two containers on one volume exclude each other. The file
 * itself tells whom to stop, and is the lock where the kernel has none: it outlives a crash, so it names the process by number
 * and start time; a number that was given to another process since does not count.
 */
export class ProcessLock {
  readonly #path: string;

  private constructor(path: string) {
    this.#path = path;
  }

  /** @throws DatabaseError `InvalidSetting` when another living process holds the lock */
  static acquire(path: string): ProcessLock {
    const taken = ProcessLock.take(path);
    if (taken instanceof ProcessLock) return taken;
    throw taken;
  }

  /**
   * @returns the lock, or what is to be said when another living process holds it
   * @throws DatabaseError `InvalidSetting` when it cannot be written
   */
  static take(path: string): ProcessLock | DatabaseError {
    if (takeKernelLock(kernelPathOf(path)) === false) return heldBy(namedHolder(path), path);
    let taken: ProcessLock | DatabaseError | undefined;
    try {
      taken = ProcessLock.#write(path);
      return taken;
    } finally {
      if (!(taken instanceof ProcessLock)) giveKernelLock(kernelPathOf(path));
    }
  }

  static #write(path: string): ProcessLock | DatabaseError {
    const own = JSON.stringify(identityOf(process.pid));
    const temporary = `${path}.${process.pid}`;
    try {
      writeFirst(temporary, own, path);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new DatabaseError('InvalidSetting', `${path} cannot be written: ${reason}`, { cause });
    }
    try {
      for (let attempt = 0; attempt < 10; attempt++) {
        try {
          // Linking fails when the file is there, so two processes cannot both succeed.
          linkSync(temporary, path);
          return new ProcessLock(path);
        } catch (error) {
          if (!isErrno(error, 'EEXIST')) throw error;
        }
        const holder = livingHolder(path);
        if (holder !== undefined) return heldBy(`process ${holder}`, path);
        setAside(path);
      }
    } finally {
      rmSync(temporary, { force: true });
    }
    throw new DatabaseError('InvalidSetting', `${path} cannot be locked`);
  }

  /** The file of the kernel's lock stays: taken away, it could be another's lock already. */
  release(): void {
    rmSync(this.#path, { force: true });
    giveKernelLock(kernelPathOf(this.#path));
  }
}

function kernelPathOf(path: string): string {
  return `${path}.held`;
}

function heldBy(holder: string, path: string): DatabaseError {
  return new DatabaseError(
    'InvalidSetting',
    `${holder} uses this directory already (${path}); stop it, or set another service.server.rootPath`,
  );
}

/** As the holder of the kernel's lock calls itself; its number may be one of another container. */
function namedHolder(path: string): string {
  try {
    const { pid, host } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Identity>;
    if (typeof pid === 'number' && typeof host === 'string') return `process ${pid} on '${host}'`;
  } catch {
    // Not written yet, or not by us.
  }
  return 'another process';
}

/**
 * Writes the file that is to become the lock. Where the disk is full, the lock that a process left behind gives its block: a
 * server must start on a full disk, too.
 */
function writeFirst(temporary: string, content: string, path: string): void {
  try {
    writeFileSync(temporary, content, { mode: 0o644 });
  } catch (error) {
    rmSync(temporary, { force: true });
    const isFull = isErrno(error, 'ENOSPC') || isErrno(error, 'EDQUOT');
    if (!isFull || !existsSync(path) || livingHolder(path) !== undefined) throw error;
    renameSync(path, temporary);
    const file = openSync(temporary, 'r+');
    try {
      writeSync(file, content, 0);
      ftruncateSync(file, Buffer.byteLength(content));
    } finally {
      closeSync(file);
    }
  }
}

/**
 * Takes away the lock of a process that has ended. Of several that do it at once the slower ones meet the lock that the
 * quickest has made meanwhile, and put it back.
 */
function setAside(path: string): void {
  const aside = `${path}.${process.pid}.old`;
  try {
    renameSync(path, aside);
    if (livingHolder(aside) !== undefined) linkSync(aside, path);
  } catch (error) {
    if (!isErrno(error, 'ENOENT') && !isErrno(error, 'EEXIST')) throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

interface Identity {
  readonly pid: number;
  /** Which start of the machine, and clock ticks since it; undefined where the system does not tell. */
  readonly startedAt: string | undefined;
  readonly host: string;
}

function identityOf(pid: number): Identity {
  return { pid, startedAt: startTimeOf(pid), host: hostname() };
}

/**
 * Field 22 of `/proc/<pid>/stat`; the name in field 2 may hold blanks and brackets. A process that has ended and was not
 * waited for yet (state Z) uses nothing any more.
 */
function startTimeOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
    return ticks && `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${ticks}`;
  } catch {
    return undefined;
  }
}

/** The process that the file names, if it lives and is not this one. */
function livingHolder(path: string): number | undefined {
  let holder: Partial<Identity>;
  try {
    holder = JSON.parse(readFileSync(path, 'utf8')) as Partial<Identity>;
  } catch {
    return undefined;
  }
  const { pid, startedAt } = holder;
  if (typeof pid !== 'number' || pid === process.pid) return undefined;
  const now = startTimeOf(pid);
  if (startedAt !== undefined) return now === startedAt ? pid : undefined;
  return isAlive(pid) ? pid : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
}
