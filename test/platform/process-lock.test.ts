import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ProcessLock } from '#platform/process-lock.ts';
import { smallDisk } from '#test/support/small-disk.ts';

test('on a full disk the lock of a process that has ended is taken over, that of a living one is not', (context) => {
  const disk = smallDisk(context, 64 * 1024);
  if (disk === undefined) return context.skip('no file system can be mounted here');
  const path = join(disk, '.server.lock');
  const gone = spawnSync('true').pid;
  writeFileSync(path, JSON.stringify({ pid: gone, startedAt: '1' }).padEnd(300));
  assert.throws(() => writeFileSync(join(disk, 'rest'), new Uint8Array(128 * 1024)), {
    code: 'ENOSPC',
  });
  const lock = ProcessLock.acquire(path);
  assert.equal(JSON.parse(readFileSync(path, 'utf8')).pid, process.pid);
  // The parent of this process lives.
  writeFileSync(path, JSON.stringify({ pid: process.ppid }));
  assert.throws(() => ProcessLock.acquire(path), { code: 'InvalidSetting' });
  lock.release();
});
