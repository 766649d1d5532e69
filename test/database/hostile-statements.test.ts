import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Goal: statements that are long, wide or deep are answered right or refused by a limit that the message names (limits.md 7 and
// 8). Method: one statement of each shape, near its bound, over a few rows.

let database: TestDatabase;

before(async () => {
  database = await openTestDatabase();
  for (const text of [
    'CREATE VERTEX TYPE P',
    'CREATE PROPERTY P.k INTEGER',
    'CREATE INDEX ON P (k) UNIQUE',
    'CREATE DOCUMENT TYPE T',
  ])
    await database.run(text);
  await database.run(`INSERT INTO P (k, s) VALUES ${many(100, (at) => `(${at}, 's${at}')`)}`);
});

after(() => database.close());

function many(count: number, text: (at: number) => string, separator = ', '): string {
  return Array.from({ length: count }, (_, at) => text(at)).join(separator);
}

interface Shape {
  readonly name: string;
  readonly text: string;
  readonly language?: string;
  /** What the only column of the only row is. */
  readonly gives: unknown;
}

const answered: readonly Shape[] = [
  {
    name: '5,000 AND of <>',
    text: `SELECT count(*) AS c FROM P WHERE ${many(5000, (at) => `k <> ${at * 2}`, ' AND ')}`,
    gives: 50,
  },
  {
    name: '10,000 terms in an IN',
    text: `SELECT count(*) AS c FROM P WHERE k IN [${many(10_000, (at) => `${at * 2}`)}]`,
    gives: 50,
  },
  {
    name: '2,000 OR of unlike branches',
    text: `SELECT count(*) AS c FROM P WHERE ${many(2000, (at) => `(k > ${at} AND s = 's${at + 5}')`, ' OR ')}`,
    gives: 95,
  },
  {
    name: 'CASE of 5,000 branches',
    text: `SELECT sum(CASE ${many(5000, (at) => `WHEN k = ${at * 2} THEN 1`, ' ')} ELSE 0 END) AS c FROM P`,
    gives: 50,
  },
  {
    name: 'sort by 1,000 keys',
    text: `SELECT k FROM P ORDER BY ${many(1000, (at) => `k * 0 + ${at}`)}, k DESC LIMIT 1`,
    gives: 99,
  },
  {
    name: 'groups of 1,000 keys',
    text: `SELECT count(*) AS c FROM P GROUP BY ${many(1000, (at) => `k * 0 + ${at}`)}`,
    gives: 100,
  },
  {
    name: '2,000 LET',
    text: `SELECT $v1999 AS c LET ${many(2000, (at) => `$v${at} = ${at}`)}`,
    gives: 1999,
  },
  {
    name: 'a list of 10,000 expressions',
    text: `SELECT [${many(10_000, (at) => `k + ${at}`)}].size() AS c FROM P LIMIT 1`,
    gives: 10_000,
  },
  {
    name: 'a map of 10,000 entries',
    text: `SELECT {${many(10_000, (at) => `"k${at}": ${at}`)}}.size() AS c`,
    gives: 10_000,
  },
  {
    name: '50,000 ||',
    text: `SELECT (${many(50_000, () => "'x'", ' || ')}).length() AS c`,
    gives: 50_000,
  },
  { name: '50,000 +', text: `SELECT ${many(50_000, () => '1', ' + ')} AS c`, gives: 50_000 },
  {
    name: 'a literal of 1 MB',
    text: `SELECT '${'x'.repeat(1 << 20)}'.length() AS c`,
    gives: 1 << 20,
  },
  { name: 'a comment of 1 MB', text: `SELECT /* ${'x'.repeat(1 << 20)} */ 1 AS c`, gives: 1 },
  {
    name: '150 nodes without a tie',
    text: `MATCH ${many(150, (at) => `{type: P, as: n${at}, where: (k = ${at % 100})}`)} RETURN count(*) AS c`,
    gives: 1,
  },
  {
    name: '190 nested sub-queries',
    text: `SELECT count(*) AS c FROM ${'(SELECT FROM '.repeat(190)}P WHERE k = 1${')'.repeat(190)}`,
    gives: 1,
  },
  {
    name: '1,000 arguments of unionall',
    text: `SELECT unionall(${many(1000, () => 'k')}).size() AS c FROM P LIMIT 1`,
    gives: 1000,
  },
  {
    name: 'a script of 5,000 statements',
    text: `${many(5000, (at) => `LET x = ${at};`, '\n')} RETURN $x`,
    language: 'sqlscript',
    gives: 4999,
  },
  {
    name: 'an update of 5,000 items',
    text: `UPDATE P SET ${many(5000, (at) => `p${at} = ${at}`)} RETURN AFTER p4999 WHERE k = 3`,
    gives: 4999,
  },
];

for (const { name, text, language, gives } of answered)
  test(`${name}: answered`, async () => {
    const rows = await database.run(text, {}, {}, language);
    assert.equal(rows.length, 1);
    assert.deepEqual(Object.values(rows[0] ?? {}), [gives]);
  });

const deep = 10_000;
const refused: Readonly<Record<string, string>> = {
  '500 nested sub-queries': `SELECT FROM ${'(SELECT FROM '.repeat(500)}P${')'.repeat(500)}`,
  parentheses: `SELECT ${'('.repeat(deep)}1${')'.repeat(deep)}`,
  'parentheses of conditions': `SELECT FROM P WHERE ${'('.repeat(deep)}k = 1${')'.repeat(deep)}`,
  NOT: `SELECT FROM P WHERE ${'NOT '.repeat(deep)} (k = 1)`,
  minus: `SELECT ${'- '.repeat(deep)}1`,
  'methods in a row': `SELECT 'a'${'.trim()'.repeat(deep)}`,
  'properties in a row': `SELECT k${'.b'.repeat(deep)} FROM P`,
  functions: `SELECT ${'abs('.repeat(deep)}1${')'.repeat(deep)}`,
  lists: `SELECT ${'['.repeat(deep)}1${']'.repeat(deep)}`,
  maps: `SELECT ${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}`,
  'nested projections': `SELECT @this:${'{m:'.repeat(300)}{*}${'}'.repeat(300)} FROM P`,
  'a chain of nodes': `MATCH {type: P, as: a}${'-->{}'.repeat(300)} RETURN a`,
};

for (const [name, text] of Object.entries(refused))
  test(`${name}: too deep`, () =>
    assert.rejects(database.run(text), /more than|exceeds the maximum.*sql\.maxExpressionDepth/));

for (const block of ['IF (1 = 1) {', 'WHILE (1 = 1) {', 'FOREACH ($i IN [1]) {'])
  test(`500 nested blocks of ${block.split(' ')[0]}: too deep`, () =>
    assert.rejects(
      database.run(`${block.repeat(500)}LET x = 1;${'}'.repeat(500)}`, {}, {}, 'sqlscript'),
      /sql\.maxExpressionDepth/,
    ));

test('names, numbers and texts have limits of their own', async () => {
  const long = 'x'.repeat(1 << 20);
  await assert.rejects(database.run(`CREATE DOCUMENT TYPE ${long}`), /service\.maxNameLength/);
  await assert.rejects(database.run(`INSERT INTO T SET ${long} = 1`), /service\.maxNameLength/);
  await assert.rejects(database.run(`SELECT ${'1'.repeat(1 << 20)}`), /queryMaxNumberDigits/);
  await assert.rejects(database.run(`SELECT ${' '.repeat(4 << 20)} 1`), /sql\.maxStatementSize/);
});

test('100,000 parameters are taken, whether they are used or not', async () => {
  const parameters = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`p${at}`, at]));
  const used = many(5000, (at) => `:p${at}`);
  const [row] = await database.run(`SELECT [${used}].size() AS c, :p99999 AS last`, parameters);
  assert.deepEqual({ ...row }, { c: 5000, last: 99_999 });
});
