import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { lockDirectory } from '#plan/directory-lock.ts';
import { readSettings } from '#plan/ground.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { freePort, quickStart } from '../support/server-process.ts';

// A server whose directory another process still has: it waits for that one to end, as long as it was told to.

function directoryOf(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-lock-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Another process that has the directory until it is killed. */
async function holderOf(context: TestContext, directory: string) {
  const code = `
    const { lockFileName, ProcessLock } = await import('#platform/process-lock.ts');
    ProcessLock.acquire(${JSON.stringify(directory)} + '/' + lockFileName);
    console.log('holds');
    process.stdin.resume();`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code]);
  context.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

const waiting = (ms: number) => readSettings([`-Dserver.directoryLockTimeout=${ms}`]).settings;

test('a directory that another process has is an error at once, and waited for where that was asked', async (context) => {
  const directory = directoryOf(context);
  const child = await holderOf(context, directory);
  const told: string[] = [];
  const around = { ...systemRuntime, tell: (text: string) => void told.push(text) };
  await assert.rejects(lockDirectory(directory, readSettings([]).settings, around), {
    code: 'InvalidSetting',
    message: new RegExp(`^process ${child.pid} on '.+' uses this directory already`),
  });
  assert.equal(told.length, 0);
  const taken = lockDirectory(directory, waiting(600_000), {
    ...around,
    tell: (text) => {
      told.push(text);
      child.kill('SIGKILL');
    },
  });
  await taken;
  assert.equal(told.length, 1);
  assert.match(told[0] ?? '', /waits for it to end, for at most 600000 ms$/);
});

test('the wait for another process is bounded', async (context) => {
  const directory = directoryOf(context);
  await holderOf(context, directory);
  let now = 0;
  const clock = { now: () => now, monotonicMs: () => now };
  const sleep = async (ms: number) => {
    now += ms;
  };
  const timers = { ...systemRuntime.timers, sleep };
  await assert.rejects(
    lockDirectory(directory, waiting(20_000), { clock, timers, tell: () => {} }),
    { code: 'InvalidSetting' },
  );
  assert.equal(now, 20_000);
});

test('a Raft directory that another process has ends the start', async (context) => {
  const root = directoryOf(context);
  const raft = join(root, 'raft-storage-a_0');
  mkdirSync(raft);
  await holderOf(context, raft);
  const script = resolve(import.meta.dirname, '../../server/main.ts');
  const port = await freePort();
  const settings = {
    'server.rootPath': root,
    'server.rootPassword': 'playwithdata',
    'server.name': 'a_0',
    'ha.enabled': 'true',
    'server.httpIncomingPort': String(port),
    'ha.serverList': `127.0.0.1:${await freePort()}:${port}`,
  };
  const words = Object.entries(settings).map(([key, value]) => `-Dservice.${key}=${value}`);
  const env = { ...process.env, ...quickStart };
  const { status, stderr } = spawnSync(process.execPath, [script, ...words], { env, cwd: root });
  assert.equal(status, 1);
  assert.match(String(stderr), /uses this directory already \(.*raft-storage-a_0/);
});
