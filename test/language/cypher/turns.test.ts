// Goal: what is long for other reasons than its rows is done with pauses. Method: statements run through the query room alone, and
// the pauses of their operators are counted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import {
  type RunOptions,
  SqlDatabase,
  type StatementResult,
} from '#test/query/support/sql-database.ts';

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

async function run(text: string, options: RunOptions = {}): Promise<StatementResult> {
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
    const result = await db.execute(program, transaction, options);
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

const propertyCount = 5_000;
/** Between two pauses, about; they are made, checked, and written. */
const propertiesPerPause = 1_024;
const named = (item: (at: number) => string): string =>
  Array.from({ length: propertyCount }, (_, at) => item(at)).join(', ');

async function propertiesOf(): Promise<Readonly<Record<string, unknown>>> {
  const { rows } = await run('MATCH (n:C) RETURN properties(n) AS p');
  return Object.fromEntries(rows[0]?.[0] as ReadonlyMap<string, unknown>);
}

const expected = (of: (at: number) => unknown): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Array.from({ length: propertyCount }, (_, at) => [`p${at}`, of(at)]));

test('a record of thousands of properties is made, changed and emptied with pauses', async () => {
  const atLeast = ({ pauseCount }: StatementResult, share: number): void => {
    assert.ok(pauseCount >= (share * propertyCount) / propertiesPerPause, `${pauseCount} pauses`);
  };
  atLeast(await run(`CREATE (:C {${named((at) => `p${at}: ${at}`)}})`), 4);
  assert.deepEqual(
    await propertiesOf(),
    expected((at) => at),
  );
  atLeast(await run(`MATCH (n:C) SET ${named((at) => `n.p${at} = n.p${at} + 1`)}`), 4);
  assert.deepEqual(
    await propertiesOf(),
    expected((at) => at + 1),
  );
  // Nothing is different.
  atLeast(await run(`MATCH (n:C) SET ${named((at) => `n.p${at} = ${at + 1}`)}`), 4);
  assert.deepEqual(
    await propertiesOf(),
    expected((at) => at + 1),
  );
  atLeast(await run('MATCH (n:C) SET n.p1 = 1.5'), 2);
  assert.equal((await propertiesOf())['p2'], 3);
  atLeast(await run('MATCH (n:C) SET n += {p2: 7}, n = properties(n)'), 3);
  assert.equal((await propertiesOf())['p2'], 7);
  atLeast(await run(`MATCH (n:C) REMOVE ${named((at) => `n.p${at}`)}`), 2);
  assert.deepEqual(await propertiesOf(), {});
});

test('a record of thousands of properties that is refused is not there, nor changed', async () => {
  await run('MATCH (n:C) DELETE n');
  const refused = `CREATE (:C {${named((at) => `p${at}: ${at}`)}, bad: [1, null]})`;
  await assert.rejects(run(refused), /cannot hold/u);
  assert.deepEqual((await run('MATCH (n:C) RETURN n')).rows, []);
  await run(`CREATE (:C {${named((at) => `p${at}: ${at}`)}})`);
  const long = 'x'.repeat(70_000);
  await assert.rejects(run(`MATCH (n:C) SET n.p0 = 1, n.${long} = 1`), /70000|long/u);
  assert.deepEqual(
    await propertiesOf(),
    expected((at) => at),
  );
});

test('a row of thousands of columns is computed with pauses', async () => {
  const columns = named((at) => `n.k + ${at} AS c${at}`);
  const { rows, pauseCount } = await run(`MATCH (n:Q {k: 1}) RETURN ${columns}`);
  assert.deepEqual(rows, [Array.from({ length: propertyCount }, (_, at) => at + 1)]);
  assert.ok(pauseCount >= Math.floor(propertyCount / 512), `${pauseCount} pauses`);
});

test('the first use of the engine of regular expressions has turns of its own', async () => {
  const text = "MATCH (n:Q {k: 12}) RETURN [n, 1 =~ 'x', toString(n.k) =~ '[1-3]+'][2] AS x";
  const { rows, pauseCount } = await run(text);
  assert.deepEqual(rows, [[true]]);
  const first = await run(text, { isEngineNew: true });
  assert.deepEqual(first.rows, rows);
  assert.equal(first.pauseCount, pauseCount);
  // Whatever pauses for another reason is begun anew, and comes by the engine again.
  const long = `${text}, size(toUpper('${'é'.repeat(300_000)}' + toString(n.k) + ' ')) AS y`;
  const paused = await run(long, { isEngineNew: true });
  assert.deepEqual(paused.rows, [[true, 300_003]]);
  assert.ok(paused.pauseCount >= (await run(long)).pauseCount);
});

test('records of thousands of clauses are made with pauses', async () => {
  const count = 1_000;
  const text = Array.from({ length: count }, (_, at) => `CREATE (:C {k: ${at}})`).join(' ');
  await run('MATCH (n:C) DELETE n');
  const { pauseCount } = await run(text);
  assert.ok(pauseCount >= Math.floor(count / 256), `${pauseCount} pauses`);
  assert.deepEqual((await run('MATCH (n:C) RETURN count(n) AS n, sum(n.k) AS s')).rows, [
    [count, (count * (count - 1)) / 2],
  ]);
});

test('aggregates and parameters are looked for in long expressions with pauses', () => {
  const termCount = 20_000;
  const terms = Array.from({ length: termCount }, (_, at) => `$p${at % 7}`).join(', ');
  const transaction = db.state.begin('READ_COMMITTED');
  const context = {
    catalog: transaction.catalog,
    variables: new Map(),
    parameterNames: undefined,
    expressionDepthMax: 200,
  };
  const limits = { expressionDepthMax: 200, statementBytesMax: 1 << 22 };
  const stepsOf = (text: string) => {
    const ast = cypherFrontend.parse(text, limits);
    const work = cypherFrontend.analyzeInSteps?.(ast, context);
    assert.ok(work !== undefined);
    let stepCount = 0;
    let step = work.next();
    for (; step.done !== true; step = work.next()) stepCount += 1;
    assert.deepEqual(step.value, cypherFrontend.analyze(ast, context));
    return { stepCount, program: step.value as QueryProgram };
  };
  try {
    const { stepCount, program } = stepsOf(`UNWIND [1] AS x RETURN size([x, ${terms}]) AS y`);
    assert.deepEqual(program.requiredParameters, ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6']);
    // Terms are compiled a thousand at a time; each of the two searches looks at as many.
    assert.ok(stepCount >= (3 * termCount) / 1_000, `${stepCount} steps`);
    const counted = stepsOf(`UNWIND [1] AS x RETURN size([${terms}, count(x)]) AS y`).program;
    assert.match(JSON.stringify(counted.plan, null, 1), /"op": "Aggregate"/u);
  } finally {
    transaction.rollback();
  }
});
