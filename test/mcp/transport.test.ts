import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basic, startDoor } from '../http/door-fixture.ts';
import { type Json, startMcp } from './mcp-fixture.ts';

// The transport rules of contract 2 and the order of checks of mcp.md 1.1.

const errorOf = (body: Json) => body['error'] as { code: number; message: string };

test('only POST is served', async (context) => {
  const { door } = await startMcp(context);
  for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    const answer = await door.ask(method, 'mcp', { user: null });
    assert.deepEqual([answer.status, answer.headers['allow']], [405, 'POST'], method);
    assert.equal(errorOf(answer.body).code, -32600);
  }
  const config = await door.ask('PUT', 'mcp/config');
  assert.deepEqual([config.status, config.headers['allow']], [405, 'GET, POST']);
});

test('credentials are required, and every request of a disabled server is an error', async (context) => {
  const { post, configure } = await startMcp(context);
  const ping = { jsonrpc: '2.0', id: 'a', method: 'ping' };
  assert.equal((await post(ping, { user: null })).status, 401);
  const wrong = { authorization: basic('root', 'wrong') };
  assert.equal((await post(ping, { user: null, headers: wrong })).status, 403);
  assert.deepEqual((await post(ping)).body, { jsonrpc: '2.0', id: 'a', result: {} });
  const stranger = await post(ping, { user: 'jay' });
  assert.equal(stranger.status, 403);
  assert.equal(errorOf(stranger.body).message, 'User not authorized for MCP access');
  await configure({ enabled: false });
  const disabled = await post(ping);
  assert.deepEqual([disabled.status, disabled.body['id']], [503, 'a']);
  assert.equal((await post({ jsonrpc: '2.0', method: 'ping' })).status, 202);
});

test('ids are strings and integers of any size', async (context) => {
  const { post } = await startMcp(context);
  for (const id of ['"a"', '0', '-1', '12345678901234567890', '9007199254740993']) {
    const { text } = await post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    assert.equal(text, `{"jsonrpc":"2.0","id":${id},"result":{}}`);
  }
  for (const id of ['null', '1.5', '1.0', '{}', '[]', 'true']) {
    const { body } = await post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`);
    assert.deepEqual([body['id'], errorOf(body).code], [null, -32600], id);
  }
});

test('what is no request', async (context) => {
  const { post } = await startMcp(context);
  const codes: readonly (readonly [string, number])[] = [
    ['', -32700],
    ['{', -32700],
    ['{"a":1} x', -32700],
    ['[]', -32600],
    ['5', -32600],
    ['{}', -32600],
    ['{"id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":5}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}', -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', -32602],
    [
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":[]}}',
      -32602,
    ],
  ];
  for (const [text, code] of codes) {
    const { status, body } = await post(text);
    assert.deepEqual([status, errorOf(body).code], [200, code], text);
  }
  assert.equal((await post('"\u0000')).status, 200);
});

test('notifications are never answered, and batches element by element', async (context) => {
  const { post } = await startMcp(context);
  const note = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const silent = await post(note);
  assert.deepEqual([silent.status, silent.text], [202, '']);
  assert.equal((await post([note, { jsonrpc: '2.0', method: 'what' }])).status, 202);
  assert.equal((await post({ jsonrpc: '2.0', id: 1, result: {} })).status, 202);
  const mixed = await post([note, { jsonrpc: '2.0', id: 2, method: 'ping' }, 5, note]);
  assert.equal(mixed.status, 200);
  assert.deepEqual(
    (JSON.parse(mixed.text) as Json[]).map((answer) => answer['id']),
    [2, null],
  );
  const many = Array.from({ length: 101 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
  assert.equal(errorOf((await post(many)).body).code, -32600);
  assert.equal((JSON.parse((await post(many.slice(1))).text) as Json[]).length, 100);
});

test('pages of other sites are refused before credentials', async (context) => {
  const { post, configure, door } = await startMcp(context);
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const statusOf = async (origin: string) => (await post(ping, { headers: { origin } })).status;
  const host = `127.0.0.1:${door.port}`;
  for (const origin of [
    'http://localhost:3000',
    'https://127.0.0.1',
    'http://[::1]:9',
    `http://${host}`,
  ])
    assert.equal(await statusOf(origin), 200, origin);
  const refused = [
    'http://evil.example',
    'null',
    'evil',
    'http://localhost.evil.example',
    'file://x',
    '',
  ];
  for (const origin of refused.filter((text) => text !== ''))
    assert.equal(await statusOf(origin), 403, origin);
  const anonymous = await post(ping, { user: null, headers: { origin: 'http://evil.example' } });
  assert.equal(anonymous.status, 403);
  await configure({ allowedOrigins: ['https://Agent.Example:443/'] });
  assert.equal(await statusOf('https://agent.example'), 200);
  await configure({ allowedOrigins: ['*'] });
  assert.equal(await statusOf('null'), 200);
});

test('an accepted page may ask first, and read its answers', async (context) => {
  const { door, post, configure } = await startMcp(context);
  const ask = (origin: string) =>
    door.ask('OPTIONS', 'mcp', {
      user: null,
      headers: { origin, 'access-control-request-method': 'POST' },
    });
  const page = 'https://agent.example';
  assert.equal((await ask(page)).status, 405);
  await configure({ allowedOrigins: [page] });
  const asked = await ask(page);
  assert.deepEqual([asked.status, asked.headers['access-control-allow-origin']], [204, page]);
  assert.match(String(asked.headers['access-control-allow-headers']), /Authorization/);
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const answer = await post(ping, { headers: { origin: page } });
  assert.deepEqual(
    [answer.status, answer.headers['access-control-allow-origin'], answer.body['result']],
    [200, page, {}],
  );
  assert.equal((await ask('http://evil.example')).status, 405);
  const plain = await door.ask('OPTIONS', 'mcp', { user: null });
  assert.deepEqual([plain.status, plain.headers['allow']], [405, 'POST']);
});

test('initialize tells what there is', async (context) => {
  const { rpc, configure } = await startMcp(context);
  const { result } = await rpc('initialize', { protocolVersion: '2099-01-01' });
  const told = result as Record<string, unknown>;
  assert.equal(told['protocolVersion'], '2025-03-26');
  assert.deepEqual(told['capabilities'], {
    tools: { listChanged: false },
    resources: { listChanged: false, subscribe: false },
    prompts: { listChanged: false },
  });
  assert.match(String(told['instructions']), /upsert_entity.*prompts\/list/);
  await configure({ profile: 'admin' });
  const narrowed = (await rpc('initialize'))['result'] as Record<string, unknown>;
  assert.doesNotMatch(String(narrowed['instructions']), /upsert|search|prompts/);
});

test('a distribution without the module answers 404 on both paths', async (context) => {
  const door = await startDoor(context);
  assert.equal((await door.ask('POST', 'mcp', { body: {} })).status, 404);
  assert.equal((await door.ask('GET', 'mcp/config')).status, 404);
});

test('the OpenAPI document has its operations and schemas by their names', async (context) => {
  const { door } = await startMcp(context);
  const { body } = await door.ask('GET', 'openapi.json');
  const { paths, components } = body as {
    paths: Record<string, Record<string, { operationId: string }>>;
    components: { schemas: Record<string, unknown> };
  };
  assert.equal(paths['/api/v1/mcp']?.['post']?.operationId, 'invokeMcp');
  assert.equal(paths['/api/v1/mcp/config']?.['get']?.operationId, 'getMcpConfig');
  assert.equal(paths['/api/v1/mcp/config']?.['post']?.operationId, 'updateMcpConfig');
  for (const name of ['JsonRpcMessage', 'McpConfig']) assert.ok(components.schemas[name], name);
});
