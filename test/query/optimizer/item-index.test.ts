import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Float, type Value } from '#core/value/value.ts';
import { printRows } from '#test/query/support/print-rows.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: what a parameter holds is known only when a statement runs; an index BY ITEM must give the same rows then as the
// records do. Method: two types with the same records, of which one has indexes; values of every kind.

const values: readonly (readonly [string, Value])[] = [
  ['text', 'x'],
  ['digits', '5'],
  ['integer', 5],
  ['double', new Float(5)],
  ['not a number', Number.NaN],
  ['boolean', true],
  ['null', null],
  ['empty list', []],
  ['list of one', ['x']],
  ['list of two', ['x', 'y']],
];

test('lists are searched by parameters of every kind with the same rows as without an index', async () => {
  await using db = await filled();
  const conditions = [':v IN texts', ':v IN things', 'texts CONTAINS :v', 'things CONTAINS :v'];
  for (const condition of conditions)
    for (const [name, value] of values) {
      const [indexed, plain] = await both(db, condition, value);
      assert.equal(indexed, plain, `${condition}, ${name}`);
    }
});

test('equality with a list is equality also through an index BY ITEM, with a parameter as with a literal', async () => {
  await using db = await filled();
  for (const [name, value] of values)
    if (Array.isArray(value))
      for (const condition of ['texts = :v', ':v = texts', 'things = :v']) {
        const [indexed, plain] = await both(db, condition, value);
        assert.equal(indexed, plain, `${condition}, ${name}`);
      }
  const [found] = await both(db, 'texts = :v', 'x');
  assert.equal(found, 'id=1\nid=2', 'anything else is an element (sql.md 6.3)');
});

async function both(db: SqlDatabase, condition: string, v: Value): Promise<readonly string[]> {
  const parameters = new Map([['v', v]]);
  const printed: string[] = [];
  for (const type of ['Indexed', 'Plain']) {
    const text = `SELECT id FROM ${type} WHERE ${condition} ORDER BY id`;
    printed.push(printRows(await db.run(text, { parameters })));
  }
  return printed;
}

async function filled(): Promise<SqlDatabase> {
  const db = await SqlDatabase.open();
  for (const type of ['Indexed', 'Plain']) {
    await db.run(`CREATE DOCUMENT TYPE ${type}`);
    await db.run(`CREATE PROPERTY ${type}.texts LIST OF STRING`);
    await db.run(`CREATE PROPERTY ${type}.things LIST`);
    const rows = [
      "1, ['x', 'y'], ['x', 5]",
      "2, ['x'], [5.0]",
      "3, ['5', 'y'], ['5', null]",
      '4, [], [true]',
      "5, ['y'], [['x'], 'y']",
      '6, null, null',
    ];
    for (const row of rows) await db.run(`INSERT INTO ${type} (id, texts, things) VALUES (${row})`);
    const others = Array.from({ length: 100 }, (_, at) => `(${at + 10}, ['t${at}'], ['t${at}'])`);
    await db.run(`INSERT INTO ${type} (id, texts, things) VALUES ${others.join(', ')}`);
  }
  await db.run('CREATE INDEX ON Indexed (texts BY ITEM) NOTUNIQUE');
  await db.run('CREATE INDEX ON Indexed (things BY ITEM) NOTUNIQUE');
  return db;
}
