// Goal: what is long for other reasons than its rows is done with pauses. Method: statements run through the query room alone, and
// the pauses of their operators are counted.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import type { PausingWork } from '#core/pausing-work.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import { printPlan } from '#query/algebra/print.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { optimizeSteps } from '#query/optimizer/optimizer.ts';
import { statisticsOf } from '#query/optimizer/statistics.ts';
import { planInSteps } from '#query/physical/planner.ts';
import { procedureRegistry } from '#query/procedures/registry.ts';
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
    // Terms are compiled a thousand at a time, and a search looks at as many.
    assert.ok(stepCount >= (2 * termCount) / 1_000, `${stepCount} steps`);
    const counted = stepsOf(`UNWIND [1] AS x RETURN size([${terms}, count(x)]) AS y`).program;
    assert.match(JSON.stringify(counted.plan, null, 1), /"op": "Aggregate"/u);
  } finally {
    transaction.rollback();
  }
});

/** Steps of analyzing, of optimizing and of making the operators; what analyzing gives in steps is what it gives at once. */
function compilationOf(text: string): {
  readonly analyzed: number;
  readonly optimized: number;
  readonly planned: number;
} {
  const transaction = db.state.begin('READ_COMMITTED');
  transaction.beginStatement();
  try {
    const { catalog } = transaction;
    const limits = { expressionDepthMax: 200, statementBytesMax: 1 << 22 };
    const ast = cypherFrontend.parse(text, limits);
    const context = {
      catalog,
      variables: new Map(),
      parameterNames: undefined,
      expressionDepthMax: 200,
    };
    const analysis = cypherFrontend.analyzeInSteps?.(ast, context);
    assert.ok(analysis !== undefined);
    const analyzed = counted(analysis);
    const atOnce = cypherFrontend.analyze(ast, context) as QueryProgram;
    const inSteps = analyzed.value as QueryProgram;
    assert.equal(printPlan(inSteps.plan), printPlan(atOnce.plan));
    const statistics = statisticsOf(transaction);
    const environment = { catalog, statistics, functions: functionRegistry };
    const optimized = counted(optimizeSteps(inSteps, environment));
    const made = { catalog, functions: functionRegistry, procedures: procedureRegistry() };
    const planned = counted(planInSteps(optimized.value, made));
    return {
      analyzed: analyzed.stepCount,
      optimized: optimized.stepCount,
      planned: planned.stepCount,
    };
  } finally {
    transaction.rollback();
  }
}

function counted<T>(steps: PausingWork<T>): { readonly value: T; readonly stepCount: number } {
  for (let stepCount = 0; ; stepCount += 1) {
    const { done, value } = steps.next();
    if (done === true) return { value, stepCount };
  }
}

test('what is long in a statement is compiled with pauses, whatever it consists of', () => {
  const many = (item: (at: number) => string, between = ', '): string =>
    Array.from({ length: 8_000 }, (_, at) => item(at)).join(between);
  const steps = Array.from({ length: 150 }, (_, at) => `-[:K]->(a${at})`).join('');
  const parts = Array.from({ length: 150 }, (_, at) => `(a${at}:Q {k: ${at}})`).join(', ');
  for (const [analyzed, optimized, planned, text] of [
    // Parts are compiled a thousand at a time; names, scope and columns are gone through as often.
    [70, 50, 55, `MATCH (n:Q) RETURN ${many((at) => `n.k + ${at} AS c${at}`)}`],
    [75, 50, 28, `MATCH (n:Q) WITH ${many((at) => `n.k + ${at} AS c${at}`)} RETURN c7`],
    [22, 120, 85, `MATCH (n:Q) RETURN ${many((at) => `n.p${at}`, ' + ')} AS x`],
    [
      55,
      150,
      110,
      `MATCH (n:Q) RETURN CASE ${many((at) => `WHEN n.k = ${at} THEN 1`, ' ')} END AS x`,
    ],
    [9, 45, 34, `MATCH (n:Q) RETURN n.k AS k ORDER BY ${many((at) => `n.p${at}`)}`],
    [16, 40, 34, `MATCH (n:Q) SET ${many((at) => `n.p${at} = ${at}`)}`],
    [16, 6, 12, `MATCH (n:Q) REMOVE ${many((at) => `n.p${at}`)}`],
    // Nodes of a plan count, however little is long in each.
    [0, 28, 160, `MATCH (n:Q)${steps} RETURN count(*) AS c`],
    [0, 45, 13, `MATCH ${parts} RETURN count(*) AS c`],
  ] as const) {
    const found = compilationOf(text);
    const isEnough =
      found.analyzed >= analyzed && found.optimized >= optimized && found.planned >= planned;
    assert.ok(isEnough, `${JSON.stringify(found)} steps of ${text.slice(0, 50)}`);
  }
});
