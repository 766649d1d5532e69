import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, root, type TestDatabase } from '../support/open-test-database.ts';

// Bulk loads of types with triggers (sql.md 14.1), through the loader that POST /batch uses.

let db: TestDatabase;
before(async () => {
  db = await openTestDatabase();
  for (const statement of [
    'CREATE VERTEX TYPE P',
    'CREATE EDGE TYPE K',
    'CREATE DOCUMENT TYPE Log',
    `CREATE TRIGGER positive BEFORE CREATE ON P EXECUTE SQL "SELECT ($record.n >= 0)"`,
    `CREATE TRIGGER made AFTER CREATE ON P EXECUTE SQL "INSERT INTO Log SET n = $record.n, rid = $record.@rid"`,
    `CREATE TRIGGER known AFTER CREATE ON K EXECUTE SQL "INSERT INTO Log SET a = $record.@out.n, b = $record.@in.n"`,
  ])
    await db.run(statement);
});
after(() => db.close());

test('triggers fire for loaded vertices and edges, and vetoed rows are not counted', async () => {
  const loader = db.database.bulkLoader();
  const ids = ['a', 'b', 'c'];
  const vertices = { type: 'P', columns: ['n'], values: [1, -1, 2], rowCount: 3, ids };
  await loader.addRecords(vertices);
  await loader.addEdges({
    type: 'K',
    columns: [],
    values: [],
    rowCount: 1,
    from: ['a'],
    to: ['c'],
  });
  assert.deepEqual(await db.run('SELECT FROM Log'), [], 'nothing is seen before the commit');
  const { recordCount, edgeCount } = await loader.finish();
  assert.deepEqual({ recordCount, edgeCount }, { recordCount: 2, edgeCount: 1 });
  assert.deepEqual(loader.vetoed, { records: 1, edges: 0 });
  assert.deepEqual(await db.run('SELECT n, a, b FROM Log ORDER BY n, a'), [
    { n: null, a: 1, b: 2 },
    { n: 1, a: null, b: null },
    { n: 2, a: null, b: null },
  ]);
  assert.deepEqual(await db.run('SELECT out().n AS n FROM P WHERE n = 1'), [{ n: [2] }]);
});

test('an edge of a vetoed vertex ends the load with its row, and nothing of the chunk stays', async () => {
  const before = await db.run('SELECT count(*) AS n FROM Log');
  const loader = db.database.bulkLoader();
  const rids = new Float64Array(2);
  await loader.addRecords({ type: 'P', columns: ['n'], values: [7, -7], rowCount: 2, rids });
  const edges = { type: 'K', columns: [], values: [], rowCount: 1 };
  const from = rids.subarray(0, 1);
  const to = rids.subarray(1, 2);
  await assert.rejects(loader.addEdges({ ...edges, from, to }), {
    code: 'RecordNotFound',
    message: 'an end of an edge was not written, since a trigger vetoed it',
  });
  assert.equal(loader.failedRow, 0);
  loader.close();
  assert.deepEqual(await db.run('SELECT count(*) AS n FROM Log'), before);
});

test('a streamed insert fires triggers; what one of a failed record wrote is taken back', async () => {
  await db.run('CREATE DOCUMENT TYPE S');
  await db.run('CREATE PROPERTY S.n INTEGER (max 10)');
  for (const action of [
    `CREATE TRIGGER seen BEFORE CREATE ON S EXECUTE SQL "INSERT INTO Log SET seen = $record.n"`,
    `CREATE TRIGGER odd BEFORE CREATE ON S EXECUTE SQL "SELECT ($record.n <> 3)"`,
  ])
    await db.run(action);
  const stream = db.database.insertStream({
    principal: root,
    targetType: 'S',
    transactionMode: 'per_batch',
    conflictMode: 'error',
    keyColumns: [],
    updateColumns: undefined,
    validateOnly: false,
    decode: (record) => record,
  });
  const records = [1, 99, 3, 4].map((n) => new Map([['n', n]]));
  const { received, inserted, ignored, failed } = await stream.apply(records);
  assert.deepEqual(
    { received, inserted, ignored, failed },
    { received: 4, inserted: 2, ignored: 1, failed: 1 },
  );
  assert.deepEqual(await db.run('SELECT n FROM S ORDER BY n'), [{ n: 1 }, { n: 4 }]);
  assert.deepEqual(
    (await db.run('SELECT seen FROM Log WHERE seen IS NOT NULL ORDER BY seen')).map(
      (row) => row['seen'],
    ),
    [1, 3, 4],
  );
});
