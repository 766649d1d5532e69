import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Catalog } from '#catalog/catalog.ts';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import type { Rid } from '#core/value/rid.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import { printPlan } from '#query/algebra/print.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: rows that each hold a long path let others work, for what they hold and not for how many they are. Method: all paths from the
// head of a chain, whose lengths together are its length squared by two.

const chainLength = 500;

async function counted(db: SqlDatabase, text: string, without: readonly string[] = []) {
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  try {
    const program = programOf(text, transaction.catalog);
    const { plan } = db.optimized(program, transaction, new Set(without));
    const disabled = new Set(without);
    const done = await db.execute(program, transaction, { isRead: true, disabled });
    return { ...done, plan: printPlan(plan, { catalog: transaction.catalog }) };
  } finally {
    transaction.rollback();
  }
}

function programOf(text: string, catalog: Catalog): QueryProgram {
  const limits = { expressionDepthMax: 200, statementBytesMax: 1 << 20 };
  return cypherFrontend.analyze(cypherFrontend.parse(text, limits), {
    catalog,
    variables: new Map(),
    parameterNames: undefined,
    expressionDepthMax: 200,
  }) as QueryProgram;
}

async function chain(): Promise<SqlDatabase> {
  const db = await SqlDatabase.open();
  await db.run('CREATE VERTEX TYPE N');
  await db.run('CREATE EDGE TYPE K');
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  const [node, edge] = [transaction.catalog.typeNamed('N'), transaction.catalog.typeNamed('K')];
  assert.ok(node && edge);
  const nodes = Array.from({ length: chainLength + 1 }, (_, k) =>
    transaction.insertVertex(node.id, new Map([['k', k]])),
  );
  for (const [at, from] of nodes.slice(0, -1).entries())
    transaction.insertEdge(edge.id, from.rid, (nodes[at + 1] ?? from).rid, new Map());
  await transaction.commit();
  return db;
}

const walk = 'MATCH p = (a:N {k: 0})-[r:K*]->(b:N)';

test('walks pause for the length of the paths that they give', async () => {
  await using db = await chain();
  const ends = await counted(db, 'MATCH (a:N {k: 0})-[:K*]->(b:N) RETURN count(b) AS n');
  const edges = await counted(db, `${walk} RETURN max(size(r)) AS n`);
  const paths = await counted(db, `${walk} RETURN max(size(nodes(p))) AS n`);
  assert.deepEqual(ends.rows, [[chainLength]]);
  assert.deepEqual(edges.rows, [[chainLength]]);
  assert.deepEqual(paths.rows, [[chainLength + 1]]);
  // 125,000 relationships in the paths, of some hundred bytes each with what stands at their ends.
  assert.ok(edges.pauseCount > ends.pauseCount, `${edges.pauseCount} of ${ends.pauseCount}`);
  assert.ok(paths.pauseCount > ends.pauseCount + 100, `${paths.pauseCount} of ${ends.pauseCount}`);
});

test('one long path is put together in turns', async () => {
  await using db = await chain();
  const ends = await counted(db, `MATCH (a:N {k: 0})-[:K*${chainLength}]->(b) RETURN b.k AS n`);
  const path = await counted(
    db,
    `MATCH p = (a:N {k: 0})-[:K*${chainLength}]->(b) RETURN [n IN nodes(p) | n.k][-1] AS n`,
  );
  assert.deepEqual(path.rows, ends.rows);
  assert.ok(path.pauseCount > ends.pauseCount, `${path.pauseCount} of ${ends.pauseCount}`);
});

test('the length of a path of which nothing else is asked is known without it', async () => {
  await using db = await chain();
  const isPathMade = (plan: string): boolean => /\bpath\(/.test(plan);
  for (const [text, isMade] of [
    [`${walk} RETURN max(length(p)) AS n`, false],
    [`${walk} RETURN length(p) AS n ORDER BY n DESC LIMIT 3`, false],
    [`${walk} RETURN length(p) + size(r) AS n ORDER BY n`, false],
    [`${walk} RETURN length(p) AS n, nodes(p)[0].k AS k ORDER BY n LIMIT 3`, true],
    [`${walk} WITH p, length(p) AS n WHERE n < 3 RETURN n, size(relationships(p)) AS m`, true],
    [`${walk} WHERE length(p) < 5 RETURN length(p) AS n`, true],
    [
      'MATCH (b:N) WHERE b.k IN [7, 8] OPTIONAL MATCH q = (b)-[:K*2]->(c {k: 9}) RETURN b.k AS k, length(q) AS n',
      true,
    ],
  ] as const) {
    const plain = await counted(db, text, ['path-length']);
    const { plan, rows } = await counted(db, text);
    assert.equal(isPathMade(plain.plan), true, plain.plan);
    assert.equal(isPathMade(plan), isMade, plan);
    assert.deepEqual(rows, plain.rows, text);
  }
});

test('no relationship stands twice in a long path, and walks that turn back go on elsewhere', async () => {
  await using db = await chain();
  const { rows } = await counted(db, 'MATCH (n:N) RETURN n ORDER BY n.k');
  const rids = rows.map(([node]) => (node as { readonly rid: Rid }).rid);
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  const edge = transaction.catalog.typeNamed('K');
  assert.ok(edge);
  // Two edges at each of four steps, and one from behind them to the first.
  for (const [from, to] of [
    [100, 101],
    [101, 102],
    [102, 103],
    [103, 104],
    [200, 100],
  ] as const)
    transaction.insertEdge(edge.id, rids[from] as Rid, rids[to] as Rid, new Map());
  await transaction.commit();
  const all = await counted(
    db,
    `MATCH (a:N {k: 0})-[r:K*]->(b:N) WHERE b.k IN [102, 104, 120]
     RETURN b.k AS k, count(*) AS n, count(DISTINCT r) AS d ORDER BY k`,
  );
  // The second time the other one of two edges is left.
  assert.deepEqual(all.rows, [
    [102, 4 + 16, 20],
    [104, 16 + 16, 32],
    [120, 16, 16],
  ]);
});
