import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Goal: a plan that is kept for its next execution keeps nothing of the last one. Method: statements that gather 20 MB in a list, and
// what the heap holds behind each of them.

const rowCount = 40;
let db: TestDatabase;

before(async () => {
  db = await openTestDatabase();
  await db.run('CREATE DOCUMENT TYPE Many');
  await db.run('CREATE DOCUMENT TYPE One');
  await db.run('INSERT INTO One SET n = 1');
  for (let n = 0; n < rowCount; n += 1)
    await db.run('INSERT INTO Many SET t = :text, n = :n', { text: 'x'.repeat(500_000), n });
});

after(async () => {
  await db.close();
});

async function heapUsed(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  await new Promise((resolve) => setTimeout(resolve, 5));
  collect();
  return process.memoryUsage().heapUsed;
}

for (const statement of [
  'SELECT n, (SELECT t FROM Many) AS l FROM One',
  'SELECT n, $l.size() AS s FROM One LET $l = (SELECT t.toUpperCase() FROM Many)',
  'SELECT n + abs(:two) AS m, $l.size() AS s FROM One LET $l = (SELECT t FROM Many)',
  'SELECT n FROM One WHERE (SELECT t FROM Many) CONTAINS 1',
  'SELECT n FROM Many WHERE t IN (SELECT t FROM Many)',
  'SELECT n FROM One ORDER BY (SELECT t FROM Many).size()',
  'SELECT n, t FROM Many ORDER BY t || n',
  'SELECT DISTINCT t || n FROM Many',
  'SELECT n, max(t) FROM Many GROUP BY n',
])
  test(`nothing is held behind ${statement}`, async () => {
    const before = await heapUsed();
    await db.run(statement, { two: 2 });
    const held = (await heapUsed()) - before;
    assert.ok(held < 8_000_000, `${held} bytes`);
  });
