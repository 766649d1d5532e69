import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseGroup } from '#security/group-document.ts';
import { basic } from '../http/door-fixture.ts';
import { type Frame, type SocketFixture, startSockets, type TestClient } from './socket-fixture.ts';

// Streamed inserts (contract 1 "Streaming inserts over WebSocket", websocket.md 4).

const schema = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.email STRING',
  'CREATE PROPERTY Person.age INTEGER',
  "CREATE PROPERTY Person.state STRING (DEFAULT 'new')",
  'CREATE PROPERTY Person.level INTEGER (MAX 10)',
  'CREATE INDEX ON Person (email) UNIQUE',
  'CREATE VERTEX TYPE City',
  'CREATE DOCUMENT TYPE Note',
  'CREATE EDGE TYPE LivesIn',
];

interface InsertFixture extends SocketFixture {
  readonly client: TestClient;
  /** Starts a session. @returns its id */
  open(options?: Frame, client?: TestClient): Promise<string>;
  chunk(sessionId: string, chunkSeq: number, records: readonly unknown[]): Promise<Frame>;
  names(type: string): Promise<unknown[]>;
}

async function start(
  context: Parameters<typeof startSockets>[0],
  settings: Readonly<Record<string, string>> = {},
): Promise<InsertFixture> {
  const fixture = await startSockets(context, settings);
  for (const statement of schema) await fixture.sql(statement);
  const client = await fixture.connect();
  return {
    ...fixture,
    client,
    open: async (options = {}, by = client) => {
      const answer = await by.ask({ action: 'start', database: 'school', options });
      assert.equal(answer['action'], 'started', JSON.stringify(answer));
      return String(answer['sessionId']);
    },
    chunk: (sessionId, chunkSeq, records) =>
      client.ask({ action: 'chunk', sessionId, chunkSeq, records }),
    names: async (type) => {
      const rows = await fixture.sql(`SELECT name FROM ${type} ORDER BY name`);
      return rows.map(({ name }) => name);
    },
  };
}

function ack(sessionId: string, chunkSeq: number, counts: Frame): Frame {
  return {
    result: 'ok',
    action: 'batchAck',
    sessionId,
    chunkSeq,
    received: 0,
    inserted: 0,
    updated: 0,
    ignored: 0,
    failed: 0,
    errors: [],
    ...counts,
  };
}

function codes(answer: Frame): unknown[] {
  return (answer['errors'] as Frame[]).map(({ rowIndex, code }) => [rowIndex, code]);
}

test('start echoes the modes, in whatever spelling they came', async (context) => {
  const { client } = await start(context);
  const cases: [Frame, Frame][] = [
    [{}, { transactionMode: 'per_stream', conflictMode: 'error', validateOnly: false }],
    [
      { transactionMode: 'PER_REQUEST', conflictMode: 'CONFLICT_ABORT', validateOnly: true },
      { transactionMode: 'per_stream', conflictMode: 'error', validateOnly: true },
    ],
    [
      { transactionMode: 'TX_PER-BATCH', conflictMode: 'conflict_update', keyColumns: ['email'] },
      { transactionMode: 'per_batch', conflictMode: 'update', validateOnly: false },
    ],
    [
      { transactionMode: 'transaction_per_row', conflictMode: 'Ignore', unknown: 1 },
      { transactionMode: 'per_row', conflictMode: 'ignore', validateOnly: false },
    ],
  ];
  for (const [options, modes] of cases) {
    const frame = { action: 'start', database: 'school', sessionId: 'load', options };
    const about = { result: 'ok', action: 'started', sessionId: 'load', database: 'school' };
    assert.deepEqual(await client.ask(frame), { ...about, ...modes });
    await client.ask({ action: 'rollback', sessionId: 'load' });
  }
  const unnamed = await client.ask({ action: 'start', database: 'school' });
  assert.match(String(unnamed['sessionId']), /^[0-9a-f-]{36}$/);
});

test('a start that cannot be is refused by name', async (context) => {
  const { client, connect, open } = await start(context);
  const cases: [Frame, string, RegExp][] = [
    [
      { options: { transactionMode: 'none' } },
      'Insert session error',
      /'none', accepted are: per_stream, per_request, per_batch, per_row/,
    ],
    [
      { options: { conflictMode: 'merge' } },
      'Insert session error',
      /'merge', accepted are: error/,
    ],
    [{ options: { conflictMode: 'update' } }, 'Insert session error', /keyColumns/],
    [{ options: { keyColumns: 'email' } }, 'Message error', /'keyColumns' must be an array/],
    [{ options: { validateOnly: 'yes' } }, 'Message error', /'validateOnly' must be a boolean/],
    [{ options: { targetType: 1 } }, 'Message error', /'targetType' must be a string/],
    [{ options: 1 }, 'Message error', /'options' must be an object/],
    [{ sessionId: 'x'.repeat(129) }, 'Insert session error', /1 to 128/],
    [{ sessionId: 'a\nb' }, 'Insert session error', /printable/],
    [{ sessionId: 5 }, 'Message error', /'sessionId' must be a string/],
    [{ database: 'none' }, 'Database error', /'none' does not exist/],
  ];
  for (const [more, error, detail] of cases) {
    const answer = await client.ask({ action: 'start', database: 'school', ...more });
    assert.deepEqual([answer['action'], answer['error']], ['error', error], JSON.stringify(more));
    assert.match(String(answer['detail']), detail);
  }
  const other = await connect(basic('jay'));
  const foreign = await other.ask({ action: 'start', database: 'none' });
  assert.equal(foreign['error'], 'Security error');
  const id = await open();
  const second = await client.ask({ action: 'start', database: 'school' });
  assert.match(String(second['detail']), /has an open insert session already/);
  const same = await other.ask({ action: 'start', database: 'school', sessionId: id });
  assert.match(String(same['detail']), /already exists/);
  const chunk = await other.ask({ action: 'chunk', sessionId: id, chunkSeq: 1, records: [] });
  assert.deepEqual([chunk['error'], chunk['sessionId']], ['Security error', id]);
});

test('the sequence of chunks: next, replay, gap, nonsense', async (context) => {
  const { client, open, chunk, names } = await start(context);
  const id = await open({ targetType: 'City' });
  assert.deepEqual(
    await chunk(id, 1, [{ name: 'a' }, { name: 'b' }]),
    ack(id, 1, { received: 2, inserted: 2 }),
  );
  assert.deepEqual(await chunk(id, 1, [{ name: 'c' }]), ack(id, 1, { replay: true }));
  const gap = await chunk(id, 3, [{ name: 'd' }]);
  assert.equal(gap['error'], 'Insert session error');
  assert.equal(gap['detail'], 'Expected chunkSeq 2, received 3');
  for (const chunkSeq of [0, -1, 1.5, '2', undefined, null]) {
    const answer = await client.ask({ action: 'chunk', sessionId: id, chunkSeq, records: [] });
    assert.equal(answer['error'], 'Insert session error', String(chunkSeq));
  }
  for (const records of [undefined, {}, 'x']) {
    const answer = await client.ask({ action: 'chunk', sessionId: id, chunkSeq: 2, records });
    assert.equal(answer['error'], 'Message error');
  }
  assert.deepEqual(await chunk(id, 2, []), ack(id, 2, {}));
  assert.deepEqual(await names('City'), []);
  const ended = await client.ask({ action: 'commit', sessionId: id });
  const { executionTimeMs, ...summary } = ended['summary'] as Record<string, unknown>;
  assert.equal(typeof executionTimeMs, 'number');
  assert.deepEqual(summary, {
    received: 2,
    inserted: 2,
    updated: 0,
    ignored: 0,
    failed: 0,
    partialCommit: false,
  });
  assert.deepEqual([ended['action'], ended['outcome']], ['committed', 'commit']);
  assert.deepEqual(await names('City'), ['a', 'b']);
  const late = await chunk(id, 3, []);
  assert.match(String(late['detail']), /not found or expired/);
});

test('records are written as SQL writes them, and each refusal has its row and code', async (context) => {
  const { client, sql, open, chunk } = await start(context);
  const [city] = await sql("INSERT INTO City SET name = 'Rome'");
  const [note] = await sql('INSERT INTO Note SET n = 1');
  const rome = String(city?.['@rid']);
  const id = await open({ targetType: 'Person', keyColumns: ['email'] });
  const answer = await chunk(id, 1, [
    { email: 'a@x', age: '30', data: { $int8: [1, -1] }, '@rid': '#1:1', '@cat': 'v' },
    { email: 'a@x', age: 31 },
    { email: 'b@x', age: 'old' },
    { email: 'c@x', level: 11 },
    { age: 1 },
    { email: null },
    { '@class': 'Nowhere', email: 'd@x' },
    5,
    { '@class': 7, email: 'd@x' },
    { '@type': 'City', email: 'e@x' },
    { '@type': 'v', email: 'f@x' },
    { '@class': 'LivesIn', email: 'g', '@from': rome, '@to': rome, since: 2020 },
    { '@class': 'LivesIn', email: 'h', out: rome, in: rome },
    { '@class': 'LivesIn', email: 'i', '@from': rome },
    { '@class': 'LivesIn', email: 'j', '@from': rome, '@to': '#1:99999' },
    { '@class': 'LivesIn', email: 'k', '@from': rome, '@to': String(note?.['@rid']) },
    { '@class': 'LivesIn', email: 'l', '@from': rome, '@to': 'x' },
  ]);
  assert.deepEqual(codes(answer), [
    [1, 'CONFLICT'],
    [2, 'DB_ERROR'],
    [3, 'DB_ERROR'],
    [4, 'INVALID_KEY_COLUMN'],
    [5, 'INVALID_KEY_COLUMN'],
    [6, 'DB_ERROR'],
    [7, 'DB_ERROR'],
    [8, 'DB_ERROR'],
    [13, 'MISSING_ENDPOINTS'],
    [14, 'MISSING_ENDPOINTS'],
    [15, 'MISSING_ENDPOINTS'],
    [16, 'MISSING_ENDPOINTS'],
  ]);
  const [conflict] = answer['errors'] as Frame[];
  assert.match(
    String(conflict?.['message']),
    /^Duplicated key \[a@x\] found on 'Person\[email\]' already assigned to record #\d+:\d+$/,
  );
  assert.deepEqual([answer['received'], answer['inserted'], answer['failed']], [17, 5, 12]);
  await client.ask({ action: 'commit', sessionId: id });
  const persons = await sql('SELECT email, age, state, data FROM Person ORDER BY email');
  assert.deepEqual(persons, [
    { email: 'a@x', age: 30, state: 'new', data: [1, -1] },
    { email: 'f@x', age: null, state: 'new', data: null },
  ]);
  const edges = await sql('SELECT since, @out AS o, @in AS i FROM LivesIn ORDER BY since DESC');
  assert.deepEqual(
    edges.map(({ since, o, i }) => [since, o, i]),
    [
      [2020, rome, rome],
      [null, rome, rome],
    ],
  );
  const [degree] = await sql(`SELECT out('LivesIn').size() AS n FROM ${rome}`);
  assert.equal(degree?.['n'], 2);
});

test('a long chunk, parsed in slices, is handled before the message behind it', async (context) => {
  const { open, client, names } = await start(context);
  const sessionId = await open({ targetType: 'Note' });
  const records = Array.from({ length: 40 }, (_, at) => ({ name: `n${at}${'x'.repeat(5000)}` }));
  const broken = await client.ask(`{"action":"chunk","x":"${'y'.repeat(200_000)}`);
  assert.equal(broken['error'], 'Unable to parse JSON');
  client.send({ action: 'chunk', sessionId, chunkSeq: 1, records });
  client.send({ action: 'commit', sessionId });
  const [chunk, commit] = await client.take(2);
  assert.equal(chunk?.['inserted'], 40);
  assert.equal(commit?.['action'], 'committed');
  assert.equal((await names('Note')).length, 40);
});

test('a taken key: error, ignore and update, by index and by scan', async (context) => {
  const { client, sql, open, chunk } = await start(context);
  await sql("INSERT INTO Person SET email = 'a@x', name = 'old', age = 1, city = 'Rome'");
  await sql("INSERT INTO Note SET email = 'a@x', name = 'old', age = 1, city = 'Rome'");
  for (const targetType of ['Person', 'Note']) {
    const run = async (options: Frame, records: readonly unknown[]) => {
      const id = await open({ targetType, keyColumns: ['email'], ...options });
      const answer = await chunk(id, 1, records);
      await client.ask({ action: 'commit', sessionId: id });
      return answer;
    };
    const row = { email: 'a@x', name: 'new', age: null, extra: 1 };
    assert.deepEqual(codes(await run({}, [row])), [[0, 'CONFLICT']]);
    assert.equal((await run({ conflictMode: 'ignore' }, [row, row]))['ignored'], 2);
    const only = { conflictMode: 'update', updateColumnsOnConflict: ['extra', 'email'] };
    assert.equal((await run(only, [{ ...row, email: 'a@x' }]))['updated'], 1);
    const read = () => sql(`SELECT email, name, age, city, extra FROM ${targetType}`);
    const before = { email: 'a@x', name: 'old', age: 1, city: 'Rome', extra: 1 };
    assert.deepEqual(await read(), [before]);
    const merged = await run({ conflictMode: 'update' }, [
      row,
      { email: 'b@x', name: 'first' },
      { email: 'b@x', name: 'second' },
      { email: 'a@x' },
    ]);
    assert.deepEqual([merged['inserted'], merged['updated'], merged['failed']], [1, 3, 0]);
    assert.deepEqual(await read(), [
      { ...before, name: 'new' },
      { email: 'b@x', name: 'second', age: null, city: null, extra: null },
    ]);
  }
});

test('an update leaves the ends of an edge alone', async (context) => {
  const { client, sql, open, chunk } = await start(context);
  const rids = (await sql("INSERT INTO City CONTENT [{name:'a'},{name:'b'}]")).map((row) =>
    String(row['@rid']),
  );
  await sql(`CREATE EDGE LivesIn FROM ${rids[0]} TO ${rids[1]} SET code = 'e', since = 1`);
  const id = await open({ targetType: 'LivesIn', keyColumns: ['code'], conflictMode: 'update' });
  const edge = { code: 'e', since: 2, '@from': rids[1], '@to': rids[0] };
  assert.equal((await chunk(id, 1, [edge]))['updated'], 1);
  await client.ask({ action: 'commit', sessionId: id });
  const [found] = await sql('SELECT since, @out AS o, @in AS i FROM LivesIn');
  assert.deepEqual(found, { since: 2, o: rids[0], i: rids[1] });
});

test('without key columns a duplicate is found at commit: stream, chunk or row', async (context) => {
  const { client, sql, open, chunk } = await start(context);
  await sql("INSERT INTO Person SET email = 'a@x'");
  const rows = [{ email: 'b@x' }, { email: 'a@x' }, { email: 'c@x' }];
  const count = async () => (await sql('SELECT count(*) AS n FROM Person'))[0]?.['n'];

  const stream = await open({ targetType: 'Person' });
  assert.equal((await chunk(stream, 1, rows))['failed'], 0);
  const refused = await client.ask({ action: 'commit', sessionId: stream });
  assert.deepEqual(
    [refused['error'], refused['exception'], refused['sessionId']],
    ['Database error', 'DuplicatedKeyException', stream],
  );
  assert.equal(await count(), 1);
  const gone = await client.ask({ action: 'commit', sessionId: stream });
  assert.match(String(gone['detail']), /not found or expired/);

  const batch = await open({ targetType: 'Person', transactionMode: 'per_batch' });
  const failed = await chunk(batch, 1, rows);
  assert.deepEqual([failed['failed'], failed['inserted']], [3, 0]);
  assert.deepEqual(codes(failed), [[-1, 'COMMIT_FAILED']]);
  assert.equal(await count(), 1);
  assert.equal((await chunk(batch, 1, [{ email: 'b@x' }]))['inserted'], 1);
  const undone = await client.ask({ action: 'rollback', sessionId: batch });
  const summary = undone['summary'] as Frame;
  assert.deepEqual(
    [undone['outcome'], summary['received'], summary['failed'], summary['partialCommit']],
    ['rollback', 1, 0, true],
  );
  assert.equal(await count(), 2);

  const row = await open({ targetType: 'Person', transactionMode: 'per_row' });
  const some = await chunk(row, 1, rows);
  assert.deepEqual(codes(some), [
    [0, 'CONFLICT'],
    [1, 'CONFLICT'],
  ]);
  assert.equal(some['inserted'], 1);
  await client.ask({ action: 'commit', sessionId: row });
  const ignore = { targetType: 'Person', transactionMode: 'per_row', conflictMode: 'ignore' };
  const third = await open(ignore);
  assert.equal((await chunk(third, 1, rows))['ignored'], 3);
  assert.equal(await count(), 3);
});

test('what is to be ignored fails like an error where a duplicate is found with others', async (context) => {
  const { client, sql, open, chunk, names } = await start(context);
  await sql("INSERT INTO Person SET email = 'a@x', name = 'a'");
  const rows = [
    { email: 'b@x', name: 'b' },
    { email: 'a@x', name: 'c' },
  ];
  const ignore = { targetType: 'Person', conflictMode: 'ignore' };
  const batch = await open({ ...ignore, transactionMode: 'per_batch' });
  const failed = await chunk(batch, 1, rows);
  assert.deepEqual([failed['failed'], failed['ignored']], [2, 0]);
  assert.deepEqual(codes(failed), [[-1, 'COMMIT_FAILED']]);
  const ended = await client.ask({ action: 'commit', sessionId: batch });
  assert.equal((ended['summary'] as Frame)['partialCommit'], false);
  const stream = await open(ignore);
  assert.equal((await chunk(stream, 1, rows))['failed'], 0);
  const refused = await client.ask({ action: 'commit', sessionId: stream });
  assert.equal(refused['error'], 'Database error');
  assert.deepEqual(await names('Person'), ['a']);
});

test('a conflict at the commit of a stream rolls all of it back', async (context) => {
  const { client, sql, open, chunk, names } = await start(context);
  await sql("INSERT INTO Person SET email = 'a@x', name = 'a'");
  const id = await open({ targetType: 'Person', keyColumns: ['email'], conflictMode: 'update' });
  await chunk(id, 1, [
    { email: 'a@x', name: 'mine' },
    { email: 'b@x', name: 'b' },
  ]);
  await sql("UPDATE Person SET name = 'theirs'");
  const answer = await client.ask({ action: 'commit', sessionId: id });
  assert.deepEqual(
    [answer['error'], answer['exception']],
    ['Database error', 'ConcurrentModificationException'],
  );
  assert.deepEqual(await names('Person'), ['theirs']);
});

test('a rollback undoes a stream; a lost connection does, too, but not what chunks committed', async (context) => {
  const { client, connect, open, chunk, names } = await start(context);
  const id = await open({ targetType: 'City' });
  await chunk(id, 1, [{ name: 'a' }]);
  const ended = await client.ask({ action: 'rollback', sessionId: id });
  assert.equal((ended['summary'] as Frame)['partialCommit'], false);
  assert.deepEqual(await names('City'), []);
  for (const [transactionMode, kept] of [
    ['per_stream', []],
    ['per_batch', ['b']],
  ] as const) {
    const other = await connect();
    const lost = await open({ targetType: 'City', transactionMode }, other);
    const records = [{ name: 'b' }];
    await other.ask({ action: 'chunk', sessionId: lost, chunkSeq: 1, records });
    other.socket.terminate();
    await other.closed;
    for (;;) {
      const answer = await client.ask({ action: 'chunk', sessionId: lost, chunkSeq: 2, records });
      if (answer['error'] === 'Insert session error') break;
    }
    assert.deepEqual(await names('City'), kept);
  }
});

test('an idle session is rolled back and the client told', async (context) => {
  const limit = { 'server.wsInsertSessionExpireTimeout': '40' };
  const { client, open, chunk, names } = await start(context, limit);
  const id = await open({ targetType: 'City' });
  await chunk(id, 1, [{ name: 'a' }]);
  const told = await client.next();
  assert.deepEqual([told['error'], told['sessionId']], ['Insert session expired', id]);
  assert.match(String(told['detail']), /inactivity/);
  const late = await client.ask({ action: 'commit', sessionId: id });
  assert.match(String(late['detail']), /not found or expired/);
  assert.deepEqual(await names('City'), []);
});

test('validateOnly writes nothing and finds what would fail', async (context) => {
  const { client, open, chunk, names } = await start(context);
  const id = await open({ targetType: 'Person', validateOnly: true, keyColumns: ['email'] });
  const rows = [{ email: 'a@x' }, { email: 'b@x', age: 'old' }, { '@class': 'Nowhere' }];
  const answer = await chunk(id, 1, rows);
  assert.deepEqual([answer['received'], answer['inserted'], answer['failed']], [3, 0, 2]);
  const ended = await client.ask({ action: 'commit', sessionId: id });
  assert.equal((ended['summary'] as Frame)['inserted'], 0);
  assert.deepEqual(await names('Person'), []);
});

test('limits: records of a chunk, messages in flight, errors told', async (context) => {
  const { client, open, chunk, names } = await start(context, {
    'server.wsMaxInsertChunkRows': '1500',
  });
  const id = await open({ targetType: 'City', transactionMode: 'per_batch' });
  const many = Array.from({ length: 1501 }, () => ({ '@class': 'Nowhere' }));
  const refused = await chunk(id, 1, many);
  assert.match(String(refused['detail']), /1501 records, .*wsMaxInsertChunkRows is 1500/);
  const cut = await chunk(id, 1, many.slice(1));
  assert.deepEqual([cut['failed'], cut['errorsTruncated']], [1500, true]);
  assert.equal((cut['errors'] as unknown[]).length, 1000);
  const count = 80;
  for (let n = 0; n < count; n++) {
    const records = [{ name: `c${n}`, text: 'x'.repeat(100) }];
    client.send({ action: 'chunk', sessionId: id, chunkSeq: n + 2, records });
  }
  const answers = await client.take(count);
  const dropped = answers.filter(({ error }) => error === 'Too many frames in flight').length;
  const acknowledged = answers.filter(({ action }) => action === 'batchAck').length;
  assert(dropped > 0);
  assert.equal((await names('City')).length, acknowledged);
  assert.equal(answers.length, count);
});

test('rights count per record, and again at each chunk', async (context) => {
  const { door, connect, open, names } = await start(context);
  await door.groups.put(
    'school',
    'clerk',
    parseGroup(
      {
        access: [],
        types: {
          City: { access: ['createRecord', 'readRecord'] },
          '*': { access: ['readRecord'] },
        },
      },
      'clerk',
    ),
  );
  const databases = new Map([['school', ['clerk']]]);
  await door.users.create('ann', { password: 'password', databases });
  const client = await connect(basic('ann'));
  const options = { targetType: 'City', transactionMode: 'per_batch' };
  const id = await open(options, client);
  const records = [{ name: 'a' }, { '@class': 'Person', email: 'a@x' }];
  const answer = await client.ask({ action: 'chunk', sessionId: id, chunkSeq: 1, records });
  assert.deepEqual(codes(answer), [[1, 'DB_ERROR']]);
  assert.match(JSON.stringify(answer['errors']), /SecurityException/);
  await door.users.update('ann', { databases: new Map() });
  const denied = await client.ask({ action: 'chunk', sessionId: id, chunkSeq: 2, records });
  assert.equal(denied['error'], 'Security error');
  const gone = await client.ask({ action: 'commit', sessionId: id });
  assert.match(String(gone['detail']), /not found or expired/);
  assert.deepEqual(await names('City'), ['a']);
});

test('who lost access may not commit what was written before', async (context) => {
  const { door, connect, open, names } = await start(context);
  const admin = new Map([['school', ['admin']]]);
  await door.users.create('ann', { password: 'password', databases: admin });
  for (const action of ['commit', 'rollback']) {
    const client = await connect(basic('ann'));
    const sessionId = await open({ targetType: 'City' }, client);
    await client.ask({ action: 'chunk', sessionId, chunkSeq: 1, records: [{ name: 'a' }] });
    await door.users.update('ann', { databases: new Map() });
    const denied = await client.ask({ action, sessionId });
    assert.deepEqual([denied['error'], denied['sessionId']], ['Security error', sessionId]);
    const gone = await client.ask({ action, sessionId });
    assert.match(String(gone['detail']), /not found or expired/);
    await door.users.update('ann', { databases: admin });
  }
  assert.deepEqual(await names('City'), []);
});

test('a record that one unique index refuses leaves the keys of the others free', async (context) => {
  const { client, sql, open, chunk, names } = await start(context);
  await sql('CREATE PROPERTY City.code STRING');
  await sql('CREATE PROPERTY City.zip STRING');
  await sql('CREATE INDEX ON City (code) UNIQUE');
  await sql('CREATE INDEX ON City (zip) UNIQUE');
  await sql("INSERT INTO City SET code = 'x', zip = 'z', name = 'a'");
  const id = await open({ targetType: 'City', keyColumns: ['code'], conflictMode: 'update' });
  const answer = await chunk(id, 1, [
    { code: 'y', zip: 'z', name: 'b' },
    { code: 'y', zip: 'w', name: 'c' },
    { code: 'x', zip: 'w' },
    { code: 'x', zip: 'v' },
    { code: 'u', zip: 'z', name: 'd' },
  ]);
  assert.deepEqual(codes(answer), [
    [0, 'CONFLICT'],
    [2, 'CONFLICT'],
  ]);
  assert.deepEqual([answer['inserted'], answer['updated']], [2, 1]);
  const ended = await client.ask({ action: 'commit', sessionId: id });
  assert.equal(ended['outcome'], 'commit', JSON.stringify(ended));
  assert.deepEqual(await names('City'), ['a', 'c', 'd']);
});

test('a dropped database ends its sessions at their next message', async (context) => {
  const { open, chunk, databases } = await start(context);
  const id = await open({ targetType: 'City' });
  await databases.drop('school');
  const answer = await chunk(id, 1, [{ name: 'a' }]);
  assert.equal(answer['error'], 'Database error');
  assert.match(String((await chunk(id, 1, []))['detail']), /not found or expired/);
});

test('events of a streamed insert come after its commit', async (context) => {
  const { client, open, chunk } = await start(context);
  await client.ask({ action: 'subscribe', database: 'school' });
  const id = await open({ targetType: 'City' });
  await chunk(id, 1, [{ name: 'a' }, { name: 'b' }]);
  assert.deepEqual(await client.quiet(), []);
  client.send({ action: 'commit', sessionId: id });
  const frames = await client.take(3);
  assert.equal(frames.filter(({ changeType }) => changeType === 'create').length, 2);
  assert.equal(frames.filter(({ action }) => action === 'committed').length, 1);
});

test('a session is an operation: it shows its counts, and ends when it is cancelled', async (context) => {
  const { open, chunk, client, door, names } = await start(context);
  const operations = async () =>
    (await door.ask('GET', 'server/operations')).body['result'] as readonly Frame[];
  const committed = await open({ targetType: 'City' });
  await chunk(committed, 1, [{ name: 'Rome' }]);
  await client.ask({ action: 'commit', sessionId: committed });
  const id = await open({ targetType: 'City' });
  await chunk(id, 1, [{ name: 'Oslo' }, { name: 'Bern' }]);
  const [first, second] = await operations();
  assert.deepEqual(
    [first?.['state'], second?.['state'], second?.['operation'], second?.['done']],
    ['completed', 'running', 'insert stream', 2],
  );
  assert.deepEqual(second?.['counts'], { inserted: 2, updated: 0, failed: 0 });
  const told = client.next();
  assert.equal((await door.ask('DELETE', `server/operations/${id}`)).status, 200);
  const frame = await told;
  assert.deepEqual([frame?.['result'], frame?.['sessionId']], ['error', id]);
  assert.match(JSON.stringify(frame), /was cancelled by user 'root'/);
  assert.equal((await operations()).at(-1)?.['state'], 'cancelled');
  assert.deepEqual(await names('City'), ['Rome']);
  const refused = await chunk(id, 2, [{ name: 'Lima' }]);
  assert.match(JSON.stringify(refused), /not found or expired/);
});
