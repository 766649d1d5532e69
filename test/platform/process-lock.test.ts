import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
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

/** Two containers on one volume: each is process 1 or 2 of its own, and sees none of the other. */
const inNamespace = ['--user', '--map-root-user', '--pid', '--fork', '--mount', '--mount-proc'];

const holder = (path: string) => `
  const { ProcessLock } = await import('#platform/process-lock.ts');
  try {
    ProcessLock.acquire(${JSON.stringify(path)});
    console.log('holds');
    process.stdin.resume();
  } catch (error) {
    console.log(error.code + ': ' + error.message);
  }
`;

test('of two containers on one volume one holds the lock, and the next one when it was killed', async (context) => {
  const probe = spawnSync('unshare', [...inNamespace, 'true']);
  if (probe.status !== 0) return context.skip('no PID namespace can be made here');
  const directory = mkdtempSync(join(tmpdir(), 'polyad-lock-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const path = join(directory, '.server.lock');
  const start = () => {
    const code = ['--input-type=module', '--eval', holder(path)];
    const child = spawn('unshare', [...inNamespace, '--kill-child', process.execPath, ...code]);
    context.after(() => child.kill('SIGKILL'));
    return child;
  };
  const said = async (child: ReturnType<typeof start>) =>
    String((await once(child.stdout, 'data'))[0]).trim();
  const first = start();
  assert.equal(await said(first), 'holds');
  assert.match(await said(start()), /^InvalidSetting: process \d+ on '.+' uses this directory/);
  first.kill('SIGKILL');
  await once(first, 'close');
  assert.equal(await said(start()), 'holds');
});
