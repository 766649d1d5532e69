import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { test, type TestContext } from 'node:test';
import { openTestDatabase, root, type TestDatabase } from '../support/open-test-database.ts';

async function open(context: TestContext): Promise<TestDatabase> {
  const test = await openTestDatabase();
  context.after(() => test.close());
  return test;
}

const asker = { principal: root, signal: new AbortController().signal };

/** Rows without record ids, which differ. */
function printed(rows: unknown): string {
  return inspect(rows, { depth: 20 }).replace(/#\d+:\d+/g, '#');
}

async function fill(test: TestDatabase): Promise<void> {
  for (const text of [
    'CREATE VERTEX TYPE Thing',
    'CREATE PROPERTY Thing.name STRING (mandatory true, default "uuid()")',
    'CREATE PROPERTY Thing.friend LINK',
    'CREATE INDEX ON Thing (name) UNIQUE',
    'CREATE VERTEX TYPE Person EXTENDS Thing',
    'CREATE PROPERTY Person.born DATE',
    'CREATE PROPERTY Person.seen DATETIME_MICROS',
    'CREATE PROPERTY Person.score DECIMAL (min 1)',
    'CREATE DOCUMENT TYPE Address',
    'CREATE DOCUMENT TYPE Note',
    'CREATE EDGE TYPE Knows',
    'CREATE PROPERTY Knows.since INTEGER',
    "INSERT INTO Person SET name = 'ada', born = '1815-12-10', seen = '2026-01-31 10:20:30', score = 12.50, big = 9007199254740993, f = 4.0, h = 0.5, yes = true, none = null, tags = ['a', 1, 2.0, null], m = {'a': {'b': [1]}, '$x': 1}, home = {'@type': 'Address', 'city': 'Rome'}",
    "INSERT INTO Person SET name = 'bob', text = 'line\\nbreak \"q\" <x> & \\u20ac'",
    "INSERT INTO Thing SET name = 'rock'",
    "UPDATE Person SET friend = (SELECT FROM Person WHERE name = 'ada') WHERE name = 'bob'",
    "UPDATE Person SET friend = (SELECT FROM Person WHERE name = 'bob') WHERE name = 'ada'",
    "INSERT INTO Note SET t = 'free', about = (SELECT FROM Person WHERE name = 'bob')",
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'ada') TO (SELECT FROM Person WHERE name = 'bob') SET since = 1840",
    "CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'ada') TO (SELECT FROM Person WHERE name = 'ada') SET self = true",
  ])
    await test.run(text);
}

test('the own format gives back the same database', async (context) => {
  const test = await open(context);
  await fill(test);
  const [row] = await test.run('EXPORT DATABASE file://all.jsonl.tgz');
  assert.deepEqual(
    {
      documents: row?.['documents'],
      vertices: row?.['vertices'],
      edges: row?.['edges'],
      result: row?.['result'],
    },
    { documents: 1, vertices: 3, edges: 2, result: 'OK' },
  );
  const file = join(test.directory, '.exports', 'all.jsonl.tgz');
  const lines = gunzipSync(readFileSync(file))
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    lines.map(({ t }) => t),
    ['info', 'db', 'schema', 'd', 'v', 'v', 'v', 'e', 'e'],
  );
  const counts = await test.operations.importNew('copy', { url: file, settings: undefined }, asker);
  assert.deepEqual(counts, {
    parsedRecords: 6,
    createdDocuments: 1,
    createdVertices: 3,
    createdEdges: 2,
    errors: 0,
    warnings: 0,
  });
  for (const text of [
    'SELECT @this.toJSON() FROM Person ORDER BY name',
    'SELECT name, friend.name, out("Knows").name, home.city, score, f, h, big, tags, m, born, seen FROM Person ORDER BY name',
    'SELECT since, self, @in.name, @out.name FROM Knows ORDER BY since',
    'SELECT t, about.name FROM Note',
    "SELECT name FROM Thing WHERE name = 'rock'",
    'SELECT name, properties.name, indexes FROM schema:types ORDER BY name',
  ])
    assert.equal(printed(await test.runOn('copy', text)), printed(await test.run(text)), text);
  await assert.rejects(test.runOn('copy', "INSERT INTO Person SET name = 'ada'"), {
    code: 'DuplicatedKey',
  });
});

for (const format of ['graphml', 'graphson'])
  test(`${format} gives back vertices and edges`, async (context) => {
    const test = await open(context);
    await fill(test);
    const [row] = await test.run(`EXPORT DATABASE WITH format = '${format}'`);
    const file = join(test.directory, '.exports', String(row?.['toUrl']).replace('file://', ''));
    assert.match(file, new RegExp(`test-export-\\d{8}-\\d{9}\\.${format}\\.tgz$`));
    const counts = await test.operations.importNew(
      'copy',
      { url: file, settings: undefined },
      asker,
    );
    assert.deepEqual(
      { ...counts, warnings: 0 },
      {
        parsedRecords: 5,
        createdDocuments: 0,
        createdVertices: 3,
        createdEdges: 2,
        errors: 0,
        warnings: 0,
      },
    );
    const text =
      'SELECT name, text, big, f, h, yes, out("Knows").name AS o, in("Knows").name AS i FROM Person ORDER BY name';
    assert.deepEqual(await test.runOn('copy', text), await test.run(text));
    const edges = 'SELECT since, self FROM Knows ORDER BY since';
    assert.deepEqual(await test.runOn('copy', edges), await test.run(edges));
  });

test('CSV makes documents, and vertices with edges between them', async (context) => {
  const test = await open(context);
  const path = (name: string, text: string) => {
    writeFileSync(join(test.directory, name), text);
    return `file://${join(test.directory, name)}`;
  };
  const people = path(
    'people.csv',
    '\ufeffId;Name;Age;Ok\r\n1;"Ada; ""L""";36;true\r\n2;Bob;;false\r\n',
  );
  const knows = path('knows.csv', 'from;to;w\n1;2;0.5\n2;1;3\n1;9;1\n');
  await test.run(`IMPORT DATABASE ${people}`);
  assert.deepEqual(await test.run('SELECT Id, Name, Age, Ok FROM Document ORDER BY Id'), [
    { Id: 1, Name: 'Ada; "L"', Age: 36, Ok: true },
    { Id: 2, Name: 'Bob', Age: null, Ok: false },
  ]);
  const [row] = await test.run(
    `IMPORT DATABASE WITH vertices = '${people}', vertexType = 'Person', typeIdProperty = 'Id', edges = '${knows}', edgeType = 'Knows', edgeFromField = 'from', edgeToField = 'to'`,
  );
  assert.equal(row?.['createdVertices'], 2);
  assert.equal(row?.['createdEdges'], 2);
  assert.equal(row?.['warnings'], 1);
  assert.deepEqual(
    await test.run('SELECT Name, outE().w AS w, out().Name AS o FROM Person ORDER BY Id'),
    [
      { Name: 'Ada; "L"', w: [0.5], o: ['Bob'] },
      { Name: 'Bob', w: [3], o: ['Ada; "L"'] },
    ],
  );
});
