import assert from 'node:assert/strict';
import { gunzipSync, inflateSync } from 'node:zlib';
import { test } from 'node:test';
import { Decimal } from '#core/value/decimal.ts';
import { Link } from '#core/value/record.ts';
import type { StoredRecord } from '#core/value/record.ts';
import type { LogIndex, Rid, TypeId } from '#core/value/rid.ts';
import { makeRid, noRid } from '#core/value/rid.ts';
import { DateTime, Duration, LocalDate } from '#core/temporal/temporal.ts';
import { EmbeddedDocument, Float } from '#core/value/value.ts';
import type { Value } from '#core/value/value.ts';
import { startDoor } from './door-fixture.ts';
import { rowBatch } from './fake-databases.ts';

// Queries and commands over scripted databases: fields, limits, layouts, sessions, repetition.

const sql = (command: string, more: object = {}) => ({ language: 'sql', command, ...more });

function record(
  kind: StoredRecord['kind'],
  position: number,
  properties: Readonly<Record<string, Value>>,
  ends: { out?: Rid; in?: Rid } = {},
): StoredRecord {
  const types = { document: 'Book', vertex: 'Person', edge: 'LivesIn' } as const;
  return {
    valueKind: 'record',
    kind,
    rid: makeRid(kind === 'edge' ? 13 : 4, position),
    type: 1 as TypeId,
    typeName: types[kind],
    version: 1 as LogIndex,
    out: ends.out ?? noRid,
    in: ends.in ?? noRid,
    get: (name) => properties[name],
    propertyNames: () => Object.keys(properties),
  };
}

test('an answer has user, rows, limit, returned and truncated, in this order', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', { complete: rowBatch(1, 2) });
  const answer = await door.ask('POST', 'query/school', { body: sql('x') });
  assert.equal(
    answer.text,
    '{"user":"root","result":[{"a":1,"b":"text"},{"a":2,"b":"text"}],"limit":20000,"returned":2,"truncated":false}',
  );
  assert.equal(answer.headers['content-type'], 'application/json');
  assert.equal(answer.headers['content-length'], String(answer.text.length));
  assert.equal(answer.headers['cache-control'], 'no-store');
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.equal(answer.headers['server'], undefined);
});

test('values have the JSON of http-api.md 5.1', async (context) => {
  const door = await startDoor(context);
  const values: [Value, string][] = [
    [null, 'null'],
    [true, 'true'],
    [-42, '-42'],
    [0, '0'],
    [2 ** 31, '2147483648'],
    [-(2 ** 31), '-2147483648'],
    [9_007_199_254_740_993n, '9007199254740993'],
    [-9_223_372_036_854_775_808n, '-9223372036854775808'],
    [3.5, '3.5'],
    [new Float(3), '3.0'],
    [new Float(-0), '-0.0'],
    [0.1, '0.1'],
    [Number.NaN, '"NaN"'],
    [Number.POSITIVE_INFINITY, '"PosInfinity"'],
    [Number.NEGATIVE_INFINITY, '"NegInfinity"'],
    [new Decimal(1050n, 2), '10.50'],
    [new LocalDate(20_484), '"2026-01-31"'],
    [new DateTime(1_769_854_830_000), '"2026-01-31 10:20:30"'],
    [new DateTime(1_769_854_830_123), '"2026-01-31 10:20:30.123"'],
    [new Duration(90), '90'],
    [new Duration(1, 500_000_000), '1.5'],
    [Uint8Array.of(1, 255, 127, 128), '[1,-1,127,-128]'],
    [new Link(makeRid(12, 0)), '"#12:0"'],
    [[1, [Number.NaN]], '[1,["NaN"]]'],
    [new Map<string, Value>([['k"', 1]]), '{"k\\"":1}'],
    [new EmbeddedDocument('T', new Map([['x', 1]])), '{"@type":"T","@cat":"d","x":1}'],
    ['plain', '"plain"'],
    ['q"b\\ \n\u0001 é 漢 😀', '"q\\"b\\\\ \\n\\u0001 é 漢 😀"'],
    ['long '.repeat(40), `"${'long '.repeat(40)}"`],
    [`${'long é'.repeat(40)}"`, `"${'long é'.repeat(40)}\\""`],
  ];
  for (const [value, json] of values) {
    const complete = { rowCount: 1, values: [value] };
    door.databases.behaviours.set('x', { shape: { kind: 'columns', names: ['v'] }, complete });
    const answer = await door.ask('POST', 'query/school', { body: sql('x') });
    assert.equal(/"result":\[\{"v":(.*)\}\],"limit"/s.exec(answer.text)?.[1], json);
  }
});

const jay = record('vertex', 0, { name: 'Jay', age: null });
const rome = record('vertex', 7, { name: 'Rome' });
const lives = record('edge', 0, { since: 2020 }, { out: jay.rid, in: rome.rid });
const book = record('document', 9, { title: 'Dune', link: new Link(jay.rid) });

test('records have the layout of each serializer', async (context) => {
  const door = await startDoor(context);
  const rows = [jay, rome, lives, book, jay];
  door.databases.behaviours.set('x', {
    shape: { kind: 'value' },
    complete: { rowCount: rows.length, values: rows },
  });
  const resultOf = async (serializer?: string) => {
    const { text } = await door.ask('POST', 'query/school', { body: sql('x', { serializer }) });
    return text.slice(text.indexOf('"result":') + 9, text.indexOf(',"limit"'));
  };
  const vertex = '{"@rid":"#4:0","@type":"Person","@cat":"v","name":"Jay","age":null}';
  const city = '{"@rid":"#4:7","@type":"Person","@cat":"v","name":"Rome"}';
  const edge =
    '{"@rid":"#13:0","@type":"LivesIn","@cat":"e","@in":"#4:7","@out":"#4:0","since":2020}';
  const document = '{"@rid":"#4:9","@type":"Book","@cat":"d","title":"Dune","link":"#4:0"}';
  assert.equal(await resultOf(), `[${[vertex, city, edge, document, vertex].join(',')}]`);
  const counted = (text: string) => text.replace('"@cat":"v"', '"@cat":"v","@in":3,"@out":4');
  assert.equal(
    await resultOf('studio'),
    `[${[counted(vertex), counted(city), edge, document, counted(vertex)].join(',')}]`,
  );
  const vertices =
    '{"r":"#4:0","t":"Person","p":{"name":"Jay","age":null},"i":3,"o":4},{"r":"#4:7","t":"Person","p":{"name":"Rome"},"i":3,"o":4}';
  const edges = '{"r":"#13:0","t":"LivesIn","p":{"since":2020},"i":"#4:7","o":"#4:0"}';
  assert.equal(await resultOf('graph'), `{"vertices":[${vertices}],"edges":[${edges}]}`);
  assert.match(
    await resultOf('studioGraph'),
    /^\{"vertices":\[.*\],"edges":\[.*\],"records":\[.*\]\}$/,
  );
});

test('graph takes vertices and edges out of projections, with the ends of edges', async (context) => {
  const door = await startDoor(context);
  const nested: Value = new Map<string, Value>([['deep', [[lives], 5, 'x']]]);
  door.databases.behaviours.set('x', {
    shape: { kind: 'columns', names: ['a', 'b', 'c'] },
    complete: { rowCount: 1, values: [nested, new Link(makeRid(99, 9)), book] },
    records: new Map([
      [jay.rid, jay],
      [rome.rid, rome],
    ]),
  });
  const { body } = await door.ask('POST', 'query/school', {
    body: sql('x', { serializer: 'graph' }),
  });
  const { vertices, edges } = body['result'] as Record<string, { r: string }[]>;
  assert.deepEqual(
    vertices?.map(({ r }) => r),
    ['#4:0', '#4:7'],
  );
  assert.deepEqual(
    edges?.map(({ r }) => r),
    ['#13:0'],
  );
  assert.equal(body['returned'], 3);
  const cut = await door.ask('POST', 'query/school', {
    body: sql('x', { serializer: 'graph', limit: 2 }),
  });
  assert.deepEqual([cut.body['returned'], cut.body['truncated']], [2, true]);
});

test('rows that are one value: maps are rows, scalars are wrapped, type hints tell ids', async (context) => {
  const door = await startDoor(context);
  const map = new Map<string, Value>([
    ['n', 1],
    ['long', 2 ** 40],
    ['text', 'x'],
  ]);
  door.databases.behaviours.set('x', {
    shape: { kind: 'value' },
    complete: { rowCount: 3, values: [map, 5, jay] },
  });
  const { text } = await door.ask('POST', 'query/school', { body: sql('x', { typeHints: true }) });
  assert.match(text, /\{"n":1,"long":1099511627776,"text":"x","@props":"n:1,long:3,text:7"\}/);
  assert.match(text, /\{"value":5\}/);
  assert.doesNotMatch(text, /"Jay".*@props/);
  door.databases.behaviours.set('y', { complete: rowBatch(1, 1) });
  const columns = await door.ask('POST', 'query/school', { body: sql('y', { typeHints: true }) });
  assert.match(columns.text, /\[\{"a":1,"b":"text","@props":"a:1,b:7"\}\]/);
});

test('limits follow http-api.md 6.3', async (context) => {
  const door = await startDoor(context, {
    'server.httpQueryDefaultLimit': '10',
    'server.httpQueryMaxResultRows': '100',
  });
  const run = async (
    rowCount: number,
    more: { limit?: number; statementLimit?: number; isWrite?: boolean; streamed?: boolean },
  ) => {
    const { limit, statementLimit, isWrite = false, streamed = false } = more;
    const rows = rowBatch(0, rowCount);
    door.databases.behaviours.set('x', {
      ...(streamed ? { batches: [rows] } : { complete: rows }),
      ...(statementLimit === undefined ? undefined : { statementLimit }),
      isWrite,
    });
    const { status, body } = await door.ask('POST', 'command/school', {
      body: sql('x', { limit }),
    });
    const asked = door.databases.seen.at(-1)?.options.rowCountMax;
    if (status !== 200) return [status, body['exception'], body['exceptionArgs']];
    return [body['limit'], body['returned'], body['truncated'], asked];
  };
  for (const streamed of [false, true]) {
    assert.deepEqual(await run(10, { streamed }), [10, 10, false, 11]);
    assert.deepEqual(await run(11, { streamed }), [10, 10, true, 11]);
    assert.deepEqual(await run(6, { limit: 5, streamed }), [5, 5, true, 6]);
    assert.deepEqual(await run(50, { statementLimit: 50, streamed }), [50, 50, false, 11]);
    assert.deepEqual(await run(3, { statementLimit: 3, streamed }), [10, 3, false, 11]);
    assert.deepEqual(await run(101, { statementLimit: 500, streamed }), [100, 100, true, 11]);
    assert.deepEqual(await run(100, { limit: -1, streamed }), [-1, 100, false, 101]);
    assert.deepEqual(await run(100, { limit: 0, streamed }), [-1, 100, false, 101]);
    const tooMany = [413, 'ResultSetTooLargeException', '100'];
    assert.deepEqual(await run(101, { limit: -1, streamed }), tooMany);
    assert.deepEqual(await run(101, { limit: 200, streamed }), tooMany);
    assert.deepEqual(await run(90, { limit: 200, streamed }), [200, 90, false, 101]);
  }
  assert.deepEqual(await run(150, { limit: -1, isWrite: true }), [-1, 100, true, 101]);
  assert.equal(door.databases.openStreams, 0);
});

test('groups limit the rows of their users', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', { complete: rowBatch(0, 9) });
  const group = { database: 'school', name: 'reader', resultSetLimit: 4, readTimeout: 50 };
  const saved = await door.ask('POST', 'server/groups', { body: { ...group, types: {} } });
  assert.equal(saved.status, 200);
  const { body } = await door.ask('POST', 'query/school', { user: 'jay', body: sql('x') });
  assert.deepEqual([body['limit'], body['returned'], body['truncated']], [4, 4, true]);
  assert.equal(door.databases.seen[0]?.options.readTimeoutMs, 50);
});

test('parameters and options reach the statement', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  await door.ask('POST', 'command/school', {
    body: sql(' x', {
      params: {
        id: 1,
        big: 'y',
        $bytes: 'AAA=',
        nested: { $bytes: '-_8' },
        pair: { $bytes: 1, b: 2 },
      },
    }),
  });
  door.databases.behaviours.set(' x', { complete: rowBatch(0, 1) });
  await door.ask('POST', 'command/school', {
    body: `{"language":" SQL ","command":"x","params":[7,9007199254740993,1.0],"autoCommit":false,"retries":0,"profileExecution":"basic"}`,
  });
  const [named, positional] = door.databases.seen;
  assert.equal(named?.statement.text, ' x');
  assert.equal(named?.statement.parameters.get('$bytes'), 'AAA=');
  assert.deepEqual(named?.statement.parameters.get('nested'), Uint8Array.of(251, 255));
  assert.ok(named?.statement.parameters.get('pair') instanceof Map);
  assert.equal(positional?.statement.language, 'sql');
  assert.deepEqual(
    [...(positional?.statement.parameters ?? [])],
    [
      ['0', 7],
      ['1', 9_007_199_254_740_993n],
      ['2', new Float(1)],
    ],
  );
  const { autoCommit, retries, profile, mustBeIdempotent, principal } = positional?.options ?? {};
  assert.deepEqual([autoCommit, retries, profile, mustBeIdempotent], [false, 1, 'basic', false]);
  assert.equal(principal?.name, 'root');
});

test('malformed markers are refused with the marker and the value', async (context) => {
  const door = await startDoor(context);
  const nest = (depth: number): unknown => (depth === 0 ? 1 : [nest(depth - 1)]);
  const cases: [unknown, RegExp][] = [
    [{ $bytes: 'a b=' }, /Invalid \$bytes 'a b=' is not base64/],
    [{ $bytes: '!!' }, /\$bytes '!!'/],
    [{ $bytes: 'AAAAA' }, /\$bytes/],
    [{ $bytes: null }, /\$bytes null/],
    [{ $bytes: 5 }, /\$bytes 5/],
    [{ $int8: [1, 200] }, /Invalid \$int8 element 200 at index 1: out of range \[-128, 127\]/],
    [{ $int8: [127.5] }, /element 127.5/],
    [{ $int8: ['1'] }, /element '1' at index 0: not a number/],
    [{ $int8: null }, /\$int8 null/],
    [[{ x: { $int8: [-129] } }], /-129/],
    [nest(33), /nested deeper than 32/],
  ];
  for (const [value, detail] of cases) {
    const { status, body } = await door.ask('POST', 'query/school', {
      body: sql('x', { params: { p: value } }),
    });
    assert.deepEqual([status, body['error']], [400, 'Cannot execute command']);
    assert.equal(body['exception'], 'IllegalArgumentException');
    assert.match(String(body['detail']), detail);
  }
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  const params = {
    a: { $int8: [3.4, -128, 127] },
    b: { $bytes: '' },
    c: { $int8: [] },
    d: nest(31),
  };
  const { status } = await door.ask('POST', 'query/school', { body: sql('x', { params }) });
  assert.equal(status, 200);
  const seen = door.databases.seen[0]?.statement.parameters;
  assert.deepEqual(seen?.get('a'), Uint8Array.of(3, 128, 127));
  assert.deepEqual(seen?.get('b'), Uint8Array.of());
});

test('the GET form decodes its path once and takes limit and serializer', async (context) => {
  const door = await startDoor(context);
  const text = "select from T where a = 'é/100%' and b < 2";
  door.databases.behaviours.set(text, { complete: rowBatch(0, 3) });
  const path = `query/school/sql/${encodeURIComponent(text)}`;
  const answer = await door.ask('GET', `${path}?limit=2&serializer=record`);
  assert.deepEqual([answer.body['returned'], answer.body['limit']], [2, 2]);
  const slash = `query/school/sql/${encodeURIComponent(text).replace('%2F', '/')}`;
  assert.equal((await door.ask('GET', slash)).status, 200);
  assert.equal((await door.ask('GET', `${path}?limit=x`)).status, 400);
  assert.equal((await door.ask('GET', `${path}?serializer=x`)).status, 400);
  assert.equal((await door.ask('GET', 'query/school/sql')).status, 400);
  const long = `query/school/sql/${encodeURIComponent(`x${' '.repeat(3000)}`)}`;
  assert.equal((await door.ask('GET', long)).status, 400);
  assert.equal((await door.ask('GET', 'query/a%2Fb/sql/x')).status, 400);
});

test('queries refuse writes, commands take them', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('w', { complete: rowBatch(0, 1), isWrite: true });
  const query = await door.ask('POST', 'query/school', { body: sql('w') });
  assert.deepEqual([query.status, query.body['error']], [400, 'Query is not idempotent']);
  assert.equal(query.body['exception'], 'QueryNotIdempotentException');
  assert.equal((await door.ask('GET', 'query/school/sql/w')).status, 400);
  assert.equal((await door.ask('POST', 'command/school', { body: sql('w') })).status, 200);
});

test('plans, statistics and times stand behind the rows', async (context) => {
  const door = await startDoor(context);
  const step = { name: 'Fetch', description: '+ FETCH', cost: -1, rowCount: undefined, steps: [] };
  const stats = {
    nodesCreated: 1,
    nodesDeleted: 0,
    relationshipsCreated: 0,
    relationshipsDeleted: 0,
    propertiesSet: 0,
    labelsAdded: 1,
    labelsRemoved: 0,
    indexesAdded: 0,
    indexesRemoved: 0,
    constraintsAdded: 0,
    constraintsRemoved: 0,
    containsUpdates: true,
  };
  door.databases.behaviours.set('x', {
    complete: rowBatch(0, 0),
    stats,
    explain: { text: '+ FETCH\n', steps: [step] },
  });
  const { body } = await door.ask('POST', 'command/school', {
    body: sql('x', { profileExecution: 'detailed' }),
  });
  assert.deepEqual(body['stats'], stats);
  assert.equal(body['explain'], '+ FETCH\n');
  assert.deepEqual(body['explainPlan'], {
    type: 'QueryExecutionPlan',
    cost: -1,
    prettyPrint: '+ FETCH\n',
    steps: [
      {
        name: 'Fetch',
        type: 'Fetch',
        targetNode: '<local>',
        cost: -1,
        description: '+ FETCH',
        subSteps: [],
      },
    ],
  });
  const profile = body['profile'] as Record<string, number>;
  assert.ok((profile['totalMs'] ?? -1) >= (profile['engineMs'] ?? 0));
  assert.equal(Object.keys(profile).length, 10);
});

test('awaitResponse false is acknowledged with 202', async (context) => {
  const door = await startDoor(context);
  const body = sql('later', { awaitResponse: false });
  const answer = await door.ask('POST', 'command/school', { body });
  assert.deepEqual(
    [answer.status, answer.body],
    [202, { result: 'Command accepted for asynchronous execution' }],
  );
  assert.equal(door.databases.later[0]?.statement.text, 'later');
  const headers = { accept: 'application/x-ndjson' };
  const asStream = await door.ask('POST', 'command/school', { body, headers });
  assert.equal(asStream.status, 202);
  const inSession = await door.ask('POST', 'command/school', {
    body,
    headers: { 'service-session-id': 'AS-x' },
  });
  assert.equal(inSession.status, 400);
});

test('large answers are packed when the client takes that', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('big', { complete: rowBatch(0, 500) });
  door.databases.behaviours.set('small', { complete: rowBatch(0, 1) });
  const ask = (command: string, coding: string) =>
    door.ask('POST', 'query/school', {
      body: sql(command),
      headers: { 'accept-encoding': coding },
    });
  const plain = await ask('big', 'identity');
  const gzip = await ask('big', 'br, gzip;q=0.5, deflate');
  assert.equal(gzip.headers['content-encoding'], 'gzip');
  assert.equal(gzip.headers['vary'], 'Accept-Encoding');
  assert.equal(gunzipSync(gzip.bytes).toString(), plain.text);
  const deflate = await ask('big', 'gzip;q=0, deflate');
  assert.equal(inflateSync(deflate.bytes).toString(), plain.text);
  for (const [command, coding] of [
    ['small', 'gzip'],
    ['big', 'br'],
    ['big', 'gzip;q=0'],
  ] as const)
    assert.equal((await ask(command, coding)).headers['content-encoding'], undefined);
});

test('a repeated request id gets the first answer, of the same user and body only', async (context) => {
  const door = await startDoor(context);
  let runs = 0;
  door.databases.behaviours.set('w', {
    complete: rowBatch(0, 1),
    isWrite: true,
    before: () => {
      runs += 1;
    },
  });
  const ask = (id: string, more: object = {}, user = 'root') =>
    door.ask('POST', 'command/school', {
      body: sql('w', more),
      headers: { 'x-request-id': id },
      user,
    });
  const first = await ask('one');
  const again = await ask('one');
  assert.deepEqual([runs, again.text], [1, first.text]);
  assert.equal(again.headers['x-request-id'], 'one');
  await ask('two');
  await ask('one', { limit: 5 });
  await ask('one', {}, 'jay');
  assert.equal(runs, 4);
  const keys = new Set(door.databases.seen.map(({ options }) => options.replayKey));
  assert.equal(keys.size, 4);
  door.databases.committed.set([...keys][0] ?? '', 12 as LogIndex);
});

test('a request id whose answer is gone is not executed twice', async (context) => {
  const door = await startDoor(context, { 'ha.idempotencyCacheTtlMs': '0' });
  let runs = 0;
  door.databases.behaviours.set('w', {
    complete: rowBatch(0, 1),
    isWrite: true,
    before: (_statement, { replayKey }) => {
      runs += 1;
      door.databases.committed.set(replayKey ?? '', 12 as LogIndex);
    },
  });
  const asked = { body: sql('w'), headers: { 'x-request-id': 'one' } };
  await door.ask('POST', 'command/school', asked);
  const again = await door.ask('POST', 'command/school', asked);
  assert.deepEqual([runs, again.body], [1, { deduplicated: true, commitIndex: 12 }]);
});

test('repetitions wait for the first request; a failed answer is not kept', async (context) => {
  const door = await startDoor(context);
  const gate = Promise.withResolvers<void>();
  let runs = 0;
  door.databases.behaviours.set('slow', {
    complete: rowBatch(0, 1),
    before: async () => {
      runs += 1;
      await gate.promise;
      if (runs === 1) throw new TypeError('first fails');
    },
  });
  const ask = () =>
    door.ask('POST', 'command/school', { body: sql('slow'), headers: { 'x-request-id': 'x' } });
  const both = [ask(), ask()];
  while (runs === 0) await new Promise(setImmediate);
  gate.resolve();
  const statuses = (await Promise.all(both)).map(({ status }) => status).sort();
  assert.deepEqual([statuses, runs], [[200, 500], 2]);
});

test('request ids are cleaned, cut and never forge a header', async (context) => {
  const door = await startDoor(context);
  const echo = async (id: string) =>
    (await door.ask('GET', 'health', { headers: { 'x-request-id': id } })).headers['x-request-id'];
  assert.equal(await echo('abc-1'), 'abc-1');
  assert.equal((await echo('x'.repeat(200)))?.length, 128);
  assert.equal(await echo('a\tb'), 'ab');
  assert.match(String(await echo(' ')), /^[0-9a-f]+-[0-9a-f]+$/);
});
