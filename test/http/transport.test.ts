import assert from 'node:assert/strict';
import { deflateSync, gzipSync } from 'node:zlib';
import { test } from 'node:test';
import type { Socket } from 'node:net';
import { basic, startDoor } from './door-fixture.ts';
import { rowBatch } from './fake-databases.ts';

// Odd, slow, huge and broken HTTP on raw sockets (limits.md 24 to 28, http-api.md 1).

const close = 'Connection: close\r\n';
const authorization = `Authorization: ${basic('root')}\r\n`;

function get(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
}

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1]);
}

function statusesOf(answers: string): number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

/** Resolves when what the socket received so far satisfies the condition. */
function received(socket: Socket, isEnough: (text: string) => boolean): Promise<string> {
  let text = '';
  return new Promise((resolve) => {
    socket.on('data', (piece) => {
      text += piece.toString('latin1');
      if (isEnough(text)) resolve(text);
    });
    socket.on('close', () => resolve(text));
    socket.on('error', () => resolve(text));
  });
}

test('what is no HTTP is 400, another version 505, and the connection ends', async (context) => {
  const door = await startDoor(context);
  const cases: [string, number][] = [
    ['nonsense\r\n\r\n', 400],
    ['GET / HTTP/9.9\r\nHost: a\r\n\r\n', 505],
    ['GET /api/v1/health HTTP/2.0\r\nHost: a\r\n\r\n', 505],
    ['GET /api/v1/health HTTP/0.9\r\nHost: a\r\n\r\n', 505],
    ['GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\n\r\n', 400],
    ['GET / HTTP/1.1\r\nHost: a\r\nBad Name: 1\r\n\r\n', 400],
    ['POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
    ['POST / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n', 400],
    ['GET /api/v1/health HTTP/1.1\nHost: a\n\n', 400],
    ['GET / HTTP/1.1\r\nHost: a\r\nAuthorization: b\r\nAuthorization: c\r\n\r\n', 400],
    ['POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n', 501],
    ['FLY / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['FLY\r\n\r\n', 400],
    ['CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  ];
  for (const [bytes, status] of cases) {
    const answer = await door.raw(bytes);
    assert.equal(statusOf(answer), status, bytes);
    assert.match(answer, /Connection: close/i, bytes);
    assert.match(answer, /\{"error":.*"requestId":"/, bytes);
  }
  assert.equal((await door.ask('GET', 'health')).status, 204);
});

test('headers are bounded in number and size, the path in length', async (context) => {
  const door = await startDoor(context);
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => `X-${index}: 1\r\n`).join('');
  assert.equal(statusOf(await door.raw(get('/api/v1/health', many(198) + close))), 204);
  assert.equal(statusOf(await door.raw(get('/api/v1/health', many(199) + close))), 431);
  assert.equal(statusOf(await door.raw(get('/api/v1/health', many(5000) + close))), 431);
  const sized = (bytes: number) => `X-Big: ${'x'.repeat(bytes)}\r\n`;
  assert.equal(statusOf(await door.raw(get('/api/v1/health', sized(900_000) + close))), 204);
  const lines = Array.from({ length: 150 }, () => sized(8000)).join('');
  for (const headers of [lines, sized(1_060_000), sized(1_200_000), sized(3_000_000)])
    assert.equal(statusOf(await door.raw(get('/api/v1/health', headers + close))), 431);
  const path = (length: number) => `/api/v1/health?${'x'.repeat(length - 15)}`;
  assert.equal(statusOf(await door.raw(get(path(16_384), close))), 204);
  assert.equal(statusOf(await door.raw(get(path(16_385), close))), 414);
  // Longer than what node:http reads of headers.
  for (const length of [1_048_570, 1_048_580, 1_060_000, 1_500_000, 3_000_000]) {
    assert.equal(statusOf(await door.raw(get(path(length), close))), 414, String(length));
    const packed = path(length).replaceAll('xx', '%20');
    assert.equal(statusOf(await door.raw(get(packed, close))), 414, String(length));
  }
});

test('a line that is too long and does not end is refused, too', async (context) => {
  const door = await startDoor(context, { 'server.httpHeadersTimeout': '1500' });
  assert.equal(statusOf(await door.raw(`GET /${'x'.repeat(2_000_000)}`)), 431);
  assert.equal(statusOf(await door.raw(`GET /${'x'.repeat(40_000_000)}`)), 431);
});

test('a long path behind a request is refused after its answer', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('good', { complete: rowBatch(0, 1) });
  const body = '{"language":"sql","command":"good"}';
  const first = `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\n${authorization}Content-Length: ${body.length}\r\n\r\n${body}`;
  const answers = await door.raw(first + get(`/${'x'.repeat(2_000_000)}`));
  assert.deepEqual(statusesOf(answers), [200, 414]);
});

test('an expectation that is unknown is refused like any request', async (context) => {
  const door = await startDoor(context);
  const answer = await door.raw(get('/api/v1/health', `Expect: 200-ok\r\n${close}`));
  assert.equal(statusOf(answer), 417);
  assert.match(answer, /X-Request-Id: .*"error":"Expectation failed"/s);
});

test('bodies beyond the limit are refused before and while they are read', async (context) => {
  const door = await startDoor(context, { 'server.httpBodyContentMaxSize': '1000' });
  const post = (headers: string) =>
    `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\n${authorization}${headers}\r\n`;
  const announced = await door.raw([post('Content-Length: 1001\r\n'), 'x'.repeat(1001)]);
  assert.equal(statusOf(announced), 413);
  assert.match(announced, /"error":"Request body too large"/);
  assert.match(announced, /httpBodyContentMaxSize/);
  const chunk = `200\r\n${'x'.repeat(512)}\r\n`;
  const chunked = await door.raw([
    post('Transfer-Encoding: chunked\r\n'),
    chunk,
    chunk,
    '0\r\n\r\n',
  ]);
  assert.equal(statusOf(chunked), 413);
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  const body = '{"language":"sql","command":"x"}'.padEnd(1000);
  assert.equal((await door.ask('POST', 'query/school', { body })).status, 200);
});

test('a client that sends everything before it reads still sees the refusal', async (context) => {
  const door = await startDoor(context, { 'server.httpBodyContentMaxSize': '1000' });
  const body = Buffer.alloc(20_000_000, 120);
  assert.equal((await door.ask('POST', 'query/school', { body })).status, 413);
  assert.equal((await door.ask('POST', 'query/school', { body, user: null })).status, 401);
  assert.equal((await door.ask('POST', 'query/other', { body, user: 'jay' })).status, 403);
});

test('packed bodies are unpacked within a limit of their own', async (context) => {
  const door = await startDoor(context, {
    'server.httpBodyContentDecompressedMaxSize': '2000',
    'server.httpBodyContentMaxSize': '1000',
  });
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  const text = '{"language":"sql","command":"x"}';
  const send = (body: Uint8Array, coding: string) =>
    door.ask('POST', 'query/school', { body, headers: { 'content-encoding': coding } });
  assert.equal((await send(gzipSync(text.padEnd(2000)), 'gzip')).status, 200);
  assert.equal((await send(deflateSync(text), 'deflate')).status, 200);
  assert.equal((await send(Buffer.from(text), 'identity')).status, 200);
  const bomb = await send(gzipSync(Buffer.alloc(500_000)), 'gzip');
  assert.equal(bomb.status, 413);
  assert.match(String(bomb.body['detail']), /httpBodyContentDecompressedMaxSize/);
  assert.equal((await send(Buffer.from('no gzip'), 'gzip')).status, 400);
  assert.equal((await send(gzipSync(text).subarray(0, 20), 'gzip')).status, 400);
  const unknown = await send(Buffer.from(text), 'br');
  assert.equal(unknown.status, 415);
  assert.equal(unknown.headers['accept-encoding'], 'gzip, deflate');
});

test('bodies of GET are ignored up to 64 KiB', async (context) => {
  const door = await startDoor(context);
  const length = (bytes: number) => `Content-Length: ${bytes}\r\n${close}`;
  const small = await door.raw([get('/api/v1/health', length(65_536)), 'x'.repeat(65_536)]);
  assert.equal(statusOf(small), 204);
  const large = await door.raw([get('/api/v1/health', length(65_537)), 'x'.repeat(65_537)]);
  assert.equal(statusOf(large), 413);
  const pieces = [`${'8000\r\n'}${'x'.repeat(32_768)}\r\n`];
  const chunked = await door.raw([
    get('/api/v1/health', `Transfer-Encoding: chunked\r\n${close}`),
    ...pieces,
    ...pieces,
    ...pieces,
    '0\r\n\r\n',
  ]);
  assert.equal(statusOf(chunked), 413);
});

test('100 is sent after authentication and the length check only', async (context) => {
  const door = await startDoor(context, { 'server.httpBodyContentMaxSize': '1000' });
  door.databases.behaviours.set('x', { complete: rowBatch(0, 1) });
  const body = '{"language":"sql","command":"x"}';
  const expecting = (headers: string) =>
    `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n${headers}${close}\r\n`;
  const socket = await door.open();
  const answered = received(socket, (text) => text.includes('"truncated"'));
  socket.on('data', (piece) => {
    if (piece.toString().includes('100 Continue')) socket.write(body);
  });
  socket.write(expecting(`${authorization}Content-Length: ${body.length}\r\n`));
  assert.deepEqual(statusesOf(await answered), [100, 200]);
  const unknown = await door.raw(expecting(`Content-Length: ${body.length}\r\n`));
  assert.deepEqual(statusesOf(unknown), [401]);
  const large = await door.raw(expecting(`${authorization}Content-Length: 5000\r\n`));
  assert.deepEqual(statusesOf(large), [413]);
});

test('half-sent headers and bodies are answered 408', async (context) => {
  const door = await startDoor(context, {
    'server.httpHeadersTimeout': '80',
    'server.httpBodyTimeout': '60',
  });
  const headers = await door.raw('GET /api/v1/health HTTP/1.1\r\nHost: a\r\nX-');
  assert.equal(statusOf(headers), 408);
  const post = `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\n${authorization}Content-Length: 50\r\n\r\n{"lang`;
  const body = await door.raw(post);
  assert.equal(statusOf(body), 408);
  assert.match(body, /httpBodyTimeout/);
});

test('a client that leaves in the middle of its body leaves nothing behind', async (context) => {
  const door = await startDoor(context);
  const socket = await door.open();
  socket.write(
    `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\n${authorization}Content-Length: 50\r\n\r\n{"lang`,
  );
  socket.destroy();
  assert.equal((await door.ask('GET', 'databases')).status, 200);
  assert.deepEqual(door.internalErrors, []);
});

test('pipelined requests are answered one at a time, in order', async (context) => {
  const door = await startDoor(context);
  const order: string[] = [];
  for (const name of ['one', 'two', 'three'])
    door.databases.behaviours.set(name, {
      complete: rowBatch(0, 1),
      before: async () => {
        order.push(`${name} starts`);
        await new Promise(setImmediate);
        order.push(`${name} ends`);
      },
    });
  const requestFor = (name: string, last = '') => {
    const body = `{"language":"sql","command":"${name}"}`;
    return `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\nX-Request-Id: ${name}\r\n${authorization}${last}Content-Length: ${body.length}\r\n\r\n${body}`;
  };
  const all = requestFor('one') + requestFor('two') + requestFor('three', close);
  const answers = await door.raw(all);
  assert.deepEqual(statusesOf(answers), [200, 200, 200]);
  assert.deepEqual(
    [...answers.matchAll(/X-Request-Id: (\w+)/g)].map(([, id]) => id),
    ['one', 'two', 'three'],
  );
  assert.deepEqual(order, [
    'one starts',
    'one ends',
    'two starts',
    'two ends',
    'three starts',
    'three ends',
  ]);
});

test('a refused statement leaves the connection to what is sent behind it', async (context) => {
  const door = await startDoor(context);
  door.databases.behaviours.set('good', { complete: rowBatch(0, 1) });
  const requestFor = (body: string, last = '') =>
    `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\n${authorization}${last}Content-Length: ${body.length}\r\n\r\n${body}`;
  const good = '{"language":"sql","command":"good"}';
  for (const refused of [
    '{"language":',
    '{"language":"sql"}',
    '{"language":"sql","command":"bad"}',
  ]) {
    const answers = await door.raw(
      requestFor(refused) + requestFor(good) + requestFor(good, close),
    );
    assert.deepEqual(statusesOf(answers), [400, 200, 200], refused);
  }
});

test('a statement is told when its client leaves', async (context) => {
  const door = await startDoor(context);
  const aborted = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  door.databases.behaviours.set('long', {
    before: async (_statement, { signal }) => {
      signal.addEventListener('abort', () => aborted.resolve());
      started.resolve();
      await aborted.promise;
      throw new TypeError('ended');
    },
  });
  const socket = await door.open();
  const body = '{"language":"sql","command":"long"}';
  socket.write(
    `POST /api/v1/query/school HTTP/1.1\r\nHost: a\r\n${authorization}Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  await started.promise;
  socket.destroy();
  await aborted.promise;
});

test('when there are too many connections the longest idle one goes', async (context) => {
  const door = await startDoor(context, { 'server.httpMaxConnections': '3' });
  const sockets = [await door.open(), await door.open(), await door.open()];
  const firstClosed = new Promise((resolve) => sockets[0]?.on('close', resolve));
  const fourth = await door.open();
  await firstClosed;
  const answered = received(fourth, (text) => text.includes('204'));
  fourth.write(get('/api/v1/health'));
  assert.equal(statusOf(await answered), 204);
  for (const socket of [...sockets, fourth]) socket.destroy();
});

test('requests beyond the worker slots wait, probes do not', async (context) => {
  const door = await startDoor(context, { 'server.httpWorkerThreads': '2' });
  const gate = Promise.withResolvers<void>();
  let running = 0;
  let most = 0;
  door.databases.behaviours.set('hold', {
    complete: rowBatch(0, 1),
    before: async () => {
      running += 1;
      most = Math.max(most, running);
      await gate.promise;
      running -= 1;
    },
  });
  const ask = () =>
    door.ask('POST', 'query/school', { body: { language: 'sql', command: 'hold' } });
  const asked = [ask(), ask(), ask(), ask(), ask()];
  while (running < 2) await new Promise(setImmediate);
  assert.equal((await door.ask('GET', 'health')).status, 204);
  assert.equal((await door.ask('GET', 'ready')).status, 204);
  gate.resolve();
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 200]);
  assert.equal(most, 2);
});

test('a stop answers what was received, refuses new requests and tells readiness', async (context) => {
  const door = await startDoor(context);
  const gate = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  door.databases.behaviours.set('hold', {
    complete: rowBatch(0, 1),
    before: async () => {
      started.resolve();
      await gate.promise;
    },
  });
  const held = door.ask('POST', 'query/school', { body: { language: 'sql', command: 'hold' } });
  await started.promise;
  door.control.stopsBy([
    { name: 'requests', run: (timeoutMs) => door.server.drain(timeoutMs) },
    { name: 'databases', run: () => door.databases.shutdown() },
  ]);
  const stopped = door.control.stop('test');
  assert.equal((await door.ask('GET', 'health')).status, 204);
  assert.equal((await door.ask('GET', 'ready')).status, 503);
  const refused = await door.ask('GET', 'databases');
  assert.equal(refused.status, 503);
  assert.equal(refused.headers['retry-after'], '1');
  assert.equal(refused.headers['connection'], 'close');
  assert.equal(door.databases.isShutDown, false);
  gate.resolve();
  assert.equal((await held).status, 200);
  await stopped;
  assert.equal(door.databases.isShutDown, true);
});

test('what still runs at the time limit of a stop is cancelled', async (context) => {
  const door = await startDoor(context, { 'server.shutdownTimeout': '20' });
  const started = Promise.withResolvers<void>();
  door.databases.behaviours.set('endless', {
    before: async (_statement, { signal }) => {
      started.resolve();
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    },
  });
  const held = door.ask('POST', 'query/school', { body: { language: 'sql', command: 'endless' } });
  await started.promise;
  door.control.stopsBy([{ name: 'requests', run: (timeoutMs) => door.server.drain(timeoutMs) }]);
  await door.control.stop('test');
  const answer = await held;
  assert.equal(answer.status, 500);
  assert.match(String(answer.body['detail']), /the server is stopping/);
});

test('HTTP/1.0 clients are answered and closed', async (context) => {
  const door = await startDoor(context);
  const answer = await door.raw(`GET /api/v1/databases HTTP/1.0\r\n${authorization}\r\n`);
  assert.match(answer, /^HTTP\/1\.1 200/);
});
