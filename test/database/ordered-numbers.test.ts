import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { double } from '#core/value/value.ts';
import { openTestDatabase, type TestDatabase } from './support/open-test-database.ts';

// Goal: NaN and the infinities mean the same in every ordered place, with an index and without: comparisons, BETWEEN, IN (few and
// many), joins, keys of one and of two properties, items, order with and without a limit, min and max, groups, DISTINCT, unique
// indexes. Method: the same values in types that differ by their index, each statement beside what it must give.

const numbers: Readonly<Record<string, number>> = {
  lowest: -Infinity,
  negative: -1.5,
  zero: 0,
  half: 0.5,
  one: 1,
  large: 2 ** 60,
  highest: Infinity,
  none: NaN,
};
const names = Object.keys(numbers);
const indexes: Readonly<Record<string, string | undefined>> = {
  Plain: undefined,
  Single: 'x) NOTUNIQUE',
  Lone: 'x) UNIQUE',
  Hashed: 'x) UNIQUE_HASH',
  First: 'x, g) NOTUNIQUE',
  Second: 'g, x) NOTUNIQUE',
  Items: 'list BY ITEM) NOTUNIQUE',
};
const types = Object.keys(indexes);
let db: TestDatabase;

before(async () => {
  db = await openTestDatabase();
  for (const type of types) {
    await db.run(`CREATE VERTEX TYPE ${type}`);
    await db.run(`CREATE PROPERTY ${type}.x DOUBLE`);
    await db.run(`CREATE PROPERTY ${type}.g INTEGER`);
    await db.run(`CREATE PROPERTY ${type}.list LIST OF DOUBLE`);
    const index = indexes[type];
    if (index !== undefined) await db.run(`CREATE INDEX ON ${type} (${index}`);
    for (const [k, n] of Object.entries(numbers))
      await db.run(`INSERT INTO ${type} SET k = :k, g = 1, x = :x, list = [:x]`, {
        k,
        x: double(n),
      });
    // What has no number is in no range.
    await db.run(`INSERT INTO ${type} SET k = 'nothing', g = 1`);
  }
});

after(() => db.close());

type Parameters = Readonly<Record<string, number | readonly number[]>>;

async function found(language: string, text: string, given: Parameters = {}): Promise<string[]> {
  const parameters = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      typeof value === 'number' ? double(value) : value.map((n) => double(n)),
    ]),
  );
  const rows = await db.run(text, parameters, {}, language);
  return rows.map((row) => String(row['k']));
}

const where = (holds: (n: number) => boolean): string[] =>
  Object.entries(numbers)
    .filter(([, n]) => holds(n))
    .map(([k]) => k)
    .sort();

/** Each type gives the same, in SQL and in Cypher. */
async function requireSame(
  conditions: { readonly sql: string; readonly cypher: string },
  given: Parameters,
  wanted: readonly string[],
): Promise<void> {
  for (const type of types) {
    const asked = `${type}: ${conditions.sql} ${JSON.stringify(Object.values(given).map(String))}`;
    const sql = await found('sql', `SELECT k FROM ${type} WHERE ${conditions.sql}`, given);
    assert.deepEqual(sql.sort(), wanted, asked);
    const cypher = await found(
      'cypher',
      `MATCH (n:${type}) WHERE ${conditions.cypher} RETURN n.k AS k`,
      given,
    );
    assert.deepEqual(cypher.sort(), wanted, `${asked}, cypher`);
  }
}

const comparisons: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '=': (a, b) => a === b,
  '<>': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
};

for (const [operator, holds] of Object.entries(comparisons))
  test(`x ${operator} each number`, async () => {
    for (const x of Object.values(numbers)) {
      const wanted = where((n) => holds(n, x));
      await requireSame({ sql: `x ${operator} :x`, cypher: `n.x ${operator} $x` }, { x }, wanted);
      await requireSame(
        { sql: `g = 1 AND x ${operator} :x`, cypher: `n.g = 1 AND n.x ${operator} $x` },
        { x },
        wanted,
      );
    }
  });

test('ranges with two ends', async () => {
  for (const low of Object.values(numbers))
    for (const high of [-1.5, 1, Infinity, NaN]) {
      const given = { low, high };
      await requireSame(
        { sql: 'x BETWEEN :low AND :high', cypher: '$low <= n.x <= $high' },
        given,
        where((n) => n >= low && n <= high),
      );
      await requireSame(
        { sql: 'x > :low AND x < :high AND g = 1', cypher: '$low < n.x < $high AND n.g = 1' },
        given,
        where((n) => n > low && n < high),
      );
    }
});

test('lists, short and long, and items', async () => {
  const many = Array.from({ length: 40 }, (_, at) => at + 100);
  for (const x of Object.values(numbers))
    for (const list of [[x], [x, 1], [...many, x, 0.5]]) {
      const wanted = where((n) => list.some((m) => m === n));
      await requireSame({ sql: 'x IN :list', cypher: 'n.x IN $list' }, { list }, wanted);
      await requireSame(
        { sql: 'x IS NOT NULL AND x NOT IN :list', cypher: 'NOT n.x IN $list' },
        { list },
        where((n) => !list.some((m) => m === n)),
      );
      await requireSame(
        { sql: 'list CONTAINSANY :list', cypher: 'any(e IN n.list WHERE e IN $list)' },
        { list },
        wanted,
      );
    }
  for (const x of Object.values(numbers))
    await requireSame(
      { sql: 'list CONTAINS :x', cypher: '$x IN n.list' },
      { x },
      where((n) => n === x),
    );
});

test('joins', async () => {
  const wanted = names.filter((k) => k !== 'none').sort();
  for (const type of types) {
    const cypher = `MATCH (a:Plain), (b:${type}) WHERE a.x = b.x RETURN a.k + '' AS k`;
    assert.deepEqual((await found('cypher', cypher)).sort(), wanted, type);
    const sql = `MATCH {type: Plain, as: a}, {type: ${type}, as: b, where: (x = $matched.a.x)} RETURN a.k AS k`;
    assert.deepEqual((await found('sql', sql)).sort(), wanted, type);
  }
});

test('order, with and without a limit: NaN behind all numbers', async () => {
  for (const type of types)
    for (const [skip, limit] of [
      [0, 100],
      [0, 1],
      [0, 3],
      [2, 4],
      [6, 5],
    ] as const)
      for (const direction of ['ASC', 'DESC']) {
        const sorted = direction === 'ASC' ? names : names.toReversed();
        const wanted = sorted.slice(skip, skip + limit);
        const asked = `${type} ${direction} ${skip} ${limit}`;
        for (const condition of ['x IS NOT NULL', 'g = 1 AND x IS NOT NULL']) {
          const sql = `SELECT k FROM ${type} WHERE ${condition} ORDER BY x ${direction} SKIP ${skip} LIMIT ${limit}`;
          assert.deepEqual(await found('sql', sql), wanted, asked);
        }
        const cypher = `MATCH (n:${type}) WHERE n.x IS NOT NULL RETURN n.k AS k ORDER BY n.x ${direction} SKIP ${skip} LIMIT ${limit}`;
        assert.deepEqual(await found('cypher', cypher), wanted, asked);
      }
});

test('min, max, groups and DISTINCT: one NaN, the highest', async () => {
  for (const type of types) {
    const wanted = { low: -Infinity, high: NaN, n: names.length };
    const sql = `SELECT min(x) AS low, max(x) AS high, count(x) AS n FROM ${type}`;
    const printed = (row: unknown) =>
      JSON.stringify(row, (_, v) => (typeof v === 'number' ? `${v}` : v));
    assert.equal(printed((await db.run(sql))[0]), printed(wanted), type);
    const cypher = `MATCH (n:${type}) RETURN min(n.x) AS low, max(n.x) AS high, count(DISTINCT n.x) AS n`;
    assert.equal(printed((await db.run(cypher, {}, {}, 'cypher'))[0]), printed(wanted), type);
    // Each number twice: in itself and in its list.
    const groups = await db.run(`SELECT x, count(*) AS n FROM ${type} GROUP BY x`);
    assert.equal(groups.length, names.length + 1, type);
    assert.equal((await db.run(`SELECT DISTINCT x FROM ${type}`)).length, names.length + 1, type);
    const twice = `MATCH (n:${type}), (m:Plain) WITH n.x AS x, count(*) AS n RETURN count(*) AS groups, sum(n) AS rows`;
    assert.deepEqual(await db.run(twice, {}, {}, 'cypher'), [
      { groups: names.length + 1, rows: (names.length + 1) ** 2 },
    ]);
  }
});

test('a unique index takes each of them once', async () => {
  for (const type of ['Lone', 'Hashed'])
    for (const n of [NaN, Infinity, -Infinity, -0])
      await assert.rejects(
        db.run(`INSERT INTO ${type} SET k = 'again', x = :n`, { n: double(n) }),
        { code: 'DuplicatedKey' },
      );
});
