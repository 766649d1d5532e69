// Goal: the optimizer changes no rows of openCypher either, also where indexes search by the rules of SQL. Method: random conditions
// over declared and undeclared properties with indexes, run with all rules, with none, and with one left out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import { textOf } from '#core/text/text-form.ts';
import { cypherFrontend } from '#language/cypher/frontend.ts';
import type { QueryProgram } from '#query/algebra/plan.ts';
import { rules } from '#query/optimizer/rules.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';
import type { Transaction } from '#transaction/transaction.ts';

const allRules = new Set(rules.map(({ name }) => name));

const schema = [
  'CREATE VERTEX TYPE P',
  'CREATE EDGE TYPE K',
  'CREATE PROPERTY P.i INTEGER',
  'CREATE PROPERTY P.d DOUBLE',
  'CREATE PROPERTY P.s STRING',
  'CREATE PROPERTY P.c STRING',
  'CREATE PROPERTY P.l LONG',
  'CREATE INDEX ON P (i) NOTUNIQUE',
  'CREATE INDEX ON P (d) NOTUNIQUE NULL_STRATEGY INDEX',
  'CREATE INDEX ON P (s) NOTUNIQUE',
  'CREATE INDEX ON P (c COLLATE CI) NOTUNIQUE',
  'CREATE INDEX ON P (l, i) NOTUNIQUE',
];

async function filled(): Promise<SqlDatabase> {
  const db = await SqlDatabase.open();
  for (const statement of schema) await db.run(statement);
  const texts = ['a', 'A', 'ab', '5', '', 'b'];
  const longs = ['9007199254740993', '9007199254740992', '5', '0'];
  for (let at = 0; at < 24; at += 1) {
    const values = [`n = ${at}`];
    if (at % 5 !== 0) values.push(`i = ${(at * 7) % 6}`);
    if (at % 4 !== 0) values.push(`d = ${((at * 3) % 7) / 2}`);
    if (at % 3 !== 0) values.push(`s = '${texts[at % 6]}'`, `c = '${texts[(at * 5) % 6]}'`);
    if (at % 6 !== 0) values.push(`l = ${longs[at % 4]}`);
    if (at % 2 === 0) values.push(`u = ${at % 8 === 0 ? "'5'" : at % 5}`);
    await db.run(`CREATE VERTEX P SET ${values.join(', ')}`);
  }
  for (let at = 0; at < 20; at += 1)
    await db.run(
      `CREATE EDGE K FROM (SELECT FROM P WHERE n = ${(at * 5) % 24}) TO (SELECT FROM P WHERE n = ${(at * 11 + 2) % 24}) SET w = ${at % 4}`,
    );
  return db;
}

const property = fc.constantFrom('i', 'd', 's', 'c', 'l', 'u', 'n', 'x');
const constant = fc.constantFrom(
  ...['5', '0', '1.5', '5.0', '-1', "'5'", "'a'", "'A'", "''", 'null', 'true', '[5]', '0.0/0.0'],
  ...['9007199254740993', '9007199254740992.0', '2'],
);
const leaf = fc.oneof(
  fc
    .tuple(property, fc.constantFrom('=', '<>', '<', '<=', '>', '>='), constant)
    .map(([p, o, c]) => `a.${p} ${o} ${c}`),
  fc.tuple(property, constant).map(([p, c]) => `${c} >= a.${p}`),
  fc
    .tuple(property, fc.array(constant, { maxLength: 3 }))
    .map(([p, list]) => `a.${p} IN [${list.join(', ')}]`),
  fc
    .tuple(property, fc.constantFrom("'a'", "'5'", "''"))
    .map(([p, c]) => `a.${p} STARTS WITH ${c}`),
  property.map((p) => `a.${p} IS NULL`),
  fc.constantFrom('id(a) IN [137438953472, 137438953475]', "elementId(a) = '#1:4'", 'a.i = a.l'),
);
const condition = fc.oneof(
  leaf,
  fc.tuple(leaf, leaf).map(([x, y]) => `(${x}) AND (${y})`),
  fc.tuple(leaf, leaf).map(([x, y]) => `(${x}) OR (${y})`),
  leaf.map((x) => `NOT (${x})`),
  fc
    .array(constant, { minLength: 16, maxLength: 18 })
    .map((values) => values.map((value) => `a.i = ${value}`).join(' OR ')),
);
const statement = fc
  .tuple(
    fc.constantFrom('(a:P)', '(a:P)-[r:K]->(b)', '(b)<-[:K]-(a:P)-[:K]-(c)', '(a:P), (b:P)'),
    condition,
    fc.constantFrom(
      'a.n ORDER BY a.n',
      'count(*)',
      'DISTINCT a.u AS u ORDER BY u',
      'min(a.u), max(a.s), sum(a.i)',
      'a.n, a.s ORDER BY a.s DESC, a.n LIMIT 5',
    ),
  )
  .map(([pattern, where, items]) => {
    const join = pattern.endsWith('(b:P)') ? ' AND a.u = b.i' : '';
    return `MATCH ${pattern} WHERE (${where})${join} RETURN ${items}`;
  });

test('statements of openCypher give the same rows with and without the rules', async () => {
  await using db = await filled();
  await fc.assert(
    fc.asyncProperty(statement, fc.constantFrom(...allRules), async (text, rule) => {
      const transaction = db.state.begin('READ_COMMITTED');
      transaction.beginStatement();
      try {
        const answers: string[] = [];
        for (const disabled of [new Set<string>(), allRules, new Set([rule])])
          answers.push(await answerOf(db, text, transaction, disabled));
        assert.equal(answers[0], answers[1], text);
        assert.equal(answers[2], answers[1], `${text} without ${rule}`);
      } finally {
        transaction.rollback();
      }
    }),
    { numRuns: Number(process.env['COUNT'] ?? 80) },
  );
});

async function answerOf(
  db: SqlDatabase,
  text: string,
  transaction: Transaction,
  disabled: ReadonlySet<string>,
): Promise<string> {
  const limits = { expressionDepthMax: 200, statementBytesMax: 1 << 20 };
  const program = cypherFrontend.analyze(cypherFrontend.parse(text, limits), {
    catalog: transaction.catalog,
    variables: new Map(),
    parameterNames: undefined,
    expressionDepthMax: 200,
  }) as QueryProgram;
  const { rows } = await db.execute(program, transaction, { disabled, isRead: true });
  return rows
    .map((row) => row.map((value) => textOf(value, defaultTemporalFormats)).join(' '))
    .join('\n');
}
