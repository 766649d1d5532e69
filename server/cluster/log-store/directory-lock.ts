import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { systemRuntime } from '#platform/system-runtime.ts';
import { readTextIfThere, replaceFileNow } from './log-disk.ts';

/** Whose the directory is while it is open. A number of a process is given again: its start tells two of them apart. */
interface Owner {
  readonly pid: number;
  readonly started: string;
  readonly bootId: string;
  readonly token: string;
}

const lockFile = 'LOCK';

/**
 * Takes a raft directory for this process.
 * @returns gives it back
 * @throws Error when another process that lives has it
 */
export function lockDirectory(directory: string): () => void {
  const owner = ownerOf(process.pid);
  const text = readTextIfThere(directory, lockFile);
  const found = text === undefined ? undefined : parsed(text);
  if (found !== undefined && found.pid !== process.pid && isAlive(found))
    throw new Error(`${directory} is in use by the process ${found.pid}`);
  replaceFileNow(directory, lockFile, JSON.stringify(owner));
  return () => {
    const now = parsed(readTextIfThere(directory, lockFile) ?? '');
    if (now?.token === owner.token) rmSync(join(directory, lockFile), { force: true });
  };
}

function isAlive({ pid, started, bootId }: Owner): boolean {
  const now = ownerOf(pid);
  return now.started !== '' && now.started === started && now.bootId === bootId;
}

function ownerOf(pid: number): Owner {
  const token = systemRuntime.random.uuid();
  return { pid, started: startOf(pid), bootId: systemText('sys/kernel/random/boot_id'), token };
}

/** In ticks since the machine started; empty: there is no such process. */
function startOf(pid: number): string {
  const stat = systemText(`${pid}/stat`);
  // The name of the program stands in brackets and may hold anything.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}

function systemText(name: string): string {
  try {
    return readFileSync(join('/proc', name), 'utf8').trim();
  } catch {
    return '';
  }
}

/** undefined: it was never written as a whole. */
function parsed(text: string): Owner | undefined {
  try {
    const { pid, started, bootId, token } = JSON.parse(text) as Partial<Owner>;
    if (pid === undefined || started === undefined || bootId === undefined) return undefined;
    return { pid, started, bootId, token: token ?? '' };
  } catch {
    return undefined;
  }
}
