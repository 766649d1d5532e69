import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DatabaseError } from '#core/errors.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: operators work in bounded steps, account what they hold, give it back, and refuse what is too much by name.

const recordCount = 6000;
let db: SqlDatabase;

before(async () => {
  db = await SqlDatabase.open();
  await db.run('CREATE VERTEX TYPE P');
  await db.run('CREATE VERTEX TYPE Q');
  await db.run('CREATE EDGE TYPE E');
  await db.run('CREATE PROPERTY P.n INTEGER');
  await db.run('CREATE PROPERTY P.k INTEGER');
  await db.run('CREATE INDEX ON P (k) NOTUNIQUE');
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  const { catalog } = transaction;
  const p = catalog.typeNamed('P')?.id;
  const e = catalog.typeNamed('E')?.id;
  assert.ok(p !== undefined && e !== undefined);
  const hub = transaction.insertVertex(p, new Map([['n', -1]])).rid;
  for (let n = 0; n < recordCount; n += 1) {
    const properties = new Map<string, number | string>([
      ['n', n],
      ['k', n % 10],
      ['text', `text of some length ${n}`],
    ]);
    const { rid } = transaction.insertVertex(p, properties);
    transaction.insertEdge(e, hub, rid, new Map());
  }
  await transaction.commit();
});

after(async () => {
  await db[Symbol.asyncDispose]();
});

/** Each looks at all records at least once; some give one row, some give all. */
const statements: readonly string[] = [
  'SELECT FROM P',
  'SELECT count(*) FROM P WHERE n > 10',
  'SELECT FROM P WHERE n < -5',
  'SELECT n FROM P ORDER BY text',
  'SELECT n FROM P ORDER BY text LIMIT 4000',
  'SELECT DISTINCT text FROM P',
  'SELECT text, count(*) FROM P GROUP BY text',
  'SELECT list(n) AS l FROM P',
  'SELECT FROM P WHERE k IN [1, 3]',
  "SELECT FROM P WHERE k IN [1, 3] AND text = 'x'",
  'SELECT expand(out()) FROM P WHERE n = -1',
  'MATCH {type: P, as: a, where: (n = -1)}-E->{as: b, where: (n < 0)} RETURN b',
  'MATCH {type: P, as: a, where: (n = -1)}.out("E"){as: b, maxDepth: 2, where: (n = 5)} RETURN b',
  'TRAVERSE out() FROM (SELECT FROM P WHERE n = -1)',
  'SELECT FROM (SELECT n, [1, 2, 3] AS l FROM P UNWIND l) WHERE n < -5',
  'SELECT n FROM P WHERE n IN (SELECT k FROM P)',
  'MATCH {type: P, as: a, where: (n < 3)}, {type: P, as: b} RETURN count(*) AS n',
  'UPDATE P SET x = 1 WHERE n >= 0',
  'INSERT INTO Q FROM SELECT n FROM P',
  'DELETE FROM Q',
];

test('every operator pauses after a share of work and gives back what it held', async () => {
  for (const text of statements) {
    const result = await db.run(text);
    assert.ok(result.pauseCount >= 2, `${text}: ${result.pauseCount} pauses`);
    assert.equal(result.bytesLeft, 0, `${text} holds ${result.bytesLeft} bytes at its end`);
  }
});

test('the longer the expressions of a row, the fewer rows between two pauses', async () => {
  const terms = (text: (at: number) => string, separator: string): string =>
    Array.from({ length: 250 }, (_, at) => text(at)).join(separator);
  const cases = [
    `SELECT count(*) FROM P WHERE ${terms((at) => `n > ${-at - 5}`, ' AND ')}`,
    `SELECT count(*) FROM P WHERE n < 4000 AND (${terms((at) => `text LIKE '%x${at}'`, ' OR ')})`,
    `SELECT FROM P WHERE ${terms((at) => `text = 'x' || ${at}`, ' OR ')}`,
    `SELECT sum(CASE ${terms((at) => `WHEN n = ${-at} THEN 1`, ' ')} ELSE 0 END) AS s FROM P`,
    `SELECT sum(${terms(() => 'n', ' + ')}) AS s FROM P`,
    `SELECT count(*) FROM P GROUP BY ${terms((at) => `n + ${at}`, ', ')} LIMIT 1`,
    `SELECT n FROM P ORDER BY ${terms((at) => `n * ${at}`, ', ')} LIMIT 1`,
    `SELECT ${terms((at) => `sum(n + ${at}) AS s${at}`, ', ')} FROM P`,
    `SELECT [${terms((at) => `n + ${at}`, ', ')}] AS l FROM P WHERE k < 9`,
    `UPDATE P SET ${terms((at) => `x${at} = ifnull(n, 0) + ${at}`, ', ')} WHERE n < 1000`,
    `UPDATE P SET x = 3 WHERE ${terms((at) => `n <> text || ${at}`, ' AND ')}`,
  ];
  for (const text of cases) {
    const { pauseCount } = await db.run(text);
    assert.ok(pauseCount >= 40, `${text.slice(0, 60)}: ${pauseCount} pauses`);
  }
});

test('a row may cost more than a turn', async () => {
  const ranges = Array.from({ length: 1_500 }, (_, at) => `(k > ${at} AND k < ${at + 2})`);
  const result = await db.run(`SELECT count(*) AS c FROM P WHERE ${ranges.join(' OR ')}`);
  assert.deepEqual(result.rows, [[5400]]);
});

test('what is thrown away above a scan does not put off its pauses', async () => {
  const nested = 'SELECT FROM (SELECT FROM P WHERE n % 1000 = 7 LIMIT 100000) WHERE n < 0';
  const result = await db.run(nested);
  assert.equal(result.rows.length, 0);
  assert.ok(result.pauseCount >= 2);
});

test('operators that keep rows account them', async () => {
  for (const text of [
    'SELECT n FROM P ORDER BY text',
    'SELECT DISTINCT text FROM P',
    'SELECT text, count(*) FROM P GROUP BY text',
    'UPDATE P SET x = 2 WHERE n >= 0',
    'SELECT n FROM P WHERE n IN (SELECT n FROM P)',
  ]) {
    const result = await db.run(text);
    assert.ok(result.bytesMax > recordCount * 8, `${text}: ${result.bytesMax} bytes`);
  }
});

test('more elements than allowed are refused, naming the setting; as many as allowed are not', async () => {
  const refused = [
    'SELECT n FROM P WHERE n >= 0 ORDER BY n',
    'SELECT DISTINCT n FROM P WHERE n >= 0',
    'SELECT n, count(*) FROM P WHERE n >= 0 GROUP BY n',
  ];
  for (const text of refused) {
    await db.run(text, { limits: { elementCountMax: recordCount } });
    await assert.rejects(
      db.run(text, { limits: { elementCountMax: recordCount - 1 } }),
      (error: unknown) =>
        error instanceof DatabaseError &&
        error.code === 'IllegalArgument' &&
        error.message.includes('queryMaxHeapElementsAllowedPerOp'),
      text,
    );
  }
});

test('a limit holds as many groups as it names, and those count all their rows', async () => {
  const limits = { elementCountMax: 10 };
  const one = await db.run('SELECT k, count(*) AS c FROM P GROUP BY k LIMIT 3', { limits });
  assert.equal(one.rows.length, 3);
  const texts = 'SELECT text, count(*) AS c, max(n) AS m FROM P GROUP BY text SKIP 2 LIMIT 2';
  const many = await db.run(texts, { limits });
  assert.deepEqual(many.rows, [
    ['text of some length 1', 1, 1],
    ['text of some length 2', 1, 2],
  ]);
  const given =
    'SELECT n % 2000 AS r, count(*) AS c FROM P WHERE n >= 0 GROUP BY n % 2000 LIMIT :l';
  const remainders = await db.run(given, { limits, parameters: new Map([['l', 2]]) });
  assert.deepEqual(remainders.rows, [
    [0, 3],
    [1, 3],
  ]);
});

test('a limit keeps as many rows as it names, whatever is sorted', async () => {
  const result = await db.run('SELECT n FROM P ORDER BY n DESC LIMIT 3', {
    limits: { elementCountMax: 10 },
  });
  assert.deepEqual(result.rows, [[recordCount - 1], [recordCount - 2], [recordCount - 3]]);
});

test('LIMIT and SKIP take numbers only', async () => {
  for (const text of ["SELECT FROM P LIMIT 'x'", 'SELECT FROM P SKIP :missing']) {
    await assert.rejects(db.run(text), { message: /Invalid value for (LIMIT|SKIP)/ });
  }
  assert.equal((await db.run('SELECT FROM P LIMIT 0')).rows.length, 0);
  assert.equal((await db.run('SELECT FROM P LIMIT -1')).rows.length, recordCount + 1);
  assert.equal((await db.run('SELECT FROM P SKIP 5999')).rows.length, 2);
});

test('a chain of 20,000 conditions is optimized and run in bounded time', async () => {
  const conditions = Array.from({ length: 20_000 }, (_, at) => `n <> ${at}`).join(' AND ');
  const result = await db.run(`SELECT n FROM (SELECT n FROM P LIMIT 3) WHERE ${conditions}`);
  assert.deepEqual(result.rows, [[-1]]);
});
