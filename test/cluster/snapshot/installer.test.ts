import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test, type TestContext } from 'node:test';
import { SnapshotInstaller } from '#cluster/snapshot/snapshot-installer.ts';
import { Settings } from '#config/effective-settings.ts';
import { silentLog } from '#core/log.ts';
import { ProgressRegistry } from '#database/progress/progress-registry.ts';
import { systemRuntime } from '#platform/system-runtime.ts';

// When a database is fetched and when no more: the log goes on between attempts, and may have dropped it.

function fetching(context: TestContext, answers: readonly number[]) {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-installer-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const asked: number[] = [];
  const pauses: number[] = [];
  let isApplying = true;
  const unused = () => Promise.reject(new Error('not asked here'));
  const installer = new SnapshotInstaller({
    directory,
    databases: () => ({ exists: () => true, installHere: unused, replaceHere: unused }),
    dial: (peer) => ({ kind: 'address', peer, host: 'x', port: 1, isSecure: false }),
    http: () => ({
      ask: async () => {
        assert.equal(isApplying, false, 'nothing is applied while it is fetched');
        const status = answers[asked.length] ?? 200;
        asked.push(status);
        return { status, headers: [], header: () => undefined, body: Readable.from([]) } as never;
      },
    }),
    token: () => 'token',
    uuidOf: () => 'uuid',
    silentMsMax: () => 1000,
    progressEveryMs: () => 0,
    caughtUpWithin: () => 0,
    lag: () => 0,
    purgeLog: () => Promise.resolve(),
    retries: () => 3,
    retryBaseMs: () => 1,
    progress: new ProgressRegistry(systemRuntime.clock),
    settings: new Settings(new Map()),
    runtime: {
      ...systemRuntime,
      timers: {
        ...systemRuntime.timers,
        sleep: async (ms: number) => {
          assert.equal(isApplying, true, 'the log goes on in the pauses');
          pauses.push(ms);
        },
      },
    },
    log: silentLog,
  });
  const exclusively = async (run: () => Promise<void>) => {
    isApplying = false;
    try {
      await run();
    } finally {
      isApplying = true;
    }
  };
  return { installer, exclusively, asked, pauses };
}

test('a database that the log has dropped meanwhile is fetched no more', async (context) => {
  const { installer, exclusively, asked } = fetching(context, [500, 500]);
  const isWanted = () => asked.length < 2;
  await installer.install('school', () => 'a_1', { exclusively, isWanted });
  assert.deepEqual(asked, [500, 500]);
  assert.equal(installer.acquisitionOf('school'), undefined);
  assert.equal(installer.isRunning, false);
});

test('one that is here by the time that nothing is applied is not fetched', async (context) => {
  const { installer, exclusively, asked } = fetching(context, []);
  await installer.install('school', () => 'a_1', { exclusively, isWanted: () => false });
  assert.deepEqual(asked, []);
});

test('one that the leader does not have is not asked for again; other refusals are, with pauses', async (context) => {
  const gone = fetching(context, [503, 404]);
  const { exclusively, asked, pauses } = gone;
  await assert.rejects(
    gone.installer.install('school', () => 'a_1', { exclusively }),
    {
      code: 'DatabaseNotFound',
    },
  );
  assert.deepEqual([asked, pauses], [[503, 404], [1]]);
  assert.equal(gone.installer.acquisitionOf('school')?.acquireStatus, 'FAILED');
});
