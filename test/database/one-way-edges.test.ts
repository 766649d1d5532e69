import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Link } from '#core/value/record.ts';
import { requireRid } from '#core/value/rid.ts';
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
  const db = await ringOf('K', false, ['CREATE EDGE TYPE U UNIDIRECTIONAL']);
  try {
    await db.run(
      'CREATE EDGE K FROM (SELECT FROM P WHERE id = 9) TO (SELECT FROM P WHERE id = 7) SET both = true',
    );
    await db.run(
      'CREATE EDGE U FROM (SELECT FROM P WHERE id = 9) TO (SELECT FROM P WHERE id = 7) SET n = 1',
    );
    const asker = { principal: root, signal: new AbortController().signal };
    const skipping = new Map([['onRowError', 'skip']]);
    for (const format of ['jsonl', 'graphml', 'graphson']) {
      const file = format === 'jsonl' ? 'ring.jsonl.tgz' : `ring.${format}`;
      const [row] = await db.run(`EXPORT DATABASE file://${file} WITH format = '${format}'`);
      assert.equal(row?.['warnings'] ?? 0, 0, format);
      const url = join(db.directory, '.exports', file);
      await db.operations.importNew(`copy-${format}`, { url, settings: undefined }, asker);
      await db.operations.importNew(`skipped-${format}`, { url, settings: skipping }, asker);
      for (const name of [`copy-${format}`, `skipped-${format}`]) {
        for (const [text, n] of [
          ['MATCH {type: P, as: a}-K->{as: b} RETURN count(*) AS n', vertexCount + 1],
          ['MATCH {type: P, as: a}<-K-{as: b} RETURN count(*) AS n', 1],
          ['MATCH {type: P, as: a}-U->{as: b} RETURN count(*) AS n', 1],
          ['MATCH {type: P, as: a}<-U-{as: b} RETURN count(*) AS n', 0],
          ['SELECT count(*) AS n FROM K WHERE both = true', 1],
        ] as const)
          assert.deepEqual(await db.runOn(name, text), [{ n }], `${name}: ${text}`);
        const [edge] = await db.runOn(name, 'SELECT FROM U');
        const names = Object.keys(edge ?? {}).filter((key) => !key.startsWith('@'));
        assert.deepEqual(names, ['n'], name);
      }
    }
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

const forwards = 'MATCH {type: P, as: a}-K->{as: b} RETURN count(*) AS n';
const backwards = 'MATCH {type: P, as: a}<-K-{as: b} RETURN count(*) AS n';

async function requireSound(db: TestDatabase): Promise<void> {
  const [report] = await db.run('CHECK DATABASE');
  assert.equal(report?.['totalErrors'], 0, JSON.stringify(report));
}

test('a load whose rows set off triggers enters one-way edges at their sources only', async () => {
  const db = await ringOf('K', false, [
    'CREATE DOCUMENT TYPE Made',
    'CREATE TRIGGER made AFTER CREATE ON TYPE K EXECUTE SQL "INSERT INTO Made SET n = 1"',
  ]);
  try {
    assert.deepEqual(await db.run('SELECT count(*) AS n FROM Made'), [{ n: vertexCount }]);
    assert.deepEqual(await db.run(forwards), [{ n: vertexCount }]);
    assert.deepEqual(await db.run(backwards), [{ n: 0 }]);
    await requireSound(db);
  } finally {
    await db.close();
  }
});

test('vertices take the one-way edges that lead to them with them', async () => {
  const db = await ringOf('K', false, [
    'CREATE DOCUMENT TYPE Gone',
    'CREATE TRIGGER gone AFTER DELETE ON TYPE K EXECUTE SQL "INSERT INTO Gone SET n = 1"',
  ]);
  try {
    const steps = [
      ['DELETE FROM P WHERE id = 7', vertexCount - 2],
      ['DELETE FROM P WHERE id < 100', vertexCount - 101],
      ['DELETE FROM P', 0],
    ] as const;
    for (const [statement, n] of steps) {
      await db.run(statement);
      assert.deepEqual(await db.run('SELECT count(*) AS n FROM K'), [{ n }], statement);
      assert.deepEqual(await db.run(backwards), [{ n: 0 }], statement);
      await requireSound(db);
    }
    assert.deepEqual(await db.run('SELECT count(*) AS n FROM Gone'), [{ n: vertexCount }]);
  } finally {
    await db.close();
  }
});

test('a moved vertex keeps its one-way edges, and they stay so', async () => {
  const db = await ringOf('K', false, ['CREATE VERTEX TYPE Q']);
  try {
    await db.run('MOVE VERTEX (SELECT FROM P WHERE id = 7) TO TYPE:Q');
    const query =
      "SELECT id, out('K').id AS o, in('K').id AS i FROM P WHERE id IN [6, 8] ORDER BY id";
    assert.deepEqual(await db.run(query), [
      { id: 6, o: [7], i: [] },
      { id: 8, o: [9], i: [] },
    ]);
    assert.deepEqual(await db.run("SELECT out('K').id AS o, in('K').id AS i FROM Q"), [
      { o: [8], i: [] },
    ]);
    await requireSound(db);
    // In one transaction: the edge that was moved goes with the vertex that was.
    const script = `BEGIN;
      MOVE VERTEX (SELECT FROM P WHERE id = 9) TO TYPE:Q;
      DELETE FROM Q WHERE id = 9;
      COMMIT;`;
    await db.run(script, {}, {}, 'sqlscript');
    assert.deepEqual(await db.run('SELECT count(*) AS n FROM K'), [{ n: vertexCount - 2 }]);
    await requireSound(db);
  } finally {
    await db.close();
  }
});

test('a one-way edge that is deleted in a transaction leaves no count at its target', async () => {
  const db = await ringOf('K', false);
  try {
    using transaction = db.database.state.begin('READ_COMMITTED');
    const [row] = await db.run('SELECT @rid AS edge, @in AS target FROM K LIMIT 1');
    const target = requireRid(String(row?.['target']));
    const type = transaction.catalog.typeNamed('K')?.id;
    assert.ok(type !== undefined);
    transaction.delete(requireRid(String(row?.['edge'])));
    assert.equal(transaction.degree(target, 'in', type), 0);
    await transaction.commit();
    await requireSound(db);
  } finally {
    await db.close();
  }
});

test('edges that lead to a deleted vertex are looked for in steps, whatever else is set off', async () => {
  const count = 7000;
  for (const more of [[], ["CREATE TRIGGER t AFTER DELETE ON TYPE P EXECUTE SQL 'SELECT 1'"]]) {
    const db = await ringOf('K', false, more, count);
    try {
      using transaction = db.database.state.begin('READ_COMMITTED');
      let stepCount = 0;
      transaction.replay = {
        result: (_site, begin) => {
          const work = begin();
          for (;;) {
            const step = work.next();
            if (step.done === true) return step.value;
            stepCount += 1;
          }
        },
        once: (_site, compute) => compute(),
      };
      const [row] = await db.run('SELECT @rid AS r FROM P WHERE id = 7');
      const [next] = await db.run('SELECT @rid AS r FROM P WHERE id = 9');
      const [other] = await db.run('SELECT @rid AS r FROM P WHERE id = 11');
      assert.equal(transaction.delete(requireRid(String(row?.['r']))), true);
      assert(stepCount >= 3, String(stepCount));
      // For the second one all targets are remembered.
      stepCount = 0;
      assert.equal(transaction.delete(requireRid(String(next?.['r']))), true);
      assert(stepCount >= 3, String(stepCount));
      stepCount = 0;
      assert.equal(transaction.delete(requireRid(String(other?.['r']))), true);
      assert(stepCount < 2, String(stepCount));
      await transaction.commit();
      assert.deepEqual(await db.run('SELECT count(*) AS n FROM K'), [{ n: count - 6 }]);
      await requireSound(db);
    } finally {
      await db.close();
    }
  }
});

/** Vertex `id` leads to the next one. */
async function ringOf(
  type: string,
  isBidirectional: boolean,
  more: readonly string[] = [],
  count = vertexCount,
): Promise<TestDatabase> {
  const db = await openTestDatabase();
  await db.run('CREATE VERTEX TYPE P');
  await db.run('CREATE PROPERTY P.id INTEGER');
  await db.run('CREATE INDEX ON P (id) UNIQUE');
  await db.run(`CREATE EDGE TYPE ${type}`);
  for (const statement of more) await db.run(statement);
  const loader = db.database.bulkLoader({ isBidirectional });
  try {
    const ids = Array.from({ length: count - 1 }, (_, id) => String(id + 1));
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
      rowCount: count,
      from,
      to: [...ids, first],
    });
    await loader.finish();
  } finally {
    loader.close();
  }
  return db;
}
