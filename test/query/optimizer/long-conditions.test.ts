import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { rules } from '#query/optimizer/rules.ts';
import { printRows } from '#test/query/support/print-rows.ts';
import { SqlDatabase } from '#test/query/support/sql-database.ts';

// Goal: many comparisons of one property, which become one look into a list, give the rows that they give one by one. Method:
// random chains, with all rules and with none, over values of every type that meets numbers and texts.

const properties = ['n', 's', 'f', 'dec', 'day', 'flag', 'list', 'free', 'absent'];
const values = [
  ...['0', '1', '2', '5', '1.5', '-3', '9007199254740993', "'1'", "'5'", "'Ada'", "'ada'", "''"],
  ...["'2020-02-29'", "'true'", "'1.5'", 'null', 'true', '[1, 5]', ':n', ':s', '2 + 3', 's'],
];

const comparison = fc
  .tuple(
    fc.constantFrom(...properties),
    fc.constantFrom('=', '<>', '<>', '!='),
    fc.constantFrom(...values),
    fc.constantFrom('plain', 'plain', 'plain', 'negated', 'swapped'),
  )
  .map(([property, operator, value, form]) => {
    if (form === 'negated') return `NOT (${property} ${operator} ${value})`;
    return form === 'swapped'
      ? `${value} ${operator} ${property}`
      : `${property} ${operator} ${value}`;
  });

/** Mostly of one property, as generated statements are. */
const chainOfOne = fc
  .tuple(
    fc.constantFrom(...properties),
    fc.constantFrom('=', '<>'),
    fc.array(fc.constantFrom(...values), { minLength: 16, maxLength: 24 }),
    fc.array(comparison, { maxLength: 3 }),
  )
  .map(([property, operator, constants, others]) => [
    ...constants.map((value) => `${property} ${operator} ${value}`),
    ...others,
  ]);

const condition = fc
  .tuple(
    fc.oneof(chainOfOne, fc.array(comparison, { minLength: 16, maxLength: 30 })),
    fc.constantFrom(' AND ', ' OR '),
    fc.boolean(),
  )
  .map(([terms, connective, isNegated]) =>
    isNegated ? `NOT (${terms.join(connective)})` : terms.join(connective),
  );

async function filled(): Promise<SqlDatabase> {
  const db = await SqlDatabase.open();
  const types = ['n INTEGER', 's STRING', 'f DOUBLE', 'dec DECIMAL', 'day DATE', 'flag BOOLEAN'];
  await db.run('CREATE DOCUMENT TYPE T');
  for (const type of [...types, 'list LIST', 'k INTEGER'])
    await db.run(`CREATE PROPERTY T.${type}`);
  await db.run('CREATE INDEX ON T (n) NOTUNIQUE');
  await db.run('CREATE INDEX ON T (s, n) NOTUNIQUE');
  const rows = [
    ["n = 1, s = 'Ada', f = 1.5, dec = '5', day = '2020-02-29', flag = true, list = [1]"],
    ["n = 5, s = '5', f = 5, dec = '1.50', day = '1999-12-31', flag = false, list = [1, 5]"],
    ["n = 2, s = '', f = 0.0, list = ['1'], free = 5"],
    ["n = 0, s = 'true', free = '5'", 'free = 1.5', 'free = [5]', "free = 'Ada'"],
    ['free = true', 'n = -3, free = 9007199254740993', "s = 'ada'", 'free = null'],
  ].flat();
  for (const [k, row] of rows.entries()) await db.run(`INSERT INTO T SET k = ${k}, ${row}`);
  return db;
}

test('a long chain of comparisons gives the rows of its terms', async () => {
  await using db = await filled();
  const parameters = new Map<string, number | string>([
    ['n', 5],
    ['s', 'Ada'],
  ]);
  const all = new Set(rules.map((rule) => rule.name));
  await fc.assert(
    fc.asyncProperty(condition, async (text) => {
      const statement = `SELECT k FROM T WHERE ${text}`;
      const plain = printRows(await db.run(statement, { parameters, disabled: all }));
      assert.equal(printRows(await db.run(statement, { parameters })), plain, text);
    }),
    { numRuns: Number(process.env['COUNT'] ?? 150) },
  );
});
