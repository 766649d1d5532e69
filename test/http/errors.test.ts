import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serverHttpCorsAllowedOrigins } from '#config/server-settings.ts';
import { DatabaseError, errorSpecs } from '#core/errors.ts';
import type { ErrorCode } from '#core/errors.ts';
import { startDoor } from './door-fixture.ts';
import { rowBatch } from './fake-databases.ts';

// Every code and body of the contract's section Errors that this version has, through real sockets.

const sql = (command: string) => ({ language: 'sql', command });

test('every error code has the status and text of http-api.md 3.2', async (context) => {
  const door = await startDoor(context);
  const expected: Partial<Record<ErrorCode, [number, string]>> = {
    Syntax: [400, 'Cannot execute command'],
    IllegalArgument: [400, 'Cannot execute command'],
    Arithmetic: [400, 'Cannot execute command'],
    NotIdempotent: [400, 'Query is not idempotent'],
    CommandExecution: [500, 'Cannot execute command'],
    Schema: [500, 'Cannot execute command'],
    Validation: [500, 'Cannot execute command'],
    DuplicatedKey: [409, 'Found duplicate key in index'],
    RecordNotFound: [404, 'Record not found'],
    ConcurrentModification: [503, 'Cannot execute command'],
    LockTimeout: [503, 'Cannot execute command'],
    Timeout: [500, 'Cannot execute command'],
    Forbidden: [403, 'Security error'],
    SessionNotFound: [404, 'Remote transaction session not found or expired'],
    DatabaseNotFound: [500, 'Database does not exist'],
    CommittedRemotely: [409, 'Transaction committed remotely'],
    QuorumNotReached: [503, 'Quorum not reached'],
    NeedRetry: [503, 'Not up to date yet'],
    OutcomeUnknown: [500, 'Outcome unknown'],
    EntryTooLarge: [413, 'a EntryTooLarge happened'],
    MembershipPending: [409, 'a MembershipPending happened'],
    CorruptedRecord: [500, 'Cannot execute command'],
    ResultTooLarge: [413, 'Result set too large'],
    RequestInFlight: [409, 'Request still in flight'],
    DatabaseInstalling: [503, 'Database is being installed'],
    NotOnline: [503, 'Server is not online'],
  };
  const retryAfter: Partial<Record<ErrorCode, string>> = {
    RequestInFlight: '1',
    DatabaseInstalling: '5',
    NotOnline: '1',
    Busy: '1',
    QuorumNotReached: '1',
    NeedRetry: '1',
  };
  for (const code of Object.keys(errorSpecs) as ErrorCode[]) {
    // Told as QuorumNotReached: the lead was lost while the statement ran.
    if (code === 'NotLeader') continue;
    door.databases.behaviours.set('fail', {
      before: () => {
        throw new DatabaseError(code, `a ${code} happened`, { arguments: ['x', 'y'] });
      },
    });
    const answer = await door.ask('POST', 'command/school', { body: sql('fail') });
    const wanted = expected[code];
    if (wanted) assert.deepEqual([answer.status, answer.body['error']], wanted, code);
    assert.equal(answer.body['exception'], errorSpecs[code].exception);
    assert.equal(answer.body['detail'], `a ${code} happened`);
    assert.equal(answer.body['exceptionArgs'], 'x|y');
    assert.equal(answer.body['requestId'], answer.headers['x-request-id']);
    assert.equal(answer.headers['retry-after'], retryAfter[code], code);
  }
});

test('what is our own fault is 500 with a body, and is reported', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('bug', {
    before: () => {
      throw new TypeError('x is\nnot a function');
    },
  });
  const answer = await door.ask('POST', 'query/school', { body: sql('bug') });
  assert.equal(answer.status, 500);
  assert.equal(answer.body['error'], 'Internal error');
  assert.equal(answer.body['detail'], 'x is not a function');
  assert.equal(door.internalErrors.length, 1);
});

test('in production errors with a name tell their details', async (context) => {
  const door = await startDoor(context, { 'server.mode': 'production' });
  for (const code of Object.keys(errorSpecs) as ErrorCode[]) {
    if (code === 'Internal' || code === 'NotLeader') continue;
    door.databases.behaviours.set('fail', {
      before: () => {
        throw new DatabaseError(code, `a ${code} happened`, { help: 'ask again' });
      },
    });
    const { body } = await door.ask('POST', 'query/school', { body: sql('fail') });
    assert.equal(body['detail'], `a ${code} happened`);
    assert.equal(body['help'], 'ask again');
  }
});

test('in production an internal error hides its detail, which the log has under the request id', async (context) => {
  const door = await startDoor(context, { 'server.mode': 'production' });
  door.databases.behaviours.set('bug', {
    before: () => {
      throw new TypeError('x is not a function');
    },
  });
  const { body } = await door.ask('POST', 'query/school', { body: sql('bug') });
  assert.equal(body['detail'], `See the server log, request id ${body['requestId']}`);
  const line = door.logged.find(({ fields }) => fields['requestId'] === body['requestId']);
  assert.equal(line?.level, 'error');
  assert.match(line.message, /x is not a function/);
});

test('a failed login has a line in the log with the request id', async (context) => {
  const door = await startDoor(context);
  const { headers } = await door.ask('GET', 'databases', {
    user: null,
    headers: { authorization: `Basic ${Buffer.from('root:wrong').toString('base64')}` },
  });
  const line = door.logged.find(({ message }) => message.startsWith("login of 'root'"));
  assert.equal(line?.fields['requestId'], headers['x-request-id']);
});

test('a cause chain is one line', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('fail', {
    before: () => {
      throw new DatabaseError('Schema', 'outer', { cause: new Error('inner\ncause') });
    },
  });
  const { body } = await door.ask('POST', 'query/school', { body: sql('fail') });
  assert.equal(body['detail'], 'outer -> inner cause');
});

test('credentials: missing 401, wrong 403, malformed 403, dead token 401', async (context) => {
  const door = await startDoor(context);
  const statusOf = async (authorization: string | undefined) => {
    const headers = authorization === undefined ? {} : { authorization };
    const answer = await door.ask('GET', 'databases', { user: null, headers });
    return [answer.status, answer.body['error'], answer.headers['www-authenticate']];
  };
  const basicOf = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  assert.deepEqual(await statusOf(undefined), [
    401,
    'Authentication required',
    'Basic realm="service"',
  ]);
  assert.deepEqual(await statusOf(''), [401, 'Authentication required', 'Basic realm="service"']);
  assert.deepEqual(await statusOf(basicOf('root:wrong')), [403, 'Security error', undefined]);
  assert.deepEqual(await statusOf(basicOf('nobody:password')), [403, 'Security error', undefined]);
  assert.deepEqual(await statusOf('Basic'), [403, 'Invalid Basic authentication data', undefined]);
  assert.deepEqual(await statusOf('Digest x'), [403, 'Authentication not supported', undefined]);
  assert.deepEqual(await statusOf('Bearer AU-Service_0-x'), [
    401,
    'Invalid or expired authentication token',
    'Bearer',
  ]);
  assert.deepEqual(await statusOf('Bearer x'), [
    401,
    'Invalid or expired authentication token',
    'Bearer',
  ]);
  assert.deepEqual(await statusOf('Bearer at-0123'), [
    401,
    'Invalid or expired API token',
    undefined,
  ]);
});

test('nobody passes for another server, whatever else proves who it is', async (context) => {
  const door = await startDoor(context);
  const statusWith = async (headers: Record<string, string>, user: string | null = 'root') =>
    (await door.ask('GET', 'databases', { headers, user })).status;
  for (const user of ['root', null]) {
    assert.equal(await statusWith({ 'x-service-forwarded-user': 'root' }, user), 401);
    assert.equal(await statusWith({ 'x-service-forwarded-to-leader': '1' }, user), 401);
    for (const token of ['', 'guess'])
      assert.equal(
        await statusWith(
          { 'x-service-cluster-token': token, 'x-service-forwarded-user': 'root' },
          user,
        ),
        403,
      );
  }
  const peer = { 'x-service-cluster-token': 'guess' };
  assert.equal((await door.ask('GET', 'health', { headers: peer, user: null })).status, 204);
});

test('headers of consistency have known values', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  const statusWith = async (headers: Record<string, string>) =>
    (await door.ask('POST', 'query/school', { body: sql('x'), headers })).status;
  for (const value of ['eventual', 'READ_YOUR_WRITES', ' linearizable '])
    assert.equal(await statusWith({ 'x-service-read-consistency': value }), 200, value);
  for (const value of ['strong', ''])
    assert.equal(await statusWith({ 'x-service-read-consistency': value }), 400, value);
  for (const value of ['', '0', '4711'])
    assert.equal(await statusWith({ 'x-service-read-after': value }), 200, value);
  for (const value of ['-1', 'x', '1.5'])
    assert.equal(await statusWith({ 'x-service-read-after': value }), 400, value);
});

test('a wrong password has the body of the text, and five of them lock the name', async (context) => {
  const door = await startDoor(context);
  const wrong = { authorization: `Basic ${Buffer.from('jay:wrong').toString('base64')}` };
  for (let i = 0; i < 5; i++) {
    const { status, body } = await door.ask('GET', 'databases', { user: null, headers: wrong });
    assert.equal(status, 403);
    assert.equal(body['detail'], 'User/Password not valid');
    assert.equal(body['exception'], 'ServerSecurityException');
  }
  const locked = await door.ask('GET', 'databases', { user: 'jay' });
  assert.equal(locked.status, 403);
  assert.equal(locked.body['detail'], 'Too many failed authentication attempts. Try again later.');
  assert.equal((await door.ask('GET', 'databases')).status, 200);
});

test('probes look at no credentials', async (context) => {
  const door = await startDoor(context);
  for (const path of ['ready', 'health'])
    for (const method of ['GET', 'HEAD']) {
      const headers = { authorization: 'Basic nonsense' };
      const answer = await door.ask(method, path, { user: null, headers });
      assert.deepEqual([answer.status, answer.text], [204, ''], `${method} ${path}`);
      assert.equal(answer.headers['content-type'], undefined);
    }
});

test('a browser finds a page at the root of the server', async (context) => {
  const door = await startDoor(context);
  const { status, text, headers } = await door.ask('GET', '/', { user: null });
  assert.equal(status, 200);
  assert.match(String(headers['content-type']), /^text\/html/);
  assert.match(text, /\/api\/v1\/openapi\.json/);
});

test('unknown paths are 404, wrong methods 405 with Allow, both with a request id', async (context) => {
  const door = await startDoor(context);
  for (const path of ['/api', '/api/v1', '/api/v1/nope', '/api/v2/ready', '/api/v1/ready/x']) {
    const answer = await door.ask('GET', path, { user: null });
    assert.deepEqual([answer.status, answer.body['error']], [404, 'Not found'], path);
    assert.equal(answer.body['requestId'], answer.headers['x-request-id']);
  }
  const cases: [string, string, string][] = [
    ['POST', '/api/v1/ready', 'GET, HEAD, OPTIONS'],
    ['GET', '/api/v1/command/school', 'POST, OPTIONS'],
    ['DELETE', '/api/v1/server', 'GET, POST, OPTIONS'],
    ['TRACE', '/api/v1/databases', 'GET, OPTIONS'],
    ['PATCH', '/api/v1/query/school/sql/x', 'GET, OPTIONS'],
  ];
  for (const [method, path, allow] of cases) {
    const answer = await door.ask(method, path);
    assert.deepEqual([answer.status, answer.body['error']], [405, 'Method not allowed'], path);
    assert.equal(answer.headers['allow'], allow);
  }
});

test('methods that no route has are 405 on known paths and 404 elsewhere', async (context) => {
  const door = await startDoor(context);
  for (const method of ['PATCH', 'TRACE', 'QUERY', 'PROPFIND', 'SEARCH', 'LOCK', 'PURGE']) {
    const known = await door.ask(method, 'server', { headers: { 'x-request-id': 'x' } });
    assert.deepEqual([known.status, known.headers.allow], [405, 'GET, POST, OPTIONS'], method);
    assert.equal(known.body['requestId'], 'x');
    assert.equal((await door.ask(method, 'nowhere', { body: {} })).status, 404, method);
  }
});

test('a trailing slash changes nothing, a missing database is 400', async (context) => {
  const door = await startDoor(context);
  assert.equal((await door.ask('GET', 'databases/')).status, 200);
  assert.equal((await door.ask('GET', 'exists/school/')).body['result'], true);
  const missing: [string, string][] = [
    ['GET', 'exists'],
    ['GET', 'exists/'],
    ['GET', 'progress'],
    ['GET', 'progress/'],
    ['GET', 'query'],
    ['POST', 'query'],
    ['POST', 'command/'],
    ['POST', 'begin'],
    ['POST', 'commit'],
    ['POST', 'rollback'],
    ['POST', 'batch'],
  ];
  for (const [method, path] of missing) {
    const { status, body } = await door.ask(method, path);
    assert.deepEqual([status, body['error']], [400, 'Database parameter is null'], path);
  }
});

test('names that could be paths are refused', async (context) => {
  const door = await startDoor(context);
  for (const name of ['a%2Fb', 'a%5Cb', 'a%00b', '..', 'x..y', '%2e%2e%2fx']) {
    const { status } = await door.ask('GET', `exists/${name}`);
    // Two dots alone are resolved by nobody: they are a name like any other, and refused as one.
    assert.equal(status, 400, name);
  }
  assert.equal((await door.ask('GET', 'exists/a%zz')).status, 400);
  assert.equal((await door.ask('GET', 'exists/a%ff')).status, 400);
});

test('invalid JSON is 400, but 500 on POST /server and POST /begin', async (context) => {
  const door = await startDoor(context);
  for (const body of ['', '{', '[]', '"x"', 'null', '{"a":}', '{a:1}', '{"a":1}x', '\uFEFF[]']) {
    const statusOf = async (path: string, user = 'root') =>
      (await door.ask('POST', path, { body, user })).status;
    assert.equal(await statusOf('query/school'), 400, body);
    assert.equal(await statusOf('command/school'), 400, body);
    assert.equal(await statusOf('server'), 500, body);
    assert.equal(await statusOf('server', 'jay'), 500, body);
    assert.equal(await statusOf('begin/school'), body === '' ? 204 : 500, body);
  }
  const { body } = await door.ask('POST', 'server', { body: '{' });
  assert.equal(body['error'], 'Invalid JSON payload');
  assert.equal(typeof body['detail'], 'string');
  assert.equal(typeof body['exception'], 'string');
});

test('hostile JSON is refused in bounded time', async (context) => {
  const door = await startDoor(context);
  const deep = '['.repeat(100_000);
  const nested = await door.ask('POST', 'query/school', { body: deep });
  assert.deepEqual([nested.status, nested.body['error']], [400, 'JSON nesting exceeds 512 levels']);
  const atTheBound = `{"language":"sql","command":"x","other":${'['.repeat(511)}${']'.repeat(511)}}`;
  const inside = await door.ask('POST', 'query/school', { body: atTheBound });
  assert.match(String(inside.body['detail']), /no such statement/);
  const bodies: (string | Buffer)[] = [
    Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    '{"language":"sql","command":"\\ud800"}',
    '{"language":"sql","command":"x","limit":1e400}',
    `{"language":"sql","command":"x","limit":${'9'.repeat(20_000)}}`,
  ];
  for (const body of bodies)
    assert.equal((await door.ask('POST', 'query/school', { body })).status, 400);
});

test('names of prototypes are data', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  const body =
    '{"language":"sql","command":"x","__proto__":{"limit":1},"constructor":1,"params":{"__proto__":7}}';
  assert.equal((await door.ask('POST', 'query/school', { body })).status, 200);
  assert.equal(door.databases.seen[0]?.statement.parameters.get('__proto__'), 7);
});

test('fields of the wrong type are refused by name, unknown ones and null are ignored', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  const cases: [object, string][] = [
    [{ command: 'x' }, 'Language is null'],
    [{ language: null, command: 'x' }, 'Language is null'],
    [{ language: ' ', command: 'x' }, 'Language is null'],
    [{ language: 5, command: 'x' }, "Field 'language' must be a string"],
    [{ language: 'sql' }, 'Command text is null'],
    [{ language: 'sql', command: null }, 'Command text is null'],
    [{ language: 'sql', command: '  ' }, 'Command text is null'],
    [{ language: 'sql', command: ['x'] }, "Field 'command' must be a string"],
    [{ ...sql('x'), limit: '5' }, "Field 'limit' must be an integer"],
    [{ ...sql('x'), limit: 1.5 }, "Field 'limit' must be an integer"],
    [
      { ...sql('x'), limit: 3_000_000_000 },
      "Field 'limit' must be an integer from -2147483648 to 2147483647",
    ],
    [{ ...sql('x'), autoCommit: 'yes' }, "Field 'autoCommit' must be a boolean"],
    [{ ...sql('x'), serializer: 'x' }, "Invalid serializer 'x'"],
    [{ ...sql('x'), params: 5 }, "Field 'params' must be an object or an array"],
  ];
  for (const [body, error] of cases) {
    const answer = await door.ask('POST', 'query/school', { body });
    assert.deepEqual([answer.status, answer.body['error']], [400, error]);
  }
  const commandOnly = { ...sql('x'), retries: -1 };
  const ignored = { ...sql('x'), retries: -1, awaitResponse: 'x', limit: null, unknown: {} };
  assert.equal((await door.ask('POST', 'command/school', { body: commandOnly })).status, 400);
  assert.equal((await door.ask('POST', 'query/school', { body: ignored })).status, 200);
});

test('the path decides who may ask: 403 for foreign databases, missing ones included', async (context) => {
  const door = await startDoor(context);
  const body = sql('x');
  const requests: [string, string][] = [
    ['POST', 'query'],
    ['POST', 'command'],
    ['POST', 'begin'],
    ['POST', 'commit'],
    ['POST', 'rollback'],
    ['POST', 'batch'],
    ['GET', 'progress'],
  ];
  for (const [method, path] of requests)
    for (const database of ['other', 'missing']) {
      const answer = await door.ask(method, `${path}/${database}`, {
        user: 'jay',
        ...(method === 'POST' ? { body } : undefined),
      });
      assert.equal(answer.status, 403, `${path}/${database}`);
      assert.match(String(answer.body['detail']), /User 'jay' has not access to database/);
    }
  assert.equal((await door.ask('GET', 'query/other/sql/x', { user: 'jay' })).status, 403);
  assert.equal((await door.ask('GET', 'exists/other', { user: 'jay' })).body['result'], false);
  assert.equal((await door.ask('GET', 'progress/missing')).status, 200);
  for (const path of ['sessions', 'server/users', 'server/groups'])
    assert.equal((await door.ask('GET', path, { user: 'jay' })).status, 403, path);
});

test('a missing or closed database is 500', async (context) => {
  const door = await startDoor(context);
  await door.databases.close('other');
  for (const name of ['missing', 'other'])
    for (const path of ['query', 'command', 'begin', 'commit', 'rollback']) {
      const answer = await door.ask('POST', `${path}/${name}`, { body: sql('x') });
      assert.equal(answer.status, 500, `${path}/${name}`);
      assert.equal(answer.body['exception'], 'DatabaseNotFoundException');
    }
});

test('requests from pages of other sites are refused unless the setting lists them', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  const from = async (origin: string, method = 'POST') => {
    const headers = { origin };
    const asked = method === 'POST' ? { body: sql('x'), headers } : { headers };
    return await door.ask(method, method === 'POST' ? 'command/school' : 'databases', asked);
  };
  assert.equal((await from('http://evil.example')).status, 403);
  assert.equal((await from(`http://127.0.0.1:${door.port}`)).status, 200);
  const own = await door.ask('POST', 'command/school', {
    body: sql('x'),
    headers: { origin: 'http://db.example', host: 'db.example' },
  });
  assert.equal(own.status, 200);
  const read = await from('http://evil.example', 'GET');
  assert.equal(read.status, 200);
  assert.equal(read.headers['access-control-allow-origin'], undefined);
  const logout = await door.ask('POST', 'logout', { headers: { origin: 'http://evil.example' } });
  assert.equal(logout.status, 403);
  door.settings.set(serverHttpCorsAllowedOrigins, 'http://app.example, http://two.example');
  const allowed = await from('http://app.example');
  assert.equal(allowed.status, 200);
  assert.equal(allowed.headers['access-control-allow-origin'], 'http://app.example');
  assert.match(String(allowed.headers['access-control-expose-headers']), /service-session-id/);
});

test('a preflight is answered without credentials', async (context) => {
  const door = await startDoor(context, { 'server.httpCorsAllowedOrigins': 'http://app.example' });
  const preflight = (origin: string) =>
    door.ask('OPTIONS', 'command/school', { user: null, headers: { origin } });
  const allowed = await preflight('http://app.example');
  assert.equal(allowed.status, 204);
  assert.equal(allowed.headers['access-control-max-age'], '600');
  assert.match(String(allowed.headers['access-control-allow-headers']), /Authorization/);
  const refused = await preflight('http://evil.example');
  assert.equal(refused.status, 403);
  assert.equal(refused.headers['access-control-allow-headers'], undefined);
});
