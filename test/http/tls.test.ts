import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectPlain, type NetConnectOpts } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import { makeCertificate, makePkcs12 } from '../support/certificates.ts';
import { startSockets, TestClient } from '../websocket/socket-fixture.ts';
import { basic, type DoorFixture, startDoor } from './door-fixture.ts';
import { rowBatch } from './fake-databases.ts';

// HTTPS beside HTTP (contract 3, TLS; http-api.md 21.5).

function mounted(context: TestContext): { readonly path: string; use(name: string): string } {
  const path = mkdtempSync(join(tmpdir(), 'polyad-https-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  const made = join(path, 'made');
  mkdirSync(made);
  return {
    path,
    use: (name) => {
      const { certificate, key } = makeCertificate(made, name);
      copyFileSync(key, join(path, 'tls.key'));
      copyFileSync(certificate, join(path, 'tls.crt'));
      return readFileSync(certificate, 'utf8');
    },
  };
}

function open(door: DoorFixture, options: ConnectionOptions): Promise<TLSSocket> {
  const port = door.server.securePort;
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ...options }, () => resolve(socket));
    socket.on('error', reject);
  });
}

function commonName(socket: TLSSocket): string {
  return String(socket.getPeerCertificate().subject.CN);
}

/** One request on a connection that stays open. @returns the status line */
function askOn(socket: TLSSocket, path: string, headers = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    socket.once('data', (piece) => resolve(String(piece).split('\r\n', 1)[0] ?? ''));
    socket.once('close', () => reject(new Error('closed')));
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
  });
}

test('HTTPS answers beside HTTP, checked against the certificate', async (context) => {
  const store = mounted(context);
  const ca = store.use('first');
  const door = await startDoor(context, { 'ssl.keyStore': store.path });
  assert.equal((await door.ask('GET', 'databases')).status, 200);
  const status = await new Promise<number>((resolve, reject) => {
    const asked = request(
      {
        host: '127.0.0.1',
        port: door.server.securePort,
        path: '/api/v1/databases',
        ca,
        agent: false,
        headers: { authorization: basic('root') },
      },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    asked.on('error', reject);
    asked.end();
  });
  assert.equal(status, 200);
  const socket = await open(door, { ca });
  assert.equal(socket.authorized, true);
  assert.equal(await askOn(socket, '/api/v1/health'), 'HTTP/1.1 204 No Content');
  assert.equal(await askOn(socket, '/api/v1/databases'), 'HTTP/1.1 401 Unauthorized');
  socket.destroy();
});

test('a PKCS#12 store with its password serves, too', async (context) => {
  const store = mounted(context);
  const made = makeCertificate(store.path, 'pkcs');
  const path = makePkcs12(made, 'changeit');
  const door = await startDoor(context, {
    'ssl.keyStore': path,
    'ssl.keyStorePassword': 'changeit',
  });
  const socket = await open(door, { ca: readFileSync(made.certificate) });
  assert.equal(commonName(socket), 'pkcs');
  socket.destroy();
});

test('plain HTTP, old versions and noise get no answer, and the door stays open', async (context) => {
  const store = mounted(context);
  const ca = store.use('first');
  const door = await startDoor(context, {
    'ssl.keyStore': store.path,
    'ssl.minVersion': 'TLSv1.3',
    'server.httpHeadersTimeout': '100',
  });
  const send = (bytes: string) =>
    new Promise<string>((resolve) => {
      let received = '';
      const socket = connectPlain(door.server.securePort ?? 0, '127.0.0.1', () => {
        socket.write(bytes);
      });
      socket.on('data', (piece) => {
        received += piece.toString('latin1');
      });
      socket.on('error', () => {});
      socket.on('close', () => resolve(received));
    });
  const health = 'GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n';
  assert.equal((await send(health)).includes('HTTP/1.1'), false);
  assert.equal((await send('\u0016\u0003\u0001'.padEnd(200, '\u0000'))).includes('HTTP'), false);
  // A client that says nothing is given up after the time for headers.
  await send('');
  await assert.rejects(open(door, { ca, maxVersion: 'TLSv1.2' }), /version|alert/i);
  const socket = await open(door, { ca });
  assert.equal(socket.getProtocol(), 'TLSv1.3');
  socket.destroy();
  assert.deepEqual(door.internalErrors, []);
});

test('a renewed certificate is taken over, open connections go on', async (context) => {
  const store = mounted(context);
  const first = store.use('first');
  const door = await startDoor(context, { 'ssl.keyStore': store.path });
  const before = await open(door, { ca: first });
  assert.equal(commonName(before), 'first');
  const second = store.use('second');
  await door.tls?.poll();
  const after = await open(door, { ca: second });
  assert.equal(commonName(after), 'second');
  assert.equal(await askOn(before, '/api/v1/health'), 'HTTP/1.1 204 No Content');
  // One half of a renewal: the former certificate stays until the other half is there.
  writeFileSync(join(store.path, 'tls.key'), readFileSync(join(store.path, 'made', 'first.key')));
  await door.tls?.poll();
  const still = await open(door, { ca: second });
  assert.equal(commonName(still), 'second');
  writeFileSync(join(store.path, 'tls.crt'), first);
  await door.tls?.poll();
  const again = await open(door, { ca: first });
  assert.equal(commonName(again), 'first');
  const told = door.events.recent().map(({ message }) => message);
  assert.ok(told.some((line) => /does not belong/.test(line)));
  for (const socket of [before, after, still, again]) socket.destroy();
});

test('API tokens that want a secure connection work on it', async (context) => {
  const store = mounted(context);
  const ca = store.use('first');
  const door = await startDoor(context, {
    'ssl.keyStore': store.path,
    'server.apiTokenRequireSecureTransport': 'true',
  });
  const made = await door.ask('POST', 'server/api-tokens', { body: { name: 'ci' } });
  const { token } = made.body['result'] as { token: string };
  const headers = `Authorization: Bearer ${token}\r\n`;
  const socket = await open(door, { ca });
  assert.equal(await askOn(socket, '/api/v1/databases', headers), 'HTTP/1.1 200 OK');
  socket.destroy();
});

test('change events come over TLS, too', async (context) => {
  const store = mounted(context);
  const ca = store.use('first');
  const { door } = await startSockets(context, { 'ssl.keyStore': store.path });
  const socket = new WebSocket(`wss://127.0.0.1:${door.server.securePort}/ws`, {
    ca,
    headers: { authorization: basic('root') },
  });
  const client = new TestClient(socket);
  await once(socket, 'open');
  assert.deepEqual(await client.ask({ action: 'subscribe', database: 'school' }), {
    result: 'ok',
    action: 'subscribe',
  });
  socket.terminate();
  await client.closed;
});

test('a client that ends its side of the connection gets its answer', async (context) => {
  const store = mounted(context);
  const ca = store.use('first');
  const door = await startDoor(context, { 'ssl.keyStore': store.path });
  door.databases.behaviours.set('slow', {
    complete: rowBatch(0, 1, 'of slow'),
    before: () => new Promise((resolve) => setTimeout(resolve, 50)),
  });
  const body = '{"language":"sql","command":"slow"}';
  const halfOpen: ConnectionOptions & NetConnectOpts = {
    ca,
    host: '127.0.0.1',
    port: door.server.securePort ?? 0,
    allowHalfOpen: true,
  };
  const socket = await open(door, halfOpen);
  socket.end(
    `POST /api/v1/query/school HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic('root')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  let text = '';
  for await (const piece of socket) text += String(piece);
  assert.match(text, /^HTTP\/1\.1 200 .*of slow/s);
});
