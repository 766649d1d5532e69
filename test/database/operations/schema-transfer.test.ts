import assert from 'node:assert/strict';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { test } from 'node:test';
import { openTestDatabase, root } from '../support/open-test-database.ts';

// A schema of everything that types can have comes back from an export in the own format.

const asker = { principal: root, signal: new AbortController().signal };

const schema = [
  // Types of properties that are made later, in a circle and by a subtype.
  'CREATE DOCUMENT TYPE A CUSTOM note = "x"',
  'CREATE DOCUMENT TYPE Part',
  'CREATE DOCUMENT TYPE B EXTENDS A',
  'CREATE PROPERTY A.parts LIST OF Part (min 1, max 5, hidden)',
  'CREATE PROPERTY A.text STRING (default "t", mandatory, notnull, regexp "[a-z]+", max 10) CUSTOM p = 1, q = 2',
  'CREATE PROPERTY B.both STRING (max 5, mandatory true)',
  'CREATE PROPERTY A.both STRING (min 1)',
  'CREATE PROPERTY A.next LINK OF B',
  'CREATE PROPERTY B.back LINK OF A',
  'CREATE INDEX named ON A (text, both) NOTUNIQUE NULL_STRATEGY INDEX',
  'CREATE INDEX ON A (text COLLATE CI) NOTUNIQUE_HASH',
  'CREATE VERTEX TYPE V BUCKETS 2',
  'ALTER TYPE V ALIASES Vee',
  'CREATE EDGE TYPE Unique1 UNIQUE',
  'CREATE EDGE TYPE OneWay UNIDIRECTIONAL',
  'CREATE EDGE TYPE Bare LIGHTWEIGHT UNIQUE',
  'CREATE TRIGGER veto BEFORE CREATE ON A EXECUTE SQL "SELECT ($record.text <> \'no\') AS ok"',
  'CREATE TRIGGER mark BEFORE CREATE ON B EXECUTE JAVASCRIPT "record.set(\'marked\', true)"',
  'DEFINE FUNCTION lib.next "SELECT :a + 1 AS result" PARAMETERS [a]',
  'INSERT INTO V CONTENT [{n: 1}, {n: 2}]',
  'CREATE MATERIALIZED VIEW byHand AS SELECT count(*) AS c FROM V',
  'CREATE MATERIALIZED VIEW followed AS SELECT n FROM V WHERE n > 1 REFRESH INCREMENTAL',
  'CREATE GRAPH ANALYTICAL VIEW fast VERTEX TYPES (V) EDGE TYPES (OneWay) COMPACTION THRESHOLD 7',
  ...['Unique1', 'OneWay', 'Bare'].map(
    (type) => `CREATE EDGE ${type} FROM (SELECT FROM V WHERE n = 1) TO (SELECT FROM V WHERE n = 2)`,
  ),
];

test('a schema keeps every attribute, definition and kind of edge', async (context) => {
  const test = await openTestDatabase();
  context.after(() => test.close());
  for (const text of schema) await test.run(text);
  await test.run('EXPORT DATABASE file://schema.jsonl.tgz');
  const url = join(test.directory, '.exports', 'schema.jsonl.tgz');
  await test.operations.importNew('copy', { url, settings: undefined }, asker);

  for (const text of [
    'SELECT name, type, buckets, parentTypes, custom, indexes FROM schema:types ORDER BY name',
    'SELECT name, properties:{*, !id} AS p FROM schema:types ORDER BY name',
    'SELECT name, indexType, properties, nullStrategy FROM schema:indexes ORDER BY name',
    'SELECT name, timing, event, typeName, action FROM schema:triggers ORDER BY name',
    'SELECT name, query, refreshMode, sourceTypes FROM schema:materializedviews ORDER BY name',
    'SELECT name, vertexTypes, edgeTypes, compactionThreshold FROM schema:graphanalyticalviews',
    'SELECT c FROM byHand',
    'SELECT n FROM followed',
    'SELECT `lib.next`(1) AS r',
    "SELECT n, out('OneWay').n AS o, in('OneWay').n AS i, out('Bare').n AS b FROM Vee ORDER BY n",
  ]) {
    const rows = inspect(await test.runOn('copy', text), { depth: 20 });
    assert.equal(rows, inspect(await test.run(text), { depth: 20 }), text);
  }
  await assert.rejects(test.runOn('copy', 'INSERT INTO byHand SET c = 5'));
  await test.runOn('copy', 'INSERT INTO V SET n = 3');
  assert.deepEqual(await test.runOn('copy', 'SELECT n FROM followed ORDER BY n'), [
    { n: 2 },
    { n: 3 },
  ]);
  assert.deepEqual(await test.runOn('copy', 'SELECT c FROM byHand'), [{ c: 2 }]);
  await test.runOn('copy', 'REFRESH MATERIALIZED VIEW byHand');
  assert.deepEqual(await test.runOn('copy', 'SELECT c FROM byHand'), [{ c: 3 }]);
  assert.deepEqual(await test.runOn('copy', "INSERT INTO A SET text = 'no'"), []);
  const [marked] = await test.runOn('copy', "INSERT INTO B SET text = 'b', both = 'c'");
  assert.equal(marked?.['marked'], true);
  await assert.rejects(test.runOn('copy', "INSERT INTO B SET text = 'b'"), { code: 'Validation' });
  for (const type of ['Unique1', 'Bare'])
    await assert.rejects(
      test.runOn(
        'copy',
        `CREATE EDGE ${type} FROM (SELECT FROM V WHERE n = 1) TO (SELECT FROM V WHERE n = 2)`,
      ),
      { code: 'DuplicatedKey' },
    );
  const [check] = await test.runOn('copy', 'CHECK DATABASE');
  assert.deepEqual(check?.['warnings'], []);
  assert.deepEqual(await test.runOn('copy', 'DELETE FROM V WHERE n = 2'), [{ count: 1 }]);
  assert.deepEqual(await test.runOn('copy', 'SELECT FROM OneWay'), []);
});

test('indexes and constraints of openCypher come back as they were', async (context) => {
  const test = await openTestDatabase();
  context.after(() => test.close());
  for (const text of [
    'CREATE TEXT INDEX FOR (b:Book) ON (b.title)',
    'CREATE INDEX FOR (b:Book) ON (b.year)',
    'CREATE CONSTRAINT isbn FOR (b:Book) REQUIRE b.isbn IS UNIQUE',
    'CREATE CONSTRAINT key FOR (b:Book) REQUIRE (b.shelf, b.place) IS NODE KEY',
    'CREATE CONSTRAINT there FOR (b:Book) REQUIRE b.title IS NOT NULL',
    'CREATE CONSTRAINT typed FOR (b:Book) REQUIRE b.pages IS :: INTEGER',
    'CREATE INDEX FOR ()-[r:CITES]-() ON (r.page)',
    "CREATE (:Book {title: 'a', year: 1, isbn: 1, shelf: 1, place: 1})-[:CITES {page: 3}]->(:Book {title: 'b', isbn: '1', shelf: 1, place: 2})",
  ])
    await test.run(text, {}, {}, 'cypher');
  await test.run('EXPORT DATABASE file://texts.jsonl.tgz');
  const url = join(test.directory, '.exports', 'texts.jsonl.tgz');
  await test.operations.importNew('copy', { url, settings: undefined }, asker);
  const shown = [
    'SHOW INDEXES YIELD name, type, labelsOrTypes, properties, owningConstraint RETURN * ORDER BY name',
    'SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties, propertyType RETURN * ORDER BY name',
    'MATCH (a:Book {isbn: 1})-[c:CITES {page: 3}]->(b) RETURN a.title, c.page, b.isbn',
  ];
  for (const text of shown) {
    const there = await test.runOn('copy', text, {}, 'cypher');
    assert.deepEqual(there, await test.run(text, {}, {}, 'cypher'), text);
    assert.notEqual(there.length, 0);
  }
  const [text] = await test.runOn('copy', 'SHOW TEXT INDEXES YIELD properties', {}, 'cypher');
  assert.deepEqual(text, { properties: ['title'] });
  await assert.rejects(
    test.runOn('copy', "CREATE (:Book {title: 'c', isbn: 1, shelf: 2, place: 2})", {}, 'cypher'),
    { code: 'DuplicatedKey' },
  );
});
