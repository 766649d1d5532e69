import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchImport } from '#database/bulk/batch-import.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase, root, type TestDatabase } from '../support/open-test-database.ts';

function body(prefix: string, count: number): Buffer {
  const lines: string[] = [];
  for (let n = 0; n < count; n += 1)
    lines.push(`{"@type":"v","@class":"Person","@id":"${n}","name":"${prefix}${n}"}`);
  for (let n = 0; n < count; n += 1)
    lines.push(`{"@type":"e","@class":"Knows","@from":"${n}","@to":"${(n * 7) % count}"}`);
  return Buffer.from(lines.join('\n'));
}

async function importInto(data: TestDatabase, bytes: Buffer, commitEvery: number): Promise<void> {
  const batch = new BatchImport({
    loader: data.database.bulkLoader({ principal: root }),
    format: 'jsonl',
    commitEvery,
    ordinalBase: undefined,
    depthMax: 512,
    lineBytesMax: 1024 * 1024,
    runtime: systemRuntime,
    onCommit: () => {},
  });
  for (let at = 0; at < bytes.length; at += 10_000) {
    await batch.write(bytes.subarray(at, at + 10_000));
    await systemRuntime.timers.yield();
  }
  await batch.end();
}

test('imports and statements at the same time all get what they wrote', async () => {
  const data = await openTestDatabase();
  try {
    await data.run('CREATE VERTEX TYPE Person');
    await data.run('CREATE PROPERTY Person.name STRING');
    await data.run('CREATE INDEX ON Person (name) UNIQUE');
    await data.run('CREATE EDGE TYPE Knows');
    const inserts = async () => {
      for (let n = 0; n < 60; n += 1) await data.run(`INSERT INTO Person SET name = 'single${n}'`);
    };
    const alter = async () => {
      for (let n = 0; n < 5; n += 1) await data.run(`CREATE DOCUMENT TYPE Other${n}`);
    };
    await Promise.all([
      importInto(data, body('a', 1500), 400),
      importInto(data, body('b', 1200), 700),
      inserts(),
      alter(),
    ]);
    await data.reopen();
    assert.deepEqual(await data.run('SELECT count(*) AS n FROM Person'), [{ n: 2760 }]);
    const wrong = await data.run(
      `SELECT name, out('Knows').name AS other, inE('Knows').size() AS i FROM Person
       WHERE name LIKE 'a%' AND out('Knows').size() <> 1`,
    );
    assert.deepEqual(wrong, []);
    assert.deepEqual(
      await data.run("SELECT out('Knows').name AS o FROM Person WHERE name = 'b5'"),
      [{ o: ['b35'] }],
    );
    const sum = 'SELECT sum(outE().size()) AS o, sum(inE().size()) AS i FROM Person';
    assert.deepEqual(await data.run(sum), [{ o: 2700, i: 2700 }]);
  } finally {
    await data.close();
  }
});

test('an end that is deleted between two commits ends the import', async () => {
  const data = await openTestDatabase();
  try {
    await data.run('CREATE VERTEX TYPE Person');
    await data.run('CREATE EDGE TYPE Knows');
    const bytes = body('a', 20);
    const batch = new BatchImport({
      loader: data.database.bulkLoader({ principal: root }),
      format: 'jsonl',
      commitEvery: 20,
      ordinalBase: undefined,
      depthMax: 512,
      lineBytesMax: 1024,
      runtime: systemRuntime,
      onCommit: async () => {
        await data.run("DELETE FROM Person WHERE name = 'a7'");
      },
    });
    await assert.rejects(
      async () => {
        await batch.write(bytes);
        await batch.end();
      },
      { code: 'RecordNotFound' },
    );
    assert.deepEqual(await data.run('SELECT count(*) AS n FROM Knows'), [{ n: 0 }]);
    assert.equal(batch.counts.vertices, 20);
  } finally {
    await data.close();
  }
});

test('a change of a type in use ends the import', async () => {
  const data = await openTestDatabase();
  try {
    await data.run('CREATE VERTEX TYPE Person');
    const loader = data.database.bulkLoader();
    const batch = { type: 'Person', columns: ['n'], values: [1], rowCount: 1 };
    await loader.addRecords(batch);
    await data.run('CREATE PROPERTY Person.n STRING');
    await assert.rejects(loader.commit(), { code: 'ConcurrentModification' });
    const next = data.database.bulkLoader();
    await next.addRecords(batch);
    await next.commit();
    assert.deepEqual(await data.run('SELECT n FROM Person'), [{ n: '1' }]);
  } finally {
    await data.close();
  }
});
