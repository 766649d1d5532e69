import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { BatchImport } from '#database/bulk/batch-import.ts';
import { systemRuntime } from '#platform/system-runtime.ts';
import { openTestDatabase, root, type TestDatabase } from './support/open-test-database.ts';

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

test('an export and its import keep them, links or not', () =>
  withDatabase(async (opened) => {
    for (const text of [
      'CREATE DOCUMENT TYPE T',
      'CREATE VERTEX TYPE V',
      'CREATE EDGE TYPE E',
      'INSERT INTO V SET id = 1, a = 5L, b = 5',
      "INSERT INTO T SET id = 1, a = 5L, b = 5, c = '7'.asByte()",
      'INSERT INTO T SET id = 2, a = 5, b = 5L, to = (SELECT FROM V)[0].@rid',
      "INSERT INTO T SET id = 3, `$x` = 5, b = '5'.asShort()",
      'CREATE EDGE E FROM (SELECT FROM V) TO (SELECT FROM V) SET a = 5, b = 5L',
    ])
      await opened.run(text);
    await opened.run('EXPORT DATABASE file://all.jsonl.tgz');
    const url = join(opened.directory, '.exports', 'all.jsonl.tgz');
    const asker = { principal: root, signal: new AbortController().signal };
    await opened.operations.importNew('copy', { url, settings: undefined }, asker);
    await opened.operations.importNew(
      'lax',
      { url, settings: new Map([['onRowError', 'skip']]) },
      asker,
    );
    for (const text of [types, ...['V', 'E'].map((name) => types.replace(' T ', ` ${name} `))]) {
      const before = await opened.run(text);
      assert.deepEqual(await opened.runOn('copy', text), before);
      assert.deepEqual(await opened.runOn('lax', text), before);
    }
  }));

test('a type that is rebuilt keeps them', () =>
  withDatabase(async (opened) => {
    await opened.run('CREATE DOCUMENT TYPE T');
    await opened.run("INSERT INTO T SET id = 1, a = 5L, b = 5, c = '5'.asShort()");
    const before = await opened.run(types);
    await opened.run('REBUILD TYPE T');
    assert.deepEqual(await opened.run(types), before);
  }));

async function load(opened: TestDatabase, format: 'csv' | 'jsonl', body: string): Promise<void> {
  const batch = new BatchImport({
    loader: opened.database.bulkLoader({ principal: root }),
    format,
    commitEvery: 50_000,
    ordinalBase: undefined,
    depthMax: 512,
    lineBytesMax: 200_000,
    runtime: systemRuntime,
    onCommit: () => {},
  });
  await batch.write(Buffer.from(body));
  await batch.end();
}

// http-api.md 10.5 rule 6: integers up to 18 digits become long.
test('integers of CSV are LONG, of JSON lines INTEGER, where nothing else is declared', () =>
  withDatabase(async (opened) => {
    await opened.run('CREATE VERTEX TYPE T');
    await opened.run('CREATE VERTEX TYPE U');
    await opened.run('CREATE PROPERTY T.d INTEGER');
    await opened.run('CREATE PROPERTY U.d INTEGER (mandatory true)');
    const rows = 'v,X,1,5,5.5,5,x\nv,X,2,5000000000,,6,\nv,X,3,,7.5,7,7\n';
    const csv = (type: string) => `@type,@class,id,a,f,d,c\n${rows.replaceAll('X', type)}---\n`;
    for (const type of ['T', 'U']) {
      await load(opened, 'csv', csv(type));
      const told = `SELECT a.type() AS a, f.type() AS f, d.type() AS d, c.type() AS c FROM ${type} ORDER BY id`;
      assert.deepEqual(await opened.run(told), [
        { a: 'LONG', f: 'DOUBLE', d: 'INTEGER', c: 'STRING' },
        { a: 'LONG', f: null, d: 'INTEGER', c: null },
        { a: null, f: 'DOUBLE', d: 'INTEGER', c: 'LONG' },
      ]);
    }
    await opened.run('DELETE FROM T');
    await load(opened, 'jsonl', '{"@type":"v","@class":"T","id":1,"a":5,"b":5000000000}\n');
    assert.deepEqual(await opened.run(types), [{ a: 'INTEGER', b: 'LONG', c: null }]);
  }));

test('a load with triggers gives the same types', () =>
  withDatabase(async (opened) => {
    await opened.run('CREATE VERTEX TYPE T');
    await opened.run('CREATE DOCUMENT TYPE Seen');
    await opened.run(
      'CREATE TRIGGER made AFTER CREATE ON T EXECUTE SQL "INSERT INTO Seen SET t = $record.a.type()"',
    );
    await load(opened, 'csv', '@type,@class,id,a,b\nv,T,1,5,x\n');
    assert.deepEqual(await opened.run(types), [{ a: 'LONG', b: 'STRING', c: null }]);
    assert.deepEqual(await opened.run('SELECT t FROM Seen'), [{ t: 'LONG' }]);
  }));

test('edges of CSV have LONG integers, too, however their ends are named', () =>
  withDatabase(async (opened) => {
    await opened.run('CREATE VERTEX TYPE V');
    await opened.run('CREATE EDGE TYPE T');
    await opened.run('CREATE EDGE TYPE U');
    const head =
      '@type,@class,@id,n\nv,V,1,1\nv,V,2,2\nv,V,x,3\n---\n@type,@class,@from,@to,id,a,b\n';
    const edges = 'e,T,1,2,1,5,x\ne,T,2,1,2,6,y\ne,T,1,1,3,7,z\ne,T,x,1,4,8,z\n';
    await load(opened, 'csv', `${head}${edges}e,U,1,2,1,5,6.5\ne,U,2,1,2,6,7\n`);
    const row = { a: 'LONG', b: 'STRING', c: null };
    assert.deepEqual(await opened.run(types), [row, row, row, row]);
    assert.deepEqual(await opened.run('SELECT DISTINCT n.type() AS n FROM V'), [{ n: 'LONG' }]);
    assert.deepEqual(await opened.run('SELECT a.type() AS a FROM U'), [
      { a: 'LONG' },
      { a: 'LONG' },
    ]);
  }));

test('a materialized view has the types that its query tells', () =>
  withDatabase(async (opened) => {
    for (const text of [
      'CREATE DOCUMENT TYPE T',
      'CREATE PROPERTY T.l LONG',
      'INSERT INTO T SET l = 5, a = 5L, b = 5',
      'CREATE MATERIALIZED VIEW whole AS SELECT FROM T',
      'CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS l, max(l) AS a, 5 AS b FROM T',
      'CREATE MATERIALIZED VIEW columns AS SELECT l, 5L AS a, b FROM T REFRESH INCREMENTAL',
    ])
      await opened.run(text);
    for (const name of ['whole', 'counted', 'columns'])
      assert.deepEqual(
        await opened.run(`SELECT l.type() AS l, a.type() AS a, b.type() AS b FROM ${name}`),
        [{ l: 'LONG', a: 'LONG', b: 'INTEGER' }],
        name,
      );
  }));

test('a streamed insert that updates a record leaves what it does not set as it is', () =>
  withDatabase(async (opened) => {
    await opened.run('CREATE DOCUMENT TYPE T');
    await opened.run('CREATE PROPERTY T.id INTEGER');
    await opened.run('CREATE INDEX ON T (id) UNIQUE');
    await opened.run("INSERT INTO T SET id = 1, a = 5L, b = 5L, c = '5'.asShort()");
    const stream = opened.database.insertStream({
      principal: root,
      targetType: 'T',
      transactionMode: 'per_batch',
      conflictMode: 'update',
      keyColumns: ['id'],
      updateColumns: undefined,
      validateOnly: false,
      decode: (record) => record,
    });
    const record = new Map([
      ['id', 1],
      ['b', 6],
    ]);
    assert.equal((await stream.apply([record])).updated, 1);
    assert.deepEqual(await opened.run(types), [{ a: 'LONG', b: 'INTEGER', c: 'SHORT' }]);
  }));
