import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openTestDatabase, type TestDatabase } from '../support/open-test-database.ts';

// The import setting `mapping` (http-api.md 18.5): objects of a JSON file become records and edges.

async function open(context: TestContext): Promise<TestDatabase> {
  const test = await openTestDatabase();
  context.after(() => test.close());
  return test;
}

function importing(database: TestDatabase, content: unknown, mapping: unknown, more = '') {
  const file = join(database.directory, '.file.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return database.run(
    `IMPORT DATABASE 'file://${file}' WITH mapping = ${JSON.stringify(mapping)}${more}`,
  );
}

const person = { '@cat': 'v', '@type': 'Person', '@id': 'id', '@strategy': 'merge' };
const staff = {
  people: [
    { id: 1, name: 'ada', boss: 2, secret: 'x', since: 2001 },
    { id: 2, name: 'bob', boss: null },
    { id: 3, name: 'eve', boss: 2 },
  ],
  other: [{ a: 1 }, [1, { b: ']' }], 'text'],
  count: 3,
};
const staffMapping = {
  people: [
    {
      ...person,
      secret: '@ignore',
      start: '<since>',
      boss: {
        '@cat': 'e',
        '@type': 'WorksFor',
        '@cardinality': 'no-duplicates',
        '@in': { ...person, toldBy: '<../name>' },
      },
    },
  ],
};

test('objects become vertices with edges; whom another object names is the same vertex', async (context) => {
  const database = await open(context);
  const [row] = await importing(database, staff, staffMapping);
  const { parsedRecords, createdVertices, createdEdges, errors } = row ?? {};
  assert.deepEqual([parsedRecords, createdVertices, createdEdges, errors], [3, 3, 2, 0]);
  const rows =
    "SELECT id, name, since, start, toldBy, secret, out('WorksFor').name AS boss FROM Person ORDER BY id";
  const expected = [
    { id: 1, name: 'ada', since: 2001, start: 2001, toldBy: null, secret: null, boss: ['bob'] },
    { id: 2, name: 'bob', since: null, start: null, toldBy: 'eve', secret: null, boss: [] },
    { id: 3, name: 'eve', since: null, start: null, toldBy: null, secret: null, boss: ['bob'] },
  ];
  assert.deepEqual(await database.run(rows), expected);
  const [again] = await importing(database, staff, staffMapping);
  assert.deepEqual([again?.['createdVertices'], again?.['createdEdges']], [0, 0]);
  assert.deepEqual(await database.run(rows), expected);
  assert.deepEqual(
    await database.run("SELECT name, `unique` FROM schema:indexes WHERE typeName = 'Person'"),
    [{ name: 'Person[id]', unique: true }],
  );
});

test('without a strategy a record that is there stays as it is, and any type of id is its own', async (context) => {
  const database = await open(context);
  const mapping = { '*': { '@cat': 'd', '@type': 'D', '@id': 'k', '@idType': 'string' } };
  const content = [{ k: 1, a: 1 }, { k: '1', a: 2 }, { k: 'x' }];
  await importing(database, content, mapping);
  assert.deepEqual(await database.run('SELECT k, a FROM D'), [
    { k: '1', a: 1 },
    { k: 'x', a: null },
  ]);
});

test('types come from attributes, objects inside become records that are linked to, lists of them too', async (context) => {
  const database = await open(context);
  const place = { '@cat': 'd', '@type': 'Place', '@id': 'city', '@strategy': 'merge' };
  const mapping = {
    '*': [
      {
        '@cat': 'v',
        '@type': '<kind, otherKind>',
        home: place,
        seen: [place],
        friends: [{ '@cat': 'e', '@type': 'Likes', '@in': 'who', who: person }],
      },
    ],
  };
  const content = {
    any: [
      {
        kind: 'Cat',
        home: { city: 'Rome', country: 'IT' },
        seen: ['Rome', { city: 'Oslo' }],
        friends: [
          { who: { id: 7, name: 'ada' }, much: 2 },
          { who: 7, much: 3 },
        ],
      },
      { otherKind: 'Dog', home: null },
    ],
  };
  await importing(database, content, mapping);
  assert.deepEqual(
    await database.run(
      "SELECT @type AS t, home.country AS c, seen.city AS s, outE('Likes').much AS m, out('Likes').name AS n FROM Cat",
    ),
    [{ t: 'Cat', c: 'IT', s: ['Rome', 'Oslo'], m: [2, 3], n: ['ada', 'ada'] }],
  );
  assert.deepEqual(await database.run('SELECT count(*) AS n FROM Dog'), [{ n: 1 }]);
  assert.deepEqual(await database.run('SELECT city, country FROM Place ORDER BY city'), [
    { city: 'Oslo', country: null },
    { city: 'Rome', country: 'IT' },
  ]);
});

test('an object that lacks its id ends the import, or is left out whole', async (context) => {
  const database = await open(context);
  const content = {
    people: [
      { id: 1, name: 'a' },
      { name: 'b', boss: 1 },
      { id: 3, boss: [[]] },
    ],
  };
  await assert.rejects(importing(database, content, staffMapping), {
    code: 'Validation',
    message: "an object of type 'Person' has no attribute 'id', which is its '@id'",
  });
  const [row] = await importing(database, content, staffMapping, ", onRowError = 'skip'");
  assert.deepEqual([row?.['createdVertices'], row?.['createdEdges'], row?.['errors']], [1, 0, 2]);
});

test('what the schema refuses takes back all that hangs on its object', async (context) => {
  const database = await open(context);
  await database.run('CREATE VERTEX TYPE Person');
  await database.run('CREATE PROPERTY Person.name STRING (max 3)');
  const content = {
    people: [
      { id: 1, name: 'long name', boss: 9 },
      { id: 2, name: 'ok', boss: 1 },
    ],
  };
  await assert.rejects(importing(database, content, staffMapping), { code: 'Validation' });
  assert.deepEqual(await database.run('SELECT count(*) AS n FROM Person'), [{ n: 0 }]);
  await importing(
    database,
    content,
    staffMapping,
    ", onRowError = 'skip', edgeBidirectional = false",
  );
  assert.deepEqual(
    await database.run('SELECT id, out().size() AS o, in().size() AS i FROM Person ORDER BY id'),
    [
      { id: 1, o: 0, i: 0 },
      { id: 2, o: 1, i: 0 },
    ],
  );
});

test('a mapping that makes no sense is refused by the place in it, before anything is read', async (context) => {
  const database = await open(context);
  const edge = { '@cat': 'e', '@type': 'E' };
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [{ a: 'b' }, /'a' must be '@ignore'/],
    [{ a: edge }, /'a.@in' must say/],
    [{ a: { ...person, b: { ...edge, '@in': 'c', c: 5 } } }, /'a.b.c' must be a map/],
    [{ a: { ...person, '@strategy': 'mrege' } }, /'a.@strategy' must be 'merge'/],
    [{ a: { ...person, '@idType': 'texty' } }, /'a.@idType' is no type/],
    [{ a: { ...person, '@ids': 'texty' } }, /'a.@ids' is unknown/],
    [{ a: { '@cat': 'x' } }, /'a' has an '@cat'/],
    [{ a: { '@cat': 'v' } }, /'a' needs '@type'/],
    ['no JSON', /import setting 'mapping'/],
    [5, /import setting 'mapping' is not a map or a text/],
  ];
  for (const [mapping, message] of cases)
    await assert.rejects(importing(database, { a: [] }, mapping), {
      code: 'IllegalArgument',
      message,
    });
  const asText = JSON.stringify({ '*': { '@cat': 'd', '@type': 'D' } });
  await importing(database, [{ n: 1 }], asText);
  assert.deepEqual(await database.run('SELECT n FROM D'), [{ n: 1 }]);
  await assert.rejects(importing(database, 'a,b\n1,2\n', {}, ", format = 'csv'"), {
    message: "import setting 'mapping' is of JSON files, and this one is csv",
  });
});
