// Goal: what is long for other reasons than its rows is done with pauses. Method: statements run through the query room alone, and
// the pauses of their operators are counted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import { SqlDatabase, type StatementResult } from '#test/query/support/sql-database.ts';

const nodeCount = 100;
let db: SqlDatabase;

before(async () => {
  db = await SqlDatabase.open();
  for (const text of ['CREATE VERTEX TYPE Q', 'CREATE VERTEX TYPE C', 'CREATE EDGE TYPE K'])
    await db.run(text);
  await run(`UNWIND range(1, ${nodeCount}) AS i CREATE (:Q {k: i})`);
  await run('MATCH (a:Q), (b:Q) WHERE a.k < b.k CREATE (a)-[:K]->(b)');
});

after(() => db[Symbol.asyncDispose]());

async function run(text: string): Promise<StatementResult> {
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  const limits = { expressionDepthMax: 200, statementBytesMax: 1 << 22 };
  const program = cypherFrontend.analyze(cypherFrontend.parse(text, limits), {
    catalog: transaction.catalog,
    variables: new Map(),
    parameterNames: undefined,
    expressionDepthMax: 200,
  }) as QueryProgram;
  try {
    const result = await db.execute(program, transaction);
    await transaction.commit();
    return result;
  } finally {
    transaction.rollback();
  }
}

test('searches for shortest paths end a turn together, short as each of them may be', async () => {
  const { rows, pauseCount } = await run(
    'MATCH p = allShortestPaths((a:Q {k: 1})-[:K*]->(b:Q)) RETURN count(p) AS n',
  );
  assert.deepEqual(rows, [[nodeCount - 1]]);
  // Each of them looks at every edge of the first node.
  const edges = (nodeCount - 1) ** 2;
  assert.ok(pauseCount >= Math.floor(edges / 1_024), `${pauseCount} pauses`);
});
