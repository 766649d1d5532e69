import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: what an expression gives when it is evaluated anew in each turn does not depend on what was kept or made anew between the turns.
// Method: expressions with several long calls, lists that are new each time, and calls within calls.

const text = 'Some words, '.repeat(20_000);
const csv = Array.from({ length: 12_000 }, (_, n) => n).join(',');
const shortCsv = 'a,b,'.repeat(15_000);
const parameters = new Map<string, Value>([
  ['texts', Array.from({ length: 9_000 }, (_, n) => `text ${n}`)],
  ['csv', csv],
  ['shortCsv', shortCsv],
  ['big', text],
  ['other', `other ${text}`],
]);
const rowCount = 3_000;
let db: SqlDatabase;

before(async () => {
  db = await SqlDatabase.open();
  for (const statement of [
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.i INTEGER',
    'CREATE PROPERTY T.s STRING',
    'CREATE DOCUMENT TYPE L',
  ])
    await db.run(statement);
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  const type = transaction.catalog.typeNamed('T');
  const large = transaction.catalog.typeNamed('L');
  assert.ok(type && large);
  for (let i = 0; i < rowCount; i += 1)
    transaction.insertDocument(
      type.id,
      new Map<string, Value>([
        ['i', i],
        ['s', `text ${i}`],
      ]),
    );
  transaction.insertDocument(
    large.id,
    new Map<string, Value>([
      ['t', text],
      ['numbers', Array.from({ length: 12_000 }, (_, n) => n)],
      ['texts', [text, text, text]],
      [
        'maps',
        Array.from(
          { length: 6_000 },
          (_, k) =>
            new Map<string, Value>([
              ['k', k],
              ['s', `text ${k}`],
              ['filling', 'x'.repeat(60)],
            ]),
        ),
      ],
    ]),
  );
  await transaction.commit();
});

after(async () => {
  await db[Symbol.asyncDispose]();
});

async function check(cases: readonly (readonly [string, readonly Value[]])[]): Promise<void> {
  for (const isRead of [true, false])
    for (const [statement, rows] of cases) {
      const result = await db.run(statement, { parameters: fresh(), isRead });
      assert.deepEqual(
        result.rows.map(([value]) => value),
        rows,
        `${statement}, ${isRead ? 'which only reads' : 'in a transaction'}`,
      );
      assert.ok(result.pauseCount < 2_000, `${statement}: ${result.pauseCount} pauses`);
    }
}

/** What is kept for a list is kept for this one only. */
function fresh(): ReadonlyMap<string, Value> {
  return new Map(
    [...parameters].map(([name, value]) => [name, Array.isArray(value) ? [...value] : value]),
  );
}

test('a long list that was taken in stands for no other call', async () => {
  await check([
    ['SELECT (s IN :texts AND :big.toUpperCase().length() > 9) FROM T LIMIT 1', [true]],
    ["SELECT i FROM T WHERE s IN :texts AND :big.toLowerCase().hash() <> '' LIMIT 2", [0, 1]],
    [
      'SELECT (:texts CONTAINSANY :texts AND :texts CONTAINSALL :texts AND :big.hash() IS NOT NULL)',
      [true],
    ],
  ]);
});

test('a list that is made anew each time is taken in', async () => {
  await check([
    ["SELECT ('zz' IN :shortCsv.split(','))", [false]],
    ["SELECT count(*) FROM T WHERE i < 3 AND 'b' IN :shortCsv.split(',')", [3]],
    ['SELECT (7 IN numbers) FROM L', [true]],
    ['SELECT (numbers CONTAINSALL [7, 8, 11999]) FROM L', [true]],
    ['SELECT (77777 IN numbers AND t.toUpperCase().length() > 1) FROM L', [false]],
  ]);
});

test('calls within a call in turns are done at once', async () => {
  const transaction = db.state.begin('READ_COMMITTED');
  try {
    await db.run('INSERT INTO L SET texts = [:big, :big]', { transaction, parameters });
    for (const statement of [
      "SELECT count(*) FROM L WHERE texts.transform('toUpperCase').size() > 1",
      "SELECT count(*) FROM L WHERE texts.transform('toUpperCase').asString() LIKE '[_SOME%'",
    ]) {
      const result = await db.run(statement, { transaction, parameters });
      assert.deepEqual(result.rows, [[2]], statement);
    }
  } finally {
    transaction.rollback();
  }
});

test('a value of the statement that is kept stands for no other call', async () => {
  await check([
    ['SELECT (:other.toUpperCase() = t.toUpperCase()) FROM L', [false]],
    ['SELECT (:other.toUpperCase().length() - t.toUpperCase().length()) FROM L', [6]],
    ['SELECT (t.toUpperCase() = :other.toUpperCase()) FROM L', [false]],
    ['SELECT i FROM T WHERE s.length() < :other.toUpperCase().length() LIMIT 2', [0, 1]],
  ]);
});

test('sub-queries that are kept stand for no other call', async () => {
  await check([
    [
      'SELECT CASE WHEN i >= 0 THEN (SELECT count(*) AS n FROM T).n[0] + (SELECT sum(i) AS n FROM T).n[0] + (SELECT max(i) AS n FROM T).n[0] END FROM T LIMIT 1',
      [rowCount + (rowCount * (rowCount - 1)) / 2 + rowCount - 1],
    ],
  ]);
});

test('a value that is the same for all rows of a scan is computed a few times only', async () => {
  await check([
    ["SELECT count(*) FROM T WHERE s IN :csv.split(',')", [0]],
    ['SELECT count(*) FROM T WHERE s = :big.toLowerCase()', [0]],
  ]);
});

test('what is quick on a large value takes no turn for each element of a list', async () => {
  await check([
    ['SELECT maps[k < :texts.size()].size() FROM L', [6_000]],
    ['SELECT maps[s IN :texts].size() FROM L', [6_000]],
  ]);
});
