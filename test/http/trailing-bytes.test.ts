import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startDatabaseDoor } from './database-door.ts';
import { basic, type DoorFixture, startDoor } from './door-fixture.ts';
import { rowBatch } from './fake-databases.ts';

// Bytes behind a complete request: what was executed is answered as it is, whatever follows (RFC 9112, 9.3.2).

const close = 'Connection: close\r\n';
const authorization = `Authorization: ${basic('root')}\r\n`;

function command(text: string, headers = ''): string {
  const body = JSON.stringify({ language: 'sql', command: text });
  return `POST /api/v1/command/school HTTP/1.1\r\nHost: a\r\n${authorization}${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

const brokenChunks = `POST /api/v1/command/school HTTP/1.1\r\nHost: a\r\n${authorization}Transfer-Encoding: chunked\r\n\r\n23\r\n{"language":"sql","command":"fast"}\r\nzz\r\n`;

function statusesOf(answers: string): number[] {
  return [...answers.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

interface Executing {
  readonly door: DoorFixture;
  /** Resolves when statement 'slow' runs, which ends with `release`. */
  readonly started: Promise<void>;
  readonly release: () => void;
  readonly executed: () => readonly string[];
}

async function start(
  context: TestContext,
  settings: Readonly<Record<string, string>> = {},
): Promise<Executing> {
  const door = await startDoor(context, settings);
  const started = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const { behaviours } = door.databases;
  behaviours.set('fast', { complete: rowBatch(0, 1, 'of fast') });
  behaviours.set('large', { complete: rowBatch(0, 15_000, 'of large') });
  behaviours.set('slow', {
    complete: rowBatch(0, 1, 'of slow'),
    before: () => {
      started.resolve();
      return gate.promise;
    },
  });
  const executed = () => door.databases.seen.map(({ statement }) => statement.text);
  return { door, started: started.promise, release: () => gate.resolve(), executed };
}

/** All that the server sends on the socket until it closes it. */
async function allOf(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (piece) => {
    text += piece.toString('latin1');
  });
  socket.on('error', () => {});
  await once(socket, 'close');
  return text;
}

const junk: readonly (readonly [string, number])[] = [
  ['junk', 400],
  ['"}', 400],
  ['\0\xff\r\n\r\n', 400],
  ['{"language":"sql","command":"fast"}', 400],
  ['FLY / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  ['GET / HTTP/1.1\r\nHost: a\r\nBad Name: 1\r\n\r\n', 400],
];

test('bytes behind the announced length are refused after the answer', async (context) => {
  const { door, executed } = await start(context);
  for (const [bytes, status] of junk) {
    const before = executed().length;
    const text = await door.raw(command('fast') + bytes);
    assert.deepEqual(statusesOf(text), [200, status], bytes);
    assert.match(text, /^HTTP\/1\.1 200 .*"b":"of fast".*HTTP\/1\.1 4\d\d .*Connection: close/s);
    assert.equal(executed().length, before + 1);
  }
});

test('bytes behind a request that closes the connection are not looked at', async (context) => {
  const { door, executed } = await start(context);
  const others = [...junk.map(([bytes]) => bytes), command('fast')];
  for (const [at, bytes] of others.entries()) {
    const text = await door.raw(command('fast', close) + bytes);
    assert.deepEqual(statusesOf(text), [200], bytes);
    assert.match(text, /"b":"of fast"/);
    assert.equal(executed().length, at + 1);
  }
});

test('whole requests before the junk are all answered, one after the other', async (context) => {
  const { door, executed } = await start(context);
  const text = await door.raw(`${command('fast')}${command('bad')}${command('fast')}junk`);
  assert.deepEqual(statusesOf(text), [200, 400, 200, 400]);
  assert.deepEqual(executed(), ['fast', 'bad', 'fast']);
});

test('a long answer is whole, and then comes the refusal', async (context) => {
  const { door } = await start(context);
  for (const headers of ['', close, 'Accept: application/x-ndjson\r\n']) {
    const text = await door.raw(`${command('large', headers)}junk`);
    assert.deepEqual(statusesOf(text), headers === close ? [200] : [200, 400]);
    assert.equal(text.split('of large').length - 1, 15_000);
  }
});

test('junk that comes while the statement runs waits for its answer', async (context) => {
  const { door, started, release, executed } = await start(context);
  const socket = await door.open();
  const all = allOf(socket);
  socket.write(command('slow'));
  await started;
  for (let packet = 0; packet < 5; packet += 1) {
    socket.write('x'.repeat(100_000));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  release();
  const text = await all;
  assert.deepEqual(statusesOf(text), [200, 400]);
  assert.match(text, /"b":"of slow"/);
  assert.deepEqual(executed(), ['slow']);
});

test('junk behind a running request that closes the connection is not looked at', async (context) => {
  const { door, started, release } = await start(context);
  const socket = await door.open();
  const all = allOf(socket);
  socket.write(command('slow', close));
  await started;
  socket.write('junk');
  await new Promise((resolve) => setTimeout(resolve, 20));
  release();
  assert.deepEqual(statusesOf(await all), [200]);
});

test('half a request behind a running statement is refused after its answer', async (context) => {
  const { door, started, release } = await start(context, { 'server.httpHeadersTimeout': '60' });
  const socket = await door.open();
  const all = allOf(socket);
  socket.write(command('slow'));
  await started;
  socket.write('POST /api/v1/command/school HTTP/1.1\r\nHost: a\r\nX-');
  // Longer than headers may take.
  await new Promise((resolve) => setTimeout(resolve, 200));
  release();
  const text = await all;
  assert.deepEqual(statusesOf(text), [200, 408]);
  assert.match(text, /"b":"of slow"/);
});

test('a request whose body breaks off is refused and not executed', async (context) => {
  const { door, started, release, executed } = await start(context);
  assert.deepEqual(statusesOf(await door.raw(brokenChunks)), [400]);
  assert.deepEqual(executed(), []);
  const socket = await door.open();
  const all = allOf(socket);
  socket.write(command('slow') + brokenChunks);
  await started;
  release();
  assert.deepEqual(statusesOf(await all), [200, 400]);
  assert.deepEqual(executed(), ['slow']);
});

test('a request that is refused without its body is answered once', async (context) => {
  const { door, executed } = await start(context);
  const unknown = command('fast').replace(authorization, '');
  // Its body was not waited for, so the connection ends.
  assert.deepEqual(statusesOf(await door.raw(`${unknown}junk`)), [401]);
  assert.deepEqual(executed(), []);
});

test('a tunnel asked for behind a running statement is refused after its answer', async (context) => {
  const { door, started, release } = await start(context);
  const socket = await door.open();
  const all = allOf(socket);
  socket.write(`${command('slow')}CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n`);
  await started;
  release();
  assert.deepEqual(statusesOf(await all), [200, 405]);
});

test('a client that asks for a tunnel and is gone ends nothing else', async (context) => {
  const { door } = await start(context);
  for (let time = 0; time < 20; time += 1) {
    const socket = await door.open();
    socket.on('error', () => {});
    socket.write('CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n');
    socket.resetAndDestroy();
  }
  assert.equal((await door.ask('GET', 'health')).status, 204);
});

test('a load whose body is whole is answered before the junk behind it', async (context) => {
  const { door, data: opened } = await startDatabaseDoor(context);
  await opened.run('CREATE VERTEX TYPE Person');
  const lines = Buffer.from('{"@type":"v","@class":"Person","n":1}\n'.repeat(500));
  const load = (headers: string, body: Uint8Array) => [
    `POST /api/v1/batch/test HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: application/jsonl\r\n${headers}Content-Length: ${body.length}\r\n\r\n`,
    Buffer.concat([body, Buffer.from('junk')]),
  ];
  const plain = await door.raw(load('', lines));
  assert.deepEqual(statusesOf(plain), [200, 400]);
  const packed = await door.raw(load('Content-Encoding: gzip\r\n', gzipSync(lines)));
  assert.deepEqual(statusesOf(packed), [200, 400]);
  const closed = await door.raw(load(close, lines));
  assert.deepEqual(statusesOf(closed), [200]);
  for (const text of [plain, packed, closed]) assert.match(text, /"verticesCreated":500/);
  assert.deepEqual(await opened.run('SELECT count(*) AS n FROM Person'), [{ n: 1500 }]);
});
