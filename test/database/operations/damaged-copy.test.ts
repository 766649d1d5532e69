import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Settings } from '#config/effective-settings.ts';
import { writeBackup } from '#database/operations/backup/backup.ts';
import { ProgressRegistry } from '#database/progress/progress-registry.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import type { StorageEngine } from '#storage/engine.ts';

test('a copy that cannot be read ends its packing and gets no name', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-damaged-copy-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const megabytes = 40;
  const copyTo = async (target: string) => {
    mkdirSync(target);
    writeFileSync(join(target, 'data.mdb'), Buffer.alloc(megabytes * 2 ** 20, 0x5a));
  };
  const registry = new ProgressRegistry(systemRuntime.clock);
  const about = { database: 'shop', operation: 'backup database', stepCount: 3 };
  const reporter = registry.start(about);
  // Packing it would take longer than a test may.
  const options = {
    compressionLevel: 1,
    bytesPerSecondMax: 2 ** 18,
    passphrase: undefined,
  };
  const backup = writeBackup({
    database: 'shop',
    engine: { copyTo } as unknown as StorageEngine,
    directory,
    fileName: 'shop.zip',
    options,
    settings: new Settings(new Map()),
    reporter,
    runtime: systemRuntime,
  });
  await assert.rejects(backup, { code: 'Validation', message: /copy of the database is damaged/ });
  assert.deepEqual(readdirSync(directory), []);
});
