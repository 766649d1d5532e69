import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basic, startDoor } from './door-fixture.ts';
import { rowBatch } from './fake-databases.ts';

// Transactions, tokens, users, groups, server commands and the OpenAPI document.

const session = 'service-session-id';

test('a session begins, is used, committed, and is unknown afterwards', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  const begun = await door.ask('POST', 'begin/school', { body: '' });
  assert.deepEqual([begun.status, begun.text], [204, '']);
  const id = String(begun.headers[session]);
  const headers = { [session]: id };
  const body = { language: 'sql', command: 'x' };
  const used = await door.ask('POST', 'command/school', { body, headers });
  assert.equal(used.status, 200);
  assert.equal(used.headers[session], id);
  assert.equal(door.databases.seen[0]?.options.sessionId, id);
  const refused = await door.ask('POST', 'command/school', {
    body: { language: 'sql', command: 'nonsense' },
    headers,
  });
  assert.deepEqual([refused.status, refused.headers[session]], [400, id]);
  const again = await door.ask('POST', 'begin/school', { headers });
  assert.deepEqual([again.status, again.body['error']], [401, 'Transaction already started']);
  assert.equal(again.headers['www-authenticate'], undefined);
  const committed = await door.ask('POST', 'commit/school', { headers });
  assert.deepEqual([committed.status, committed.text], [204, '']);
  assert.equal(committed.headers[session], undefined);
  for (const path of ['commit', 'rollback']) {
    const ended = await door.ask('POST', `${path}/school`, { headers });
    assert.equal(ended.status, 500);
    assert.equal(ended.body['exception'], 'TransactionException');
    assert.equal(ended.body['error'], 'Remote transaction session not found or expired');
  }
  for (const path of ['query', 'command']) {
    const ended = await door.ask('POST', `${path}/school`, { body, headers });
    assert.equal(ended.status, 404);
    assert.equal(ended.body['exception'], 'RemoteSessionNotFoundException');
    assert.equal(ended.headers[session], undefined);
  }
  const ignored = await door.ask('POST', 'begin/school', { headers });
  assert.equal(ignored.status, 204);
});

test('commit and rollback want the header, begin checks its body', async (context) => {
  const door = await startDoor(context);
  for (const path of ['commit', 'rollback']) {
    const { status, body } = await door.ask('POST', `${path}/school`);
    assert.deepEqual([status, body['error']], [500, 'Transaction not begun']);
    assert.equal(body['exception'], 'TransactionException');
  }
  const begin = async (body: string) => (await door.ask('POST', 'begin/school', { body })).status;
  assert.equal(await begin('{"isolationLevel":"repeatable_read","unknown":1}'), 204);
  assert.equal(await begin('{"isolationLevel":null}'), 204);
  assert.equal(await begin('{"isolationLevel":"SERIALIZABLE"}'), 400);
  assert.equal(await begin('{"isolationLevel":5}'), 400);
  assert.equal(await begin('[]'), 500);
});

test("another user's session is unknown", async (context) => {
  const door = await startDoor(context);
  const begun = await door.ask('POST', 'begin/school');
  const headers = { [session]: String(begun.headers[session]) };
  const body = { language: 'sql', command: 'x' };
  const asked = { user: 'jay', headers, body };
  assert.equal((await door.ask('POST', 'query/school', asked)).status, 404);
  assert.equal((await door.ask('POST', 'commit/school', asked)).status, 500);
});

test('login, use, list and logout', async (context) => {
  const door = await startDoor(context);
  const client = { 'user-agent': 'curl/8', 'x-forwarded-for': '10.0.0.9, 1.1.1.1' };
  const login = await door.ask('POST', 'login', { headers: client });
  assert.equal(login.status, 200);
  const token = String(login.body['token']);
  assert.match(token, /^AU-Service_0-[0-9a-f-]{36}$/);
  assert.equal(login.body['user'], 'root');
  const bearer = { user: null, headers: { authorization: `Bearer ${token}` } };
  assert.equal((await door.ask('GET', 'databases', bearer)).status, 200);
  assert.equal((await door.ask('POST', 'login', bearer)).status, 403);
  assert.equal((await door.ask('POST', 'login', { user: null })).status, 401);
  const wrong = { user: null, headers: { authorization: basic('root', 'wrong-one') } };
  assert.equal((await door.ask('POST', 'login', wrong)).status, 403);
  const { body } = await door.ask('GET', 'sessions', bearer);
  const [entry] = body['result'] as Record<string, unknown>[];
  assert.equal(body['count'], 1);
  assert.deepEqual(
    [entry?.['token'], entry?.['user'], entry?.['sourceIp'], entry?.['userAgent']],
    [token, 'root', '10.0.0.9', 'curl/8'],
  );
  assert.equal(typeof entry?.['elapsedMs'], 'number');
  assert.equal((await door.ask('POST', 'logout', bearer)).status, 204);
  assert.equal((await door.ask('POST', 'logout', bearer)).status, 204);
  assert.equal((await door.ask('GET', 'databases', bearer)).status, 401);
  assert.equal((await door.ask('POST', 'logout')).status, 204);
  assert.equal((await door.ask('POST', 'logout', { user: null })).status, 401);
  const apiToken = { user: null, headers: { authorization: 'Bearer at-0' } };
  assert.equal((await door.ask('POST', 'logout', apiToken)).status, 400);
});

test('a login that finds no room is 503', async (context) => {
  const door = await startDoor(context);
  for (let i = 0; i < 3; i++) assert.equal((await door.ask('POST', 'login')).status, 200);
  const full = await door.ask('POST', 'login');
  assert.deepEqual(
    [full.status, full.body['error'], full.headers['retry-after']],
    [503, 'Too many authentication sessions', '1'],
  );
});

test('databases are listed to those who may access them', async (context) => {
  const door = await startDoor(context);
  const { body } = await door.ask('GET', 'databases');
  assert.deepEqual(body, { result: ['other', 'school'], user: 'root', version: '26.10.1' });
  const own = await door.ask('GET', 'databases', { user: 'jay' });
  assert.deepEqual(own.body['result'], ['school']);
  const command = { command: ' LIST   databases ' };
  const listed = await door.ask('POST', 'server', { user: 'jay', body: command });
  assert.deepEqual(listed.body['result'], ['school']);
});

test('progress has the fields of the contract', async (context) => {
  const door = await startDoor(context);
  const { operations } = door.databases.running;
  const about = { database: 'school', operation: 'rebuild index', stepCount: 2 };
  const progress = operations.start(about);
  progress.step('scan', 10);
  progress.advance(5);
  const { body } = await door.ask('GET', 'progress/school', { user: 'jay' });
  const [entry] = body['result'] as Record<string, unknown>[];
  assert.deepEqual(Object.keys(entry ?? {}), [
    'id',
    'database',
    'operation',
    'stepName',
    'stepIndex',
    'totalSteps',
    'done',
    'total',
    'percentage',
    'startedOn',
    'elapsedMs',
  ]);
});

test('server information by mode; settings are for root', async (context) => {
  const door = await startDoor(context);
  const basicInfo = await door.ask('GET', 'server?mode=basic', { user: 'jay' });
  assert.deepEqual(basicInfo.body, {
    user: 'jay',
    version: '26.10.1',
    serverName: 'Service_0',
    languages: ['sql', 'sqlscript'],
  });
  const cluster = await door.ask('GET', 'server?mode=cluster');
  assert.equal(cluster.body['ha'], undefined);
  const own = await door.ask('GET', 'server', { user: 'jay' });
  assert.equal(own.body['settings'], undefined);
  assert.ok(own.body['metrics']);
  await door.ask('GET', 'databases');
  const full = await door.ask('GET', 'server');
  const settings = full.body['settings'] as { key: string; value: string; overridden: boolean }[];
  assert.deepEqual(
    settings.map(({ key }) => key),
    settings.map(({ key }) => key).sort(),
  );
  const port = settings.find(({ key }) => key === 'service.server.httpIncomingPort');
  assert.deepEqual([port?.value, port?.overridden], ['0', true]);
  const meters = (full.body['metrics'] as Record<string, Record<string, { count: number }>>)[
    'meters'
  ];
  const counts = ['server-info', 'databases', 'query', 'begin', 'server.users'].map(
    (name) => meters?.[`http.${name}`]?.count,
  );
  assert.deepEqual(counts, [4, 1, 0, 0, 0]);
});

test('control commands: what they do and how they refuse', async (context) => {
  const door = await startDoor(context);
  const run = async (command: unknown, user = 'root') => {
    const { status, body } = await door.ask('POST', 'server', { body: { command }, user });
    return status === 200 ? body['result'] : `${status} ${body['error']}`;
  };
  assert.equal(await run('create database new'), 'ok');
  assert.equal(await run('CREATE   Database `quoted`'), 'ok');
  assert.equal(await run('create database new'), "400 Database 'new' already exists");
  assert.equal(await run('create database'), '400 the database name is missing');
  assert.equal(await run('create database a b'), "400 unexpected 'b' after the database name");
  for (const verb of ['drop', 'open', 'close', 'align'])
    assert.equal(await run(`${verb} database nope`), "400 Database 'nope' does not exist");
  assert.equal(await run('close database new'), 'ok');
  assert.equal(await run('open database new'), 'ok');
  assert.equal(await run('align database new'), 'ok');
  assert.equal(await run('drop database new'), 'ok');
  assert.equal(await run('fly away'), '400 Invalid command');
  assert.equal(await run('create databases x'), '400 Invalid command');
  assert.equal(await run('  '), '400 Invalid command');
  assert.equal(await run(undefined), '400 Invalid command');
  assert.equal(await run(7), '400 Invalid command');
  assert.equal(await run('connect cluster x'), '400 Raft HA is not enabled');
  assert.equal(await run('disconnect cluster'), '400 Raft HA is not enabled');
  assert.equal(await run('restore database'), '400 the database name is missing');
  for (const command of ['create database x', 'fly', 'drop database nope', 'shutdown'])
    assert.equal(await run(command, 'jay'), '403 Security error');
});

test('words behind a command that takes none are refused', async (context) => {
  const door = await startDoor(context);
  const body = { command: 'list databases please' };
  assert.equal((await door.ask('POST', 'server', { body })).status, 400);
});

test('an unknown command is told of, without what it may hold', async (context) => {
  const door = await startDoor(context);
  for (const command of ['creat user {"password":"hidden-one"}', '{"password":"hidden-one"}'])
    assert.equal((await door.ask('POST', 'server', { body: { command } })).status, 400);
  const told = door.events.recent().map(({ type, message }) => `${type} ${message}`);
  assert.deepEqual(told.slice(-2), [
    "WARNING User 'root' sent an unknown command that begins with 'creat'",
    "WARNING User 'root' sent an unknown command",
  ]);
});

test('create user and drop user', async (context) => {
  const door = await startDoor(context);
  const run = async (command: string) => {
    const { status, body } = await door.ask('POST', 'server', { body: { command } });
    return status === 200 ? body['result'] : `${status} ${body['error']}`;
  };
  const user = { name: 'albert', password: 'password', databases: { other: 'reader' } };
  assert.equal(await run(`create user ${JSON.stringify(user)}`), 'ok');
  assert.equal(await run(`create user${JSON.stringify(user)}`), "400 User 'albert' already exists");
  assert.deepEqual((await door.ask('GET', 'databases', { user: 'albert' })).body['result'], [
    'other',
  ]);
  assert.match(String(await run('create user {')), /^400 invalid JSON/);
  assert.match(String(await run('create user {"name":"x"}')), /^400 Field 'password'/);
  assert.match(
    String(await run('create user {"name":"x","password":"short"}')),
    /^400 Password has 5/,
  );
  assert.match(
    String(await run('create user {"name":"x","password":"password","databases":5}')),
    /^400 Field 'databases'/,
  );
  assert.equal(await run('drop user nobody'), "400 User 'nobody' not found on server");
  assert.equal(await run('drop user root'), "400 User 'root' cannot be dropped");
  assert.match(String(await run('create user {"name":"root","password":"password"}')), /^400/);
  assert.equal(await run('drop user albert'), 'ok');
  assert.equal((await door.ask('GET', 'databases', { user: 'albert' })).status, 403);
  const events = JSON.stringify(door.events.recent());
  assert.match(events, /ran: create user \{\\"name\\":\\"albert\\",\.\.\.\}"/);
  assert.match(events, /ran in vain: drop user nobody \(IllegalArgumentException\)/);
  assert.match(events, /ran in vain: create user \{\.\.\.\} \(/);
  assert.doesNotMatch(events, /"password|reader|short/);
});

test('settings are set by command, live or with a hint', async (context) => {
  const door = await startDoor(context);
  const run = async (command: string) => {
    const { status, body } = await door.ask('POST', 'server', { body: { command } });
    return status === 200 ? body['result'] : `${status} ${body['error']}`;
  };
  assert.equal(await run('set server setting SERVER.httpQueryDefaultLimit 7'), 'ok');
  door.databases.behaviours.set('x', { complete: rowBatch(0, 9) });
  const body = { language: 'sql', command: 'x' };
  assert.equal((await door.ask('POST', 'query/school', { body })).body['limit'], 7);
  assert.match(
    String(await run('set server setting server.nmae x')),
    /^400 unknown setting 'server.nmae', did you mean 'service.server.name'\?/,
  );
  assert.match(String(await run('set server setting txRetries many')), /^400 .*must be/);
  assert.match(String(await run('set server setting txRetries')), /^400 the value/);
  const command = 'set server setting server.httpIncomingPort 1';
  const needsRestart = (await door.ask('POST', 'server', { body: { command } })).body;
  assert.deepEqual([needsRestart['result'], needsRestart['restart']], ['ok', true]);
  assert.equal(door.events.recent().at(-2)?.type, 'HINT');
  assert.equal(await run('set database setting school dateFormat dd.MM.yyyy'), 'ok');
  assert.match(String(await run('set database setting nope dateFormat x')), /^400 Database 'nope'/);
  assert.match(
    String(await run('set database setting school server.name x')),
    /^400 service.server.name is a setting of the server/,
  );
  assert.equal(await run('set server setting server.rootPassword topsecret1'), 'ok');
  const events = JSON.stringify(door.events.recent());
  assert.doesNotMatch(events, /topsecret/);
  assert.doesNotMatch((await door.ask('GET', 'server')).text, /topsecret/);
});

test('server events are listed with their files, and files are safe', async (context) => {
  const door = await startDoor(context);
  const get = (file: string) =>
    door.ask('POST', 'server', { body: { command: `get server events ${file}` } });
  const { body } = await get('');
  const [first] = body['result'] as Record<string, unknown>[];
  assert.match(String(first?.['time']), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/);
  assert.deepEqual(Object.keys(first ?? {}), ['time', 'type', 'component', 'db', 'message']);
  const [file] = body['files'] as string[];
  assert.match(String(file), /^server-event-log-\d{8}-\d{6}\.\d+\.jsonl$/);
  assert.deepEqual((await get(String(file))).body['result'], body['result']);
  assert.equal((await get('server-event-log-20200101-000000.0.jsonl')).status, 400);
  assert.equal((await get('nonsense')).status, 400);
  assert.equal((await get('../config/server-users.jsonl')).status, 403);
});

test('refused rights are reported, a bounded number of times', async (context) => {
  const door = await startDoor(context);
  for (let i = 0; i < 30; i++) await door.ask('POST', 'begin/other', { user: 'jay' });
  const denied = door.events.recent().filter(({ message }) => message.startsWith('Denied: '));
  assert.equal(denied.length, 20);
  assert.match(denied[0]?.message ?? '', /User 'jay' has not access to database 'other'/);
});

test('users over REST', async (context) => {
  const door = await startDoor(context);
  const users = (method: string, query: string, body?: object) =>
    door.ask(method, `server/users${query}`, body ? { body } : {});
  const ada = { name: 'ada', password: 'password', databases: { school: ['admin'] } };
  const created = await users('POST', '', ada);
  assert.deepEqual([created.status, created.body], [201, { result: "User 'ada' created" }]);
  assert.equal((await users('POST', '', ada)).status, 409);
  assert.equal((await users('POST', '', { name: 'x' })).status, 400);
  assert.equal((await users('POST', '', { name: ' ', password: 'password' })).status, 400);
  assert.equal((await users('POST', '', { name: 'x', password: 'short' })).status, 400);
  assert.equal((await users('POST', '', { name: 'apitoken:x', password: 'password' })).status, 400);
  const listed = await users('GET', '');
  assert.doesNotMatch(listed.text, /SCRAM/);
  assert.deepEqual((listed.body['result'] as object[]).at(-1), {
    name: 'ada',
    databases: { school: ['admin'] },
  });
  const token = String((await door.ask('POST', 'login', { user: 'ada' })).body['token']);
  assert.equal((await users('PUT', '?name=ada', { databases: { other: 'reader' } })).status, 200);
  assert.equal((await users('PUT', '/ada', { password: 'password2' })).status, 200);
  const bearer = { user: null, headers: { authorization: `Bearer ${token}` } };
  assert.equal((await door.ask('GET', 'databases', bearer)).status, 401);
  assert.equal((await users('PUT', '?name=ada', {})).status, 400);
  assert.equal((await users('PUT', '', { password: 'password2' })).status, 400);
  assert.equal((await users('PUT', '?name=nobody', { password: 'password2' })).status, 404);
  assert.equal((await users('PUT', '?name=ada', { password: 'x' })).status, 400);
  assert.equal((await users('DELETE', '?name=root')).status, 400);
  assert.equal((await users('DELETE', '')).status, 400);
  assert.equal((await users('DELETE', '?name=ada')).status, 200);
  assert.equal((await users('DELETE', '/ada')).status, 404);
});

test('of several who make a user or a token of one name at a time, one does, and the others are 409', async (context) => {
  const door = await startDoor(context);
  const statuses = async (path: string, body: object) => {
    const answers = await Promise.all([1, 2, 3].map(() => door.ask('POST', path, { body })));
    return answers.map(({ status }) => status).sort();
  };
  const kim = { name: 'kimberly', password: 'a-good-password' };
  assert.deepEqual(await statuses('server/users', kim), [201, 409, 409]);
  assert.deepEqual(await statuses('server/api-tokens', { name: 'ci' }), [201, 409, 409]);
});

test('a repeated change of users and groups gets the first answer', async (context) => {
  const door = await startDoor(context);
  const headers = { 'x-request-id': 'once' };
  const twice = async (method: string, path: string, body?: object) => {
    const asked = { headers, ...(body && { body }) };
    const first = await door.ask(method, path, asked);
    const again = await door.ask(method, path, asked);
    assert.ok(first.status < 300, first.text);
    assert.deepEqual([again.status, again.text], [first.status, first.text]);
  };
  await twice('POST', 'server/users', { name: 'kim', password: 'password' });
  await twice('PUT', 'server/users?name=kim', { password: 'password2' });
  await twice('DELETE', 'server/users?name=kim');
  await twice('POST', 'server/groups', { database: '*', name: 'few' });
  await twice('DELETE', 'server/groups?database=*&name=few');
  const made = { body: { name: 'ci' }, headers };
  assert.equal((await door.ask('POST', 'server/api-tokens', made)).status, 201);
  assert.equal((await door.ask('POST', 'server/api-tokens', made)).status, 409, 'shown only once');
});

test('groups over REST', async (context) => {
  const door = await startDoor(context);
  const groups = (method: string, query: string, body?: object) =>
    door.ask(method, `server/groups${query}`, body ? { body } : {});
  const limited = {
    database: '*',
    name: 'limited',
    resultSetLimit: 1000,
    access: ['updateSchema'],
    types: { '*': { access: ['readRecord'] } },
  };
  const saved = await groups('POST', '', limited);
  assert.deepEqual(saved.body, { result: "Group 'limited' saved for database '*'" });
  const wrong = { ...limited, types: { '*': { access: ['fly'] } } };
  const refused = await groups('POST', '', wrong);
  assert.equal(refused.status, 400);
  assert.match(String(refused.body['error']), /unknown permission 'fly'/);
  assert.equal((await groups('POST', '', { database: '*' })).status, 400);
  assert.match((await groups('GET', '')).text, /"limited":\{"resultSetLimit":1000/);
  assert.equal((await groups('DELETE', '?database=*&name=limited')).status, 200);
  assert.equal((await groups('DELETE', '?database=*&name=limited')).status, 404);
  assert.equal((await groups('DELETE', '?database=*&name=admin')).status, 400);
  assert.equal((await groups('DELETE', '?name=limited')).status, 400);
});

test('names in users, groups and tokens are words: no control characters, at most 256, not blank', async (context) => {
  const door = await startDoor(context);
  const password = 'a-good-password';
  const types = (type: string) => ({ [type]: { access: ['readRecord'] } });
  const places: [string, string, (name: string) => object][] = [
    [
      'users',
      'Database name',
      (name) => ({ name: 'kim', password, databases: { [name]: 'reader' } }),
    ],
    ['users', 'Group name', (name) => ({ name: 'kim', password, databases: { school: [name] } })],
    ['groups', 'Database name', (database) => ({ database, name: 'mine' })],
    ['groups', 'Group name', (name) => ({ database: 'school', name })],
    ['groups', 'Type name', (type) => ({ database: 'school', name: 'mine', types: types(type) })],
    ['api-tokens', 'Name of the API token', (name) => ({ name })],
    ['api-tokens', 'Database name', (database) => ({ name: 'ci', database })],
    ['api-tokens', 'Type name', (type) => ({ name: 'ci', permissions: { types: types(type) } })],
  ];
  const names = {
    'a\0b': 'control',
    'a\nb': 'control',
    ['x'.repeat(257)]: 'longer than 256',
    ' ': 'blank',
  };
  for (const [resource, what, body] of places)
    for (const [name, problem] of Object.entries(names)) {
      const answer = await door.ask('POST', `server/${resource}`, { body: body(name) });
      assert.equal(answer.status, 400, `${resource} ${what} ${problem}`);
      assert.match(answer.text, new RegExp(`${what}|'(name|database)' is blank`));
      assert.match(answer.text, new RegExp(problem));
    }
  const put = await door.ask('PUT', 'server/users?name=jay', {
    body: { databases: { 'a\0b': 'reader' } },
  });
  assert.equal(put.status, 400);
  const word = 'ü'.repeat(256);
  const group = { body: { database: word, name: word, types: types(word) } };
  assert.equal((await door.ask('POST', 'server/groups', group)).status, 200);
  const which = `database=${encodeURIComponent(word)}&name=${encodeURIComponent(word)}`;
  assert.equal((await door.ask('DELETE', `server/groups?${which}`)).status, 200);
  // The last group of a database takes its entry along.
  assert.doesNotMatch((await door.ask('GET', 'server/groups')).text, /ü/);
});

test('the OpenAPI document describes every route, without loose ends', async (context) => {
  const door = await startDoor(context);
  assert.equal((await door.ask('GET', 'openapi.json', { user: null })).status, 401);
  const { body, text, headers } = await door.ask('GET', 'openapi.json', { user: 'jay' });
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(body['openapi'], '3.0.3');
  const paths = body['paths'] as Record<string, Record<string, Record<string, unknown>>>;
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const documented = door.server.routes.filter(({ operation }) => operation !== undefined);
  assert.equal(operations.length, documented.length);
  const ids = operations.map((operation) => operation['operationId']);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of [
    'getReady',
    'executeQueryGet',
    'executeCommand',
    'beginTransaction',
    'getOpenApi',
  ])
    assert.ok(ids.includes(id), id);
  const schemas = (body['components'] as Record<string, Record<string, unknown>>)['schemas'];
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
    assert.ok(schemas?.[name ?? ''], name);
  for (const [path, methods] of Object.entries(paths))
    for (const [, name] of path.matchAll(/\{(\w+)\}/g))
      for (const operation of Object.values(methods)) {
        const parameters = operation['parameters'] as { name: string; in: string }[];
        assert.ok(
          parameters.some((parameter) => parameter.name === name && parameter.in === 'path'),
        );
      }
  assert.deepEqual(paths['/api/v1/ready']?.['get']?.['security'], []);
  assert.ok(paths['/api/v1/query/{database}/{language}/{command}']?.['get']);
});
