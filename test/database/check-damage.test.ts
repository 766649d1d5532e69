import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { type BucketId, makeRid } from '#core/value/rid.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';
import type { PlainRow } from './support/plain-values.ts';

// What a bad disk does to stored records: scans notice it, CHECK DATABASE tells it, FIX leaves a sound database (sql.md 16.3).

let opened: TestDatabase | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

const count = 300;

/** A chain of vertices with a unique index, in several blocks, and a document for each tenth. */
async function openChain(): Promise<TestDatabase> {
  const database = await openTestDatabase();
  opened = database;
  for (const text of [
    'CREATE VERTEX TYPE V BUCKETS 1',
    'CREATE PROPERTY V.n INTEGER',
    'CREATE INDEX ON V (n) UNIQUE',
    'CREATE EDGE TYPE E BUCKETS 1',
  ])
    await database.run(text);
  const rows = Array.from({ length: count }, (_, n) => `{n: ${n}, word: 'unmistakable-${n}.'}`);
  await database.run(`INSERT INTO V CONTENT [${rows.join(', ')}]`);
  await database.run(
    `LET $all = SELECT FROM V ORDER BY n; LET $at = 0; WHILE ($at < ${count - 1}) { CREATE EDGE E FROM $all[$at] TO $all[$at + 1] SET tag = 'edge-number-' || $at; LET $at = $at + 1; }`,
    {},
    {},
    'sqlscript',
  );
  return database;
}

/** Changes one byte wherever the closed file holds the text. */
function spoil(database: TestDatabase, text: string): Promise<void> {
  return database.reopen(() => {
    const path = join(database.directory, 'test', 'data.mdb');
    const file = readFileSync(path);
    let found = 0;
    for (let at = file.indexOf(text); at >= 0; at = file.indexOf(text, at + 1)) {
      file[at] = (file[at] ?? 0) ^ 0x20;
      found += 1;
    }
    assert.ok(found > 0, 'the text is in the file');
    writeFileSync(path, file);
  });
}

async function check(database: TestDatabase, text: string): Promise<PlainRow> {
  const [row] = await database.run(text);
  return row as PlainRow;
}

/** Puts an operation into storage that no transaction would. */
function damage({ database }: TestDatabase, operation: RowOperation): Promise<void> {
  return database.state.repair(() => [operation]);
}

function bucketNamed({ database }: TestDatabase, name: string): BucketId {
  const bucket = database.state.catalog.bucketNamed(name);
  assert.ok(bucket !== undefined);
  return bucket.id;
}

/** Every way to count gives the same, the index finds what is there, and no edge leads nowhere. */
async function requireSound(database: TestDatabase): Promise<number> {
  const found = await check(database, 'CHECK DATABASE');
  assert.deepEqual([found['totalErrors'], found['warnings']], [0, []]);
  const [counted] = await database.run('SELECT count(*) AS c FROM V');
  const rows = await database.run('SELECT n, word, outE().size() AS o, inE().size() AS i FROM V');
  assert.equal(rows.length, counted?.['c']);
  const numbers = new Set(rows.map((row) => row['n']));
  for (const row of rows) {
    const n = Number(row['n']);
    assert.equal(row['word'], `unmistakable-${n}.`);
    assert.deepEqual(
      [row['o'], row['i']],
      [numbers.has(n + 1) ? 1 : 0, numbers.has(n - 1) ? 1 : 0],
    );
  }
  for (const n of [0, 63, 64, 70, 127, 128, count - 1])
    assert.equal(
      (await database.run('SELECT FROM V WHERE n = :n', { n })).length,
      numbers.has(n) ? 1 : 0,
    );
  return rows.length;
}

test('records of a damaged block are told, and dropped by FIX with all that knew of them', async () => {
  const database = await openChain();
  assert.equal(await requireSound(database), count);
  await spoil(database, 'unmistakable-70.');
  await assert.rejects(database.run('SELECT FROM V'), { code: 'CorruptedRecord' });
  const found = await check(database, 'CHECK DATABASE');
  assert.ok(Number(found['totalErrors']) > 0);
  const corrupted = found['corruptedRecords'] as string[];
  assert.ok(corrupted.length >= 16 && corrupted.length <= 64, String(corrupted.length));
  assert.equal(found['autoFix'], 0);

  const fixed = await check(database, 'CHECK DATABASE FIX');
  assert.deepEqual(fixed['corruptedRecords'], found['corruptedRecords']);
  assert.ok(Number(fixed['autoFix']) > 0);
  for (const rid of corrupted)
    assert.ok((fixed['deletedRecordsAfterFix'] as string[]).includes(rid));
  assert.deepEqual(fixed['rebuiltIndexes'], ['V[n]']);
  assert.equal(await requireSound(database), count - corrupted.length);

  // The places of lost records can be used like any others, and all of it is there after a restart.
  await database.run("INSERT INTO V SET n = 70, word = 'unmistakable-70.'");
  await database.reopen();
  const [again] = await database.run('SELECT count(*) AS c FROM V');
  assert.equal(again?.['c'], count - corrupted.length + 1);
});

test('edges in a damaged block are dropped, and their vertices forget them', async () => {
  const database = await openChain();
  await spoil(database, 'edge-number-1');
  const fixed = await check(database, 'CHECK DATABASE FIX');
  assert.ok((fixed['corruptedRecords'] as string[]).length > 0);
  const found = await check(database, 'CHECK DATABASE');
  assert.deepEqual([found['totalErrors'], found['warnings']], [0, []]);
  const [vertices] = await database.run('SELECT count(*) AS c FROM V');
  assert.equal(vertices?.['c'], count);
});

test('a block that cannot be found any more is noticed by every scan, not served as if it had been empty', async () => {
  const database = await openChain();
  await damage(database, {
    op: 'mend-bucket',
    bucket: bucketNamed(database, 'V_0'),
    liveChange: 0,
    hashLowChange: 0,
    hashHighChange: 0,
    droppedBlocks: [1],
  });
  for (const text of [
    'SELECT FROM V',
    "SELECT n FROM V WHERE word LIKE '%9.'",
    'SELECT count(*) AS c FROM V WHERE word IS NOT NULL',
    'SELECT max(word) FROM V',
    'SELECT FROM V ORDER BY word',
    'SELECT FROM V ORDER BY @rid DESC',
    'MATCH {type: V, as: v} RETURN v.n',
    'UPDATE V SET m = 1',
  ])
    await assert.rejects(
      database.run(text),
      { code: 'CorruptedRecord', message: /counts 300/ },
      text,
    );
  assert.equal((await database.run('SELECT FROM V LIMIT 5')).length, 5);
  const found = await check(database, 'CHECK DATABASE');
  assert.match(String(found['warnings']), /bucket 'V_0' counts 300 records, but holds 236/);
  const fixed = await check(database, 'CHECK DATABASE FIX');
  assert.match(String(fixed['warnings']), /bucket 'V_0' counted 300 records, but holds 236/);
  assert.equal(await requireSound(database), 236);
});

test('wrong counters are mended', async () => {
  const database = await openChain();
  const bucket = bucketNamed(database, 'V_0');
  const nothing = { op: 'mend-bucket', bucket, droppedBlocks: [] } as const;
  await damage(database, { ...nothing, liveChange: -3, hashLowChange: 0, hashHighChange: 0 });
  assert.deepEqual(await database.run('SELECT count(*) AS c FROM V'), [{ c: 297 }]);
  const told = await check(database, 'CHECK DATABASE TYPE V');
  assert.match(String(told['warnings']), /bucket 'V_0' counts 297 records, but holds 300/);
  assert.equal((await check(database, 'CHECK DATABASE TYPE V FIX'))['autoFix'], 1);
  await damage(database, { ...nothing, liveChange: 0, hashLowChange: 7, hashHighChange: 1 });
  assert.match(
    String((await check(database, 'CHECK DATABASE'))['warnings']),
    /bucket 'V_0' has another content hash/,
  );
  await check(database, 'CHECK DATABASE FIX');
  await database.reopen();
  assert.equal(await requireSound(database), count);
});

test('a list of edges that cannot be read is dropped and laid anew', async () => {
  const database = await openChain();
  const type = database.database.state.catalog.typeNamed('E');
  assert.ok(type !== undefined);
  const [row] = await database.run('SELECT @rid AS r FROM V WHERE n = 5');
  const [, position] = String(row?.['r']).slice(1).split(':');
  const vertex = makeRid(bucketNamed(database, 'V_0'), Number(position));
  await damage(database, { op: 'drop-list', vertex, direction: 'out', type: type.id });
  assert.equal((await check(database, 'CHECK DATABASE'))['unreachableEdgeRecords'], 1);
  await check(database, 'CHECK DATABASE FIX');
  assert.equal(await requireSound(database), count);
});
