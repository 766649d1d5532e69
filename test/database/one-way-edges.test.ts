import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Link } from '#core/record.ts';
import { requireRid } from '#core/rid.ts';
import {
  openTestDatabase,
  root,
  type TestDatabase,
} from '#test/database/support/open-test-database.ts';

// Goal: edges that were loaded with their outgoing side only (http-api.md 10.2, `bidirectional=false`) are found from their
// sources and never from their targets, whatever way a statement is planned. Method: a ring of vertices of which each has one
// such edge, enough of them for tables of edges, and statements that are faster walked backwards.

const vertexCount = 500;

test('edges loaded one-way into a bidirectional type are not found from their targets', async () => {
  const db = await ringOf('K', false);
  try {
    const counts: readonly (readonly [string, number])[] = [
      ['MATCH {type: P, as: a}-K->{as: b} RETURN count(*) AS n', vertexCount],
      ['MATCH {type: P, as: a}<-K-{as: b} RETURN count(*) AS n', 0],
      ['MATCH {type: P, as: a}-K->{as: b}<-K-{as: c} RETURN count(*) AS n', 0],
      ['MATCH {type: P, as: a}-K-{as: b}-K-{as: c} RETURN count(*) AS n', vertexCount],
      ["SELECT sum(n) AS n FROM (SELECT in('K').size() AS n FROM P)", 0],
      ["SELECT count(*) AS n FROM (SELECT expand(both('K').both('K')) FROM P)", vertexCount],
      ['MATCH {type: P, as: a}-K->{as: b, where: (id = 7)} RETURN count(a) AS n', 1],
      ['MATCH {type: P, as: a}.outE("K").inV(){as: b, where: (id = 7)} RETURN count(a) AS n', 1],
      ['SELECT count(*) AS n FROM K WHERE @in = (SELECT @rid FROM P WHERE id = 7)', 1],
    ];
    for (const [text, n] of counts) assert.deepEqual(await db.run(text), [{ n }], text);
    // The target has the shorter list: none.
    await db.run(
      'CREATE EDGE K FROM (SELECT FROM P WHERE id = 6) TO (SELECT FROM P WHERE id = 7) IF NOT EXISTS',
    );
    assert.deepEqual(await db.run('SELECT count(*) AS n FROM K'), [{ n: vertexCount }]);
    await db.reopen();
    assert.deepEqual(await db.run('MATCH {type: P, as: a}<-K-{as: b} RETURN count(*) AS n'), [
      { n: 0 },
    ]);
  } finally {
    await db.close();
  }
});

test('edges that are listed at their sources only are no damage', async () => {
  const db = await ringOf('K', false);
  try {
    for (const text of [
      'CHECK DATABASE',
      'CHECK DATABASE FIX',
      'CHECK DATABASE FIX DELETE ORPHANS',
    ]) {
      const [report] = await db.run(text);
      assert.deepEqual([report?.['totalErrors'], report?.['autoFix'] ?? 0], [0, 0], text);
    }
    const found = await db.run('MATCH {type: P, as: a}-K->{as: b} RETURN count(*) AS n');
    assert.deepEqual(found, [{ n: vertexCount }]);
    const back = await db.run('MATCH {type: P, as: a}<-K-{as: b} RETURN count(*) AS n');
    assert.deepEqual(back, [{ n: 0 }]);
  } finally {
    await db.close();
  }
});

test('an export says which edges have one side, and an import gives them no second one', async () => {
  const db = await ringOf('K', false);
  try {
    await db.run(
      'CREATE EDGE K FROM (SELECT FROM P WHERE id = 9) TO (SELECT FROM P WHERE id = 7) SET both = true',
    );
    await db.run('EXPORT DATABASE file://ring.jsonl.tgz');
    const url = join(db.directory, '.exports', 'ring.jsonl.tgz');
    await db.operations.importNew(
      'copy',
      { url, settings: undefined },
      { principal: root, signal: new AbortController().signal },
    );
    for (const [text, n] of [
      ['MATCH {type: P, as: a}-K->{as: b} RETURN count(*) AS n', vertexCount + 1],
      ['MATCH {type: P, as: a}<-K-{as: b} RETURN count(*) AS n', 1],
    ] as const)
      assert.deepEqual(await db.runOn('copy', text), [{ n }], text);
  } finally {
    await db.close();
  }
});

test('edges loaded both ways are found from either side', async () => {
  const db = await ringOf('K', true);
  try {
    const text = 'MATCH {type: P, as: a}<-K-{as: b} RETURN count(*) AS n';
    assert.deepEqual(await db.run(text), [{ n: vertexCount }]);
  } finally {
    await db.close();
  }
});

/** Vertex `id` leads to the next one. */
async function ringOf(type: string, isBidirectional: boolean): Promise<TestDatabase> {
  const db = await openTestDatabase();
  await db.run('CREATE VERTEX TYPE P');
  await db.run('CREATE PROPERTY P.id INTEGER');
  await db.run('CREATE INDEX ON P (id) UNIQUE');
  await db.run(`CREATE EDGE TYPE ${type}`);
  const loader = db.database.bulkLoader({ isBidirectional });
  try {
    const ids = Array.from({ length: vertexCount - 1 }, (_, id) => String(id + 1));
    await db.run('INSERT INTO P SET id = 0');
    const [stored] = await db.run('SELECT @rid AS rid FROM P');
    const first = new Link(requireRid(String(stored?.['rid'])));
    // One chunk has the vertices and the edges between them.
    await loader.addRecords({
      type: 'P',
      columns: ['id'],
      values: ids.map(Number),
      rowCount: ids.length,
      ids,
    });
    const from = [first, ...ids];
    await loader.addEdges({
      type,
      columns: [],
      values: [],
      rowCount: vertexCount,
      from,
      to: [...ids, first],
    });
    await loader.finish();
  } finally {
    loader.close();
  }
  return db;
}
