import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { rules } from '#query/optimizer/rules.ts';
import type { Transaction } from '#transaction/transaction.ts';
import { printRows } from '#test/query/support/print-rows.ts';
import { SqlDatabase, type StatementResult } from '#test/query/support/sql-database.ts';

// Goal: whatever the optimizer does, the rows stay the same. Method: random statements over a small graph with every kind of
// index, run with all rules and with none, and with one rule left out at random.

const allRules = new Set(rules.map((rule) => rule.name));

const schema = [
  'CREATE VERTEX TYPE Person',
  'CREATE VERTEX TYPE Student EXTENDS Person',
  'CREATE VERTEX TYPE City',
  'CREATE EDGE TYPE Knows',
  'CREATE EDGE TYPE Likes EXTENDS Knows',
  'CREATE EDGE TYPE LivesIn',
  'CREATE PROPERTY Person.id INTEGER',
  'CREATE PROPERTY Person.name STRING',
  'CREATE PROPERTY Person.nick STRING',
  'CREATE PROPERTY Person.age INTEGER',
  'CREATE PROPERTY Person.score DOUBLE',
  'CREATE PROPERTY Person.price DECIMAL',
  'CREATE PROPERTY Person.born DATE',
  'CREATE PROPERTY Person.tags LIST OF STRING',
  'CREATE PROPERTY Person.seen DATETIME',
  'CREATE PROPERTY Person.flag BOOLEAN',
  'CREATE PROPERTY Person.big LONG',
  'CREATE PROPERTY Person.friend LINK',
  'CREATE PROPERTY Person.code STRING',
  'CREATE PROPERTY City.name STRING',
  'CREATE INDEX ON Person (id) UNIQUE',
  'CREATE INDEX ON Person (name) NOTUNIQUE',
  'CREATE INDEX ON Person (nick COLLATE CI) NOTUNIQUE',
  'CREATE INDEX ON Person (age, score) NOTUNIQUE',
  'CREATE INDEX ON Person (age) NOTUNIQUE',
  'CREATE INDEX ON Person (score) NOTUNIQUE NULL_STRATEGY INDEX',
  'CREATE INDEX ON Person (price) NOTUNIQUE',
  'CREATE INDEX ON Person (born) NOTUNIQUE',
  'CREATE INDEX ON Person (tags BY ITEM) NOTUNIQUE',
  'CREATE INDEX ON Person (seen) NOTUNIQUE',
  'CREATE INDEX ON Person (flag, seen) NOTUNIQUE NULL_STRATEGY INDEX',
  'CREATE INDEX ON Person (big) NOTUNIQUE',
  'CREATE INDEX ON Person (friend) NOTUNIQUE',
  'CREATE INDEX ON Person (code) NOTUNIQUE_HASH',
  'CREATE INDEX ON City (name) UNIQUE',
];

function dataStatements(): readonly string[] {
  const statements: string[] = [];
  const pick = <T>(list: readonly T[], at: number): T => list[at % list.length] as T;
  for (let i = 0; i < 5; i += 1) statements.push(`CREATE VERTEX City SET name = 'city${i}'`);
  for (let i = 0; i < 40; i += 1) {
    const values = [`id = ${i}`];
    if (i % 7 !== 0) values.push(`name = '${pick(['Ada', 'Bob', 'ada', 'Cy', '5', 'Al'], i * 5)}'`);
    if (i % 5 !== 0) values.push(`nick = '${pick(['Foo', 'foo', 'BAR', 'bar', 'Baz'], i * 3)}'`);
    if (i % 6 !== 0) values.push(`age = ${pick([5, 7, 7, 20, 36, 36, 50], i * 11)}`);
    if (i % 4 !== 0) values.push(`score = ${pick([1.5, 2, 5, 7.25, 9.99, -3], i * 13)}`);
    if (i % 3 !== 0) values.push(`price = ${pick(['9.99', '10', '0.1', '7'], i)}`);
    if (i % 3 !== 1) values.push(`born = '${pick(['2001-01-01', '1999-12-31', '2020-02-29'], i)}'`);
    if (i % 2 === 0)
      values.push(`tags = ${pick(["['x']", "['x','y']", '[]', "['y','5']"], i / 2)}`);
    if (i % 5 !== 1)
      values.push(`seen = '${pick(['2020-02-29 10:00:00', '2001-01-01 00:00:00'], i * 3)}'`);
    if (i % 4 !== 2) values.push(`flag = ${i % 3 === 0}`);
    if (i % 6 !== 2) values.push(`big = ${pick(['9007199254740993', '9007199254740992', '5'], i)}`);
    if (i % 8 > 2) values.push(`friend = #1:${i % 6}`);
    if (i % 3 !== 2) values.push(`code = '${pick(['u', 'U', '5', ''], i)}'`);
    statements.push(`CREATE VERTEX ${i % 4 === 3 ? 'Student' : 'Person'} SET ${values.join(', ')}`);
  }
  for (let i = 0; i < 70; i += 1) {
    const type = i % 5 === 0 ? 'Likes' : 'Knows';
    statements.push(
      `CREATE EDGE ${type} FROM (SELECT FROM Person WHERE id = ${(i * 7) % 40}) TO (SELECT FROM Person WHERE id = ${(i * 13 + 3) % 40}) SET since = ${2000 + (i % 9)}`,
    );
  }
  for (let i = 0; i < 40; i += 3)
    statements.push(
      `CREATE EDGE LivesIn FROM (SELECT FROM Person WHERE id = ${i}) TO (SELECT FROM City WHERE name = 'city${i % 5}')`,
    );
  statements.push('DELETE FROM Person WHERE id = 11');
  return statements;
}

const constant = fc.constantFrom(
  ...['5', '7', '36', '2', '1.5', '9.99', '7.0', '-3', "'5'", "'Ada'", "'ada'", "'foo'", "'7'"],
  ...["'x'", "'2001-01-01'", "'1999-12-31'", 'null', 'true', '[5, 7]', "'9.99'", '100000000000'],
  ...['date("2020-02-29", "yyyy-MM-dd")', '3 + 4', "'city1'", '0', 'false', "'true'", "'U'", "''"],
  ...["'2020-02-29 10:00:00'", "'2020-02-29'", '9007199254740993', "'9007199254740993'", '#1:3'],
  ...["'#1:3'", '9007199254740992.0', "'U'.toLowerCase()", 'abs(-7)', '1577836800000'],
);
const property = fc.constantFrom(
  'id',
  'name',
  'nick',
  'age',
  'score',
  'price',
  'born',
  'tags',
  'x',
  'seen',
  'flag',
  'big',
  'friend',
  'code',
);
const operator = fc.constantFrom('=', '<>', '<', '<=', '>', '>=', '<=>');

const leaf = fc.oneof(
  fc.tuple(property, operator, constant).map(([p, o, c]) => `${p} ${o} ${c}`),
  fc.tuple(property, operator, constant).map(([p, o, c]) => `${c} ${o} ${p}`),
  fc.tuple(property, constant, constant).map(([p, a, b]) => `${p} BETWEEN ${a} AND ${b}`),
  fc
    .tuple(property, fc.array(constant, { maxLength: 4 }))
    .map(([p, list]) => `${p} IN [${list.join(', ')}]`),
  property.map((p) => `${p} IS NULL`),
  property.map((p) => `${p} IS NOT NULL`),
  fc
    .tuple(property, fc.constantFrom('A%', 'ad%', '%a', 'fo_', '5', 'Ada', 'F%'))
    .map(([p, pattern]) => `${p} LIKE '${pattern}'`),
  fc.constantFrom('A%', 'fO%').map((pattern) => `nick ILIKE '${pattern}'`),
  fc.constantFrom("'x'", "'y'", "'5'", '5', "['x','y']").map((c) => `tags CONTAINS ${c}`),
  fc.constantFrom("['x']", "['5','q']", "'y'").map((c) => `tags CONTAINSANY ${c}`),
  fc.constantFrom('foo', 'FOO').map((text) => `nick.toLowerCase() = '${text}'`),
  fc
    .tuple(fc.constantFrom('=', '>', '<=', '>='), fc.constantFrom('#1:3', '#1:10', '#2:1', '#0:0'))
    .map(([o, rid]) => `@rid ${o} ${rid}`),
  fc.constantFrom('@rid IN [#1:5, #1:2, #2:1, #1:5]', '1 = 1', '1 = 2', 'age = score'),
);

type Conditions = Record<'node' | 'and' | 'or' | 'not', string>;

const condition: fc.Arbitrary<string> = fc.letrec<Conditions>((tie) => ({
  node: fc.oneof(
    { maxDepth: 2, depthSize: 'small' },
    leaf,
    tie('and'),
    tie('or'),
    tie('not'),
    leaf,
  ),
  not: tie('node').map((inner) => `NOT (${inner})`),
  and: fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(${a} AND ${b})`),
  or: fc.tuple(tie('node'), tie('node')).map(([a, b]) => `(${a} OR ${b})`),
})).node;

const where = fc.oneof(
  { weight: 4, arbitrary: condition.map((text) => ` WHERE ${text}`) },
  fc.constant(''),
);
const orderKey = fc
  .tuple(fc.constantFrom('id', 'name', 'age', 'score', 'price', 'born'), fc.boolean())
  .map(([name, isDescending]) => name + (isDescending ? ' DESC' : ''));
const order = fc.oneof(
  fc.constant(''),
  fc.array(orderKey, { minLength: 1, maxLength: 2 }).map((keys) => ` ORDER BY ${keys.join(', ')}`),
  fc.constantFrom(' ORDER BY age, score', ' ORDER BY age DESC, score DESC'),
  fc.constantFrom(' ORDER BY @rid', ' ORDER BY @rid DESC'),
);
const limit = fc.constantFrom('', '', ' LIMIT 3', ' LIMIT 10', ' SKIP 2 LIMIT 4', ' SKIP 3');
const target = fc.constantFrom(
  'Person',
  'Person',
  'Student',
  'bucket:Person_0',
  '(SELECT FROM Person WHERE age > 6)',
  '(SELECT id, name, age, score AS x FROM Person)',
);

const select = fc
  .tuple(
    fc.constantFrom('', '*', 'id, age', 'DISTINCT age', 'DISTINCT name, age', 'age + 1 AS id'),
    target,
    where,
    order,
    limit,
  )
  .map(([items, from, filter, by, count]) => `SELECT ${items} FROM ${from}${filter}${by}${count}`);

const aggregate = fc
  .tuple(
    fc.constantFrom(
      'count(*)',
      'max(age)',
      'min(age)',
      'min(name)',
      'max(born)',
      'count(age), sum(age)',
      'min(age), max(age)',
      'max(born) AS b, min(age) AS a, max(age) AS m',
    ),
    target,
    where,
    fc.constantFrom('', '', ' GROUP BY age', ' GROUP BY name ORDER BY name'),
  )
  .map(([items, from, filter, by]) => `SELECT ${items} FROM ${from}${filter}${by}`);

test('SELECT gives the same rows in the same order with and without the rules', async () => {
  await using db = await filled();
  await fc.assert(
    fc.asyncProperty(fc.oneof(select, aggregate), fc.constantFrom(...allRules), (text, rule) =>
      agree(db, text, rule, 'ordered'),
    ),
    { numRuns: Number(process.env['COUNT'] ?? 250) },
  );
});

const nodeFilter = fc.constantFrom(
  '',
  ', where: (age > 6)',
  ', where: (id = 7)',
  ", where: (name = 'Ada')",
  ', where: (age IN [7, 36] AND score > 1)',
);
const nodeType = fc.constantFrom('type: Person', 'type: Person', 'type: Student', 'type: City');
const arrow = fc.constantFrom(
  '-Knows->',
  '<-Knows-',
  '-Knows-',
  '-LivesIn->',
  '<-LivesIn-',
  '-Likes->',
);
const repeated = fc.constantFrom('', '', '', ', maxDepth: 2', ', while: ($depth < 2)');
const methodStep = fc.constantFrom(
  ".outE('Knows'){as: e}.inV()",
  ".inE('Likes'){as: e, where: (since > 2003)}.outV()",
  ".both('Knows')",
);

const path = fc
  .tuple(nodeType, nodeFilter, fc.oneof(arrow, methodStep), nodeFilter, arrow, repeated, fc.nat(3))
  .map(([type, first, step, second, next, deep, shape]) => {
    const start = `{${type}, as: a${first}}`;
    const middle = `${step}{as: b${second}}`;
    if (shape === 0) return `${start}${middle}`;
    if (shape === 1) return `${start}${middle}${next}{as: c${deep}}`;
    if (shape === 2) return `${start}${middle}, {as: b}${next}{as: a}`;
    return `${start}${middle}${next}{as: c, optional: true}`;
  });

const match = fc
  .tuple(
    path,
    fc.constantFrom(
      '',
      '',
      ', NOT {as: a}-Likes->{as: b}',
      ', {type: City, as: z, where: (name < "city2")}',
      ', {type: Person, as: z, where: (age = $matched.a.age AND id < 12)}',
      ', {type: Person, as: z, where: ($matched.b.score = age)}',
      ', {type: Student, as: z, where: (name = $matched.a.id OR name = $matched.a.name)}',
    ),
    fc.constantFrom(
      'a, b',
      'DISTINCT b',
      'count(*) AS n',
      'a.id AS x, b.age AS y',
      'DISTINCT a.age AS z',
      'DISTINCT b.@rid AS r',
      'DISTINCT b.@rid AS r, a.@rid AS q',
      'b.@rid AS r, a.@rid AS q',
    ),
  )
  .map(([pattern, more, items]) => `MATCH ${pattern}${more} RETURN ${items}`);

const group = fc
  .tuple(
    fc.constantFrom(
      ".out('Knows')",
      ".out('Knows'){maxDepth: 1}",
      ".in('Likes'){while: ($depth < 1)}",
    ),
    fc.constantFrom('', ".both('Likes')", ".(.out('Likes').in('Knows')){maxDepth: 1}"),
    fc.constantFrom(
      'as: b',
      'as: b, maxDepth: 1',
      'as: b, where: (age > 6)',
      'as: b, type: Student',
    ),
    nodeFilter,
  )
  .map(
    ([first, second, end, filter]) =>
      `MATCH {type: Person, as: a${filter}}.(${first}${second}){${end}} RETURN a.id AS x, b.id AS y`,
  );

const entries = fc
  .tuple(
    fc.constantFrom('Person[age]', 'Person[id]', 'Person[name]', 'Person[age,score]'),
    fc.constantFrom('=', '<', '>=', '>'),
    constant,
    fc.constantFrom('', '', ' AND rid <> #1:3', ' OR key = [7]'),
  )
  .map(
    ([name, sign, value, more]) =>
      `SELECT FROM index:\`${name}\` WHERE key ${sign} ${value}${more}`,
  );

const hops = fc
  .tuple(
    fc.constantFrom("out('Knows')", "in('Likes')", 'both()', "outE('Knows')"),
    fc.constantFrom('', ".out('Knows')", '.in()', ".both('Likes').out()", '.inV()'),
    where,
  )
  .map(([first, rest, filter]) => `SELECT expand(${first}${rest}) FROM Person${filter}`);

test('patterns and steps give the same rows with and without the rules', async () => {
  await using db = await filled();
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(match, match, hops, group, entries),
      fc.constantFrom(...allRules),
      (text, rule) => agree(db, text, rule, 'any order'),
    ),
    { numRuns: 200 },
  );
});

const branch = fc
  .tuple(
    fc.constantFrom('a', 'b', 'c'),
    arrow,
    fc.constantFrom('', 'type: Person', 'type: Student', 'type: City'),
    fc.constantFrom('', '', ', optional: true', ', where: (age > 6)'),
    fc.constantFrom('', '', '', '-LivesIn->{type: City}', '<-Knows-{}-Likes->{}'),
  )
  .map(([from, step, type, extra, rest]) => {
    const isLeaf = extra.includes('optional');
    const name = `as: leaf${from}${type.length}${extra.length}${step.length}`;
    return `{as: ${from}}${step}{${type === '' ? '' : `${type}, `}${name}${extra}}${isLeaf ? '' : rest}`;
  });

const count = fc
  .tuple(
    nodeType,
    nodeFilter,
    fc.constantFrom('-Knows->', '-Knows-', '<-Likes-'),
    fc.constantFrom('-Knows->', '<-Knows-', '-LivesIn->'),
    fc.uniqueArray(branch, { minLength: 1, maxLength: 3 }),
    fc.constantFrom('', '', ', NOT {as: a}-Likes->{as: b}', ', {as: c}-Knows-{as: a}'),
    fc.constantFrom(
      'count(*) AS n',
      'count(*) AS n',
      'count(b) AS n, count(*) AS m',
      'b.id AS x, count(*) AS n GROUP BY b.id',
      'a.age AS x, count(*) AS n, max(c.id) AS y GROUP BY a.age',
    ),
  )
  .map(
    ([type, filter, first, second, branches, more, items]) =>
      `MATCH {${type}, as: a${filter}}${first}{as: b}${second}{as: c}, ${branches.join(', ')}${more} RETURN ${items}`,
  );

test('counts over branching patterns are the same with and without the rules', async () => {
  await using db = await filled();
  await fc.assert(
    fc.asyncProperty(count, fc.constantFrom(...allRules), (text, rule) =>
      agree(db, text, rule, 'any order'),
    ),
    { numRuns: 200 },
  );
});

test('uncommitted changes of the transaction are seen with and without the rules', async () => {
  await using db = await filled();
  const transaction = db.state.begin('REPEATABLE_READ');
  const changes = [
    "INSERT INTO Person SET id = 100, name = 'Ada', nick = 'FOO', age = 7, score = 5, tags = ['x']",
    'INSERT INTO Student SET id = 101, age = 20',
    "UPDATE Person SET age = 7, name = 'Cy' WHERE id IN [2, 3, 13]",
    'UPDATE Person REMOVE score WHERE id = 14',
    'DELETE FROM Person WHERE id IN [5, 20]',
    'CREATE EDGE Knows FROM (SELECT FROM Person WHERE id = 100) TO (SELECT FROM Person WHERE id = 7) SET since = 2005',
    'CREATE EDGE Likes FROM (SELECT FROM Person WHERE id = 7) TO (SELECT FROM Person WHERE id = 101)',
    'DELETE FROM Knows WHERE since = 2003',
  ];
  for (const text of changes) await db.run(text, { transaction });
  try {
    await fc.assert(
      fc.asyncProperty(fc.oneof(select, aggregate, match, hops, count), async (text) => {
        const order = text.includes('MATCH') || text.includes('expand') ? 'any order' : 'ordered';
        const plain = await outcome(db, text, allRules, order, transaction);
        assert.equal(await outcome(db, text, new Set(), order, transaction), plain, text);
      }),
      {
        numRuns: 250,
        // The filter by record id is not at the scan before filters are merged, and decides its order.
        examples: [
          ['SELECT FROM (SELECT FROM Person WHERE age > 6) WHERE @rid >= #1:3 ORDER BY born'],
        ],
      },
    );
  } finally {
    transaction.rollback();
  }
});

async function filled(): Promise<SqlDatabase> {
  const db = await SqlDatabase.open();
  for (const text of [...schema, ...dataStatements()]) await db.run(text);
  return db;
}

async function agree(
  db: SqlDatabase,
  text: string,
  rule: string,
  order: 'ordered' | 'any order',
): Promise<void> {
  const plain = await outcome(db, text, allRules, order);
  assert.equal(await outcome(db, text, new Set(), order), plain, text);
  assert.equal(await outcome(db, text, new Set([rule]), order), plain, `${text} without ${rule}`);
}

async function outcome(
  db: SqlDatabase,
  text: string,
  disabled: ReadonlySet<string>,
  order: 'ordered' | 'any order',
  open?: Transaction,
): Promise<string> {
  let result: StatementResult;
  const transaction = open ?? db.state.begin('READ_COMMITTED');
  try {
    result = await db.run(text, { disabled, transaction });
  } catch (error) {
    if (!(error instanceof Error) || error.name === 'AssertionFailure') throw error;
    return `error ${error.message}`;
  } finally {
    if (open === undefined) transaction.rollback();
  }
  const lines = printRows(result).split('\n');
  return (order === 'ordered' ? lines : lines.sort()).join('\n');
}
