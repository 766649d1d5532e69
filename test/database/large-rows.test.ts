import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import type { Value } from '#core/value/value.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Goal: a statement of few bytes cannot make one row, one value or one record of gigabytes out of a large one: it is refused by the
// limit that it meets, and what a parameter shares costs nothing. Method: `queryMaxMemory` at its least, texts of 200 KB.

const text = 'some words, '.repeat(17_000);
const rowCount = 40;
let db: TestDatabase;

before(async () => {
  db = await openTestDatabase({ settings: { queryMaxMemory: '1MB' } });
  await db.run('CREATE DOCUMENT TYPE D');
  await db.run('CREATE VERTEX TYPE V');
  await db.run('CREATE PROPERTY V.t STRING');
  await db.run('CREATE PROPERTY D.t STRING');
  await db.run('CREATE DOCUMENT TYPE Many');
  await db.run('CREATE DOCUMENT TYPE Small');
  await db.run(`INSERT INTO Small (n) VALUES ${many(5_000, (at) => `(${at})`)}`);
  await db.run('CREATE DOCUMENT TYPE Embedded');
  await db.run('INSERT INTO D SET t = :text, n = 1', { text });
  await db.run('INSERT INTO V SET t = :text', { text });
  await db.run('INSERT INTO Embedded SET e = :e, l = :l', {
    e: new Map<string, Value>([['t', text]]),
    l: [text],
  });
  for (let n = 0; n < rowCount; n += 1)
    await db.run('INSERT INTO Many SET t = :text, n = :n', { text, n });
});

after(async () => {
  await db.close();
});

/** Ends with the rows read, one after the other, and dropped. */
async function rowsRead(statement: string, parameters: Record<string, Value> = {}) {
  const result = await db.stream(statement, parameters);
  let count = 0;
  try {
    for (;;) {
      const batch = await result.nextBatch();
      if (batch === undefined) return count;
      count += batch.rowCount;
    }
  } finally {
    result.close();
  }
}

const many = (count: number, part: (at: number) => string, separator = ', '): string =>
  Array.from({ length: count }, (_, at) => part(at)).join(separator);

const refused: readonly string[] = [
  // Columns: in a fused scan, above one, and in an order of their own.
  `SELECT ${many(50, (at) => `t AS c${at}`)} FROM D`,
  `SELECT ${many(3_000, (at) => `t AS c${at}`)} FROM D`,
  `SELECT ${many(50, (at) => `t AS c${at}`)} FROM (SELECT FROM D LIMIT 1)`,
  `SELECT ${many(50, (at) => `t.toUpperCase() AS c${at}`)} FROM D`,
  `SELECT ${many(50, (at) => `t || '${at}' AS c${at}`)} FROM (SELECT t FROM D LIMIT 1)`,
  `SELECT ${many(50, (at) => `@this:{*} AS c${at}`)} FROM (SELECT FROM D LIMIT 1)`,
  `SELECT ${many(500, (at) => `@this:{*} AS c${at}`)} FROM D`,
  `MATCH {type: V, as: a} RETURN ${many(500, (at) => `a:{*} AS c${at}`)}`,
  `SELECT ${many(50, (at) => `@this.toJSON() AS c${at}`)} FROM (SELECT FROM D LIMIT 1)`,
  `SELECT ${many(50, (at) => `e AS c${at}`)} FROM (SELECT FROM Embedded LIMIT 1)`,
  `SELECT ${many(50, (at) => `l AS c${at}`)} FROM (SELECT FROM Embedded LIMIT 1)`,
  // Values side by side in one expression.
  `SELECT [${many(500, () => 't')}] AS l FROM D`,
  `SELECT {${many(500, (at) => `"k${at}": t`)}} AS m FROM D`,
  `SELECT unionall(${many(500, () => 't')}).size() AS n FROM D`,
  `SELECT 1 AS one FROM D WHERE [${many(500, () => 't')}].size() > 1`,
  `SELECT expand([${many(500, () => 't')}]) FROM D`,
  `SELECT x FROM (SELECT [${many(500, () => 't')}] AS x FROM D) UNWIND x`,
  `SELECT n FROM D ORDER BY ${many(50, (at) => `t || '${at}'`)}`,
  `SELECT count(*) FROM D GROUP BY ${many(50, (at) => `t || '${at}'`)}`,
  // Elements of a list.
  'SELECT ($a || $a || $a).t.size() AS n FROM D LET $a = (SELECT FROM Many)',
  'SELECT ($a || $a || $a):{*}.size() AS n FROM D LET $a = (SELECT FROM Many)',
  // Writes.
  `UPDATE D SET ${many(500, (at) => `p${at} = t`)}`,
  `UPDATE D SET ${many(500, (at) => `p${at} = t.toUpperCase()`)}`,
  `INSERT INTO D FROM SELECT ${many(500, (at) => `t AS p${at}`)} FROM D`,
];

test('what makes many copies of a large value is refused by queryMaxMemory', async () => {
  const before = await db.print('SELECT @rid, n, t.length() FROM D');
  for (const statement of refused)
    await assert.rejects(
      rowsRead(statement),
      (error) =>
        error instanceof DatabaseError &&
        error.code === 'TooLarge' &&
        error.message.includes('service.queryMaxMemory'),
      statement.slice(0, 80),
    );
  assert.equal(await db.print('SELECT @rid, n, t.length() FROM D'), before);
});

test('what makes large values one after the other is not refused', async () => {
  const one = { p: text };
  for (const [statement, rows] of [
    ['SELECT t FROM Many', rowCount],
    [`SELECT ${many(50, (at) => `t AS c${at}`)} FROM (SELECT t FROM D LIMIT 1)`, 1],
    ['SELECT [t] AS l, t.toUpperCase() AS u FROM Many', rowCount],
    ['SELECT @this:{*} AS c FROM Many', rowCount],
    [`SELECT n FROM Many WHERE t.toUpperCase().indexOf('NO') < 0`, rowCount],
    [`SELECT n FROM Many ORDER BY t.length(), n`, rowCount],
    ['SELECT n, count(*) AS c FROM Many GROUP BY t.length() + n', rowCount],
    ['SELECT l.length() FROM (SELECT [t] AS l FROM Many) UNWIND l', rowCount],
    [`SELECT ${many(1_000, (at) => `:p AS c${at}`)} FROM D`, 1],
    [`SELECT ${many(100, (at) => `:p AS c${at}`)} FROM (SELECT t FROM Many LIMIT 10)`, 10],
    // Joined texts that nobody reads: gigabytes of them are made in a millisecond.
    [`SELECT n FROM Small WHERE :p || n = 'a'`, 0],
    [`SELECT n FROM Small WHERE n IN [:p || '1', :p || n]`, 0],
    [`SELECT count(*) AS c FROM Small WHERE :p + n = 'a'`, 1],
    [`SELECT count(*) AS c FROM (SELECT n || :p AS x FROM Small) WHERE x = 'a'`, 1],
    [`SELECT count(*) AS c FROM (SELECT n FROM Small ORDER BY n DESC) WHERE :p || n = 'a'`, 1],
    [`SELECT count(*) AS c FROM Small LET $x = :p || n WHERE $x = 'a'`, 1],
    [`SELECT n FROM D WHERE (SELECT count(*) AS c FROM Small WHERE :p || n = 'a')[0].c = 1`, 0],
  ] as const)
    assert.equal(await rowsRead(statement, one), rows, statement.slice(0, 80));
});

test('rows of lists, maps and nested projections come in small batches', async () => {
  for (const column of ['[t] AS c', '{"a": t} AS c', '@this:{*} AS c', 't AS c']) {
    const result = await db.stream(`SELECT ${column} FROM (SELECT FROM Many LIMIT ${rowCount})`);
    let most = 0;
    for (
      let batch = await result.nextBatch();
      batch !== undefined;
      batch = await result.nextBatch()
    )
      most = Math.max(most, batch.rowCount);
    result.close();
    assert.ok(most <= 8, `${column}: ${most} rows in a batch`);
  }
});

test('a record of many large parameters is refused before all of it is written out', async () => {
  const large = 'x'.repeat(8 * 1024 * 1024);
  const before = process.memoryUsage.rss();
  await assert.rejects(
    db.run(`INSERT INTO D SET ${many(400, (at) => `p${at} = :large`)}`, { large }),
    /TooLarge|service\.maxRecordSize/,
  );
  assert.ok(process.memoryUsage.rss() - before < 1024 ** 3);
});

test('a text that grows piece by piece is measured piece by piece', async () => {
  await assert.rejects(
    db.run(`SELECT ${many(600, () => 't', ' || ')} AS l FROM D`),
    /queryMaxValueSize|queryMaxMemory/,
  );
  await assert.rejects(
    db.run(`SELECT ${many(2_000, () => ':p', ' || ')} AS l`, { p: 'ä'.repeat(100_000) }),
    /a value of \d+ bytes is larger than \d+ bytes; the limit is service\.queryMaxValueSize/,
  );
  const [row] = await db.run(`SELECT (${many(150, () => ':p', ' || ')}).length() AS n`, {
    p: 'ä'.repeat(200_000),
  });
  assert.deepEqual(row, { n: 30_000_000 });
});
