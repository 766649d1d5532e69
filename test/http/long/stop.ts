import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLog } from '#core/log.ts';
import { openTestDatabase, root } from '../../database/support/open-test-database.ts';
import {
  HttpClient,
  quickStart,
  type ServerProcess,
  startServer,
} from '../../support/server-process.ts';

// What SIGTERM leaves, and when a server is ready (limits.md 18, 19, 20), on a real process.

const endless =
  'SELECT count(*) AS c FROM (MATCH {type: N, as: x}, {type: N, as: y} RETURN 1 AS n)';

async function withServer(
  settings: Readonly<Record<string, string>>,
  use: (start: (until?: 'health') => Promise<Started>, rootPath: string) => Promise<void>,
): Promise<void> {
  const rootPath = mkdtempSync(join(tmpdir(), 'polyad-stop-'));
  const servers: ServerProcess[] = [];
  try {
    await use(async (until) => {
      const server = await startServer({
        rootPath,
        rootPassword: 'password',
        settings,
        environment: quickStart,
        readyTimeoutMs: 60_000,
        ...(until && { until }),
      });
      servers.push(server);
      return { server, client: new HttpClient(server.port, 'root', 'password') };
    }, rootPath);
  } finally {
    for (const server of servers) if (server.child.exitCode === null) await server.kill();
    rmSync(rootPath, { recursive: true, force: true });
  }
}

interface Started {
  readonly server: ServerProcess;
  readonly client: HttpClient;
}

/** A WebSocket that answers nothing, not even a close. */
async function muteWebSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    'GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
      `Authorization: Basic ${Buffer.from('root:password').toString('base64')}\r\n\r\n`,
  );
  await once(socket, 'data');
  socket.on('data', () => {});
  return socket;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((done) => setTimeout(done, 5));
}

test('SIGTERM: not ready, received requests answered, new ones 503, sessions rolled back, exit 0', () =>
  withServer({ 'service.server.shutdownTimeout': '1500' }, async (start, rootPath) => {
    const bad = join(rootPath, 'databases', 'bad');
    mkdirSync(bad, { recursive: true });
    writeFileSync(join(bad, 'data.mdb'), 'no database');
    const { server, client } = await start();
    await client.server('create database school');
    await client.sql('school', 'CREATE DOCUMENT TYPE N');
    const rows = Array.from({ length: 20_000 }, (_, n) => `(${n})`);
    await client.sql('school', `INSERT INTO N (n) VALUES ${rows.join()}`);
    const begun = await client.request('POST', '/begin/school');
    const session = { 'service-session-id': begun.headers.get('service-session-id') ?? '' };
    await client.sql('school', 'INSERT INTO N SET n = -1', {}, session);
    // One that ends by itself after the signal, and one that never does.
    const sleeping = client.request('POST', '/command/school', {
      language: 'sqlscript',
      command: 'SLEEP 700; INSERT INTO N SET n = -2; RETURN 1',
    });
    const reading = client.request('POST', '/query/school', { language: 'sql', command: endless });
    const count = async () =>
      ((await client.request('GET', '/server/statements')).body as { count: number }).count;
    await until(async () => (await count()) === 2);
    const ends: string[] = [];
    const mute = await muteWebSocket(server.port);
    mute.once('close', () => ends.push('websocket'));
    void reading.then(() => ends.push('reading'));

    const stopped = server.stop();
    const ready = () => fetch(`http://127.0.0.1:${server.port}/api/v1/ready`);
    await until(async () => (await ready()).status === 503);
    const late = await client.request('GET', '/databases');
    assert.equal(late.status, 503);
    assert.equal(late.headers.get('retry-after'), '1');
    assert.equal(late.headers.get('connection'), 'close');
    assert.match(JSON.stringify(late.body), /Server is not online.*ServerNotOnlineException/);
    const health = await fetch(`http://127.0.0.1:${server.port}/api/v1/health`);
    assert.equal(health.status, 204);
    const slept = await sleeping;
    assert.deepEqual([slept.status, slept.headers.get('connection')], [200, 'close']);
    const read = await reading;
    assert.equal(read.status, 500);
    assert.match(JSON.stringify(read.body), /the server is stopping/);
    assert.equal(await stopped, 0);
    // Its 2 s to answer the close do not come before the 1.5 s that requests have.
    assert.deepEqual(ends, ['reading', 'websocket']);

    const again = await start();
    const stored = await again.client.sql('school', 'SELECT n FROM N WHERE n < 0');
    assert.deepEqual(stored, [{ n: -2 }]);
    // One that cannot be opened keeps the others from nothing.
    const closed = await again.client.request('POST', '/query/bad', {
      language: 'sql',
      command: 'SELECT 1',
    });
    assert.equal(closed.status, 503);
    assert.match(JSON.stringify(closed.body), /DatabaseIsInstallingException/);
    assert.match(again.server.output(), /database could not be opened/);
    const events = JSON.stringify((await again.client.server('get server events')).body);
    assert.match(events, /"CRITICAL","component":"Database","db":"bad"/);
    assert.equal(await again.server.stop(), 0);
  }));

test('SIGTERM while databases are opened and what a crash left is replayed: exit 0, and nothing is lost', () =>
  withServer({}, async (start) => {
    const names = ['a', 'b', 'c'];
    const first = await start();
    const rows = Array.from({ length: 5000 }, (_, n) => `(${n})`).join();
    for (const name of names) {
      await first.client.server(`create database ${name}`);
      await first.client.sql(name, 'CREATE DOCUMENT TYPE N');
      await first.client.sql(name, `INSERT INTO N (n) VALUES ${rows}`);
    }
    await first.server.kill();
    const { server } = await start('health');
    assert.equal(await server.stop(), 0, server.output());
    const again = await start();
    for (const name of names)
      assert.deepEqual(await again.client.sql(name, 'SELECT count(*) AS c FROM N'), [{ c: 5000 }]);
    assert.equal(await again.server.stop(), 0);
  }));

test('a stop drains the queue of 202 answers; what does not end in time is logged by request id', async () => {
  const logged: string[] = [];
  const note = (text: string, fields: object = {}) => {
    logged.push(`${text} ${JSON.stringify(fields)}`);
  };
  const log = { ...silentLog, error: note };
  const data = await openTestDatabase({ log, settings: { asyncCloseTimeout: '300' } });
  const queue = (text: string, requestId: string, language = 'sql') =>
    data.database.runLater(
      { language, text, parameters: new Map() },
      {
        principal: root,
        mustBeIdempotent: false,
        requestId,
        signal: new AbortController().signal,
      },
    );
  try {
    await data.run('CREATE DOCUMENT TYPE N');
    await queue('SLEEP 50', 'first', 'sqlscript');
    for (let n = 0; n < 20; n++) await queue(`INSERT INTO N SET n = ${n}`, `queued-${n}`);
    await data.reopen();
    assert.deepEqual(await data.run('SELECT count(*) AS c FROM N'), [{ c: 20 }]);
    assert.equal(logged.length, 0);
    for (const id of ['left-1', 'left-2']) await queue('SLEEP 50000', id, 'sqlscript');
    await data.reopen();
    for (const id of ['left-1', 'left-2'])
      assert(
        logged.some((line) => line.includes(id)),
        id,
      );
  } finally {
    await data.close();
  }
});
