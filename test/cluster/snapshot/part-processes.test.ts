import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { PartLoader } from '#cluster/snapshot/part-loader.ts';
import { PartSender } from '#cluster/snapshot/part-sender.ts';
import { partBytes } from '#storage/parts/part-format.ts';
import { openTestDatabase } from '../../database/support/open-test-database.ts';

// What sends a database and what takes it in, as processes: they share the cache of compiled code with the server that starts them.

test('the processes of parts use the cache of compiled code', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'polyad-part-processes-'));
  const { NODE_COMPILE_CACHE } = process.env;
  process.env['NODE_COMPILE_CACHE'] = join(directory, 'cache');
  context.after(() => {
    delete process.env['NODE_COMPILE_CACHE'];
    if (NODE_COMPILE_CACHE !== undefined) process.env['NODE_COMPILE_CACHE'] = NODE_COMPILE_CACHE;
    rmSync(directory, { recursive: true, force: true });
  });
  const from = await openTestDatabase();
  context.after(() => from.close());
  await from.run('CREATE DOCUMENT TYPE Item');
  await from.run('INSERT INTO Item SET name = ?', ['a']);
  const { engine } = from.database;
  await engine.checkpoint();
  const about = { database: 'test', uuid: null, appliedIndex: 7 };
  const sender = await PartSender.pinned(engine.directory, about);
  const loader = await PartLoader.begun(join(directory, 'loaded'), 2 * partBytes);
  for await (const part of sender.from(0)) await loader.give(part);
  const manifest = await loader.manifest();
  assert.equal(manifest.database, 'test');
  sender.end();
  // The loader has ended, and left what it had compiled.
  const cached = readdirSync(join(directory, 'cache'), { recursive: true });
  assert.ok(cached.length > 1);
  await loader.discard();
});
