import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const reserveFile = 'reserve.bin';
const reserveBytes = 1024 * 1024;

/** Space that is given back when the volume is full, so that terms and votes can still be written (ha.md 3.7 rule 2). */
export function makeReserve(directory: string): void {
  const path = join(directory, reserveFile);
  if (existsSync(path) && statSync(path).size === reserveBytes) return;
  try {
    writeFileSync(path, Buffer.alloc(reserveBytes), { mode: 0o600, flush: true });
  } catch {
    // Made again at the next start of the log: until then a full disk takes no votes.
    rmSync(path, { force: true });
  }
}

export function releaseReserve(directory: string): void {
  rmSync(join(directory, reserveFile), { force: true });
}
