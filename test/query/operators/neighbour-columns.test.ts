import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transaction } from '#transaction/transaction.ts';
import { printRows } from '#test/query/support/print-rows.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: a property of a neighbour is the same whether its cell is read by the bare record id, remembered or not, or its record is
// made. Method: the same rows with the neighbour kept as a record, which the statement asks for beside its properties.

const properties = ['id', 'zero', 'half', 'name', 'flag', 'other', 'long', 'missing'];

/** `$p` stands for properties of b. */
const patterns = [
  'MATCH {type: P, as: a}-K->{as: b} RETURN a.id AS x, $p',
  'MATCH {type: P, as: a}-K->{as: b}-K->{as: c, where: (id < 3)} RETURN $p, c.id AS y',
  "MATCH {type: P, as: a, where: (id < 20)}.outE('K'){as: e}.inV(){as: b} RETURN e.w AS y, $p",
  'MATCH {type: P, as: a}-K->{as: b, where: (id > 100)} RETURN $p ORDER BY b.id DESC, b.name LIMIT 700',
];

function columns(pattern: string): string {
  return pattern.replace('$p', properties.map((name, at) => `b.${name} AS p${at}`).join(', '));
}

/** The type beside the properties, for which records are made. */
function records(pattern: string): string {
  return columns(pattern).replace(' RETURN ', ' RETURN b.@type AS v, ');
}

test('properties of neighbours are those of their records', async () => {
  await using db = await filled();
  for (const pattern of patterns) {
    const text = columns(pattern);
    const read = await db.run(text, { isRead: true });
    assert.equal(read.bytesLeft, 0, text);
    assert.equal(printRows(read), withoutRecords(await db.run(records(pattern), { isRead: true })));
  }
});

test('a statement without memory for remembered columns reads each cell', async () => {
  await using db = await filled();
  const text = 'MATCH {type: P, as: a}-K->{as: b} RETURN b.id AS x';
  const rows = await db.run(text, { isRead: true });
  const poor = await db.run(text, { isRead: true, bytesMax: rows.bytesMax - 1 });
  assert.ok(rows.bytesMax > 2_000, `${rows.bytesMax} bytes`);
  assert.equal(poor.bytesLeft, 0);
  assert.equal(printRows(poor), printRows(rows));
});

test('what a transaction changed is read', async () => {
  await using db = await filled();
  const transaction: Transaction = db.state.begin('REPEATABLE_READ');
  try {
    for (const text of [
      "UPDATE P SET id = id + 1000, name = 'changed' WHERE id < 50",
      'INSERT INTO Q SET id = 5000',
      'CREATE EDGE K FROM (SELECT FROM P WHERE id = 61) TO (SELECT FROM Q WHERE id = 5000)',
    ])
      await db.run(text, { transaction });
    const text = 'MATCH {type: P, as: a}-K->{as: b} RETURN b.id AS x, b.name AS y ORDER BY x, y';
    const seen = printRows(await db.run(text, { transaction, isRead: true }));
    assert.match(seen, /x=1003, y='changed'/);
    assert.match(seen, /x=5000, y=null/);
    assert.doesNotMatch(seen, /x=3,/);
  } finally {
    transaction.rollback();
  }
});

function withoutRecords(rows: Parameters<typeof printRows>[0]): string {
  return printRows(rows).replaceAll(/^v='[PQ]', /gm, '');
}

async function filled(): Promise<SqlDatabase> {
  const db = await SqlDatabase.open();
  for (const text of [
    'CREATE VERTEX TYPE P',
    'CREATE VERTEX TYPE Q EXTENDS P BUCKETS 2',
    'CREATE EDGE TYPE K BUCKETS 2',
    'CREATE PROPERTY P.half DOUBLE',
  ])
    await db.run(text);
  for (const type of ['P', 'Q']) {
    const values = Array.from({ length: 150 }, (_, at) => {
      const id = type === 'P' ? at : 150 + at;
      const name = at % 3 === 0 ? 'null' : `'n\u00e9 ${at % 7}'`;
      const long = at % 40 === 0 ? `'${'long '.repeat(300)}'` : `'short'`;
      return `(${id}, 0, ${id / 2}, ${name}, ${at % 2 === 0}, ${at % 5 === 0 ? `[${id}, 'x']` : id}, ${long})`;
    });
    await db.run(
      `INSERT INTO ${type} (id, zero, half, name, flag, other, long) VALUES ${values.join(', ')}`,
    );
  }
  await db.run("UPDATE P SET extra = 'more' WHERE id % 11 = 0");
  for (let step = 1; step <= 60; step += 1)
    await db.run(
      `CREATE EDGE K FROM (SELECT FROM P WHERE id % 2 = ${step % 2}) TO (SELECT FROM P WHERE id = ${step % 10 === 0 ? 150 + step : step * 2 + 1}) SET w = ${step}`,
    );
  return db;
}
