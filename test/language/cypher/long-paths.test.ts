import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: rows that each hold a long path let others work, for what they hold and not for how many they are. Method: all paths from the
// head of a chain, whose lengths together are its length squared by two.

const chainLength = 500;

async function counted(db: SqlDatabase, text: string) {
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  try {
    const limits = { expressionDepthMax: 200, statementBytesMax: 1 << 20 };
    const program = cypherFrontend.analyze(cypherFrontend.parse(text, limits), {
      catalog: transaction.catalog,
      variables: new Map(),
      parameterNames: undefined,
      expressionDepthMax: 200,
    }) as QueryProgram;
    return await db.execute(program, transaction, { isRead: true });
  } finally {
    transaction.rollback();
  }
}

test('walks pause for the length of the paths that they give', async () => {
  await using db = await SqlDatabase.open();
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
  const walk = 'MATCH p = (a:N {k: 0})-[r:K*]->(b:N)';
  const ends = await counted(db, 'MATCH (a:N {k: 0})-[:K*]->(b:N) RETURN count(b) AS n');
  const edges = await counted(db, `${walk} RETURN max(size(r)) AS n`);
  const paths = await counted(db, `${walk} RETURN max(length(p)) AS n`);
  assert.deepEqual(ends.rows, [[chainLength]]);
  assert.deepEqual(edges.rows, [[chainLength]]);
  assert.deepEqual(paths.rows, [[chainLength]]);
  // 125,000 relationships in the paths, of some hundred bytes each with what stands at their ends.
  assert.ok(edges.pauseCount > ends.pauseCount, `${edges.pauseCount} of ${ends.pauseCount}`);
  assert.ok(paths.pauseCount > ends.pauseCount + 6, `${paths.pauseCount} of ${ends.pauseCount}`);
});
