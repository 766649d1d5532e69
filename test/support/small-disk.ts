import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A directory on a disk of its own, of some bytes (whole pages), until the test ends; undefined where no file system can be mounted. */
export function smallDisk(context: TestContext, diskBytes: number): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), 'polyad.disk-'));
  let isMounted = false;
  context.after(() => {
    if (isMounted) execFileSync('umount', ['-l', directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskBytes}`, 'tmpfs', directory], {
      stdio: 'ignore',
    });
  } catch {
    return undefined;
  }
  isMounted = true;
  return directory;
}
