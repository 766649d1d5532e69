import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openTestDatabase, root, type TestDatabase } from '../support/open-test-database.ts';

async function open(context: TestContext): Promise<TestDatabase> {
  const test = await openTestDatabase();
  context.after(() => test.close());
  return test;
}

async function fill(test: TestDatabase): Promise<void> {
  await test.run('CREATE VERTEX TYPE Person');
  await test.run('CREATE PROPERTY Person.name STRING');
  await test.run('CREATE INDEX ON Person (name) UNIQUE');
  await test.run('CREATE EDGE TYPE Knows');
  for (let i = 0; i < 20; i += 1)
    await test.run('INSERT INTO Person SET name = :n', { n: `p${i}` });
  await test.run(
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'p0') TO (SELECT FROM Person WHERE name <> 'p0')",
  );
}

test('a backup has the row and the name of the reference, and restores to the same records', async (context) => {
  const test = await open(context);
  await fill(test);
  const [row] = await test.run('BACKUP DATABASE');
  assert.equal(row?.['operation'], 'backup database');
  assert.equal(row?.['result'], 'OK');
  const fileName = String(row?.['backupFile']);
  assert.match(fileName, /^test-backup-\d{8}-\d{9}\.zip$/);
  const path = join(test.directory, '.backups', 'test', fileName);
  assert.deepEqual(readdirSync(join(test.directory, '.backups', 'test')), [fileName]);
  const asker = { principal: root, signal: new AbortController().signal };
  await test.operations.restore('copy', { url: `file://${path}` }, asker);
  const text = 'SELECT name, out().name AS knows FROM Person ORDER BY name';
  assert.deepEqual(await test.runOn('copy', text), await test.run(text));
  assert.deepEqual(
    await test.runOn('copy', "SELECT FROM Person WHERE name = 'p7'"),
    await test.run("SELECT FROM Person WHERE name = 'p7'"),
  );
});
