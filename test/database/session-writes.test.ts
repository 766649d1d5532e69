import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, root, type TestDatabase } from './support/open-test-database.ts';

async function stock(database: TestDatabase, count: number): Promise<void> {
  await database.run('CREATE DOCUMENT TYPE Item');
  await database.run('CREATE PROPERTY Item.id INTEGER');
  await database.run('CREATE PROPERTY Item.rank INTEGER');
  await database.run('CREATE INDEX ON Item (id) UNIQUE');
  await database.run('CREATE INDEX ON Item (rank) NOTUNIQUE');
  const values = Array.from({ length: count }, (_, id) => [id, id % 10, 'new']).flat();
  const loader = database.database.bulkLoader();
  await loader.addRecords({
    type: 'Item',
    columns: ['id', 'rank', 'name'],
    values,
    rowCount: count,
  });
  await loader.finish();
}

test('a session finds what it has changed by unique keys as it left it', async () => {
  const database = await openTestDatabase();
  try {
    await stock(database, 10);
    const sessionId = database.database.begin(root, 'READ_COMMITTED');
    const run = (text: string) => database.run(text, {}, { sessionId });
    const named = async (id: number) => {
      const rows = await run(`SELECT name FROM Item WHERE id = ${id}`);
      return rows.map((row) => row['name']);
    };
    await run("UPDATE Item SET name = 'other' WHERE id = 3");
    assert.deepEqual(await named(3), ['other']);
    assert.deepEqual(await named(4), ['new']);
    await run('UPDATE Item SET id = 103 WHERE id = 3');
    assert.deepEqual(await named(3), []);
    assert.deepEqual(await named(103), ['other']);
    await run("INSERT INTO Item SET id = 3, name = 'third'");
    assert.deepEqual(await named(3), ['third']);
    await run('DELETE FROM Item WHERE id = 5');
    assert.deepEqual(await named(5), []);
    await run("INSERT INTO Item SET id = 50, name = 'short-lived'");
    assert.deepEqual(await named(50), ['short-lived']);
    await run('DELETE FROM Item WHERE id = 50');
    assert.deepEqual(await named(50), []);
    await assert.rejects(run('UPDATE Item SET id = 4 WHERE id = 103'), { code: 'DuplicatedKey' });
    // The error ended the session (house decision 52), and nothing of it is there.
    const rows = await database.run('SELECT name FROM Item WHERE id IN [3, 5, 103]');
    assert.deepEqual(rows, [{ name: 'new' }, { name: 'new' }]);
  } finally {
    await database.close();
  }
});

test('a transaction of many records in any order is stored as a whole, indexes included', async () => {
  const database = await openTestDatabase();
  const count = 10_000;
  try {
    await stock(database, count);
    const sessionId = database.database.begin(root, 'READ_COMMITTED');
    const run = (text: string, parameters = {}) => database.run(text, parameters, { sessionId });
    for (let at = 0; at < count; at += 1) {
      const id = (at * 7_919) % count;
      await run('UPDATE Item SET name = :name WHERE id = :id', { id, name: `name ${id}` });
    }
    await run('UPDATE Item SET rank = 77 WHERE id < 100');
    await run('UPDATE Item SET id = id + 1000000 WHERE id < 50');
    await run('DELETE FROM Item WHERE id >= 9990 AND id < 10000');
    await database.database.commit(root, sessionId);
    for (const open of [async () => {}, () => database.reopen()]) {
      await open();
      const ask = async (text: string) => (await database.run(text))[0]?.['n'];
      assert.equal(await ask('SELECT count(*) AS n FROM Item'), count - 10);
      assert.equal(await ask("SELECT count(*) AS n FROM Item WHERE name LIKE 'name%'"), count - 10);
      assert.equal(await ask('SELECT count(*) AS n FROM Item WHERE rank = 77'), 100);
      assert.equal(await ask('SELECT count(*) AS n FROM Item WHERE id >= 1000000'), 50);
      assert.equal(await ask('SELECT name AS n FROM Item WHERE id = 8345'), 'name 8345');
      assert.equal(await ask('SELECT name AS n FROM Item WHERE id = 1000007'), 'name 7');
      assert.equal(await ask('SELECT name AS n FROM Item WHERE id = 7'), undefined);
      assert.equal(await ask('SELECT name AS n FROM Item WHERE id = 9995'), undefined);
    }
    const check = await database.run('CHECK DATABASE');
    assert.equal(JSON.stringify(check).includes('"totalErrors":0'), true, JSON.stringify(check));
  } finally {
    await database.close();
  }
});

test('open sessions keep nobody else from reading and writing, however many states they have read', async () => {
  const database = await openTestDatabase({ settings: { 'server.httpTxSnapshotMax': '2' } });
  try {
    await database.run('CREATE DOCUMENT TYPE T');
    const count = 'SELECT count(*) AS n FROM T';
    const opened = async (isolation: 'READ_COMMITTED' | 'REPEATABLE_READ') => {
      const sessionId = database.database.begin(root, isolation);
      const run = (text: string) => database.run(text, {}, { sessionId });
      const seen = await run(count).then(
        ([row]) => row?.['n'],
        (error) => error.code,
      );
      await database.run('INSERT INTO T SET i = 1');
      return { run, seen };
    };
    const committed = [];
    for (let n = 0; n < 5; n += 1) committed.push(await opened('READ_COMMITTED'));
    const repeatable = [];
    for (let n = 0; n < 4; n += 1) repeatable.push(await opened('REPEATABLE_READ'));
    assert.deepEqual(
      repeatable.map(({ seen }) => seen),
      [5, 6, 'Busy', 'Busy'],
    );
    assert.deepEqual(await database.run(count), [{ n: 9 }]);
    for (const { run } of committed) assert.deepEqual(await run(count), [{ n: 9 }]);
    assert.deepEqual(await repeatable[0]?.run(count), [{ n: 5 }]);
  } finally {
    await database.close();
  }
});

test('sessions that only read keep no states between their statements', async () => {
  const database = await openTestDatabase({ settings: { 'storage.maxReaders': '126' } });
  try {
    await database.run('CREATE DOCUMENT TYPE T');
    const count = 'SELECT count(*) AS n FROM T';
    const large = { text: 'x'.repeat(600_000) };
    const sessions = [];
    // Each large commit makes another state of the file.
    for (let n = 0; n < 150; n += 1) {
      const sessionId = database.database.begin(root, 'READ_COMMITTED');
      sessions.push(sessionId);
      assert.deepEqual(await database.run(count, {}, { sessionId }), [{ n }]);
      await database.run('INSERT INTO T SET text = :text', large);
    }
    for (const sessionId of sessions.slice(0, 3)) {
      assert.deepEqual(await database.run(count, {}, { sessionId }), [{ n: 150 }]);
      await database.run('INSERT INTO T SET i = 1', {}, { sessionId });
      assert.deepEqual(await database.run(count, {}, { sessionId }), [{ n: 151 }]);
      await database.database.rollback(root, sessionId);
    }
  } finally {
    await database.close();
  }
});

test('ROLLBACK inside of two blocks of a script ends the transaction of its session, and the script goes on in the next', async () => {
  const database = await openTestDatabase();
  try {
    await database.run('CREATE DOCUMENT TYPE T');
    const blocks =
      'BEGIN; INSERT INTO T SET i = 2; BEGIN; INSERT INTO T SET i = 3; ROLLBACK; INSERT INTO T SET i = 4';
    for (const first of [['INSERT INTO T SET i = 1'], []]) {
      const sessionId = database.database.begin(root, 'READ_COMMITTED');
      for (const text of first) await database.run(text, {}, { sessionId });
      await database.run(blocks, {}, { sessionId }, 'sqlscript');
      await database.database.commit(root, sessionId);
      assert.deepEqual(await database.run('SELECT i FROM T'), [{ i: 4 }]);
      await database.run('DELETE FROM T');
    }
  } finally {
    await database.close();
  }
});
