import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Value } from '#core/value/value.ts';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: maps of thousands of entries are assigned to a record in turns, and what is left is what few entries would leave.

async function run(db: SqlDatabase, text: string, p: Value = null) {
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  const limits = { expressionDepthMax: 200, statementBytesMax: 1 << 20 };
  const program = cypherFrontend.analyze(cypherFrontend.parse(text, limits), {
    catalog: transaction.catalog,
    variables: new Map(),
    parameterNames: undefined,
    expressionDepthMax: 200,
  }) as QueryProgram;
  const done = await db.execute(program, transaction, { parameters: new Map([['p', p]]) });
  await transaction.commit();
  return done;
}

function mapOf(count: number, from = 0): ReadonlyMap<string, Value> {
  return new Map(Array.from({ length: count }, (_, at) => [`n${from + at}`, from + at] as const));
}

const counted = 'MATCH (n:W) RETURN size(keys(n)) AS k, n.n0 AS first, n.n2 AS third, n.i AS i';

for (const count of [6, 6_000])
  test(`maps of ${count} entries become properties, replace them and are put beside them`, async () => {
    await using db = await SqlDatabase.open();
    for (const text of ['CREATE VERTEX TYPE W', 'CREATE VERTEX W SET i = 5L']) await db.run(text);
    const half = count / 2;
    await run(db, 'MATCH (n:W) SET n += $p', mapOf(count));
    assert.deepEqual((await run(db, counted)).rows, [[count + 1, 0, 2, 5]]);
    await run(db, 'MATCH (n:W) SET n += $p', new Map([...mapOf(half)].map(([key]) => [key, null])));
    assert.deepEqual((await run(db, counted)).rows, [[half + 1, null, null, 5]]);
    await run(db, 'MATCH (n:W) SET n = $p, n.n2 = 7, n.n0 = n.n2', mapOf(count));
    assert.deepEqual((await run(db, counted)).rows, [[count, 7, 7, null]]);
    await run(db, 'CREATE (n:W {i: 1}) SET n = properties($p) DELETE n', mapOf(count));
    await run(db, 'MATCH (n:W) SET n = {n2: 3}');
    assert.deepEqual((await run(db, counted)).rows, [[1, null, 3, null]]);
  });

for (const text of ['CREATE (n:W $p)', 'CREATE (n:W) SET n = $p', 'MATCH (n:W) SET n += $p'])
  test(`many entries take turns: ${text}`, async () => {
    await using db = await SqlDatabase.open();
    for (const statement of ['CREATE VERTEX TYPE W', 'CREATE VERTEX W SET i = 5L'])
      await db.run(statement);
    const few = await run(db, text, mapOf(6));
    const many = await run(db, text, mapOf(6_000, 6));
    // 256 entries at a time are taken over, and as many are written.
    assert.ok(many.pauseCount >= few.pauseCount + 20, `${many.pauseCount} of ${few.pauseCount}`);
  });
