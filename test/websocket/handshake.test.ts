import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { systemRuntime } from '#platform/system-runtime.ts';
import { basic } from '../http/door-fixture.ts';
import { startSockets, TestClient } from './socket-fixture.ts';

// How a connection begins and what ends it (websocket.md 1).

const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const upgrade = `Connection: Upgrade\r\nUpgrade: websocket\r\n${key}`;
const version = 'Sec-WebSocket-Version: 13\r\n';
const root = `Authorization: ${basic('root')}\r\n`;

test('the handshake is admitted as a request is', async (context) => {
  const { door } = await startSockets(context);
  const cases: [string, string, number][] = [
    ['no credentials', `GET /ws HTTP/1.1\r\nHost: a\r\n${upgrade}${version}`, 401],
    [
      'bad ones',
      `GET /ws HTTP/1.1\r\nHost: a\r\n${upgrade}${version}Authorization: ${basic('root', 'nonsense')}\r\n`,
      403,
    ],
    [
      'a dead token',
      `GET /ws HTTP/1.1\r\nHost: a\r\n${upgrade}${version}Authorization: Bearer AU-x\r\n`,
      401,
    ],
    [
      'another version',
      `GET /ws HTTP/1.1\r\nHost: a\r\n${upgrade}Sec-WebSocket-Version: 8\r\n${root}`,
      426,
    ],
    ['no version', `GET /ws HTTP/1.1\r\nHost: a\r\n${upgrade}${root}`, 426],
    ['another method', `POST /ws HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${root}`, 405],
    ['a post', `POST /ws HTTP/1.1\r\nHost: a\r\n${upgrade}${version}${root}`, 405],
    ['another path', `GET /api/v1/ws HTTP/1.1\r\nHost: a\r\n${upgrade}${version}${root}`, 404],
    ['no upgrade', `GET /ws HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${root}`, 400],
    [
      'a foreign page',
      `GET /ws HTTP/1.1\r\nHost: a\r\n${upgrade}${version}${root}Origin: http://evil.example\r\n`,
      403,
    ],
    [
      'no key',
      `GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${version}${root}`,
      400,
    ],
  ];
  for (const [what, head, status] of cases) {
    const answer = await door.raw(`${head}\r\n`);
    assert.equal(Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]), status, `${what}: ${answer}`);
    assert.match(answer, /\{"error":.*"requestId":"/, what);
    assert.match(answer, /X-Content-Type-Options: nosniff/, what);
    assert.match(answer, /Cache-Control: no-store/, what);
    assert.equal(/Allow: GET/.test(answer), status === 405, what);
  }
  const challenged = await door.raw(`GET /ws HTTP/1.1\r\nHost: a\r\n${upgrade}${version}\r\n`);
  assert.match(challenged, /WWW-Authenticate: Basic/);
  const plain = await door.ask('GET', '/ws');
  assert.deepEqual([plain.status, plain.body['error']], [400, 'WebSocket upgrade required']);
  assert.equal(plain.headers.upgrade, 'websocket');
  // Another protocol is ignored, as HTTP allows.
  const h2c = `GET /api/v1/health HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`;
  assert.match(await door.raw(h2c), /^HTTP\/1\.1 204/);
});

test('Basic, tokens and pages of this machine may connect', async (context) => {
  const { door, connect } = await startSockets(context);
  await connect(basic('jay'));
  await connect(basic('jay'));
  const slash = await door.raw(`GET /ws/?x=1 HTTP/1.1\r\nHost: a\r\n${upgrade}${version}\r\n`);
  assert.match(slash, /^HTTP\/1\.1 401/);
  const login = await door.ask('POST', 'login', { user: 'jay' });
  const byToken = await connect(`Bearer ${String(login.body['token'])}`);
  assert.equal((await byToken.ask({ action: 'subscribe', database: 'school' }))['result'], 'ok');
});

test('a browser offers its token as a subprotocol, which is never echoed', async (context) => {
  const { door } = await startSockets(context);
  const login = await door.ask('POST', 'login', { user: 'jay' });
  const token = String(login.body['token']);
  const offer = (protocols: string) =>
    door.raw(
      `GET /ws HTTP/1.1\r\nHost: a\r\n${upgrade}${version}Sec-WebSocket-Protocol: ${protocols}\r\n\r\n`,
    );
  const refused = await offer('polyad, bearer.AU-x');
  assert.match(refused, /^HTTP\/1\.1 401/);
  assert.doesNotMatch(refused, /AU-x/);
  const client = new WebSocket(`ws://127.0.0.1:${door.port}/ws`, ['polyad', `bearer.${token}`]);
  await new Promise((opened, failed) => {
    client.once('open', opened);
    client.once('error', failed);
  });
  assert.equal(client.protocol, 'polyad');
  client.terminate();
  assert.ok(!JSON.stringify(door.logged).includes(token));
});

test('beyond wsMaxConnections the handshake is 503, and a place is free after a close', async (context) => {
  const { connect, sockets } = await startSockets(context, { 'server.wsMaxConnections': '1' });
  const first = await connect();
  await assert.rejects(connect(), /503/);
  first.socket.close();
  await first.closed;
  while (sockets.connectionCount > 0) await new Promise((resolve) => setImmediate(resolve));
  await connect();
});

test('what is no text, no UTF-8 or too large closes the connection with its code', async (context) => {
  const { connect } = await startSockets(context);
  const binary = await connect();
  binary.socket.send(Buffer.from('{}'), { binary: true });
  assert.equal((await binary.closed).code, 1003);
  const broken = await connect();
  broken.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
  assert.equal((await broken.closed).code, 1007);
  const control = await connect();
  control.send({ action: 'subscribe', database: 'school', type: 'x'.repeat(70_000) });
  assert.equal((await control.closed).code, 1009);
  const garbage = await connect();
  garbage.send('x'.repeat(70_000));
  assert.equal((await garbage.closed).code, 1009);
  const chunk = await connect();
  await chunk.ask({ action: 'start', database: 'school' });
  chunk.send(`{"action":"chunk","x":"${'y'.repeat(17 * 1024 * 1024)}"}`);
  assert.equal((await chunk.closed).code, 1009);
});

test('what a broken message leaves is let go of at once, whether or not the client ends its side', async (context) => {
  const { connect, sockets } = await startSockets(context);
  const start = { action: 'start', database: 'school', sessionId: 'load' };
  const next = await connect();
  for (const broken of ['y'.repeat(17 * 1024 * 1024), Buffer.from([0xff, 0xfe])]) {
    const client = await connect();
    await client.ask({ action: 'subscribe', database: 'school' });
    assert.equal((await client.ask(start))['action'], 'started');
    client.socket.pause();
    client.socket.send(broken, { binary: false });
    for (let turn = 0; turn < 250 && sockets.connectionCount > 1; turn++) await setTimeout(20);
    assert.equal(sockets.connectionCount, 1);
    assert.equal((await next.ask(start))['action'], 'started', 'the name is free');
    await next.ask({ action: 'rollback', sessionId: 'load' });
  }
});

test('a client that answers no ping for a minute is cut off', async (context) => {
  const rounds: (() => void)[] = [];
  const { timers } = systemRuntime;
  const { door, connect, sockets } = await startSockets(
    context,
    {},
    {
      sleep: (ms) => timers.sleep(ms),
      yield: () => timers.yield(),
      after: (ms, run) => {
        if (ms !== 30_000) return timers.after(ms, run);
        rounds.push(run);
        return () => {};
      },
    },
  );
  const alive = await connect();
  const url = `ws://127.0.0.1:${door.port}/ws`;
  const headers = { authorization: basic('root') };
  const dead = new TestClient(new WebSocket(url, { headers, autoPong: false }));
  await new Promise((resolve) => dead.socket.once('open', resolve));
  const pinged = new Promise((resolve) => dead.socket.once('ping', resolve));
  rounds.shift()?.();
  await pinged;
  for (let round = 0; round < 2; round++) {
    assert.equal(sockets.connectionCount, 2);
    await alive.quiet();
    rounds.shift()?.();
  }
  await dead.closed;
  await alive.quiet();
  assert.equal(sockets.connectionCount, 1);
});

test('a client ping is answered', async (context) => {
  const { connect } = await startSockets(context);
  const client = await connect();
  const pong = new Promise((resolve) => client.socket.once('pong', resolve));
  client.socket.ping();
  await pong;
});

test('a thousand pings at once are answered, and the message behind them', async (context) => {
  const { connect } = await startSockets(context);
  const client = await connect();
  let pongCount = 0;
  client.socket.on('pong', () => {
    pongCount += 1;
  });
  for (let ping = 0; ping < 1000; ping += 1) client.socket.ping();
  const answer = await client.ask({ action: 'subscribe', database: 'school' });
  assert.deepEqual([answer['result'], pongCount], ['ok', 1000]);
});

test('messages that make no sense are answered and the connection stays', async (context) => {
  const { connect } = await startSockets(context);
  const client = await connect();
  const cases: [unknown, string, RegExp][] = [
    ['nonsense', 'Unable to parse JSON', /invalid JSON/],
    ['[1]', 'Unable to parse JSON', /no JSON object/],
    ['{}', 'Message error', /Property 'action' is required\./],
    [{ action: 5 }, 'Message error', /Property 'action' must be a string/],
    [{ action: 'foo' }, 'Unknown action', /foo is not a valid action\./],
    [{ action: 'subscribe' }, 'Message error', /Property 'database' is required\./],
    [{ action: 'unsubscribe' }, 'Message error', /Property 'database' is required\./],
    [
      { action: 'subscribe', database: 'school', changeTypes: 'create' },
      'Message error',
      /Property 'changeTypes' must be an array of strings/,
    ],
    [
      { action: 'subscribe', database: 'school', changeTypes: [1] },
      'Message error',
      /array of strings/,
    ],
    [{ action: 'subscribe', database: 'school', changeTypes: ['read'] }, 'Message error', /'read'/],
    [{ action: 'subscribe', database: 'none' }, 'Database error', /'none' does not exist/],
    [{ action: 'start' }, 'Message error', /Property 'database' is required\./],
    [{ action: 'chunk', chunkSeq: 1 }, 'Message error', /Property 'sessionId' is required\./],
    [
      { action: 'chunk', sessionId: 'x', chunkSeq: 1 },
      'Insert session error',
      /'x' not found or expired/,
    ],
    [{ action: 'commit', sessionId: 'x' }, 'Insert session error', /'x' not found or expired/],
  ];
  for (const [sent, error, detail] of cases) {
    const answer = await client.ask(sent);
    assert.equal(answer['result'], 'error');
    assert.equal(answer['error'], error, JSON.stringify(sent));
    assert.match(String(answer['detail']), detail);
  }
  assert.deepEqual(await client.ask({ action: 'SUBSCRIBE', database: 'school' }), {
    result: 'ok',
    action: 'subscribe',
  });
});

test('a stop closes connections with 1001 and refuses new ones', async (context) => {
  const { connect, sockets } = await startSockets(context);
  const client = await connect();
  await sockets.close(1000);
  assert.deepEqual(await client.closed, { code: 1001, reason: 'server shutdown' });
  await assert.rejects(connect(), /503/);
});

test('what was asked before the handshake is answered first, a long answer whole', async (context) => {
  const { door } = await startSockets(context);
  const body = (language: string, command: string, list?: readonly string[]) =>
    JSON.stringify({ language, command, params: { list } });
  const long = Array.from({ length: 3000 }, () => 'x'.repeat(1000));
  const post = (text: string, headers = '') =>
    `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\n${root}${headers}Content-Length: ${text.length}\r\n\r\n${text}`;
  const asked = [
    post(body('sqlscript', 'SLEEP 100; RETURN 7')),
    post(
      body('sql', 'SELECT n FROM (SELECT :list AS n UNWIND n)', long),
      'Accept: application/x-ndjson\r\n',
    ),
    'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n',
  ].join('');
  const shake = `GET /ws HTTP/1.1\r\nHost: a\r\n${upgrade}${version}${root}\r\n`;
  const socket = await door.open();
  let text = '';
  const isOver = new Promise<void>((resolve) => {
    socket.on('data', (piece) => {
      text += piece.toString('latin1');
      if (text.includes('"action":"unsubscribe"')) resolve();
    });
    socket.on('close', () => resolve());
  });
  socket.write(asked + shake);
  socket.write(masked('{"action":"unsubscribe","database":"none"}'));
  await isOver;
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  assert.deepEqual(statuses, [200, 200, 204, 101]);
  assert.match(text, /"value":7/);
  assert.match(text, /"returned":3000,/);
  assert.match(text, /"action":"unsubscribe"/);
  socket.destroy();
  const refused = await door.raw(
    post(body('sqlscript', 'SLEEP 100; RETURN 7')) + shake.replace(root, ''),
  );
  assert.match(refused, /^HTTP\/1\.1 200 .*"value":7.*HTTP\/1\.1 401 /s);
});

/** A text message of less than 126 bytes, as clients send it. */
function masked(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}
