// Goal: rules that pause inside of long conditions, lists and patterns make the plan that they make at once, and pause often enough.
// Method: random statements of thousands of terms; each rule is applied node by node without a pause, and by the optimizer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import { checkProgram } from '#query/algebra/invariants.ts';
import type { LogicalPlan, QueryProgram } from '#query/algebra/plan.ts';
import { mapParts, rewriteSubPlans } from '#query/algebra/plan-walk.ts';
import { printPlan } from '#query/algebra/print.ts';
import { functionRegistry } from '#query/functions/registry.ts';
import { optimizeSteps } from '#query/optimizer/optimizer.ts';
import type { OptimizerContext } from '#query/optimizer/rule.ts';
import { rules } from '#query/optimizer/rules.ts';
import { statisticsOf } from '#query/optimizer/statistics.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';
import type { ReadView } from '#transaction/read/read-view.ts';

const schema = [
  'CREATE VERTEX TYPE P',
  'CREATE EDGE TYPE K',
  'CREATE PROPERTY P.k LONG',
  'CREATE PROPERTY P.name STRING',
  'CREATE INDEX ON P (k) NOTUNIQUE',
];

function programOf(text: string, { catalog }: ReadView): QueryProgram {
  const ast = cypherFrontend.parse(text, { expressionDepthMax: 200, statementBytesMax: 4_194_304 });
  const program = cypherFrontend.analyze(ast, {
    catalog,
    variables: new Map(),
    parameters: new Map(),
    parameterNames: undefined,
    expressionDepthMax: 200,
  });
  assert.equal(program.kind, 'query');
  return program as QueryProgram;
}

/** Each rule at each node, inputs first; every slot counts as read above it. */
function optimizedAtOnce(program: QueryProgram, view: ReadView): LogicalPlan {
  let { slotCount } = program;
  const context: OptimizerContext = {
    catalog: view.catalog,
    statistics: statisticsOf(view),
    functions: functionRegistry,
    disabled: new Set(),
    newSlot: () => slotCount++,
  };
  const required = () => new Set(Array.from({ length: slotCount }, (_, slot) => slot));
  let current = program.plan;
  for (const rule of rules) {
    const applied = (plan: LogicalPlan): LogicalPlan => {
      const rewritten = mapParts(plan, {
        plan: applied,
        expression: (expression) => rewriteSubPlans(expression, applied),
      });
      return rule.apply(rewritten, context, required) ?? rewritten;
    };
    current = applied(current);
  }
  return current;
}

interface Optimized {
  readonly plan: LogicalPlan;
  readonly pauseCount: number;
}

function optimizedInSteps(program: QueryProgram, view: ReadView): Optimized {
  const environment = {
    catalog: view.catalog,
    statistics: statisticsOf(view),
    functions: functionRegistry,
  };
  const onChange = (_: string, changed: QueryProgram): void => checkProgram(changed);
  const steps = optimizeSteps(program, environment, { onChange });
  for (let pauseCount = 0; ; pauseCount += 1) {
    const { done, value } = steps.next();
    if (done === true) return { plan: value.plan, pauseCount };
  }
}

const terms = [
  (at: number) => `n.k <> ${at}`,
  (at: number) => `n.p${at} = ${at}`,
  (at: number) => `m.name <> 'name ${at}'`,
  (at: number) => `n.k + m.k <> ${-at}`,
  (at: number) => `NOT (n.k = ${at} OR m.k = ${at})`,
  (at: number) => `EXISTS { (n)-[:K]->({k: ${at}}) }`,
  () => '1 = 1',
  (at: number) => `rand() < ${at}`,
  () => 'm <> n',
];
const condition = fc
  .tuple(
    fc.uniqueArray(fc.constantFrom(...terms), { minLength: 1, maxLength: 3 }),
    fc.integer({ min: 80, max: 900 }),
    fc.constantFrom(' AND ', ' AND ', ' OR ', ' XOR '),
  )
  .map(([some, count, connective]) =>
    Array.from({ length: count }, (_, at) => some[at % some.length]?.(at)).join(connective),
  );
const clauses = [
  (where: string) => `MATCH (n:P)-[:K]->(m:P) WHERE ${where} RETURN count(*) AS c`,
  (where: string) =>
    `MATCH (n:P)-[:K]-(x)-[:K]-(m:P) WHERE ${where} RETURN n.k AS k, count(m) AS c`,
  (where: string) => `MATCH (n:P), (m:P {k: 3}) WHERE n.k = m.k AND ${where} RETURN n LIMIT 3`,
  (where: string) => `MATCH (a:P), (b:P) WITH a AS n, b AS m, a.k AS k WHERE ${where} RETURN k`,
  (where: string) => `MATCH (n:P) OPTIONAL MATCH (n)-[:K]->(m:P) WHERE ${where} RETURN n.k, m.k`,
];
const statement = fc
  .tuple(fc.constantFrom(...clauses), condition)
  .map(([clause, where]) => clause(where));

test('rules in stretches make the plan that they make at once', async () => {
  await using db = await SqlDatabase.open();
  for (const text of schema) await db.run(text);
  const transaction = db.state.begin('REPEATABLE_READ');
  transaction.beginStatement();
  let pauseCount = 0;
  fc.assert(
    fc.property(statement, (text) => {
      const program = programOf(text, transaction);
      const inSteps = optimizedInSteps(program, transaction);
      assert.equal(printPlan(inSteps.plan), printPlan(optimizedAtOnce(program, transaction)));
      pauseCount += inSteps.pauseCount;
    }),
    { numRuns: Number(process.env['COUNT'] ?? 8) },
  );
  assert.ok(pauseCount > 150, `${pauseCount} pauses`);
  transaction.rollback();
});

test('rules pause after some thousand of what they go through', async () => {
  await using db = await SqlDatabase.open();
  for (const text of schema) await db.run(text);
  const transaction = db.state.begin('REPEATABLE_READ');
  transaction.beginStatement();
  const many = (item: (at: number) => string, separator: string): string =>
    Array.from({ length: 8_000 }, (_, at) => item(at)).join(separator);
  const nodes = (count: number): string =>
    Array.from({ length: count }, (_, at) => `(a${at}:P {k: ${at}})`).join(', ');
  const between = (count: number, conditions: number): string =>
    Array.from({ length: count * count }, (_, pair) => [Math.floor(pair / count), pair % count])
      .filter(([left = 0, right = 0]) => left < right)
      .slice(0, conditions)
      .map(([left, right]) => `a${left}.x <> a${right}.y`)
      .join(' AND ');
  for (const [pauses, text] of [
    [80, `MATCH (n:P) WHERE ${many((at) => `n.p${at} IS NULL`, ' AND ')} RETURN n`],
    [80, `MATCH (n:P), (m:P) WHERE ${many((at) => `n.k + m.k <> ${at}`, ' AND ')} RETURN n`],
    [50, `MATCH (n:P) WHERE ${many((at) => `n.k = ${at}`, ' OR ')} RETURN n`],
    // Many nodes with conditions of their own are no long list: beginning anew would go through all of them each time.
    [0, `MATCH ${nodes(150)} RETURN a1`],
    // Conditions between them: each of the rounds of planning would begin anew with all before it.
    [5, `MATCH ${nodes(130)} WHERE ${between(130, 6_000)} RETURN a1`],
    // One expression is long, as a chain or in columns.
    [40, `MATCH (n:P) RETURN ${many((at) => `n.p${at}`, ' + ')} AS x`],
    [40, `MATCH (n:P) RETURN ${many((at) => `n.p${at} AS c${at}`, ', ')}`],
    [20, `MATCH (n:P) RETURN CASE ${many((at) => `WHEN n.k = ${at} THEN ${at}`, ' ')} END AS x`],
    [10, `MATCH (n:P) SET ${many((at) => `n.p${at} = ${at}`, ', ')}`],
    [15, `CREATE ${many((at) => `(n${at}:P {k: ${at}})`, ', ')}`],
  ] as const) {
    const { pauseCount } = optimizedInSteps(programOf(text, transaction), transaction);
    assert.ok(
      pauseCount >= pauses && pauseCount < 500,
      `${pauseCount} pauses in ${text.slice(0, 60)}`,
    );
  }
  transaction.rollback();
});
