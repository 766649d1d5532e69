import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Undeclared properties keep the type of their integers (sql.md 2.1 rule 1), wherever the record goes. The statements that
// assign them are in tables/widths.txt.

async function withDatabase(work: (opened: TestDatabase) => Promise<void>): Promise<void> {
  const opened = await openTestDatabase();
  try {
    await work(opened);
  } finally {
    await opened.close();
  }
}

const types = 'SELECT a.type() AS a, b.type() AS b, c.type() AS c FROM T ORDER BY id';

test('a restart keeps them, those of new rows share the shapes of old ones', () =>
  withDatabase(async (opened) => {
    await opened.run('CREATE DOCUMENT TYPE T');
    await opened.run("INSERT INTO T SET id = 1, a = 5L, b = 5, c = '5'.asShort()");
    await opened.reopen();
    await opened.run("INSERT INTO T SET id = 2, a = 6L, b = 6, c = '6'.asShort()");
    await opened.run('UPDATE T SET a = a + 1, b = b + 1');
    await opened.reopen();
    const row = { a: 'LONG', b: 'INTEGER', c: 'SHORT' };
    assert.deepEqual(await opened.run(types), [row, row]);
    assert.deepEqual(await opened.run('SELECT a, b, c FROM T WHERE a = 6 AND b > 5L'), [
      { a: 6, b: 6, c: 5 },
    ]);
  }));

test('properties beyond the shapes of a type keep them, too', () =>
  withDatabase(async (opened) => {
    await opened.run('CREATE DOCUMENT TYPE T');
    for (let at = 0; at < 300; at += 1)
      await opened.run(`INSERT INTO T SET id = ${at}, p${at} = 5L, q${at} = 5, r${at} = 5.5`);
    const last = 'SELECT p299, q299, p299.type() AS p, q299.type() AS q FROM T WHERE id = 299';
    assert.deepEqual(await opened.run(last), [{ p299: 5, q299: 5, p: 'LONG', q: 'INTEGER' }]);
    await opened.run('UPDATE T SET p299 = p299 + 1, q299 = q299 + 1, other = 1L WHERE id = 299');
    await opened.reopen();
    assert.deepEqual(await opened.run(last), [{ p299: 6, q299: 6, p: 'LONG', q: 'INTEGER' }]);
    await opened.run('UPDATE T SET p299 = 6 WHERE id = 299');
    assert.deepEqual(await opened.run(last), [{ p299: 6, q299: 6, p: 'INTEGER', q: 'INTEGER' }]);
  }));

test('triggers see them, and what they leave as it is keeps its own', () =>
  withDatabase(async (opened) => {
    await opened.run('CREATE DOCUMENT TYPE T');
    await opened.run('CREATE DOCUMENT TYPE Seen');
    await opened.run(
      'CREATE TRIGGER made BEFORE CREATE ON T EXECUTE SQL "INSERT INTO Seen SET t = $record.a.type()"',
    );
    await opened.run(
      'CREATE TRIGGER changed BEFORE CREATE ON T EXECUTE JAVASCRIPT "record.b = 7; return true"',
    );
    await opened.run('INSERT INTO T SET id = 1, a = 5L, b = 5L, c = 5');
    assert.deepEqual(await opened.run('SELECT t FROM Seen'), [{ t: 'LONG' }]);
    assert.deepEqual(await opened.run(types), [{ a: 'LONG', b: 'INTEGER', c: 'INTEGER' }]);
    await opened.run(
      'CREATE TRIGGER kept AFTER UPDATE ON T EXECUTE SQL "INSERT INTO Seen SET n = 1"',
    );
    await opened.run('UPDATE T SET a = 5, c = 5');
    assert.deepEqual(await opened.run(types), [{ a: 'INTEGER', b: 'INTEGER', c: 'INTEGER' }]);
    await opened.run('UPDATE T SET a = 5, c = 5');
    assert.deepEqual(await opened.run('SELECT count(n) AS n FROM Seen'), [{ n: 1 }]);
  }));
