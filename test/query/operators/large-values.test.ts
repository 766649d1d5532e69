import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: a row with a value of megabytes takes turns wherever operators evaluate, and rows come as if it had not. Method: a type of many
// small records with some large ones between them; every kind of scan, with what a transaction has changed, too.

const elementCount = 60_000;
const list: Value[] = Array.from({ length: elementCount }, (_, n) => `text ${n} of a long list`);
const text = 'some words, '.repeat(60_000);
const rowCount = 1_500;
const isLarge = (i: number): boolean => i % 500 === 499;
let db: SqlDatabase;

before(async () => {
  db = await SqlDatabase.open();
  for (const statement of [
    'CREATE DOCUMENT TYPE T',
    'CREATE PROPERTY T.i INTEGER',
    'CREATE PROPERTY T.t STRING',
  ])
    await db.run(statement);
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  const type = transaction.catalog.typeNamed('T');
  assert.ok(type);
  for (let i = 0; i < rowCount; i += 1)
    transaction.insertDocument(
      type.id,
      new Map<string, Value>([
        ['i', i],
        ['t', isLarge(i) ? text : `text ${i}`],
        ['l', isLarge(i) ? list : [`text ${i}`]],
      ]),
    );
  await transaction.commit();
});

after(async () => {
  await db[Symbol.asyncDispose]();
});

const large = [499, 999, 1499];

async function rowsOf(statement: string): Promise<readonly Value[]> {
  const parameters = new Map<string, Value>([['long', [...list]]]);
  const result = await db.run(statement, { parameters });
  assert.equal(result.bytesLeft, 0, statement);
  assert.ok(result.pauseCount > 1, `${statement}: ${result.pauseCount} pauses`);
  return result.rows.map((row) => row[0] as Value);
}

const statements: readonly (readonly [string, readonly Value[]])[] = [
  ['SELECT i FROM T WHERE l.size() > 1', large],
  ['SELECT i FROM T WHERE l.size() > 1 ORDER BY @rid DESC', large.toReversed()],
  ['SELECT l.asSet().size() FROM T WHERE i > 497 AND i < 501', [1, elementCount, 1]],
  ["SELECT count(*) FROM T WHERE t.toUpperCase() LIKE 'SOME WORDS%'", [3]],
  ["SELECT count(*) FROM T WHERE l CONTAINS 'text 59999 of a long list'", [3]],
  ['SELECT count(*) FROM T WHERE t IN :long', [0]],
  [
    'SELECT i FROM T WHERE i > 1490 AND t NOT IN :long',
    [1491, 1492, 1493, 1494, 1495, 1496, 1497, 1498, 1499],
  ],
  ['SELECT sum(s) FROM (SELECT l.sort().size() AS s FROM T LIMIT 1000)', [998 + 2 * elementCount]],
  [
    'SELECT i FROM (SELECT i, t.hash() AS h, l FROM T LIMIT 500) WHERE l.join().length() > 100',
    [499],
  ],
];

test('a row with a large value takes turns in every operator', async () => {
  for (const [statement, rows] of statements) {
    assert.deepEqual(await rowsOf(statement), rows, statement);
  }
});

test('a large list is added to a group in turns', async () => {
  const [size] = await rowsOf('SELECT set(l).size() FROM T WHERE i > 490');
  assert.equal(size, elementCount + (rowCount - 491 - 3));
});

test('records that the transaction has changed are looked at in turns, too', async () => {
  await db.run("UPDATE T SET t = 'changed' WHERE i = 3");
  const transaction = db.state.begin('READ_COMMITTED');
  try {
    const parameters = new Map<string, Value>([['long', list]]);
    await db.run('INSERT INTO T SET i = 9999, l = :long', { transaction, parameters });
    for (const [statement, rows] of [
      ['SELECT i FROM T WHERE l.sort().size() > 1', [...large, 9_999]],
      ['SELECT count(*) FROM T WHERE l.sort().size() > 1', [4]],
    ] as const) {
      const result = await db.run(statement, { transaction });
      assert.deepEqual(
        result.rows.map((row) => row[0]),
        rows,
      );
      assert.ok(result.pauseCount > 3, statement);
    }
  } finally {
    transaction.rollback();
  }
});

test('the change of a record of thousands of properties takes turns: computed, written, given', async () => {
  await db.run('CREATE DOCUMENT TYPE Wide');
  await db.run('INSERT INTO Wide SET i = 1');
  const changedBy = async (count: number) => {
    const names = Array.from({ length: count }, (_, n) => [`n${n}`, n] as const);
    const parameters = new Map<string, Value>([['p', new Map<string, Value>(names)]]);
    const result = await db.run('UPDATE Wide MERGE :p RETURN AFTER n0, i', { parameters });
    assert.deepEqual(result.rows, [[0, 1]]);
    return result.pauseCount;
  };
  const few = await changedBy(3);
  assert.ok((await changedBy(5_000)) >= few + 2);
});
