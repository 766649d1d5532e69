import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDoor } from './door-fixture.ts';

// API tokens over HTTP (http-api.md 17); over WebSocket in `test/websocket/api-tokens.test.ts`.

const path = 'server/api-tokens';
const permissions = {
  types: { '*': { access: ['readRecord'] }, Log: { access: ['createRecord', 'readRecord'] } },
  database: ['updateSchema'],
};

type Made = Readonly<Record<string, unknown>>;

test('a token is shown once, listed without its text, and deleted by hash or name', async (context) => {
  const door = await startDoor(context);
  const expiresAt = Date.now() + 60_000;
  const body = { name: 'ci', database: 'school', expiresAt, permissions, ignored: 1 };
  const created = await door.ask('POST', path, { body });
  assert.equal(created.status, 201, created.text);
  const made = created.body['result'] as Made;
  const { token, createdAt, tokenHash, tokenSuffix, ...rest } = made;
  assert.deepEqual(rest, { name: 'ci', database: 'school', expiresAt, permissions });
  assert.match(String(token), /^at-[0-9a-f]{64}$/);
  assert.match(String(tokenHash), /^[0-9a-f]{64}$/);
  assert.equal(tokenSuffix, String(token).slice(-4));
  assert.equal(typeof createdAt, 'number');
  const listed = await door.ask('GET', path);
  const { token: _, ...shown } = made;
  assert.deepEqual(listed.body, { result: [shown], count: 1 });
  assert.equal(listed.text.includes(String(token)), false);

  const again = await door.ask('POST', path, { body });
  assert.deepEqual([again.status, again.body['error']], [409, "API token 'ci' already exists"]);
  const plain = await door.ask('DELETE', `${path}?token=${token}`);
  assert.equal(plain.status, 400);
  assert.equal(plain.text.includes(String(token)), false);
  const missing = await door.ask('DELETE', path);
  assert.equal(missing.status, 400);
  const unknown = await door.ask('DELETE', `${path}?token=${'0'.repeat(64)}`);
  assert.equal(unknown.status, 404);
  const deleted = await door.ask('DELETE', `${path}?token=${tokenHash}`);
  assert.deepEqual([deleted.status, deleted.body], [200, { result: 'API token deleted' }]);
  await door.ask('POST', path, { body: { name: 'by name' } });
  const byName = await door.ask('DELETE', `${path}?name=by%20name`);
  assert.deepEqual([byName.status, byName.body], [200, { result: 'API token deleted' }]);
  assert.deepEqual((await door.ask('GET', path)).body, { result: [], count: 0 });
});

test('what is left out means never, everywhere, nothing', async (context) => {
  const door = await startDoor(context);
  const { body } = await door.ask('POST', path, { body: { name: 'bare', expiresAt: 0 } });
  const made = body['result'] as Made;
  assert.deepEqual(
    [made['database'], made['expiresAt'], made['permissions']],
    ['*', 0, { types: {}, database: [] }],
  );
});

test('wrong requests are 400 and name what is wrong', async (context) => {
  const door = await startDoor(context);
  const cases: [object | string, RegExp][] = [
    [{}, /'name' is missing/],
    [{ name: ' ' }, /'name' is blank/],
    [{ name: 5 }, /'name' must be a string/],
    [{ name: 'a', database: 5 }, /'database' must be a string/],
    [{ name: 'a', database: ' ' }, /'database' is blank/],
    [{ name: 'a', expiresAt: 'soon' }, /'expiresAt' must be/],
    [{ name: 'a', expiresAt: 1.5 }, /'expiresAt' must be/],
    [{ name: 'a', expiresAt: -1 }, /'expiresAt' must be/],
    [{ name: 'a', expiresAt: 1000 }, /expiresAt 1000 is in the past/],
    [{ name: 'a', permissions: [] }, /permissions of API token 'a' must be an object/],
    [{ name: 'a', permissions: { types: [] } }, /types of permissions/],
    [{ name: 'a', permissions: { types: { T: 'readRecord' } } }, /type 'T' of permissions/],
    [{ name: 'a', permissions: { types: { T: { access: ['read'] } } } }, /permission 'read'/],
    [{ name: 'a', permissions: { database: ['root'] } }, /unknown permission 'root'/],
    ['{', /JSON/],
    ['[]', /object/],
  ];
  for (const [body, expected] of cases) {
    const answer = await door.ask('POST', path, { body });
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, expected);
  }
  assert.deepEqual((await door.ask('GET', path)).body['count'], 0);
});

test('only root makes, lists and deletes tokens', async (context) => {
  const door = await startDoor(context);
  const asked = await door.ask('POST', path, { body: { name: 'ci', permissions } });
  const { token } = asked.body['result'] as Made;
  const authorization = `Bearer ${token}`;
  for (const method of ['GET', 'POST', 'DELETE']) {
    const body = method === 'POST' ? { name: 'mine' } : undefined;
    const asked = { ...(body && { body }), headers: { authorization } };
    const byToken = await door.ask(method, `${path}?name=ci`, { ...asked, user: null });
    const byUser = await door.ask(method, `${path}?name=ci`, {
      ...(body && { body }),
      user: 'jay',
    });
    const byNobody = await door.ask(method, `${path}?name=ci`, { user: null });
    assert.deepEqual([byToken.status, byUser.status, byNobody.status], [403, 403, 401], method);
  }
  assert.equal((await door.ask('GET', path)).body['count'], 1);
});

test('a token opens its database, is nobody elsewhere, and never root', async (context) => {
  const door = await startDoor(context);
  const asked = await door.ask('POST', path, { body: { name: 'ci', database: 'school' } });
  const headers = { authorization: `Bearer ${(asked.body['result'] as Made)['token']}` };
  const ask = (method: string, path: string, body?: object) =>
    door.ask(method, path, { user: null, headers, ...(body && { body }) });
  assert.deepEqual((await ask('GET', 'databases')).body['result'], ['school']);
  assert.equal((await ask('GET', 'databases')).body['user'], 'apitoken:ci');
  assert.equal((await ask('GET', 'exists/school')).body['result'], true);
  assert.equal((await ask('GET', 'exists/other')).body['result'], false);
  assert.equal((await ask('GET', 'progress/other')).status, 403);
  assert.equal((await ask('POST', 'begin/other')).status, 403);
  const login = await ask('POST', 'login');
  assert.deepEqual([login.status, login.body['error']], [403, 'Basic credentials required']);
  assert.equal((await ask('POST', 'logout')).status, 400);
  assert.equal((await ask('GET', 'sessions')).status, 403);
  const command = (command: string) => ask('POST', 'server', { command });
  assert.deepEqual((await command('list databases')).body['result'], ['school']);
  assert.equal((await command('drop database school')).status, 403);
  assert.equal((await ask('GET', 'server')).body['settings'], undefined);
});

test('a deleted token is dead at once, and its transactions with it', async (context) => {
  const door = await startDoor(context);
  const asked = await door.ask('POST', path, { body: { name: 'ci', database: 'school' } });
  const authorization = `Bearer ${(asked.body['result'] as Made)['token']}`;
  const ended: string[] = [];
  door.apiTokens.onRevoked((name) => ended.push(name));
  assert.equal((await door.ask('GET', 'databases', { headers: { authorization } })).status, 200);
  await door.ask('DELETE', `${path}?name=ci`);
  // As often as it is tried: a dead token is 401 (contract), it is never locked.
  for (let time = 0; time < 7; time++) {
    const dead = await door.ask('GET', 'databases', { headers: { authorization }, user: null });
    assert.deepEqual([dead.status, dead.body['error']], [401, 'Invalid or expired API token']);
  }
  assert.deepEqual(ended, ['apitoken:ci']);
});

test('API tokens can be bound to secure connections', async (context) => {
  const door = await startDoor(context, { 'server.apiTokenRequireSecureTransport': 'true' });
  const asked = await door.ask('POST', path, { body: { name: 'ci', database: 'school' } });
  const authorization = `Bearer ${(asked.body['result'] as Made)['token']}`;
  const plain = await door.ask('GET', 'databases', { headers: { authorization }, user: null });
  assert.deepEqual(
    [plain.status, plain.body['error']],
    [412, 'API tokens need a secure connection'],
  );
  const dead = await door.ask('GET', 'databases', { headers: { authorization: 'Bearer at-0' } });
  assert.equal(dead.status, 401);
});
