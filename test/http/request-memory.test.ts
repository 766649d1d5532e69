import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { basic, startDoor } from './door-fixture.ts';

// One account for what connections, headers, bodies and parsed trees hold (limits.md 33), with tiny budgets.

function client(context: TestContext, port: number): { socket: Socket; text: () => string } {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.on('data', (piece) => {
    text += piece.toString('latin1');
  });
  socket.on('error', () => {});
  context.after(() => socket.destroy());
  return { socket, text: () => text };
}

test('headers that do not end are bounded in all, before anybody is asked for credentials', async (context) => {
  const door = await startDoor(context, { 'service.server.httpMaxPendingHeaders': '131072' });
  const clients = Array.from({ length: 12 }, () => client(context, door.port));
  const closed = clients.map(({ socket }) => once(socket, 'close'));
  for (const { socket } of clients)
    socket.write(`GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(40_000)}`);
  await Promise.race(closed);
  assert.equal((await door.ask('GET', 'health')).status, 204);
  const refused = clients.find(({ text }) => text() !== '');
  assert.match(refused?.text() ?? '', /^HTTP\/1\.1 503 [\s\S]*httpMaxPendingHeaders/);
});

test('headers that are short each are bounded in all, too', async (context) => {
  const door = await startDoor(context, { 'service.server.httpMaxPendingHeaders': '65536' });
  const clients = Array.from({ length: 30 }, () => client(context, door.port));
  const closed = clients.map(({ socket }) => once(socket, 'close'));
  for (const { socket } of clients)
    socket.write(`GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-Short: ${'x'.repeat(3900)}`);
  await Promise.race(closed);
  const refused = clients.find(({ text }) => text() !== '');
  assert.match(refused?.text() ?? '', /^HTTP\/1\.1 503 [\s\S]*httpMaxPendingHeaders/);
});

test('while many send long headers all are read in slices, and whoever completes a request is answered', async (context) => {
  const door = await startDoor(context);
  const early = Array.from({ length: 40 }, () => client(context, door.port));
  const long = Array.from({ length: 60 }, () => client(context, door.port));
  for (const { socket } of long)
    socket.write(`GET /api/v1/health HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(60_000)}`);
  const answers = [...early, ...long].map(({ socket }) => once(socket, 'data'));
  const late = await Promise.all(Array.from({ length: 20 }, () => door.ask('GET', 'health')));
  assert.ok(late.every(({ status }) => status === 204));
  for (const { socket } of early) socket.write('GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n');
  for (const { socket } of long) socket.write('\r\n\r\n');
  await Promise.all(answers);
  for (const { text } of [...early, ...long]) assert.match(text(), /^HTTP\/1\.1 204/);
});

const budget = { 'service.server.httpMaxRequestMemory': String(1024 * 1024) };

test('bodies that do not end are bounded in all; their memory comes back', async (context) => {
  const door = await startDoor(context, budget);
  const clients = Array.from({ length: 4 }, () => client(context, door.port));
  const head = [
    'POST /api/v1/command/school HTTP/1.1',
    'Host: x',
    `Authorization: ${basic('root')}`,
    'Content-Type: application/json',
    'Content-Length: 500000',
  ].join('\r\n');
  const answered = clients.map(({ socket }) => once(socket, 'data'));
  for (const { socket } of clients) socket.write(`${head}\r\n\r\n${'x'.repeat(400_000)}`);
  await Promise.race(answered);
  const refused = clients.find(({ text }) => text() !== '');
  assert.match(refused?.text() ?? '', /^HTTP\/1\.1 503 [\s\S]*httpMaxRequestMemory/);
  for (const { socket } of clients) socket.destroy();
  const body = { language: 'sql', command: `SELECT '${'x'.repeat(300_000)}'` };
  const statusOf = async () => (await door.ask('POST', 'command/school', { body })).status;
  let status = await statusOf();
  while (status === 503) status = await statusOf();
  assert.notEqual(status, 503);
});

test('what small values become when they are parsed is counted, and what is unpacked', async (context) => {
  const door = await startDoor(context, budget);
  const parameters = Array.from({ length: 60_000 }, () => ({}));
  const tree = { language: 'sql', command: 'SELECT 1', params: { list: parameters } };
  const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' };
  const padded = JSON.stringify({ language: 'sql', command: `SELECT 1${' '.repeat(3_000_000)}` });
  for (const asked of [{ body: tree }, { body: gzipSync(padded), headers }]) {
    const answer = await door.ask('POST', 'command/school', asked);
    assert.equal(answer.status, 503, answer.text);
    assert.match(answer.text, /requests running now hold .*httpMaxRequestMemory/);
  }
  const small = await door.ask('POST', 'command/school', {
    body: { language: 'sql', command: 'SELECT 1' },
  });
  assert.notEqual(small.status, 503);
});
