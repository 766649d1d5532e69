// A database as version 1 of the format wrote it (before values of Cypher and labels) opens, reads, changes and closes.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { formatEntryName } from '#storage/format/features.ts';
import { openTestDatabase, type TestDatabase } from '#test/database/support/open-test-database.ts';
import { openEngine } from './engine-fixture.ts';

const kept = new URL('./fixtures/format-1.mdb.gz', import.meta.url);

const people = [0, 1, 2, 3, 4]
  .map(
    (n) =>
      `{@rid: "#1:${n}", @type: "Person", name: "p${n}", born: date 2001-02-0${n + 1}, age: ${n * 10}, tags: ["a", ${n}, {k: 1.5}]}`,
  )
  .join('\n');
const sample =
  '{@rid: "#3:0", @type: "Sample", big: 9007199254740993, real: 4.0, at: datetime 2024-05-06 07:08:09, ' +
  'length: duration 90, nothing: null, map: {__proto__: true}}';
const edge =
  '{@rid: "#2:0", @type: "Knows", @in: "#1:1", @out: "#1:0", since: datetime 2020-01-01 00:00:00}';

test('a database of format 1 opens, reads, changes and closes', async () => {
  const database = await openTestDatabase();
  try {
    await database.reopen(() =>
      writeFileSync(join(database.directory, 'test', 'data.mdb'), gunzipSync(readFileSync(kept))),
    );
    assert.equal(await database.print('SELECT FROM Person'), people);
    assert.equal(await database.print('SELECT FROM Sample'), sample);
    assert.equal(await database.print('SELECT FROM Knows'), edge);
    const found = "SELECT age FROM Person WHERE name = 'p3'";
    assert.equal(await database.print(found), '{age: 30}');
    await database.run("UPDATE Person SET age = 31 WHERE name = 'p3'");
    await database.run("INSERT INTO Person SET name = 'p5', born = date('2001-02-06')");
    await database.reopen();
    assert.equal(await database.print(found), '{age: 31}');
    assert.equal(
      await database.print("SELECT count(*) AS n FROM Person WHERE born > date('2001-02-04')"),
      '{n: 2}',
    );
    const [checked] = await database.run('CHECK DATABASE');
    assert.equal(checked?.['errors'] ?? 0, 0);
  } finally {
    await database.close();
  }
});

/** What stands in the file, for builds that look at it before anything else. */
async function storedFormat(database: TestDatabase): Promise<unknown> {
  const file = join(database.directory, 'test', 'data.mdb');
  await database.reopen(() => undefined);
  const copy = mkdtempSync(join(database.directory, '.format-'));
  cpSync(file, join(copy, 'data.mdb'));
  const engine = openEngine(copy);
  const snapshot = engine.snapshot();
  const stored = snapshot.meta(formatEntryName);
  snapshot[Symbol.dispose]();
  await engine.close();
  return JSON.parse(Buffer.from(stored ?? []).toString());
}

test('a database of format 1 that is only read, or changed without new values, stays one', async () => {
  const database = await openTestDatabase();
  try {
    await database.reopen(() =>
      writeFileSync(join(database.directory, 'test', 'data.mdb'), gunzipSync(readFileSync(kept))),
    );
    assert.equal(await database.print('SELECT FROM Person'), people);
    assert.deepEqual(await storedFormat(database), { storage: 1 });
    await database.run("UPDATE Person SET age = 32 WHERE name = 'p3'");
    await assert.rejects(
      database.run("CREATE (:New {at: localtime('12:00'), x: 1/0})", {}, {}, 'cypher'),
    );
    assert.deepEqual(await storedFormat(database), { storage: 1 });
    await database.run("CREATE (:New {at: localtime('12:00')})", {}, {}, 'cypher');
    assert.deepEqual(await storedFormat(database), { storage: 2, features: ['extendedValues'] });
  } finally {
    await database.close();
  }
});

const keptTexts = new URL('./fixtures/full-text-1.mdb.gz', import.meta.url);

test('full-text indexes made before there were chunks are read and changed as they are, until REBUILD INDEX', async () => {
  const database = await openTestDatabase();
  const found = (query: string) =>
    database.print(
      'SELECT n, $score AS s FROM Note WHERE search_index("Note[title,body]", :query) ORDER BY n',
      { query },
    );
  const errors = async () => (await database.run('CHECK DATABASE'))[0]?.['totalErrors'];
  const queries = ['sea', '+horse -sea', 'title:number', 'ston*', 'hores~2', 'new'];
  try {
    await database.reopen(() =>
      writeFileSync(
        join(database.directory, 'test', 'data.mdb'),
        gunzipSync(readFileSync(keptTexts)),
      ),
    );
    assert.equal((await found('sea')).split('\n').length, 14);
    await database.run("INSERT INTO Note SET n = 40, title = 'new', body = 'a horse at sea'");
    await database.run("UPDATE Note SET body = 'new stones' WHERE n = 1");
    await database.run('DELETE FROM Note WHERE n = 2');
    await database.run('COMPACT INDEX `Note[title,body]`');
    assert.equal(await errors(), 0);
    assert.deepEqual(await storedFormat(database), { storage: 1 });
    const before = await Promise.all(queries.map(found));
    assert.match(before.at(-1) as string, /n: 1,.*\n.*n: 40,/);
    await database.run('REBUILD INDEX `Note[title,body]`');
    assert.deepEqual(await Promise.all(queries.map(found)), before);
    assert.equal(await errors(), 0);
    const features = ['entryChunks', 'entrySegments'];
    assert.deepEqual(await storedFormat(database), { storage: 2, features });
    assert.deepEqual(await Promise.all(queries.map(found)), before);
  } finally {
    await database.close();
  }
});

// Thirty notes in chunks, ten that came later and marks of what is gone beside them in single entries.
const singleTexts = new URL('./fixtures/full-text-2.mdb.gz', import.meta.url);

test('single entries beside chunks, as there were before segments, are read, changed and brought in', async () => {
  const database = await openTestDatabase();
  const search = (query: string) =>
    database.print('SELECT n FROM Note WHERE search_index("Note[title,body]", :query) ORDER BY n', {
      query,
    });
  const scan = (condition: string) =>
    database.print(`SELECT n FROM Note WHERE ${condition} ORDER BY n`);
  const requireEqual = async () => {
    assert.equal(await search('+sea'), await scan("title + ' ' + body LIKE '%sea%'"));
    assert.equal(await search('title:number'), await scan("title LIKE '%number%'"));
    assert.equal(await search('stone*'), await scan("title + ' ' + body LIKE '%stone%'"));
    const [checked] = await database.run('CHECK DATABASE');
    assert.equal(checked?.['totalErrors'] ?? 0, 0);
  };
  try {
    await database.reopen(() =>
      writeFileSync(
        join(database.directory, 'test', 'data.mdb'),
        gunzipSync(readFileSync(singleTexts)),
      ),
    );
    assert.equal(await search('new'), '{n: 1}');
    assert.equal((await search('sea')).split('\n').length, 17);
    await requireEqual();
    assert.deepEqual(await storedFormat(database), { storage: 2, features: ['entryChunks'] });
    await database.run("UPDATE Note SET body = 'sea again' WHERE n IN [1, 31]");
    await database.run('DELETE FROM Note WHERE n IN [3, 34]');
    await requireEqual();
    await database.reopen();
    await requireEqual();
    const features = ['entryChunks', 'entrySegments'];
    assert.deepEqual(await storedFormat(database), { storage: 2, features });
    await database.run('COMPACT INDEX `Note[title,body]`');
    await requireEqual();
    assert.equal(await search('again'), '{n: 1}\n{n: 31}');
  } finally {
    await database.close();
  }
});
