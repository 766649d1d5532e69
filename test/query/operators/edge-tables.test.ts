import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedEdgeTables } from '#query/operators/graph/shared-edge-tables.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { printRows } from '#test/query/support/print-rows.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: counts over steps are the same whether lists of edges are read or tables gathered from the edges. Method: a graph in
// which every statement looks at more lists than tables wait for; statements that may write never gather tables.

const statements = [
  'MATCH {type: P, as: a}-K->{as: b}-K->{as: c} RETURN count(*) AS n',
  'MATCH {type: P, as: a}-K-{as: b}-K-{as: c, where: ($matched.a != $currentMatch)} RETURN count(*) AS n',
  'MATCH {type: P, as: a}-K->{as: b}-K->{as: c}, {as: a}-K->{as: c} RETURN count(*) AS n',
  'MATCH {type: P, as: a}-K-{as: b}, NOT {as: a}-K->{as: b} RETURN count(*) AS n',
  'MATCH {type: P, as: a}-K->{as: b}, {as: a}-In->{type: C, as: c, optional: true} RETURN count(*) AS n, count(c) AS m',
  'MATCH {type: P, as: a}-K->{type: Q, as: b} RETURN count(*) AS n',
  'MATCH {type: P, as: a}-K->{as: b}-In->{type: C, as: c} RETURN c.name AS x, count(*) AS n GROUP BY c.name',
  'MATCH {type: C, as: c}<-In-{type: P}-K->{type: P}-K->{type: Q} RETURN count(*) AS n',
  'MATCH {type: P, as: a}-One->{as: b}, {as: b}<-One-{as: c} RETURN count(*) AS n',
  'MATCH {type: P, as: a}-->{as: b}-->{as: c} RETURN count(*) AS n',
  'MATCH {type: P, as: a}-K->{as: b}, {as: b}-K->{as: c, where: (g > 2)} RETURN g AS x, count(*) AS n GROUP BY g',
  "SELECT count(*) AS n FROM (SELECT expand(out('K').out('K')) FROM P)",
  "SELECT sum(n) AS s FROM (SELECT out('K').size() AS n FROM P)",
];

test('counts are the same with tables of edges and with lists', async () => {
  await using db = await filled();
  for (const text of statements) {
    const lists = await db.run(text);
    const tables = await db.run(text, { isRead: true });
    assert.equal(sorted(printRows(tables)), sorted(printRows(lists)), text);
    assert.equal(tables.bytesLeft, 0, text);
  }
});

test('a count over two steps gathers the edges, and does without when it has not the memory', async () => {
  await using db = await filled();
  const text =
    'MATCH {type: P, as: a}-K->{as: b, where: (g > 0)}-K->{as: c, where: (g > 1)} RETURN count(*) AS n';
  const lists = await db.run(text);
  const tables = await db.run(text, { isRead: true });
  assert.ok(tables.bytesMax > lists.bytesMax + 10_000, `${tables.bytesMax} bytes`);
  const poor = await db.run(text, { isRead: true, bytesMax: 20_000 });
  assert.equal(poor.bytesLeft, 0);
  assert.equal(printRows(tables), printRows(lists));
  assert.equal(printRows(poor), printRows(lists));
});

test('statements that take turns with the memory of tables count what they count alone', async () => {
  await using db = await filled();
  const lists = new Map<string, string>();
  for (const text of statements) lists.set(text, sorted(printRows(await db.run(text))));
  for (let round = 0; round < 3; round += 1)
    for (const [text, rows] of lists)
      assert.equal(sorted(printRows(await db.run(text, { isRead: true }))), rows, text);
});

test('statements that run at once share tables, whatever is written meanwhile, and leave none', async () => {
  await using db = await filled();
  const expected = new Map<string, string>();
  for (const text of statements) expected.set(text, sorted(printRows(await db.run(text))));
  const text = statements[0] as string;
  const alone = await db.run(text, { isRead: true });
  const first = db.run(text, { isRead: true });
  while (sharedEdgeTables.count === 0) await undefined;
  const second = await db.run(text, { isRead: true });
  assert.ok(second.pauseCount < alone.pauseCount, `${second.pauseCount}, ${alone.pauseCount}`);
  for (const result of [await first, second])
    assert.equal(sorted(printRows(result)), expected.get(text));
  const before: Transaction = db.state.begin('REPEATABLE_READ');
  before.beginStatement();
  try {
    const old = statements.flatMap((each) => [each, each]);
    const running = old.map((each) => db.run(each, { transaction: before, isRead: true }));
    while (sharedEdgeTables.count === 0) await undefined;
    await db.run('DELETE FROM K WHERE w = 3');
    const newer = statements.map((each) => db.run(each, { isRead: true }));
    for (const [n, result] of (await Promise.all(running)).entries()) {
      assert.equal(sorted(printRows(result)), expected.get(old[n] as string), old[n]);
      assert.equal(result.bytesLeft, 0);
    }
    for (const [n, result] of (await Promise.all(newer)).entries()) {
      const each = statements[n] as string;
      assert.equal(sorted(printRows(result)), sorted(printRows(await db.run(each))), each);
    }
  } finally {
    before.rollback();
  }
  assert.equal(sharedEdgeTables.count, 0);
});

test('what a transaction changed is counted', async () => {
  await using db = await filled();
  const transaction: Transaction = db.state.begin('REPEATABLE_READ');
  try {
    const changes = [
      'DELETE FROM K WHERE w = 3',
      'CREATE EDGE K FROM (SELECT FROM P WHERE g = 1) TO (SELECT FROM Q) SET w = 9',
      'DELETE FROM P WHERE g = 2 AND id > 250',
    ];
    for (const text of changes) await db.run(text, { transaction });
    for (const text of statements) {
      const read = await db.run(text, { transaction, isRead: true });
      assert.equal(sorted(printRows(read)), sorted(printRows(await db.run(text, { transaction }))));
    }
  } finally {
    transaction.rollback();
  }
});

function sorted(rows: string): string {
  return rows.split('\n').sort().join('\n');
}

async function filled(): Promise<SqlDatabase> {
  const db = await SqlDatabase.open();
  const people = Array.from({ length: 300 }, (_, id) => `(${id}, ${id % 20})`);
  for (const text of [
    'CREATE VERTEX TYPE P',
    'CREATE VERTEX TYPE Q EXTENDS P BUCKETS 2',
    'CREATE VERTEX TYPE C',
    'CREATE EDGE TYPE K BUCKETS 2',
    'CREATE EDGE TYPE In',
    'CREATE EDGE TYPE One UNIDIRECTIONAL',
    'CREATE PROPERTY P.g INTEGER',
    'CREATE INDEX ON P (g) NOTUNIQUE',
    `INSERT INTO P (id, g) VALUES ${people.join(', ')}`,
    `INSERT INTO Q (id, g) VALUES ${people.slice(0, 40).join(', ')}`,
    "INSERT INTO C (name) VALUES ('x'), ('y'), ('z')",
    "CREATE EDGE In FROM (SELECT FROM P WHERE g < 5) TO (SELECT FROM C WHERE name = 'x')",
    "CREATE EDGE In FROM (SELECT FROM P WHERE g > 12) TO (SELECT FROM C WHERE name > 'x')",
    'CREATE EDGE One FROM (SELECT FROM P WHERE g < 8) TO (SELECT FROM P WHERE g = 11)',
  ])
    await db.run(text);
  for (let g = 0; g < 20; g += 1)
    await db.run(
      `CREATE EDGE K FROM (SELECT FROM P WHERE g = ${g}) TO (SELECT FROM P WHERE g = ${(g * 7 + 3) % 20} AND id < ${60 + g * 6}) SET w = ${g % 5}`,
    );
  return db;
}
