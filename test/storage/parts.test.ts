import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkEnvironment } from '#storage/environment/check.ts';
import { EnvironmentLoader } from '#storage/parts/environment-loader.ts';
import { EnvironmentParts } from '#storage/parts/environment-parts.ts';
import { isManifestPart, partBytes, PartCollector } from '#storage/parts/part-format.ts';
import { openTestDatabase } from '../database/support/open-test-database.ts';

// How a database travels: the parts of one state, whatever is written meanwhile, become an environment that holds the same.

const about = { database: 'test', uuid: null, appliedIndex: 7 };

test('the parts of a state stay what they are, and make an environment that holds the same', async (context) => {
  const root = mkdtempSync(join(tmpdir(), 'polyad-parts-'));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const from = await openTestDatabase();
  await from.run('CREATE VERTEX TYPE Person');
  await from.run('CREATE PROPERTY Person.name STRING');
  await from.run('CREATE INDEX ON Person (name) UNIQUE');
  for (let i = 0; i < 20; i += 1)
    await from.run('INSERT INTO Person SET name = ?, text = ?', [`p${i}`, `${i}`.repeat(50_000)]);
  await from.run('INSERT INTO Person SET name = ?, text = ?', ['long', 'x'.repeat(2 * partBytes)]);
  const { engine } = from.database;
  await engine.checkpoint();
  const parts = new EnvironmentParts(engine.directory, about);
  const first = [0, 1, 2].map((number) => parts.part(number) as Buffer);
  await from.run('DELETE FROM Person');
  await engine.checkpoint();
  const all: Buffer[] = [];
  for (;;) {
    const part = parts.part(all.length);
    if (part === undefined) break;
    all.push(part);
  }
  assert.deepEqual(all.slice(0, 3), first);
  assert.deepEqual(parts.part(1), first[1]);
  assert.throws(() => parts.part(all.length + 9), /yet/);
  await parts.close();
  assert.ok(all.length >= 5 && all.some((part) => part.length > partBytes));
  const directory = join(root, 'test');
  mkdirSync(directory);
  const loader = new EnvironmentLoader(directory);
  const ends = all.map((part) => loader.take(part));
  await loader.close();
  const { valueCount, lastTxId } = ends.at(-1) ?? assert.fail('without a manifest');
  const facts = checkEnvironment(directory);
  assert.deepEqual([facts.valueCount, facts.applied.txId], [valueCount, lastTxId]);
  rmSync(join(directory, 'lock.mdb'));
  assert.deepEqual(readdirSync(directory).sort(), ['data.mdb', 'last-use.json']);
  const databases = await openTestDatabase({ directory: root });
  const [row] = await databases.run(
    'SELECT count(*) AS n, max(text.length()) AS longest FROM Person',
  );
  assert.deepEqual([row?.['n'], row?.['longest']], [21, 2 * partBytes]);
  await databases.close();
  await from.close();
});

test('parts come together from pieces of any length', () => {
  const whole = [1, 70_000, 3].map((length) => {
    const part = Buffer.alloc(8 + length, length);
    part.writeUInt32LE(length);
    return part;
  });
  const bytes = Buffer.concat(whole);
  for (const length of [1, 7, 8, 9, 65_536, bytes.length]) {
    const collector = new PartCollector(70_000);
    const found: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += length)
      found.push(...collector.take(bytes.subarray(at, at + length)));
    assert.deepEqual(found, whole);
    assert.equal(collector.isEmpty, true);
  }
  assert.throws(() => new PartCollector(69_999).take(bytes), /70000 bytes/);
  assert.equal(isManifestPart(whole[0] as Buffer), false);
});
