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
    "ALTER DATABASE dateFormat 'dd/MM/yyyy'",
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
    "INSERT INTO Person SET name = 'ada', born = '10/12/1815', seen = '2026-01-31 10:20:30', score = 12.50, big = 9007199254740993, f = 4.0, h = 0.5, yes = true, none = null, tags = ['a', 1, 2.0, null], m = {'a': {'b': [1]}, '$x': 1}, home = {'@type': 'Address', 'city': 'Rome'}",
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
    'SELECT dateFormat FROM schema:database',
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

test('names with @ are of the server, whatever a file says', async (context) => {
  const test = await open(context);
  const files = [
    [
      'own.graphml',
      '<graphml><graph><node id="1" label="P"><data key="@rid">x</data><data key="@bidirectional">false</data></node><node id="2"/><edge source="1" target="2" label="K"><data key="@rid">x</data></edge></graph></graphml>',
    ],
    [
      'own.graphson',
      '{"id":1,"label":"P","properties":{"@rid":[{"value":"x"}],"@bidirectional":[{"value":false}]},"outE":{"K":[{"id":3,"inV":2,"properties":{"@rid":"x"}}]}}\n{"id":2}\n',
    ],
  ] as const;
  for (const [name, text] of files) {
    const url = join(test.directory, name);
    writeFileSync(url, text);
    const copy = name.replace('.', '-');
    await test.operations.importNew(copy, { url, settings: undefined }, asker);
    const [vertex] = await test.runOn(copy, "SELECT FROM P WHERE _rid = 'x'");
    assert.equal(String(vertex?.['_bidirectional']), 'false');
    assert.equal(vertex?.['@bidirectional'], undefined);
    assert.match(String(vertex?.['@rid']), /^#/);
    const [edge] = await test.runOn(copy, "SELECT FROM K WHERE _rid = 'x'");
    assert.match(String(edge?.['@rid']), /^#/);
  }
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

test('an OrientDB export becomes types, records, edges, links and indexes', async (context) => {
  const test = await open(context);
  const file = join(test.directory, '.orient.json');
  writeFileSync(
    file,
    JSON.stringify({
      info: { name: 'old', 'exporter-version': 13, 'engine-version': '3.1' },
      clusters: [{ name: 'v', id: 9 }],
      schema: {
        version: 4,
        classes: [
          { name: 'V', 'cluster-ids': [9] },
          { name: 'E' },
          { name: 'OUser' },
          {
            name: 'Person',
            'super-classes': ['V'],
            properties: [
              { name: 'name', type: 'STRING' },
              { name: 'tags', type: 'EMBEDDEDLIST' },
            ],
          },
          { name: 'Boss', 'super-classes': ['Person'] },
          { name: 'Knows', 'super-classes': ['E'] },
          { name: 'Note', properties: [{ name: 'about', type: 'LINK' }] },
          { name: 'Place' },
        ],
      },
      records: [
        {
          '@rid': '#0:2',
          '@type': 'd',
          indexes: [
            {
              name: 'Person.name',
              type: 'UNIQUE',
              definition: { className: 'Person', field: 'name', keyType: 'STRING' },
            },
          ],
        },
        { '@type': 'd', '@rid': '#4:0', '@class': 'OUser', name: 'admin' },
        { '@type': 'd', '@rid': '#20:0', '@class': 'Note', about: '#9:1', text: 'a, "b" {c} [d]' },
        {
          '@type': 'd',
          '@rid': '#9:0',
          '@class': 'Person',
          name: 'Ada',
          tags: ['x'],
          out_Knows: ['#12:0'],
          home: { '@type': 'd', '@class': 'Place', city: 'Rome' },
        },
        { '@type': 'd', '@rid': '#9:1', '@class': 'Boss', name: 'Bob', in_Knows: ['#12:0'] },
        { '@type': 'd', '@rid': '#12:0', '@class': 'Knows', out: '#9:0', in: '#9:1', since: 1999 },
        { '@type': 'd', '@rid': '#12:1', '@class': 'Knows', out: '#9:0', in: '#9:99' },
        { '@type': 'b', '@rid': '#3:0', value: 'AA==' },
      ],
    }),
  );
  const counts = await test.operations.importNew('copy', { url: file, settings: undefined }, asker);
  assert.deepEqual(counts, {
    parsedRecords: 4,
    createdDocuments: 1,
    createdVertices: 2,
    createdEdges: 1,
    errors: 0,
    warnings: 1,
  });
  const types = await test.runOn('copy', 'SELECT name, type FROM schema:types ORDER BY name');
  assert.deepEqual(
    types.map(({ name }) => name),
    ['Boss', 'Knows', 'Note', 'Person', 'Place'],
  );
  assert.deepEqual(
    await test.runOn(
      'copy',
      "SELECT name, tags, home.city AS city, outE('Knows').since AS s, out().name AS o FROM Person WHERE name = 'Ada'",
    ),
    [{ name: 'Ada', tags: ['x'], city: 'Rome', s: [1999], o: ['Bob'] }],
  );
  assert.deepEqual(await test.runOn('copy', 'SELECT about.name AS n, text FROM Note'), [
    { n: 'Bob', text: 'a, "b" {c} [d]' },
  ]);
  await assert.rejects(test.runOn('copy', "INSERT INTO Person SET name = 'Bob'"), {
    code: 'DuplicatedKey',
  });
});

test('rows that may not be stored are left out when the statement says so, else nothing more is read', async (context) => {
  const test = await open(context);
  await test.run('CREATE DOCUMENT TYPE Strict');
  await test.run('CREATE PROPERTY Strict.n INTEGER (mandatory true, max 10)');
  await test.run('CREATE INDEX ON Strict (n) UNIQUE');
  const file = join(test.directory, '.rows.csv');
  writeFileSync(file, 'n,t\n1,a\n99,b\n,c\n2,d\n1,e\n3,f\n');
  await assert.rejects(test.run(`IMPORT DATABASE '${file}' WITH documentType = 'Strict'`));
  const [row] = await test.run(
    `IMPORT DATABASE '${file}' WITH documentType = 'Strict', onRowError = 'skip'`,
  );
  assert.deepEqual([row?.['parsedRecords'], row?.['createdDocuments'], row?.['errors']], [6, 3, 3]);
  assert.deepEqual(await test.run('SELECT n, t FROM Strict ORDER BY n'), [
    { n: 1, t: 'a' },
    { n: 2, t: 'd' },
    { n: 3, t: 'f' },
  ]);
});

test('an import ends when it is cancelled, and a new database is not made', async (context) => {
  const test = await open(context);
  const file = join(test.directory, '.many.csv');
  writeFileSync(file, `n,t\n${Array.from({ length: 60_000 }, (_, n) => `${n},text`).join('\n')}\n`);
  const abort = new AbortController();
  const about = { url: file, settings: undefined };
  const running = test.operations.importNew('copy', about, {
    principal: root,
    signal: abort.signal,
    onProgress: ({ counts }) => {
      if ((counts['parsed'] ?? 0) > 1000) abort.abort();
    },
  });
  await assert.rejects(running, { code: 'Cancelled' });
  assert.equal(test.databases.exists('copy'), false);
  assert.deepEqual(test.progress.of('copy'), []);
});

test('hostile files are refused without an end of the server', async (context) => {
  const test = await open(context);
  const deep = '['.repeat(100_000);
  const files: readonly [string, string][] = [
    ['a.json', `{"a":${deep}`],
    ['a.json', `[{"a":${'['.repeat(2000)}${']'.repeat(2000)}}]`],
    ['a.json', '[1,2]'],
    ['a.json', '[{"a":1}'],
    ['a.json', '[{"a":1}] x'],
    ['a.graphml', '<graphml><graph><node id="1"></graph></graphml>'],
    ['a.graphml', '<html></html>'],
    [
      'a.graphml',
      '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml><graph><node id="1"><data key="k">&b;</data></node></graph></graphml>',
    ],
    ['a.graphson', '{"id":1,"label":5,"outE":[]}\n{'],
    ['a.jsonl', '{"t":"v","c":{"t":"","p":{}}}'],
    ['a.jsonl', '{"t":"v","c":{"t":"T","p":{"a":{"$date":"x"}}}}'],
    [
      'a.jsonl',
      '{"t":"schema","c":{"types":{"A":{"type":"v","properties":{"x":{"type":"NOPE"}}}}}}',
    ],
    ['a.csv', 'a,a\n1,2\n'],
    ['a.csv', 'a,b\n"1,2\n'],
    ['a.bin', '\u0000\u0001\u0002'],
  ];
  for (const [name, text] of files) {
    const file = join(test.directory, `.${name}`);
    writeFileSync(file, text);
    await assert.rejects(
      test.operations.importNew('copy', { url: file, settings: undefined }, asker),
      (error: Error) => 'code' in error,
      text.slice(0, 60),
    );
    assert.equal(test.databases.exists('copy'), false);
  }
});

test('files of the package are named by classpath, and nothing beside them', async (context) => {
  const test = await open(context);
  const about = { url: 'classpath://beatles.jsonl', settings: undefined };
  const counts = await test.operations.importNew('beatles', about, asker);
  assert.deepEqual([counts.createdVertices, counts.createdEdges], [5, 4]);
  assert.deepEqual(
    await test.runOn(
      'beatles',
      "SELECT in('MemberOf').name AS n FROM Band WHERE name = 'The Beatles'",
    ),
    [{ n: ['John Lennon', 'Paul McCartney', 'George Harrison', 'Ringo Starr'] }],
  );
  for (const name of ['../package.json', '/../../package.json', '..', 'sub/../../package.json'])
    await assert.rejects(
      test.operations.importNew('bad', { url: `classpath://${name}`, settings: undefined }, asker),
      (error: Error) =>
        'code' in error && (error.code === 'Forbidden' || error.code === 'IllegalArgument'),
      name,
    );
});

test('edges of a later import find the vertices of an earlier one, whose ids may be unique', async (context) => {
  const test = await open(context);
  const write = (name: string, text: string): string => {
    const path = join(test.directory, name);
    writeFileSync(path, text);
    return path;
  };
  const people = write('.p.csv', 'Id,name\n7,Ada\n8,Bob\n');
  const named = "vertexType = 'Person', typeIdProperty = 'Id'";
  await test.run(
    `IMPORT DATABASE '${people}' WITH ${named}, typeIdUnique = true, typeIdType = 'Long'`,
  );
  await assert.rejects(test.run(`IMPORT DATABASE '${people}' WITH ${named}`), {
    code: 'DuplicatedKey',
  });
  const csv = write('.k.csv', 'a,b,w\n7,8,1\n8,7,2\n');
  const json = write('.k.json', '[{"a":7,"b":7,"w":3},{"a":9,"b":7}]');
  const ends = "edgeType = 'Knows', edgeFromField = 'a', edgeToField = 'b'";
  const [first] = await test.run(`IMPORT DATABASE '${csv}' WITH ${named}, ${ends}`);
  const [second] = await test.run(`IMPORT DATABASE '${json}' WITH ${named}, ${ends}`);
  assert.deepEqual(
    [first?.['createdEdges'], second?.['createdEdges'], second?.['warnings']],
    [2, 1, 1],
  );
  assert.deepEqual(
    await test.run('SELECT w, @out.name AS o, @in.name AS i FROM Knows ORDER BY w'),
    [
      { w: 1, o: 'Ada', i: 'Bob' },
      { w: 2, o: 'Bob', i: 'Ada' },
      { w: 3, o: 'Ada', i: 'Ada' },
    ],
  );
  assert.equal((await test.run('SELECT FROM Person WHERE Id = 7')).length, 1);
});

test('a file without a header is read with the header and the columns of the settings', async (context) => {
  const test = await open(context);
  const path = join(test.directory, '.plain.txt');
  writeFileSync(path, 'to be skipped|x|y\n1|Ada|3\n2|Bob|4\n3|Cy|5\n');
  const settings =
    "format = 'csv', delimiter = '|', documentsHeader = 'id,name,rest', documentsSkipEntries = 1, documentPropertiesInclude = 'id,name', parsingLimitEntries = 2, documentType = 'Plain'";
  await test.run(`IMPORT DATABASE '${path}' WITH ${settings}`);
  assert.deepEqual(await test.run('SELECT id, name, rest FROM Plain'), [
    { id: 1, name: 'Ada', rest: null },
    { id: 2, name: 'Bob', rest: null },
  ]);
  const [probed] = await test.run(`IMPORT DATABASE '${path}' WITH probeOnly = true`);
  assert.equal(probed?.['parsedRecords'], 0);
});

test('rows of CSV with more values than columns are told as warnings', async (context) => {
  const test = await open(context);
  const path = join(test.directory, '.surplus.csv');
  writeFileSync(path, 'a,b\n1,2\n3,4,5\n6,7,\n8,9,,x\n');
  const [row] = await test.run(`IMPORT DATABASE '${path}' WITH documentType = 'S'`);
  assert.deepEqual([row?.['createdDocuments'], row?.['warnings']], [4, 2]);
});

test('an id that another row has is an error of the row', async (context) => {
  const test = await open(context);
  const path = join(test.directory, '.ids.csv');
  writeFileSync(path, 'id,n\n1,a\n2,b\n1,c\n3,d\n');
  const settings = "vertexType = 'P', typeIdProperty = 'id'";
  await assert.rejects(test.run(`IMPORT DATABASE '${path}' WITH ${settings}`), {
    code: 'Validation',
  });
  const [row] = await test.run(`IMPORT DATABASE '${path}' WITH ${settings}, onRowError = 'skip'`);
  assert.deepEqual([row?.['parsedRecords'], row?.['createdVertices'], row?.['errors']], [4, 3, 1]);
});

test('GraphML without labels makes types vertex and edge; a text in an int attribute is an error of the element', async (context) => {
  const test = await open(context);
  const path = join(test.directory, '.plain.graphml');
  const text = (age: string) =>
    `<graphml><key id="age" for="node" attr.name="age" attr.type="int"/><graph><node id="1"><data key="age">7</data></node><node id="2"/><node id="3"><data key="age">${age}</data></node><edge source="1" target="2"/></graph></graphml>`;
  writeFileSync(path, text('old'));
  await assert.rejects(test.run(`IMPORT DATABASE '${path}'`), {
    code: 'Validation',
    message: /attribute 'age' is declared as int, 'old' is none/,
  });
  const [row] = await test.run(`IMPORT DATABASE '${path}' WITH onRowError = 'skip'`);
  assert.deepEqual([row?.['createdVertices'], row?.['createdEdges'], row?.['errors']], [2, 1, 1]);
  assert.deepEqual(await test.run('SELECT age, out("edge").size() AS o FROM vertex ORDER BY age'), [
    { age: null, o: 0 },
    { age: 7, o: 1 },
  ]);
});

test('properties of an OrientDB export keep their rules, links what they link to', async (context) => {
  const test = await open(context);
  const file = join(test.directory, '.rules.json');
  const properties = [
    { name: 'a', type: 'INTEGER', mandatory: true, 'not-null': true, min: '1', max: '10' },
    { name: 'b', type: 'STRING', readonly: true, regexp: '[a-z]+', customFields: { unit: 'm' } },
    { name: 'c', type: 'STRING', 'default-value': "it's" },
    { name: 'd', type: 'INTEGER', 'default-value': '5' },
    { name: 'other', type: 'LINK', linkedClass: 'Later', mandatory: true },
    { name: 'tags', type: 'EMBEDDEDLIST', linkedType: 'STRING' },
  ];
  const classes = [{ name: 'Rule', properties }, { name: 'Later' }];
  const later = { '@type': 'd', '@rid': '#20:1', '@class': 'Later' };
  const record = { '@type': 'd', '@rid': '#20:0', '@class': 'Rule', a: 3, b: 'x', other: '#20:1' };
  const records = [record, later];
  writeFileSync(file, JSON.stringify({ info: {}, schema: { classes }, records }));
  const counts = await test.operations.importNew('copy', { url: file, settings: undefined }, asker);
  assert.deepEqual([counts.createdDocuments, counts.warnings], [2, 0]);
  const run = (text: string) => test.runOn('copy', text);
  const insert = (a: string, b: string, other: string) =>
    run(`INSERT INTO Rule SET a = ${a}, b = '${b}', other = ${other} RETURN c, d`);
  assert.deepEqual(await insert('3', 'x', '(SELECT FROM Later)'), [{ c: "it's", d: 5 }]);
  const refused = { code: 'Validation' };
  await assert.rejects(insert('11', 'x', '(SELECT FROM Later)'), refused);
  await assert.rejects(insert('0', 'x', '(SELECT FROM Later)'), refused);
  await assert.rejects(insert('null', 'x', '(SELECT FROM Later)'), refused);
  await assert.rejects(insert('3', '1', '(SELECT FROM Later)'), refused);
  await assert.rejects(insert('3', 'x', '(SELECT FROM Rule LIMIT 1)'), refused);
  await assert.rejects(run("INSERT INTO Rule SET a = 3, b = 'x'"), refused);
  await assert.rejects(run("UPDATE Rule SET b = 'y'"), refused);
  const [type] = await run("SELECT properties FROM schema:types WHERE name = 'Rule'");
  const listed = type?.['properties'] as readonly Record<string, unknown>[];
  assert.deepEqual(listed.find(({ name }) => name === 'b')?.['custom'], { unit: 'm' });
  assert.equal(listed.find(({ name }) => name === 'tags')?.['ofType'], 'STRING');
});
