import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { parseRid, type Rid, type TypeId } from '#core/value/rid.ts';
import { IndexKeys } from '#index/ordered/index-keys.ts';
import type { RowOperation } from '#storage/format/row-operations.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';
import type { PlainRow } from './support/plain-values.ts';

let opened: TestDatabase | undefined;
afterEach(async () => {
  await opened?.close();
  opened = undefined;
});

/** Three vertices, two edges, an index, and a document that links to a vertex. */
async function openGraph(): Promise<TestDatabase> {
  opened = await openTestDatabase();
  for (const text of [
    'CREATE VERTEX TYPE V',
    'CREATE PROPERTY V.n INTEGER',
    'CREATE INDEX ON V (n) UNIQUE',
    'CREATE EDGE TYPE E',
    'CREATE DOCUMENT TYPE D',
    'INSERT INTO V CONTENT [{n:1},{n:2},{n:3}]',
    'CREATE EDGE E FROM (SELECT FROM V WHERE n = 1) TO (SELECT FROM V WHERE n = 2)',
    'CREATE EDGE E FROM (SELECT FROM V WHERE n = 2) TO (SELECT FROM V WHERE n = 3)',
    'INSERT INTO D SET link = (SELECT FROM V WHERE n = 3), more = [(SELECT FROM V WHERE n = 3)]',
  ])
    await opened.run(text);
  return opened;
}

/** Puts operations into storage that no transaction would. */
function damage({ database }: TestDatabase, ...operations: RowOperation[]): Promise<void> {
  return database.state.repair(() => operations);
}

async function check(text: string): Promise<PlainRow> {
  const rows = await (opened as TestDatabase).run(text);
  assert.equal(rows.length, 1);
  return rows[0] as PlainRow;
}

async function rid(text: string): Promise<Rid> {
  const [row] = await (opened as TestDatabase).run(text);
  const shown = String((row as PlainRow)['r']);
  const found = parseRid(shown);
  assert.ok(found !== undefined, shown);
  return found;
}

function typeId({ database }: TestDatabase, name: string): TypeId {
  const type = database.state.catalog.typeNamed(name);
  assert.ok(type !== undefined);
  return type.id;
}

const degrees = 'SELECT n, out("E").n AS o, in("E").n AS i FROM V ORDER BY n';

test('a sound database has no errors, and its counters are those of its records', async () => {
  await openGraph();
  await opened?.run('INSERT INTO D CONTENT [{a:1},{a:2}]');
  await opened?.run('DELETE FROM D WHERE a = 1');
  const row = await check('CHECK DATABASE');
  assert.equal(row['operation'], 'check database');
  assert.equal(row['totalErrors'], 0);
  assert.equal(row['autoFix'], 0);
  assert.deepEqual(row['warnings'], []);
  assert.deepEqual(
    [row['totalActiveRecords'], row['totalActiveDocuments'], row['totalActiveVertices']],
    [7, 2, 3],
  );
  assert.deepEqual([row['totalActiveEdges'], row['totalDeletedRecords']], [2, 1]);
  assert.equal((await check('CHECK DATABASE TYPE V'))['totalActiveRecords'], 3);
  assert.equal((await check('CHECK DATABASE BUCKET E_0 DEEP COMPRESS'))['totalActiveRecords'], 2);
  assert.equal((await check('CHECK DATABASE RECORD #1:0, #1:1'))['totalErrors'], 0);
  assert.equal((await check('CHECK DATABASE RECORD #1:70'))['totalErrors'], 1);
});

test('an edge whose vertex is gone is found, and deleted by FIX', async () => {
  const graph = await openGraph();
  await damage(graph, { op: 'delete-row', rid: await rid('SELECT @rid AS r FROM V WHERE n = 2') });
  const found = await check('CHECK DATABASE');
  assert.ok(Number(found['totalErrors']) >= 2);
  assert.equal(found['autoFix'], 0);
  const fixed = await check('CHECK DATABASE FIX');
  assert.equal((fixed['deletedRecordsAfterFix'] as unknown[]).length, 2);
  assert.equal((await check('CHECK DATABASE'))['totalErrors'], 0);
  assert.deepEqual(await graph.run(degrees), [
    { n: 1, o: [], i: [] },
    { n: 3, o: [], i: [] },
  ]);
});

test('a list entry without its edge is found, and taken out by FIX', async () => {
  const graph = await openGraph();
  const edge = await rid('SELECT @rid AS r FROM E WHERE @out.n = 1');
  await damage(graph, { op: 'delete-row', rid: edge });
  assert.equal((await check('CHECK DATABASE'))['totalErrors'], 2);
  assert.equal((await check('CHECK DATABASE FIX'))['autoFix'], 2);
  assert.equal((await check('CHECK DATABASE'))['totalErrors'], 0);
  assert.deepEqual(await graph.run(degrees), [
    { n: 1, o: [], i: [] },
    { n: 2, o: [3], i: [] },
    { n: 3, o: [], i: [2] },
  ]);
});

test('an edge that its vertices do not list is listed again, or deleted as an orphan', async () => {
  const graph = await openGraph();
  const edge = await rid('SELECT @rid AS r FROM E WHERE @out.n = 1');
  const [from, to] = [
    await rid('SELECT @rid AS r FROM V WHERE n = 1'),
    await rid('SELECT @rid AS r FROM V WHERE n = 2'),
  ];
  const unlist = { op: 'remove-edge', rid: edge, type: typeId(graph, 'E'), from, to } as const;
  await damage(graph, { ...unlist, both: false });
  assert.equal((await check('CHECK DATABASE'))['unreachableEdgeRecords'], 1);
  await check('CHECK DATABASE FIX');
  assert.equal((await check('CHECK DATABASE'))['totalErrors'], 0);
  assert.equal((await graph.run(degrees))[0]?.['o']?.toString(), '2');

  await damage(graph, { ...unlist, both: true });
  const fixed = await check('CHECK DATABASE FIX DELETE ORPHANS');
  assert.equal((fixed['deletedRecordsAfterFix'] as unknown[]).length, 1);
  assert.equal((await check('CHECK DATABASE'))['totalErrors'], 0);
  assert.deepEqual(await graph.run('SELECT count(*) AS c FROM E'), [{ c: 1 }]);
});

test('entries of an index that are missing or too many are found, and the index is built anew', async () => {
  const graph = await openGraph();
  const index = graph.database.state.catalog.indexNamed('V[n]');
  assert.ok(index !== undefined);
  await damage(graph, { op: 'drop-index', index: index.id });
  assert.equal((await check('CHECK DATABASE'))['totalErrors'], 1);
  const fixed = await check('CHECK DATABASE FIX');
  assert.deepEqual(fixed['rebuiltIndexes'], ['V[n]']);
  assert.equal((await check('CHECK DATABASE'))['totalErrors'], 0);

  const rebuilt = graph.database.state.catalog.indexNamed('V[n]');
  assert.ok(rebuilt !== undefined);
  const stray = [{ key: Uint8Array.of(0x20, 1, 2, 3), rid: parseRid('#1:2') as Rid }];
  await graph.database.engine.addEntries(new IndexKeys(rebuilt).target, stray);
  assert.ok(Number((await check('CHECK DATABASE TYPE V'))['totalErrors']) >= 1);
  assert.deepEqual((await check('CHECK DATABASE FIX'))['rebuiltIndexes'], ['V[n]']);
  assert.equal((await check('CHECK DATABASE'))['totalErrors'], 0);
  assert.equal((await graph.run('SELECT FROM V WHERE n = 3')).length, 1);
});

test('links to records that are gone are told and left alone', async () => {
  const graph = await openGraph();
  await graph.run('DELETE FROM V WHERE n = 3');
  const row = await check('CHECK DATABASE FIX');
  assert.deepEqual([row['invalidLinks'], row['totalErrors'], row['totalWarnings']], [2, 0, 1]);
});

test('what a transaction has written is given up first', async () => {
  const graph = await openGraph();
  const rows = await graph.run(
    'BEGIN; INSERT INTO D SET a = 9; CHECK DATABASE; COMMIT; SELECT count(*) AS c FROM D;',
    {},
    {},
    'sqlscript',
  );
  assert.deepEqual(rows, [{ c: 1 }]);
});
