// Goal: an index finds what openCypher calls equal or in order, though its keys are made by the rules of SQL. Method: the same records in
// two types, one of which has indexes; every comparison with values of every kind, as parameter, must give the same rows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultTemporalFormats } from '#core/temporal/format.ts';
import type { Value } from '#core/value/value.ts';
import { double } from '#core/value/value.ts';
import { keyFor } from '#query/operators/index-read/index-key.ts';
import { openTestDatabase, type TestDatabase } from '#test/database/support/open-test-database.ts';

/** By declared type; '' is none. Each with what records hold, written in SQL, since it converts to what is declared. */
const columns: Readonly<Record<string, readonly string[]>> = {
  '': [
    "'7'",
    '7',
    '7.0',
    '-0.0',
    '9007199254740993',
    "'a'",
    "'name 12'",
    "'2020-01-01'",
    'true',
    "'true'",
    '[1, 2]',
    "date('2020-01-01')",
  ],
  STRING: ["'7'", "'a'", "'A'", "'true'", "'7.0'", "''", "'\\uFFFF'", "'\\uD83D\\uDE00'"],
  INTEGER: ['7', '0', '-1', '2147483647'],
  LONG: ['7', '9007199254740993', '-9223372036854775808', '9223372036854775807'],
  DOUBLE: ['7.0', '7.5', '9007199254740992.0', '1e308', '-0.0'],
  FLOAT: ['7.0', '7.5', '0.1'],
  DECIMAL: ["'7'", "'7.00000000000000000001'", "'0.1'"],
  BOOLEAN: ['true', 'false'],
  DATE: ["'2020-01-01'", "'2021-05-06'"],
  DATETIME: ["'2020-01-01 00:00:00'", "'2021-05-06 07:08:09'"],
};

const asked: readonly Value[] = [
  null,
  7,
  0,
  -1,
  double(7),
  7.5,
  0.1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  9007199254740992,
  9007199254740993n,
  9223372036854775807n,
  double(9007199254740992),
  '7',
  'a',
  'A',
  '',
  'true',
  'name 12',
  '2020-01-01',
  '\uFFFF',
  '\u{1F600}',
  true,
  false,
  [7],
  new Map<string, Value>([['a', 7]]),
];

const conditions = [
  'n.p = $v',
  '$v = n.p',
  'n.p < $v',
  'n.p >= $v',
  '$v <= n.p',
  'n.p > $v AND n.p <= $w',
  'n.p IN [$v, $w]',
  'n.p IN $v',
  'n.p STARTS WITH $v',
  'n.p = $v OR n.p = $w',
  'n.q = 1 AND n.p = $v',
  'n.p = date($v)',
];

async function makeTypes(engine: TestDatabase, kind: string, values: readonly string[]) {
  for (const type of [`Plain${kind}`, `Keyed${kind}`]) {
    await engine.run(`CREATE VERTEX TYPE ${type}`);
    if (kind !== '') await engine.run(`CREATE PROPERTY ${type}.p ${kind}`);
    for (const [at, value] of values.entries())
      await engine.run(`INSERT INTO ${type} SET p = ${value}, q = ${at % 2}, at = ${at}`);
  }
  for (const properties of ['n.p', 'n.q, n.p'])
    await engine.run(`CREATE INDEX FOR (n:Keyed${kind}) ON (${properties})`, {}, {}, 'cypher');
}

async function rowsOf(engine: TestDatabase, type: string, condition: string, [v, w]: Value[]) {
  const text = `MATCH (n:${type}) WHERE ${condition} RETURN n.at AS at ORDER BY at`;
  const parameters = { v: v ?? null, w: w ?? null };
  try {
    return await engine.print(text, parameters, {}, 'cypher');
  } catch (error) {
    return String((error as Error).message).replaceAll(type, 'T');
  }
}

for (const [kind, values] of Object.entries(columns))
  test(`a search in ${kind || 'what is not declared'} finds what a scan finds`, async (context) => {
    const engine = await openTestDatabase();
    context.after(() => engine.close());
    await makeTypes(engine, kind, values);
    let found = 0;
    for (const condition of conditions)
      for (const [at, v] of asked.entries()) {
        const both = [v, asked[(at * 7 + 3) % asked.length] as Value];
        const keyed = await rowsOf(engine, `Keyed${kind}`, condition, both);
        const plain = await rowsOf(engine, `Plain${kind}`, condition, both);
        assert.equal(keyed, plain, `${condition} with ${String(v)} and ${String(both[1])}`);
        if (keyed !== '') found += 1;
      }
    assert.ok(found > 10, 'some find something');
  });

test('texts, numbers and booleans are looked up where nothing is declared', () => {
  const undeclared = { type: undefined, caseInsensitive: false };
  const rules = { isFlipped: false, isOfCypher: true };
  for (const value of ['name 12', '7', '', 'true', 7, 7.5, double(7), true]) {
    const found = keyFor(value, undeclared, defaultTemporalFormats, rules);
    assert.equal(found.kind, 'key', `${String(value)} has a key`);
  }
  for (const value of [9007199254740993n, double(2 ** 60), [7], new Map()])
    assert.equal(
      keyFor(value, undeclared, defaultTemporalFormats, rules).kind,
      'scan',
      String(value),
    );
});
