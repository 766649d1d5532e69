import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { test, type TestContext } from 'node:test';
import { parseJson } from '#core/value/json-value.ts';
import { parseGroup } from '#security/group-document.ts';
import { deflateSync, gzipSync } from 'node:zlib';
import type { TestDatabase } from '../database/support/open-test-database.ts';
import { startDatabaseDoor } from './database-door.ts';
import { type Answer, type Asked, basic, type DoorFixture } from './door-fixture.ts';

interface BatchFixture {
  readonly door: DoorFixture;
  readonly data: TestDatabase;
  batch(body: string | Uint8Array, query?: string, asked?: Asked): Promise<Answer>;
  count(type: string): Promise<unknown>;
}

const schema = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.age INTEGER',
  'CREATE VERTEX TYPE City',
  'CREATE PROPERTY City.code STRING',
  'CREATE INDEX ON City (code) UNIQUE',
  'CREATE EDGE TYPE LivesIn',
  'CREATE EDGE TYPE Knows',
  'CREATE DOCUMENT TYPE Note',
];

async function start(
  context: TestContext,
  texts: Readonly<Record<string, string>> = {},
): Promise<BatchFixture> {
  const { door, data: opened } = await startDatabaseDoor(context, { ofDoor: texts });
  for (const statement of schema) await opened.run(statement);
  return {
    door,
    data: opened,
    batch: (body, query = '', asked = {}) =>
      door.ask('POST', `batch/test${query}`, {
        ...asked,
        body,
        headers: { 'content-type': 'application/x-ndjson', ...asked.headers },
      }),
    count: async (type) => (await opened.run(`SELECT count(*) AS n FROM ${type}`))[0]?.['n'],
  };
}

const csvType = { headers: { 'content-type': 'text/csv' } };
const streamed = { headers: { accept: 'application/x-ndjson' } };

function events(answer: Answer): Record<string, Record<string, unknown>>[] {
  return answer.text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

const example = [
  '{"@type":"vertex","@class":"Person","@id":"t1","name":"Jay"}',
  '{"@type":"v","@class":"City","@id":"t2","name":"Rome"}',
  '{"@type":"edge","@class":"LivesIn","@from":"t1","@to":"t2","since":2020}',
  '',
].join('\n');

function persons(count: number, from = 0): string {
  let text = '';
  for (let n = from; n < from + count; n += 1)
    text += `{"@type":"v","@class":"Person","@id":"p${n}","n":${n}}\n`;
  return text;
}

test('vertices and edges of a JSONL body are stored and counted', async (context) => {
  const { batch, data } = await start(context);
  const answer = await batch(example);
  assert.equal(answer.status, 200, answer.text);
  const { elapsedMs, idMapping, ...rest } = answer.body;
  assert.deepEqual(rest, {
    verticesCreated: 2,
    edgesCreated: 1,
    linesRead: 3,
    linesSkipped: 0,
    bytesRead: example.length,
  });
  assert.equal(typeof elapsedMs, 'number');
  const ids = idMapping as Record<string, string>;
  assert.deepEqual(Object.keys(ids), ['t1', 't2']);
  const rows = await data.run(
    "SELECT name, out('LivesIn').name AS city, outE('LivesIn').since AS since FROM Person",
  );
  assert.deepEqual(rows, [{ name: 'Jay', city: ['Rome'], since: [2020] }]);
  const again = await batch(
    `{"@type":"e","@class":"LivesIn","@from":"${ids['t1']}","@to":"${ids['t2']}"}`,
  );
  assert.equal(again.body['edgesCreated'], 1, again.text);
  assert.deepEqual(again.body['idMapping'], {});
});

test('a declared BINARY takes the markers of byte arrays', async (context) => {
  const { batch, data } = await start(context);
  await data.run('CREATE PROPERTY Person.raw BINARY');
  const person = '{"@type":"v","@class":"Person"';
  const body = `${person},"raw":{"$bytes":"AQL_"},"n":1}\n${person},"raw":{"$int8":[3,-4]},"n":2}\n`;
  assert.equal((await batch(body)).status, 200);
  const rows = await data.print('SELECT raw FROM Person ORDER BY n');
  assert.equal(rows, '{raw: bytes 0102ff}\n{raw: bytes 03fc}');
  const torn = await batch(`${person},"raw":{"$bytes":"!"}}`);
  assert.match(torn.text, /Line 1: Invalid \$bytes '!' is not base64/);
  await batch(`${person},"other":{"$bytes":"AQID"},"n":3}`);
  assert.equal((await data.run('SELECT FROM Person WHERE other.size() = 1')).length, 1);
});

test('a CSV body has two sections and detects values', async (context) => {
  const { batch, data } = await start(context);
  const body = [
    '\ufeff@type,@class,@id,name,age,code,flag,ratio,big,exact',
    'v,Person,t1,"Jay ""J"" Miner",42,007,TRUE,1.50,123456789012345678,9007199254740993',
    'vertex,City,"t,2",Rome,,00100,,,12345678901234567890,+5',
    '',
    '---,,,',
    '@type,@class,@from,@to,since,note',
    'e,LivesIn,t1,"t,2",2020,"2020"',
  ].join('\r\n');
  const answer = await batch(body, '', csvType);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body['linesRead'], 7);
  assert.equal(answer.body['linesSkipped'], 1);
  const plain = await data.print('SELECT name, age, code, flag, ratio, big, exact FROM Person');
  assert.equal(
    plain,
    await data.print(
      `SELECT 'Jay "J" Miner' AS name, 42 AS age, '007' AS code, true AS flag, 1.5 AS ratio, 123456789012345678 AS big, 9007199254740993 AS exact`,
    ),
  );
  assert.deepEqual(await data.run('SELECT name, code, exact, big FROM City'), [
    { name: 'Rome', code: '00100', exact: '+5', big: 12345678901234567000 },
  ]);
  assert.deepEqual(await data.run('SELECT since, note FROM LivesIn'), [
    { since: 2020, note: '2020' },
  ]);
});

const refused: readonly (readonly [string, string, number, RegExp])[] = [
  ['not JSON', `${persons(1)}{"@type":`, 400, /^Line 2: invalid JSON at column/],
  ['a list', '[1]', 400, /^Line 1: expected a JSON object/],
  ['no @type', '{"@class":"Person"}', 400, /^Line 1: '@type' is missing/],
  ['a document', '{"@type":"d","@class":"Note"}', 400, /^Line 1: '@type' is 'd'/],
  ['no @class', '{"@type":"v"}', 400, /^Line 1: '@class' is missing/],
  [
    'no such type',
    `\n${persons(1)}{"@type":"v","@class":"Missing"}`,
    400,
    /^Line 3: vertex type 'Missing' not found/,
  ],
  [
    'other kind',
    '{"@type":"v","@class":"Knows"}',
    400,
    /^Line 1: vertex type 'Knows' not found: .*edge/,
  ],
  ['document type', '{"@type":"v","@class":"Note"}', 400, /^Line 1: vertex type 'Note' not found/],
  ['meta field', '{"@type":"v","@class":"Person","@rid":"#1:1"}', 400, /^Line 1: '@rid' is none/],
  [
    '@from on a vertex',
    '{"@type":"v","@class":"Person","@from":"a"}',
    400,
    /'@from' is not allowed on a vertex/,
  ],
  [
    '@id on an edge',
    `${persons(2)}{"@type":"e","@class":"Knows","@id":"x","@from":"p0","@to":"p1"}`,
    400,
    /^Line 3: '@id' is not allowed on an edge/,
  ],
  [
    'no @to',
    `${persons(1)}{"@type":"e","@class":"Knows","@from":"p0"}`,
    400,
    /^Line 2: '@to' is missing/,
  ],
  [
    'unknown end',
    `${persons(1)}{"@type":"e","@class":"Knows","@from":"p0","@to":"p9"}`,
    400,
    /^Line 2: the vertex 'p9' /,
  ],
  [
    'no such record',
    `${persons(1)}{"@type":"e","@class":"Knows","@from":"p0","@to":"#1:999"}`,
    400,
    /^Line 2: the vertex '#1:999' /,
  ],
  ['repeated @id', `${persons(1)}${persons(1)}`, 400, /^Line 2: two vertices have the @id 'p0'/],
  [
    'a vertex after an edge',
    `${persons(2)}{"@type":"e","@class":"Knows","@from":"p0","@to":"p1"}\n${persons(1, 5)}`,
    400,
    /^Line 4: a vertex after the first edge/,
  ],
  [
    'a value of a wrong type',
    `${persons(2)}{"@type":"v","@class":"Person","age":"old"}`,
    400,
    /^Line 3: Cannot convert type 'String' to 'INTEGER'/,
  ],
  [
    'a number outside doubles',
    '{"@type":"v","@class":"Person","x":1e400}',
    400,
    /^Line 1: .*number outside/,
  ],
  [
    'a lone surrogate',
    '{"@type":"v","@class":"Person","x":"\\ud800"}',
    400,
    /^Line 1: .*lone surrogate/,
  ],
  [
    'nesting',
    `{"@type":"v","@class":"Person","x":${'['.repeat(600)}${']'.repeat(600)}}`,
    400,
    /^Line 1: .*nested deeper/,
  ],
  [
    'taken key',
    '{"@type":"v","@class":"City","code":"a"}\n{"@type":"v","@class":"City","code":"a"}',
    409,
    /^Line 2: Duplicated key/,
  ],
];

test('what is wrong with a body is said with its line', async (context) => {
  const { batch, door } = await start(context);
  for (const [what, body, status, detail] of refused) {
    const answer = await batch(body);
    assert.equal(answer.status, status, `${what}: ${answer.text}`);
    assert.match(String(answer.body['detail']), detail, what);
    assert.equal(answer.body['partialCommit'], false, what);
    assert.equal(answer.body['verticesCreated'], 0, what);
    assert.equal(answer.body['edgesCreated'], 0, what);
    assert.equal(typeof answer.body['linesRead'], 'number', what);
    assert.equal(answer.body['requestId'], answer.headers['x-request-id'], what);
    const lines = events(await batch(body, '', streamed));
    const last = lines.at(-1)?.['error'];
    assert.equal(last?.['status'], status, what);
    assert.match(String(last?.['message']), detail, what);
    assert.equal(last?.['partialCommit'], false, what);
  }
  const invalid = await batch(Buffer.from('{"@type":"v","@class":"Person","x":"\xff"}', 'latin1'));
  assert.equal(invalid.status, 400);
  assert.match(String(invalid.body['detail']), /^Line 1: .*UTF-8/);
  assert.deepEqual(door.internalErrors, []);
});

const refusedCsv: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
  ['no class column', '@type,name\nv,x', /^Line 1: the header has no column '@class'/],
  ['repeated column', '@type,@class,a,a\n', /^Line 1: the header has two columns 'a'/],
  ['open quote', '@type,@class,a\nv,Person,"x', /^Line 2: a quoted field is not closed/],
  ['behind the quote', '@type,@class,a\nv,Person,"x"y', /^Line 2: there is text behind/],
  ['too many fields', '@type,@class,a\nv,Person,1,2', /^Line 2: 4 fields, but the header has 3/],
  [
    'no UTF-8',
    Buffer.from('@type,@class,name\nv,Person,a\nv,Person,\xc3\n', 'latin1'),
    /^Line 3: the text is not valid UTF-8/,
  ],
  ['too few fields', '@type,@class,a\nv,Person', /^Line 2: 2 fields, but the header has 3/],
  [
    'edge among vertices',
    '@type,@class,a\ne,Knows,1',
    /^Line 2: an edge in the section of vertices/,
  ],
  ['unknown kind', '@type,@class,a\nx,Knows,1', /^Line 2: '@type' is 'x'/],
  ['no ends', '@type,@class\nv,Person\n---\n@type,@class,@from\n', /^Line 4: .* no column '@to'/],
  [
    'vertex among edges',
    '@type,@class\n---\n@type,@class,@from,@to\nv,Person,a,b',
    /^Line 4: a vertex in the section of edges/,
  ],
  ['unknown meta', '@type,@class,@rid\n', /^Line 1: '@rid' is none/],
  ['unknown type', '@type,@class\nv,Nope', /^Line 2: vertex type 'Nope' not found/],
  [
    'unknown end',
    '@type,@class\n---\n@type,@class,@from,@to\ne,Knows,a,b',
    /^Line 4: the vertex 'a'/,
  ],
];

test('what is wrong with a CSV body is said with its line', async (context) => {
  const { batch } = await start(context);
  for (const [what, body, detail] of refusedCsv) {
    const answer = await batch(body, '', csvType);
    assert.equal(answer.status, 400, `${what}: ${answer.text}`);
    assert.match(String(answer.body['detail']), detail, what);
  }
});

test('the content type, the parameters and the database are checked first', async (context) => {
  const { batch, door } = await start(context);
  for (const type of ['application/json', 'text/plain', '']) {
    const answer = await batch(example, '', { headers: { 'content-type': type } });
    assert.equal(answer.status, 400);
    assert.match(answer.text, /application\/x-ndjson, application\/jsonl.*text\/csv/);
  }
  const queries = [
    'batchSize=0', 'vertexBatchSize=x', 'commitEvery=-1', 'commitRetries=1.5', 'lightEdges=maybe',
    'edgeListInitialSize=63', 'edgeListInitialSize=8193', 'expectedRecords=many', 'idMapping=some',
    'refMode=name', 'ordinalBase=-1', 'wal=', 'commitRetryDelayMs=1e3',
  ]; // biome-ignore format: a list
  for (const query of queries) {
    const answer = await batch(example, `?${query}`);
    assert.equal(answer.status, 400, query);
    assert.match(answer.text, new RegExp(`'${query.split('=')[0]}'`));
  }
  const good = '?edgeListInitialSize=64&wal=true&lightEdges=false&unknown=1&batchSize=1';
  assert.equal((await batch(example, good)).status, 200);
  const missing = await door.ask('POST', 'batch/nowhere', {
    body: example,
    headers: { 'content-type': 'application/jsonl' },
  });
  assert.equal(missing.status, 404);
  assert.equal(missing.body['exception'], 'DatabaseNotFoundException');
  assert.equal((await door.ask('POST', 'batch', { body: example })).status, 400);
});

test('commitEvery makes chunks that stay when a later line is wrong', async (context) => {
  const { batch, count } = await start(context);
  const answer = await batch(`${persons(25)}nonsense`, '?commitEvery=10');
  assert.equal(answer.status, 400);
  assert.equal(answer.body['verticesCreated'], 20);
  assert.equal(answer.body['linesRead'], 26);
  assert.equal(answer.body['partialCommit'], true);
  assert.equal(await count('Person'), 20);
});

test('a streamed answer tells each commit and the ids it resolved', async (context) => {
  const { batch } = await start(context);
  const body = `${persons(25)}{"@type":"e","@class":"Knows","@from":"p0","@to":"p24"}\n`;
  const answer = await batch(body, '?commitEvery=10', streamed);
  assert.equal(answer.status, 200);
  assert.equal(answer.headers['content-type'], 'application/x-ndjson');
  const lines = events(answer);
  const progress = lines.flatMap(({ progress }) => (progress ? [progress] : []));
  assert.deepEqual(
    progress.map(({ phase, verticesCreated, edgesCreated, linesRead, idMapping }) => [
      phase,
      verticesCreated,
      edgesCreated,
      linesRead,
      Object.keys(idMapping ?? {}).length,
    ]),
    [
      ['vertices', 10, 0, 10, 10],
      ['vertices', 20, 0, 20, 10],
      ['edges', 25, 1, 26, 5],
    ],
  );
  const { elapsedMs, ...summary } = lines.at(-1)?.['summary'] ?? {};
  assert.equal(typeof elapsedMs, 'number');
  assert.deepEqual(summary, {
    verticesCreated: 25,
    edgesCreated: 1,
    linesRead: 26,
    linesSkipped: 0,
    bytesRead: body.length,
    idMappingStreamed: true,
    idMappingSize: 25,
  });
  const broken = events(await batch(`${persons(15)}nonsense\n`, '?commitEvery=10', streamed));
  assert.equal(broken[0]?.['progress']?.['verticesCreated'], 10);
  assert.equal(broken[1]?.['error']?.['partialCommit'], true);
  assert.equal(broken[1]?.['error']?.['exceptionArgs'], null);
});

test('the map of ids is answered up to 10,000 unless told otherwise', async (context) => {
  const { batch } = await start(context);
  const few = await batch(`${persons(2)}{"@type":"v","@class":"Person"}`, '?idMapping=false');
  assert.equal(few.body['idMappingOmitted'], true);
  assert.equal(few.body['idMappingSize'], 2);
  assert.equal(few.body['verticesWithoutId'], 1);
  assert.equal('idMapping' in few.body, false);
  const many = await batch(persons(10_001));
  assert.equal(many.body['idMappingOmitted'], true);
  assert.equal(many.body['idMappingSize'], 10_001);
  const all = await batch(persons(10_001), '?idMapping=true');
  assert.equal(Object.keys(all.body['idMapping'] as object).length, 10_001);
  const odd =
    '{"@type":"v","@class":"Person","@id":"a\\"\\u00e9\\n"}\n{"@type":"v","@class":"Person","@id":"__proto__"}';
  const text = (await batch(odd)).text;
  assert.match(text, /"idMapping":\{"a\\"é\\n":"#\d+:\d+","__proto__":"#\d+:\d+"\}/);
});

test('edges may name vertices by the number of their line', async (context) => {
  const { batch, data } = await start(context);
  const body = `${persons(3)}{"@type":"e","@class":"Knows","@from":10,"@to":"12"}\n`;
  const answer = await batch(body, '?refMode=ordinal&ordinalBase=10');
  assert.equal(answer.status, 200, answer.text);
  const rows = await data.run("SELECT n, out('Knows').n AS m FROM Person WHERE n = 0");
  assert.deepEqual(rows, [{ n: 0, m: [2] }]);
  for (const end of ['9', '13', 'p1']) {
    const wrong = body.replace('"12"', `"${end}"`);
    const refusal = await batch(wrong, '?refMode=ordinal&ordinalBase=10');
    assert.equal(refusal.status, 400);
    assert.match(String(refusal.body['detail']), new RegExp(`^Line 4: the vertex '${end}'`));
  }
});

test('one-way edges are entered at their source only', async (context) => {
  const { batch, data } = await start(context);
  const body = `${persons(2)}{"@type":"e","@class":"Knows","@from":"p0","@to":"p1"}\n`;
  await batch(body, '?bidirectional=false');
  const rows = await data.run(
    "SELECT n, out('Knows').size() AS o, in('Knows').size() AS i FROM Person ORDER BY n",
  );
  assert.deepEqual(rows, [
    { n: 0, o: 1, i: 0 },
    { n: 1, o: 0, i: 0 },
  ]);
});

test('fewer records than expected are a cut upload', async (context) => {
  const { batch, count } = await start(context);
  const answer = await batch(persons(3), '?expectedRecords=4');
  assert.equal(answer.status, 408);
  assert.equal(answer.body['partialCommit'], false);
  assert.equal(await count('Person'), 0);
  assert.equal((await batch(persons(3), '?expectedRecords=3')).status, 200);
});

test('packed bodies are unpacked; bombs and nonsense are refused', async (context) => {
  const { batch, count } = await start(context);
  const packed = (coding: string) => ({ headers: { 'content-encoding': coding } });
  const zipped = await batch(gzipSync(persons(100)), '', packed('gzip'));
  assert.equal(zipped.body['verticesCreated'], 100, zipped.text);
  assert.equal(zipped.body['bytesRead'], persons(100).length);
  assert.equal((await batch(deflateSync(persons(5)), '', packed('deflate'))).status, 200);
  assert.equal((await batch(persons(5), '', packed('br'))).status, 415);
  assert.equal((await batch('nonsense', '', packed('gzip'))).status, 400);
  const cut = gzipSync(persons(1000)).subarray(0, 500);
  assert.equal((await batch(cut, '', packed('gzip'))).status, 408);
  const bomb = gzipSync(Buffer.alloc(6 * 1024 * 1024, '\n'), { level: 9 });
  assert.equal((await batch(bomb, '', packed('gzip'))).status, 413);
  assert.equal(await count('Person'), 105);
});

test('a line has a largest length', async (context) => {
  const { batch } = await start(context, { 'server.httpBatchLineMaxSize': '2048' });
  const answer = await batch(`${persons(1)}{"x":"${'y'.repeat(5000)}`);
  assert.equal(answer.status, 413);
  assert.match(String(answer.body['detail']), /^Line 2: .*httpBatchLineMaxSize/);
});

test('a session header changes nothing', async (context) => {
  const { batch } = await start(context);
  const headers = { 'service-session-id': 'AS-nobody' };
  assert.equal((await batch(example, '', { headers })).status, 200);
});

test('rights are those of records: database, then type', async (context) => {
  const { batch, door, count } = await start(context);
  const user = (name: string, level: string) =>
    door.users.create(name, { password: 'password', databases: new Map([['test', [level]]]) });
  await user('ann', 'reader');
  await user('ben', 'cities');
  const types = { '*': { access: ['readRecord'] }, City: { access: ['createRecord'] } };
  await door.groups.put('test', 'cities', parseGroup(parseJson(JSON.stringify({ types })), 'x'));
  assert.equal((await batch(example, '', { user: 'jay' })).status, 403);
  const reader = await batch(example, '', { user: 'ann' });
  assert.equal(reader.status, 403);
  assert.equal(reader.body['partialCommit'], false);
  assert.equal((await batch(example, '', { user: null })).status, 401);
  const city = '{"@type":"v","@class":"City","code":"x"}\n';
  assert.equal((await batch(city, '', { user: 'ben' })).status, 200);
  const mixed = await batch(city.replace('x', 'y') + persons(1), '', { user: 'ben' });
  assert.equal(mixed.status, 403);
  assert.match(String(mixed.body['detail']), /^Line 2: /);
  assert.equal(await count('Person'), 0);
});

test('a key that is taken by a stored record is a conflict with its line', async (context) => {
  const { batch, data } = await start(context);
  await data.run("INSERT INTO City SET code = 'taken'");
  const body = `${persons(2)}{"@type":"v","@class":"City","code":"taken"}\n`;
  const answer = await batch(body);
  assert.equal(answer.status, 409);
  assert.equal(answer.body['error'], 'Found duplicate key in index');
  assert.match(String(answer.body['detail']), /^Line 3: Duplicated key \[taken\]/);
  assert.match(String(answer.body['exceptionArgs']), /^City\[code\]\|/);
});

function openUpload(door: DoorFixture, query = ''): ClientRequest {
  return httpRequest({
    host: '127.0.0.1',
    port: door.port,
    method: 'POST',
    path: `/api/v1/batch/test${query}`,
    agent: false,
    headers: {
      authorization: basic('root'),
      'content-type': 'application/x-ndjson',
      ...streamed.headers,
    },
  });
}

/** Collects a streamed answer. */
async function reader(upload: ClientRequest) {
  const [answer] = (await once(upload, 'response')) as [IncomingMessage];
  let text = '';
  answer.on('data', (piece) => {
    text += String(piece);
    answer.emit('more');
  });
  answer.on('error', () => {});
  return {
    until: async (wanted: string) => {
      while (!text.includes(wanted)) await once(answer, 'more');
    },
  };
}

test('commits are told while the body still comes', async (context) => {
  const { door, count } = await start(context);
  const upload = openUpload(door, '?commitEvery=10');
  upload.write(persons(10));
  const answer = await reader(upload);
  await answer.until('"verticesCreated":10');
  assert.equal(await count('Person'), 10);
  upload.end(persons(1, 10));
  await answer.until('"summary":{"verticesCreated":11');
});

test('a client that leaves commits no further chunk', async (context) => {
  const { door, count } = await start(context);
  const upload = openUpload(door, '?commitEvery=10');
  upload.on('error', () => {});
  upload.write(persons(15));
  const answer = await reader(upload);
  await answer.until('"verticesCreated":10');
  upload.destroy();
  await once(upload, 'close');
  assert.equal(await count('Person'), 10);
  assert.deepEqual(door.internalErrors, []);
});

function rawHead(headers: string): string {
  return `POST /api/v1/batch/test HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic('root')}\r\nContent-Type: application/jsonl\r\n${headers}\r\n\r\n`;
}

test('a body that is cut off is 408, one that is malformed 400', async (context) => {
  const { door } = await start(context);
  const cut = await door.open();
  let text = '';
  cut.on('data', (piece) => {
    text += String(piece);
  });
  cut.end(`${rawHead('Content-Length: 1000')}${persons(3)}`);
  await once(cut, 'close');
  assert.match(text, /^HTTP\/1\.1 408 /);
  assert.match(text, /"partialCommit":false/);
  assert.match(text, /\r\nCache-Control: no-store\r\n/);
  const malformed = await door.raw(`${rawHead('Transfer-Encoding: chunked')}zz\r\n`);
  assert.match(malformed, /^HTTP\/1\.1 400 /);
  assert.deepEqual(door.internalErrors, []);
});

test('a client that stalls is 408', async (context) => {
  const { door } = await start(context, { 'server.httpStreamingReadTimeout': '50' });
  const answer = await door.raw(`${rawHead('Content-Length: 1000')}${persons(3)}`);
  assert.match(answer, /^HTTP\/1\.1 408 /);
  assert.match(answer, /httpStreamingReadTimeout/);
});

test('an empty body imports nothing', async (context) => {
  const { batch } = await start(context);
  const answer = await batch('');
  assert.equal(answer.status, 200);
  assert.equal(answer.body['linesRead'], 0);
  const blank = await batch('\n \r\n\n');
  assert.equal(blank.body['linesRead'], 3);
  assert.equal(blank.body['linesSkipped'], 3);
});
